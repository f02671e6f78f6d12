//! Messages that wait in a bank, and their retries: when the transaction on their line completes, or when a way, an
//! MSHR or a place in the write-back queue becomes free.

use super::{Bank, Offer, Slot, Wait};
use mem::{LINE, LineAddr};
use protocol::{Impossible, Msg, Row};

/// The queues of a line, in the order in which they are retried.
pub(super) fn slots(line: LineAddr) -> [Slot; 3] {
    [Row::Probe, Row::Order, Row::Request].map(|row| slot_of(line, row))
}

fn slot_of(line: LineAddr, row: Row) -> Slot {
    let bits = match row {
        Row::Request => 0,
        Row::Probe => 1,
        Row::Order => 2,
    };
    LineAddr(line.0 | bits)
}

/// How many of `all` MSHRs, or places to wait, lines with a peer as home may take: all but a quarter, and at least one
/// less than all. One would be enough for requests of peers to get through, but they, and those for the own memory,
/// would be served one after another while the others wait for peers.
fn most_of_peers(all: usize) -> usize {
    all - (all / 4).max(1)
}

impl Bank {
    /// The queue that a message waits in.
    pub(super) fn slot(&self, msg: &Msg<LINE>) -> Slot {
        if self.apart { slot_of(msg.line, msg.row()) } else { msg.line }
    }

    /// Whether a probe waits for a line.
    pub fn is_wanted(&self, line: LineAddr) -> bool {
        self.waiting.is_awaited(slot_of(line, Row::Probe))
    }

    /// Whether a waiting message, or the next one of a sweep, can be tried.
    pub fn has_work(&self) -> bool {
        self.waiting.next().is_some()
            || !self.sweep.is_empty()
            || self.has_mshr_for_another()
            || !self.need_write_back.is_empty()
                && self.need_write_back.iter().any(|(_, aside)| self.has_room_for(*aside))
    }

    /// Whether there is certainly nothing to do without a new message.
    pub fn is_idle(&self) -> bool {
        self.waiting.next().is_none()
            && self.sweep.is_empty()
            && self.need_mshr.is_empty()
            && self.need_write_back.is_empty()
            && self.write_backs.is_empty()
            && self.leaving.is_empty()
    }

    pub(super) fn has_mshr_for_another(&self) -> bool {
        !self.need_mshr.is_empty()
            && self.busy < self.spec.mshrs
            && self.need_mshr.iter().any(|line| !self.lacks_mshr(*line))
    }

    /// Retries a waiting message, or delivers the next one of a sweep. Lanes that wait for one line together are
    /// answered together, in one look-up: they were serialised when they came.
    pub fn work(&mut self) -> Result<(), Box<Impossible>> {
        if let Some(line) = self.waiting.take_next().or_else(|| self.next_with_resources()) {
            let Some(&(msg, _)) = self.waiting.first(line) else { return Ok(()) };
            match self.attempt(&msg)? {
                Ok(()) => self.unpark(line),
                Err(why) => self.register(line, why),
            }
            return Ok(());
        }
        let Some(msg) = self.sweep.front().copied() else { return Ok(()) };
        if self.offer(msg)? == Offer::Taken {
            self.sweep.pop_front();
        }
        Ok(())
    }

    /// The first queue whose message waits for an MSHR or a place in the write-back queue that is free now.
    fn next_with_resources(&mut self) -> Option<Slot> {
        if self.busy < self.spec.mshrs
            && let Some(next) = self.need_mshr.iter().position(|line| !self.lacks_mshr(*line))
        {
            return self.need_mshr.remove(next);
        }
        let next = self.need_write_back.iter().position(|(_, aside)| self.has_room_for(*aside))?;
        self.need_write_back.remove(next).map(|(line, _)| line)
    }

    /// Whether a message of `lanes` lanes can wait here. One with more lanes than there are places can wait only
    /// alone.
    pub(super) fn has_places(&self, lanes: u8) -> bool {
        self.waits == 0 || self.waits + usize::from(lanes) <= self.spec.waiting
    }

    pub(super) fn park(&mut self, msg: Msg<LINE>, lanes: u8) {
        self.waiting.park(self.slot(&msg), (msg, lanes));
        self.waits += usize::from(lanes);
        self.waits_away += usize::from(self.is_away(msg.line)) * usize::from(lanes);
        self.parked.set(self.waits as u64);
    }

    pub(super) fn unpark(&mut self, line: LineAddr) {
        let away = self.is_away(line);
        let ((_, lanes), others) = self.waiting.leave(line);
        self.waits -= usize::from(lanes);
        self.waits_away -= usize::from(away) * usize::from(lanes);
        self.parked.set(self.waits as u64);
        if others {
            self.waiting.wake_once_more(line);
        }
    }

    pub(super) fn register(&mut self, line: LineAddr, why: Wait) {
        match why {
            Wait::Line => {}
            Wait::Way => self.need_way.entry(self.array.set(line)).or_default().push(line),
            Wait::Mshr => self.need_mshr.push_back(line),
            Wait::WriteBack(aside) => self.need_write_back.push_back((line, aside)),
        }
    }

    pub(super) fn lacks_mshr(&self, line: LineAddr) -> bool {
        self.busy >= self.spec.mshrs || self.is_away(line) && self.busy_away >= most_of_peers(self.spec.mshrs)
    }

    /// Whether messages about lines with a peer as home have all the places they may take.
    pub(super) fn has_too_many_of_peers(&self) -> bool {
        self.waits_away >= most_of_peers(self.spec.waiting)
    }
}
