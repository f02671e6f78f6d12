//! Restart of logical time when timestamps overflow (`[halcone 3.2.6]`).
//!
//! A home whose timestamps overflow restarts its time and notifies the caches above it, in order behind all earlier
//! answers. These drop every lease and notify the caches above them in turn. So every answer that a cache receives is
//! clearly from before or after the restart, and copies read in the meantime count as read before it in logical time.
//! Only requests can arrive late: timestamps from before the restart are dropped on arrival.

use super::{Cache, NOBODY};
use engine::Lane;
use interconnect::{HEADER, Packet, WHOLE};
use mem::{Block, LINE, LineAddr, Request, Stamp, era_and_time, stamp_of};
use protocol::{Impossible, Kind, Msg, Node, Stamps};

impl Cache {
    /// The node `below` reports that the logical time of `memory` has restarted. Other nodes below report it too, for
    /// their own lines of that memory.
    pub(super) fn start_anew(&mut self, below: Node, memory: Node) -> Result<(), Box<Impossible>> {
        self.bank.start_anew(NOBODY)?;
        for packet in self.atomics.iter_mut().chain(&mut self.away).chain(&mut self.returning) {
            packet.msg.stamps = Stamps::ZERO;
        }
        self.restart_order();
        *self.eras.entry((below, memory)).or_default() += 1;
        self.to.era += 1;
        if let Some(top) = &mut self.top {
            top.era = self.to.era;
        }
        for node in &self.above {
            let reset = Msg { of: Some(memory), ..Msg::new(self.me, *node, Kind::Reset, WHOLE, Block::EMPTY) };
            self.to.to(*node).send(Lane::Reply, reset.into(), HEADER);
        }
        Ok(())
    }

    /// Tells a line's home of its eviction. The packet carries the home's era: a lease from before a restart is void.
    pub(super) fn tell_evicted(&self, msg: Msg<LINE>) {
        let era = self.eras.get(&(msg.to, msg.to)).copied().unwrap_or(0);
        self.to.to(msg.to).send(Lane::Request, Packet { era, ..self.packet(msg) }, HEADER);
    }

    /// A time of this cache for the golden image, with the era of the memory that gives the line its timestamps.
    pub(super) fn seen_at(&self, line: LineAddr, time: u32) -> Stamp {
        let place = (*self.homes.of(line.0), *self.memories.of(line.0));
        stamp_of(self.eras.get(&place).copied().unwrap_or(0), time)
    }

    /// A request in this cache's era; `None` if the requester has learnt of a restart that this cache has not learnt of
    /// yet.
    pub(super) fn in_our_time(&self, request: Request) -> Option<Request> {
        let (era, time) = era_and_time(request.stamp);
        let time = if era == self.to.era { time } else { 0 };
        (era <= self.to.era).then_some(Request { stamp: time.into(), ..request })
    }

    /// A message from above in this cache's era.
    pub(super) fn of_our_time(&self, packet: &Packet) -> Msg<LINE> {
        of_era(packet, self.to.era)
    }
}

/// A message, without its timestamps if they are from another era.
fn of_era(packet: &Packet, era: u32) -> Msg<LINE> {
    let stamps = if packet.era == era { packet.msg.stamps } else { Stamps::ZERO };
    Msg { stamps, ..packet.msg }
}
