//! Logical time starts anew where it has run over (`[halcone 3.2.6]`).
//!
//! A home whose times have come to their end starts anew by itself and tells the caches over it, behind all answers from before; they forget every
//! lease and tell the caches over them in turn. So to each cache whatever it is answered is from before or from after, and
//! copies that are still read meanwhile are read before, in logical time. Only requests can be late: those that carry times from before
//! forget them on arrival.

use super::{Cache, NOBODY};
use engine::Lane;
use interconnect::{HEADER, Packet, WHOLE};
use mem::{Block, LINE, LineAddr, Request, Stamp, era_and_time, stamp_of};
use protocol::{Impossible, Kind, Msg, Node, Stamps};

impl Cache {
    /// Logical time has started anew at a memory, says the one below. Others may have said so before, or will, of other lines of that memory.
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

    /// Tells a line's home that it was evicted. The lease on which it was held is of the home's present only if that has not started anew since.
    pub(super) fn tell_evicted(&self, msg: Msg<LINE>) {
        let era = self.eras.get(&(msg.to, msg.to)).copied().unwrap_or(0);
        self.to.to(msg.to).send(Lane::Request, Packet { era, ..self.packet(msg) }, HEADER);
    }

    /// A time of this cache for whoever checks the run. The memory of a line says when it was written, so its beginnings count, and no other's.
    pub(super) fn seen_at(&self, line: LineAddr, time: u32) -> Stamp {
        let place = (*self.homes.of(line.0), *self.memories.of(line.0));
        stamp_of(self.eras.get(&place).copied().unwrap_or(0), time)
    }

    /// A request as of this cache's time; `None` if its requester has heard of a new beginning that this cache has yet to hear of.
    pub(super) fn in_our_time(&self, request: Request) -> Option<Request> {
        let (era, time) = era_and_time(request.stamp);
        let time = if era == self.to.era { time } else { 0 };
        (era <= self.to.era).then_some(Request { stamp: time.into(), ..request })
    }

    /// A message from above as of this cache's time.
    pub(super) fn of_our_time(&self, packet: &Packet) -> Msg<LINE> {
        of_era(packet, self.to.era)
    }
}

/// A request, without its times if they are from before time started anew.
fn of_era(packet: &Packet, era: u32) -> Msg<LINE> {
    let stamps = if packet.era == era { packet.msg.stamps } else { Stamps::ZERO };
    Msg { stamps, ..packet.msg }
}
