//! Atomic accesses on their way: shown to their line, which performs them or passes them on, and back up.
//!
//! Where an atomic access is performed, and what has to go first, is the affair of the tables (`Modify`, `Modified`). The cache keeps those that wait, works
//! out what becomes of the bytes where one is performed, and has a line brought if its table says so.

use super::Cache;
use crate::bank::Meets;
use interconnect::Packet;
use mem::Seen;
use protocol::{Impossible, Kind, Msg};

impl Cache {
    /// Shows its line the oldest atomic access whose line is at home here or below, or else (`away`) at a peer. Says whether it did anything.
    pub(super) fn atomic(&mut self, away: bool) -> Result<bool, Box<Impossible>> {
        let queue = if away { &self.away } else { &self.atomics };
        let Some(packet) = queue.front().copied() else { return Ok(false) };
        let Packet { msg, atomic: Some(atomic), .. } = packet else { return Ok(false) };
        let (shown, changed) = match self.bank.meets(&msg) {
            Meets::Waits => return Ok(false),
            Meets::Brings => return self.bank.bring(&msg),
            Meets::Performs(held) => {
                let (found, new) = (held.only(msg.data.mask()), atomic.apply(held.bytes(), &msg.data));
                (Msg { data: new, ..msg }, Some(Seen::Changed { found, new }))
            }
            Meets::Goes => (msg, None),
        };
        if !self.bank.at_once(&shown)? {
            return Ok(false);
        }
        if let (Some(observer), Some(changed)) = (&self.observer, changed) {
            observer.tell(self.place_of(msg.line), changed);
        }
        self.send_atomic(packet);
        if away {
            self.away.pop_front()
        } else {
            self.atomics.pop_front()
        };
        Ok(true)
    }

    /// Shows its line the oldest answer to an atomic access, and hands it on once the line has taken it.
    pub(super) fn atomic_returns(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        let Some(packet) = self.returning.front().copied() else { return Ok(false) };
        if !self.bank.at_once(&packet.msg)? {
            return Ok(false);
        }
        self.returning.pop_front();
        let Some(top) = &mut self.top else {
            self.send_atomic(packet);
            return Ok(true);
        };
        for told in self.bank.out.extract_if(.., |send| send.kind == Kind::Modified) {
            let answer = top.front.changed(&told, now);
            top.reply(answer);
        }
        Ok(true)
    }

    /// Sends what a line has made of an atomic access, or of its answer.
    fn send_atomic(&mut self, packet: Packet) {
        let is_atomic = |send: &mut Msg<{ mem::LINE }>| matches!(send.kind, Kind::Modify | Kind::Modified);
        for msg in self.bank.out.extract_if(.., is_atomic) {
            self.to.send(Packet { msg, ..packet });
        }
    }
}
