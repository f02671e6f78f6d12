//! Atomic accesses on their way: performed in the cache where everybody meets, or passed on to it and back.

use super::{Cache, NOBODY};
use crate::bank::Offer;
use interconnect::Packet;
use mem::{Block, Seen};
use protocol::{Impossible, Kind, Msg, Stamps};

impl Cache {
    /// Performs the oldest atomic access if its line is here, and has the line brought here otherwise. Says whether it did
    /// anything. What it does to the line are steps of the protocol: a read, and a write that nothing can come before.
    pub(super) fn atomic(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(Packet { msg, atomic: Some(atomic), .. }) = self.atomics.front().copied() else { return Ok(false) };
        if let Some(old) = self.bank.whole(msg.line) {
            let new = atomic.apply(&old, &msg.data);
            if !self.bank.at_once(&Msg::new(self.me, self.me, Kind::Write, msg.line, new))? {
                return Ok(false);
            }
            let found = Block::of(old, msg.data.mask());
            if let Some(observer) = &self.observer {
                observer.tell(msg.line, Seen::Changed { found, new });
            }
            let answer = Msg { of: msg.of, ..Msg::new(self.me, msg.from, Kind::Data, msg.line, found) };
            self.to.send(Packet { atomic: Some(atomic), ..answer.into() });
            self.atomics.pop_front();
            return Ok(true);
        }
        // What was fetched for it may have had to go again before its turn came.
        if self.bank.is_busy(msg.line) {
            return Ok(false);
        }
        let fetch = Msg::new(self.me, self.me, Kind::Read, msg.line, Block::EMPTY);
        Ok(self.bank.offer(fetch)? == Offer::Taken)
    }

    /// Sends the first atomic access that is to be performed elsewhere on its way, once nothing of its line is held here.
    pub(super) fn atomic_passes(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(packet) = self.passing.front().copied() else { return Ok(false) };
        let msg = packet.msg;
        if !self.bank.at_once(&Msg::new(NOBODY, self.me, Kind::Invalidate, msg.line, Block::EMPTY))? {
            return Ok(false);
        }
        self.passing.pop_front();
        let of = self.top.is_none().then_some(msg.from);
        let msg = Msg { from: self.me, to: *self.homes.of(msg.line.0), of, ..msg };
        self.to.send(Packet { msg, ..packet });
        Ok(true)
    }

    /// Hands on what an atomic access found, once nothing older of its line is held here and it is no earlier than the access.
    pub(super) fn atomic_returns(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        let Some(packet) = self.returning.front().copied() else { return Ok(false) };
        let msg = packet.msg;
        let stamps = Stamps::now(msg.stamps.wts);
        let forget = Msg { stamps, ..Msg::new(NOBODY, self.me, Kind::Invalidate, msg.line, Block::EMPTY) };
        if !self.bank.at_once(&forget)? {
            return Ok(false);
        }
        self.returning.pop_front();
        match &mut self.top {
            Some(top) => {
                let answer = top.front.changed(&msg, now);
                top.reply(answer);
            }
            None => {
                let to = msg.of.expect("an atomic access is passed on for somebody");
                self.to.send(Packet { msg: Msg { from: self.me, to, of: None, ..msg }, ..packet });
            }
        }
        Ok(true)
    }
}
