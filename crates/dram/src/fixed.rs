//! A memory that answers after a fixed time, so many requests at once.
//!
//! It owns its bytes; what a request means is said by the protocol's table for a memory. Banks, rows and buses are left out.

use crate::Store;
use engine::{Context, Counter, Cycles, EventCount, Inlet, Lane, Outlet, PortSpec, RoundRobin, Scope};
use interconnect::{Packet, Wire, bytes, lane};
use mem::{Block, LINE, Mask, PhysAddr};
use protocol::{Controller, Line, Log, Msg, Node, Place, Step, memory::Memory, step};

/// From the machine file.
#[derive(Clone, Copy, Debug)]
pub struct FixedSpec {
    /// From taking a request until its answer leaves.
    pub latency: Cycles,
    /// From one request until the next can be taken.
    pub interval: Cycles,
    /// How many requests may be under way.
    pub outstanding: usize,
}

/// Which addresses belong to a channel: so many bytes go to each in turn.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    pub number: u64,
    pub of: u64,
    pub interleave: u64,
}

impl Channel {
    /// Where an address of this channel lies within it: its bytes are packed, whatever lies between them elsewhere.
    pub fn inside(&self, address: PhysAddr) -> PhysAddr {
        PhysAddr(address.0 / (self.interleave * self.of) * self.interleave + address.0 % self.interleave)
    }

    /// The address of what lies there within the channel.
    pub fn outside(&self, inside: PhysAddr) -> PhysAddr {
        let (turn, place) = (inside.0 / self.interleave, inside.0 % self.interleave);
        PhysAddr((turn * self.of + self.number) * self.interleave + place)
    }
}

pub struct FixedMemory {
    spec: FixedSpec,
    me: Node,
    channel: Channel,
    store: Store,
    askers: Vec<Inlet<Packet>>,
    turns: RoundRobin,
    under_way: Outlet<Msg<LINE>>,
    bell: EventCount,
    log: Log,
    reads: Counter,
    writes: Counter,
}

impl FixedMemory {
    /// Builds the memory at `scope`, with what `store` holds, and starts the context that sends its answers.
    pub fn new(
        spec: FixedSpec,
        (me, channel): (Node, Channel),
        askers: Vec<(Node, Wire<Packet, Packet>)>,
        store: Store,
        scope: &Scope,
    ) -> Self {
        let port = PortSpec { capacity: spec.outstanding, latency: spec.latency, bytes_per_cycle: None };
        let (under_way, done) = scope.port("under_way", port, scope);
        let bell = scope.eventcount("work");
        let mut inlets = Vec::new();
        let mut outlets = Vec::new();
        for (node, wire) in askers {
            wire.from.ring(&bell);
            inlets.push(wire.from);
            outlets.push((node, wire.to));
        }
        scope.serve("answer", |_| answer(done, outlets));
        Self {
            spec,
            me,
            channel,
            store,
            turns: RoundRobin::new(inlets.len()),
            askers: inlets,
            under_way,
            bell,
            log: Log::new(Controller::<LINE>::table(&Memory), 0),
            reads: scope.counter("reads"),
            writes: scope.counter("writes"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            let Some(msg) = self.next() else {
                self.bell.next().await;
                continue;
            };
            match self.perform(&msg) {
                Ok(Some(reply)) => self.under_way.send(Lane::Reply, reply, 0).await,
                Ok(None) => {}
                Err(hole) => return cx.fail(hole),
            }
            cx.pause(self.spec.interval).await;
        }
    }

    fn next(&mut self) -> Option<Msg<LINE>> {
        let order = self.turns.order();
        for port in order {
            if let Some(packet) = self.askers[port].try_recv(Lane::Request) {
                self.turns.grant(|turn| turn == port);
                return Some(packet.msg);
            }
        }
        None
    }

    /// Reads or writes; requests take effect in the order in which they are taken.
    fn perform(&mut self, msg: &Msg<LINE>) -> Result<Option<Msg<LINE>>, String> {
        let address = self.channel.inside(PhysAddr(msg.line.0));
        let mut bytes = [0; LINE];
        self.store.frames().read(address, &mut bytes);
        let mut line = Line { data: Block::full(bytes), ..Line::new(0) };
        let place = Place::new(self.me, self.me);
        let table = Controller::<LINE>::table(&Memory);
        let step = step(&Memory, table, place, &mut line, msg, &mut self.log).map_err(|hole| hole.to_string())?;
        if msg.data.mask() == Mask::NONE {
            self.reads.increment();
        } else {
            self.writes.increment();
            self.store.frames().write(address, line.data.bytes());
        }
        let Step::Sends(sends) = step else { return Err("a memory's table made a message wait".to_owned()) };
        Ok(sends.into_iter().next())
    }
}

/// Sends each answer to the one who asked.
async fn answer(done: Inlet<Msg<LINE>>, outlets: Vec<(Node, Outlet<Packet>)>) {
    loop {
        let msg = done.recv(Lane::Reply).await;
        let (_, to) = outlets.iter().find(|(node, _)| *node == msg.to).expect("who asked is connected");
        to.send(lane(&msg), msg.into(), bytes(&msg)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_packs_its_bytes_and_finds_them_again() {
        let channel = Channel { number: 3, of: 16, interleave: 128 };
        let addresses = [3 * 128, 3 * 128 + 127, 19 * 128 + 64, (5 * 16 + 3) * 128];
        let inside = addresses.map(|address| channel.inside(PhysAddr(address)).0);
        assert_eq!(inside, [0, 127, 128 + 64, 5 * 128]);
        assert_eq!(inside.map(|address| channel.outside(PhysAddr(address)).0), addresses);
    }
}
