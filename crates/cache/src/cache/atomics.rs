//! Atomic accesses: the line performs them or passes them down, and their answers travel back up.
//!
//! The tables (`Modify`, `Modified`) decide where an atomic access is performed and what must happen first. The cache
//! queues waiting accesses, computes the new bytes where one is performed, and fetches the line if the table says so.

use super::Cache;
use crate::bank::Meets;
use interconnect::Packet;
use mem::Seen;
use protocol::{Impossible, Kind, Msg};

impl Cache {
    /// Delivers the oldest atomic access to its line: from the queue of lines whose home is a peer if `away`, else
    /// from the queue of lines whose home is here or below. Returns whether it did anything.
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

    /// Delivers the oldest answer to an atomic access to its line and, once the line has accepted it, passes it on.
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

    /// Sends the `Modify` and `Modified` messages that a line has produced.
    fn send_atomic(&mut self, packet: Packet) {
        let is_atomic = |send: &mut Msg<{ mem::LINE }>| matches!(send.kind, Kind::Modify | Kind::Modified);
        for msg in self.bank.out.extract_if(.., is_atomic) {
            self.to.send(Packet { msg, ..packet });
        }
    }
}
