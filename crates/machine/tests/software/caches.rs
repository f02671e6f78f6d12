//! First-level caches that hit after a random delay, for tests with real cores.
//!
//! Loads are answered in any order. Requests in the coherence lane are performed in order. A request to a line that
//! another core holds for a locked access waits, and so does everything behind it.

use super::cores::Locks;
use cpu::{Core, CoreSpec};
use engine::{Context, Cycles, EventCount, Inlet, Lane, Outlet, PortSpec, Scope};
use interconnect::Wire;
use machine::program::Software;
use mem::{Access, LineAddr, Reply, Request};
use rand_pcg::{Pcg64Mcg, rand_core::RngCore};
use std::{cell::RefCell, collections::VecDeque, rc::Rc};

type Ends = (Inlet<Request>, Outlet<Reply>);

/// Builds a core of the model and its caches.
pub fn build(
    number: usize,
    threads: usize,
    software: &Software,
    bell: EventCount,
    random: Pcg64Mcg,
    locks: Locks,
    scope: &Scope,
) {
    let place = scope.scope(("core", number));
    let wire = |name: &str| -> (Wire<Reply, Request>, Ends) {
        let spec = PortSpec { capacity: 256, latency: Cycles(1), bytes_per_cycle: None };
        let (to, requests) = place.port(format!("{name}_requests").as_str(), spec, &place);
        let (replies, from) = place.port(format!("{name}_replies").as_str(), spec, &place);
        (Wire { from, to }, (requests, replies))
    };
    let ((data, data_end), (code, code_end)) = (wire("data"), wire("code"));
    let program = Rc::new(RefCell::new(software.guest(number)));
    let core = Core::new(CoreSpec::default(), threads, program, data, code, bell, &place);
    place.serve("pipeline", |cx| core.run(cx));
    for (name, ends, seed) in [("l1d", data_end, 1), ("l1i", code_end, 2)] {
        let mut random = random.clone();
        random.advance(seed << 40);
        let cache = Cache { core: number, software: software.clone(), ends, random, locks: Rc::clone(&locks) };
        place.serve(name, |cx| cache.run(cx));
    }
}

struct Cache {
    core: usize,
    software: Software,
    ends: Ends,
    random: Pcg64Mcg,
    locks: Locks,
}

impl Cache {
    async fn run(mut self, cx: Context) {
        let mut loads: Vec<(u64, Request)> = Vec::new();
        let mut ordered: VecDeque<Request> = VecDeque::new();
        loop {
            let seen = self.ends.0.arrivals().count();
            let now = cx.now().0;
            while let Some(request) = self.ends.0.try_recv(Lane::Request) {
                loads.push((now + self.random.next_u64() % 8, request));
            }
            while let Some(request) = self.ends.0.try_recv(Lane::Coherence) {
                ordered.push_back(request);
            }
            let mut due: Vec<Request> = loads.extract_if(.., |(at, _)| *at <= now).map(|(_, load)| load).collect();
            let delayed = self.random.next_u64().is_multiple_of(4);
            if !delayed && ordered.front().is_some_and(|request| self.perform(request)) {
                due.extend(ordered.pop_front());
            }
            for request in due {
                self.ends.1.send(Lane::Reply, Reply { id: request.id, data: request.data, stamp: 0 }, 8).await;
            }
            match loads.is_empty() && ordered.is_empty() {
                true => self.ends.0.arrivals().wait(seen + 1).await,
                false => cx.pause(1).await,
            }
        }
    }

    /// Performs a store or a lock; returns whether that was possible.
    fn perform(&self, request: &Request) -> bool {
        let line = request.line().0;
        let mut locks = self.locks.borrow_mut();
        if locks.get(&line).is_some_and(|holder| *holder != self.core) {
            return false;
        }
        match request.access {
            Access::Lock => _ = locks.insert(line, self.core),
            Access::Store => {
                locks.remove(&line);
                drop(locks);
                self.software.perform(self.core, cpu::thread_of(request.id), LineAddr(line), &request.data);
            }
            other => panic!("{other:?} has no place in this lane"),
        }
        true
    }
}
