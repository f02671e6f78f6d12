//! A core between two memories whose latency the test sets.

use cpu::{Core, CoreSpec, Program};
use engine::{
    Context, Cycles, EventCount, Hertz, Inlet, Lane, Model, Outcome, Outlet, PortSpec, Run, RunOptions, Scope,
};
use interconnect::Wire;
use mem::{Reply, Request};
use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    sync::{Arc, Mutex},
};

/// The latency of memory, in cycles.
#[derive(Clone, Copy)]
pub struct Latency {
    /// From a request to its reply: at least 2, one cycle in each direction.
    pub hit: u64,
    /// The first address of slow lines, and their latency. A slow line does not delay others.
    pub slow: (u64, u64),
    pub code: u64,
    /// From one request of the ordered lane to the next.
    pub apart: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { hit: 2, slow: (u64::MAX, 2), code: 2, apart: 1 }
    }
}

/// A request that memory has answered, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Performed {
    pub cycle: u64,
    pub request: Request,
    pub ordered: bool,
}

/// The result of a run.
pub struct Report {
    pub run: Run,
    pub log: Vec<Performed>,
}

const PHASES: [&str; 6] = ["busy", "system", "read_stall", "write_stall", "fetch_stall", "idle"];

impl Report {
    pub fn count(&self, name: &str) -> u64 {
        self.run.total().count(&format!("core.{name}"))
    }

    /// Cycles in which the core was not idle.
    pub fn cycles(&self) -> u64 {
        PHASES[..5].iter().map(|phase| self.phase(phase)).sum()
    }

    pub fn phase(&self, phase: &str) -> u64 {
        self.count(&format!("cycles.{phase}"))
    }
}

/// Runs a program on a core until it is idle. `program` gets a scope to build in and the core's bell.
pub fn run_for<P: Program + 'static>(
    spec: &CoreSpec,
    threads: usize,
    latency: Latency,
    program: impl FnOnce(&Scope, &EventCount) -> P + Send + 'static,
    options: RunOptions,
) -> Report {
    let spec = spec.clone();
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let own = Arc::clone(&log);
    model.partition(move |partition| {
        let scope = partition.scope(clock);
        let place = scope.scope("core");
        let wire = |name: &str| {
            let spec = PortSpec { capacity: 256, latency: Cycles(1), bytes_per_cycle: None };
            let (to, requests) = place.port(format!("{name}_requests").as_str(), spec, &scope);
            let (replies, from) = scope.port(format!("{name}_replies").as_str(), spec, &place);
            (Wire { from, to }, (requests, replies))
        };
        let (data, data_end) = wire("data");
        let (code, code_end) = wire("code");
        let bell = place.eventcount("bell");
        let program = Rc::new(RefCell::new(program(&scope, &bell)));
        let core = Core::new(spec, threads, program, data, code, bell, &place);
        place.serve("pipeline", |cx| core.run(cx));
        scope.serve("memory", move |cx| memory(cx, data_end, latency, own));
        let (log, hit) = (Arc::default(), latency.code);
        scope.serve("code", move |cx| memory(cx, code_end, Latency { hit, ..Latency::default() }, log));
    });
    let run = model.run(&options);
    let log = log.lock().expect("no thread panicked").clone();
    Report { run, log }
}

/// Answers requests when they are due; those of the ordered lane one after the other.
async fn memory(
    cx: Context,
    (requests, replies): (Inlet<Request>, Outlet<Reply>),
    latency: Latency,
    log: Arc<Mutex<Vec<Performed>>>,
) {
    let time = |request: &Request| if request.line().0 >= latency.slow.0 { latency.slow.1 } else { latency.hit } - 2;
    let mut free: Vec<(u64, Request)> = Vec::new();
    let mut ordered: VecDeque<(u64, Request)> = VecDeque::new();
    loop {
        let now = cx.now().0;
        while let Some(request) = requests.try_recv(Lane::Request) {
            free.push((now + time(&request), request));
        }
        while let Some(request) = requests.try_recv(Lane::Coherence) {
            let after = ordered.back().map_or(0, |(due, _)| due + latency.apart);
            ordered.push_back(((now + time(&request)).max(after), request));
        }
        let mut due: Vec<_> =
            free.extract_if(.., |(due, _)| *due <= now).map(|(_, request)| (request, false)).collect();
        while ordered.front().is_some_and(|(due, _)| *due <= now) {
            due.extend(ordered.pop_front().map(|(_, request)| (request, true)));
        }
        for (request, in_order) in due {
            log.lock().expect("no thread panicked").push(Performed { cycle: now, request, ordered: in_order });
            let reply = Reply { id: request.id, data: request.data, stamp: 0 };
            replies.send(Lane::Reply, reply, 8).await;
        }
        let next = free.iter().chain(&ordered).map(|(due, _)| *due).min();
        let seen = requests.arrivals().count();
        match next {
            Some(cycle) => _ = requests.arrivals().wait_for(seen + 1, cycle - cx.now().0).await,
            None => requests.arrivals().wait(seen + 1).await,
        }
    }
}

/// Checks that the run finished.
pub fn finished(report: Report) -> Report {
    assert_eq!(report.run.outcome, Outcome::Finished);
    report
}
