//! A point-to-point link that sends messages as flits, with credits for the receiver's buffer: PCIe, NVLink and the like.
//!
//! A message is preceded by a header and cut into flits; one goes out each cycle. The receiver has a buffer of so many flits
//! for each lane; a message is sent when there is room for all of it (or the buffer is empty and it is longer than that). When it
//! has been taken out of the buffer its credits travel back. Lanes take turns; one without credits holds up no other.

use crate::freight::Freight;
use engine::{Context, Counter, Cycles, EventCount, Inlet, Lane, Outlet, PortSpec, RoundRobin, Scope};
use std::{cell::Cell, rc::Rc};

/// From the machine file.
#[derive(Clone, Copy, Debug)]
pub struct FlitLinkSpec {
    /// Bytes of a flit; one is sent in each cycle of the sender.
    pub flit: u64,
    /// Bytes that the link adds to a message.
    pub header: u64,
    /// From the end of the last flit until the message is there; credits take as long to come back.
    pub latency: Cycles,
    /// Flits of each lane that the receiver can hold.
    pub buffer: u64,
}

impl FlitLinkSpec {
    /// Flits that a message of so many bytes takes.
    pub fn flits(&self, bytes: u64) -> u64 {
        (self.header + bytes).div_ceil(self.flit).max(1)
    }
}

/// Builds a link that takes what comes from `from` at `here` and puts it into `to` at `there`.
pub fn flit_link<T: Freight>(spec: FlitLinkSpec, (from, here): (Inlet<T>, &Scope), (to, there): (Outlet<T>, &Scope)) {
    let wire = PortSpec { capacity: spec.buffer as usize, latency: spec.latency, bytes_per_cycle: None };
    let (cable, arrives) = here.port::<(T, u64)>("cable", wire, there);
    let (give_back, returned) = there.port::<u64>("credits", wire, here);
    let bell = here.eventcount("work");
    from.ring(&bell);
    let credits = Rc::new([const { Cell::new(0) }; 3]);
    credits.iter().for_each(|lane| lane.set(spec.buffer));
    for lane in Lane::ALL {
        let (arrives, to, give_back) = (arrives.clone(), to.clone(), give_back.clone());
        there.serve(RECEIVERS[lane as usize], move |_| async move {
            loop {
                let (item, flits) = arrives.recv(lane).await;
                let bytes = item.bytes();
                to.send(lane, item, bytes).await;
                give_back.send(lane, flits, 0).await;
            }
        });
        let name = ["credit_request", "credit_reply", "credit_coherence"][lane as usize];
        let (returned, credits, bell) = (returned.clone(), Rc::clone(&credits), bell.clone());
        here.serve(name, move |_| async move {
            loop {
                let flits = returned.recv(lane).await;
                credits[lane as usize].set(credits[lane as usize].get() + flits);
                bell.advance();
            }
        });
    }
    let transmitter = Transmitter {
        spec,
        from,
        cable,
        credits,
        turns: RoundRobin::new(Lane::ALL.len()),
        bell,
        receivers: RECEIVERS.map(|name| format!("{}.{name}", there.path())),
        flits: here.counter("flits"),
        no_credit: here.counter("no_credit"),
    };
    here.serve("transmit", |cx| transmitter.run(cx));
}

/// The contexts that take messages out of the receiver's buffer, by lane.
const RECEIVERS: [&str; 3] = ["receive_request", "receive_reply", "receive_coherence"];

struct Transmitter<T> {
    spec: FlitLinkSpec,
    from: Inlet<T>,
    cable: Outlet<(T, u64)>,
    credits: Rc<[Cell<u64>; 3]>,
    turns: RoundRobin,
    bell: EventCount,
    /// The paths of the contexts whose credits it needs, by lane.
    receivers: [String; 3],
    flits: Counter,
    /// How often everything that could be sent had to wait for credits.
    no_credit: Counter,
}

impl<T: Freight> Transmitter<T> {
    async fn run(mut self, cx: Context) {
        cx.takes(&self.from);
        loop {
            let seen = self.bell.count();
            let head = |lane: Lane| self.from.front(lane).map(|item| self.spec.flits(item.bytes()));
            // What is longer than the whole buffer takes all of it.
            let charge = |lane: Lane| head(lane).map(|flits| flits.min(self.spec.buffer));
            let can_go = |lane: Lane| charge(lane).is_some_and(|flits| flits <= self.credits[lane as usize].get());
            let Some(lane) = self.turns.grant(|lane| can_go(Lane::ALL[lane])).map(|lane| Lane::ALL[lane]) else {
                if !self.from.is_empty() {
                    self.no_credit.increment();
                }
                while self.bell.rest(seen + 1).await {
                    self.explain(&cx);
                }
                continue;
            };
            let (flits, charged) = (head(lane).unwrap_or(1), charge(lane).unwrap_or(1));
            let item = self.from.try_recv(lane).expect("it was granted");
            let credits = &self.credits[lane as usize];
            credits.set(credits.get() - charged);
            cx.pause(flits).await;
            self.flits.add(flits);
            self.cable.send(lane, (item, charged), 0).await;
        }
    }

    /// Tells a report on a run that does not get on for whose credits the link waits.
    fn explain(&self, cx: &Context) {
        for lane in Lane::ALL.into_iter().filter(|lane| self.from.len(*lane) > 0) {
            let what = format!("credits for the receiver's buffer, {} left", self.credits[lane as usize].get());
            cx.needs(what, self.receivers[lane as usize].as_str());
        }
    }
}
