//! A switch of the on-die network (`[giles 3.2.5.2, Fig. 3.7 and 3.8]`): ports with a queue for each lane on both
//! sides, a crossbar, and a routing table.
//!
//! Each time it runs, the crossbar links inputs to outputs. Each input sends at most one message, of one lane, and each
//! output receives at most one; each output arbitrates round-robin. The links are held for the switch's latency, and
//! nothing else gets through meanwhile. A message whose output is full stays at its input and blocks the messages
//! behind it in its lane, but never another lane.
//!
//! In a ring, messages that continue and messages that enter compete for the same buffers. If all were full, no message
//! could move. So a message enters only where it leaves one buffer free ([`Port::is_ring`]).
//!
//! **Invariant**: a ring always has a free buffer.

use crate::freight::{Freight, Routes};
use engine::{Context, Counter, Cycles, EventCount, Inlet, Lane, Outlet, Scope};

/// The parameters of a switch, from the machine file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchSpec {
    /// How long a crossbar link is held.
    pub latency: Cycles,
}

/// One of a switch's ports.
pub(crate) struct Port<T> {
    pub from: Inlet<T>,
    pub to: Outlet<T>,
    /// Whether the port leads to the next switch of a ring.
    pub is_ring: bool,
}

/// Maximum number of ports of a switch: each combination of port and lane is a bit of a word.
pub(crate) const MOST_PORTS: usize = 42;

pub(crate) struct Switch<T> {
    spec: SwitchSpec,
    ports: Vec<Port<T>>,
    routes: Routes,
    /// For each output, the combination of input and lane with the highest priority next time.
    turns: Vec<u32>,
    /// The output that arbitrates first next time.
    first: usize,
    /// Advances when a message arrives or an output has space again.
    bell: EventCount,
    links: Vec<Link>,
    forwarded: Counter,
    blocked: Counter,
}

/// A connection through the crossbar.
#[derive(Clone, Copy)]
struct Link {
    input: usize,
    lane: Lane,
    output: usize,
}

impl<T: Freight> Switch<T> {
    pub fn new(spec: SwitchSpec, ports: Vec<Port<T>>, routes: Routes, scope: &Scope) -> Self {
        assert!(ports.len() <= MOST_PORTS, "a switch has {} ports, and can have {MOST_PORTS} at most", ports.len());
        let bell = scope.eventcount("work");
        for port in &ports {
            port.from.ring(&bell);
            port.to.ring(&bell);
        }
        Self {
            spec,
            turns: vec![0; ports.len()],
            first: 0,
            routes,
            bell,
            links: Vec::new(),
            forwarded: scope.counter("forwarded"),
            blocked: scope.counter("blocked_cycles"),
            ports,
        }
    }

    pub async fn run(mut self, cx: Context) {
        for port in &self.ports {
            cx.takes(&port.from);
            cx.sends(&port.to);
        }
        loop {
            while self.ports.iter().all(|port| port.from.is_empty()) {
                self.bell.next().await;
            }
            cx.settle().await;
            let seen = self.bell.count();
            self.link();
            if self.links.is_empty() {
                let since = cx.now().0;
                while self.bell.rest(seen + 1).await {
                    self.explain(&cx);
                }
                self.blocked.add(cx.now().0 - since);
                continue;
            }
            cx.pause(self.spec.latency).await;
            self.forward();
        }
    }

    /// Tells a report on a stuck run which outputs this switch waits for.
    fn explain(&self, cx: &Context) {
        for port in &self.ports {
            for lane in Lane::ALL {
                let Some(node) = port.from.front(lane).map(|head| head.to()) else { continue };
                let to = &self.ports[self.routes.port(node)].to;
                cx.needs_of_receiver(format!("room for a message to node {}", node.0), to, lane);
            }
        }
    }

    /// Sets up the crossbar: links from inputs to outputs that have space.
    fn link(&mut self) {
        self.links.clear();
        let count = self.ports.len();
        let mut wanted = [0u128; MOST_PORTS];
        for (input, port) in self.ports.iter().enumerate().filter(|(_, port)| !port.from.is_empty()) {
            for lane in Lane::ALL {
                let Some(output) = port.from.front(lane).map(|head| self.routes.port(head.to())) else { continue };
                let to = &self.ports[output];
                let enters_ring = to.is_ring && !port.is_ring;
                if to.to.free(lane) > u64::from(enters_ring) {
                    wanted[output] |= 1 << (lane as usize * count + input);
                }
            }
        }
        let mut idle_inputs =
            Lane::ALL.iter().fold(0u128, |all, lane| all | ((1 << count) - 1) << (*lane as usize * count));
        for output in (0..count).map(|step| (self.first + step) % count) {
            let Some(place) = next(wanted[output] & idle_inputs, self.turns[output]) else { continue };
            let (input, lane) = (place as usize % count, Lane::ALL[place as usize / count]);
            self.turns[output] = place + 1;
            for lane in Lane::ALL {
                idle_inputs &= !(1 << (lane as usize * count + input));
            }
            self.links.push(Link { input, lane, output });
        }
        self.first = (self.first + 1) % count;
    }

    fn forward(&mut self) {
        for Link { input, lane, output } in self.links.drain(..) {
            let item = self.ports[input].from.try_recv(lane).expect("what was linked is still there");
            let bytes = item.bytes();
            let sent = self.ports[output].to.try_send(lane, item, bytes);
            assert!(sent.is_ok(), "room that was seen stays: no other context sends there");
            self.forwarded.increment();
        }
    }
}

/// The first set bit from `turn` on, or else the first set bit.
fn next(set: u128, turn: u32) -> Option<u32> {
    let from_turn = if turn < 128 { set >> turn << turn } else { 0 };
    match (from_turn, set) {
        (_, 0) => None,
        (0, _) => Some(set.trailing_zeros()),
        _ => Some(from_turn.trailing_zeros()),
    }
}
