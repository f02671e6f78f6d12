//! How a bank accepts a message: it is served now, queued, or refused.

use super::{Bank, Wait};
use mem::{Block, LINE};
use protocol::{Impossible, Kind, Lane, Msg};

/// The outcome of offering a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Answered, or waiting here.
    Taken,
    /// No space to wait: offer it again later.
    Refused,
    /// There is no space to wait: the message has been refused, and its sender will repeat it.
    Nacked,
}

/// The outcome of a request when it first reached its line: answered here, sent below, or waiting for a transaction
/// that was already in flight.
#[derive(Clone, Copy)]
enum Came {
    Hit,
    Miss,
    Merged,
}

impl Bank {
    /// Offers the bank a message. The messages it causes are put in [`out`](Bank::out).
    pub fn offer(&mut self, msg: Msg<LINE>) -> Result<Offer, Box<Impossible>> {
        self.offer_of(msg, 1)
    }

    /// Offers the bank a message on behalf of `lanes` lanes of a requester.
    pub fn offer_of(&mut self, msg: Msg<LINE>, lanes: u8) -> Result<Offer, Box<Impossible>> {
        if msg.lane() == Lane::Reply {
            return match self.attempt(&msg)? {
                Ok(()) => Ok(Offer::Taken),
                Err(_) => Err(Impossible::stalled_answer(self.table, self.state(msg.line), msg.kind)),
            };
        }
        let own_place = self.is_away(msg.line) && self.has_too_many_of_peers();
        // Only requests are limited: probes, and messages that return from above, must always get through.
        if msg.lane() == Lane::Request && (own_place || !self.has_places(lanes)) {
            // The message can be served now only if no earlier message waits in its queue.
            if self.waiting.is_awaited(self.slot(&msg)) || self.attempt(&msg)?.is_err() {
                return Ok(self.turn_away(&msg));
            }
            self.count(&msg, lanes, if self.began { Came::Miss } else { Came::Hit });
            return Ok(Offer::Taken);
        }
        if self.waiting.is_awaited(self.slot(&msg)) {
            if msg.lane() == Lane::Request && self.waiting.len(self.slot(&msg)) >= self.spec.join_queue {
                self.join_full.increment();
                return Ok(self.turn_away(&msg));
            }
            self.count(&msg, lanes, Came::Merged);
            self.park(msg, lanes);
            return Ok(Offer::Taken);
        }
        match self.attempt(&msg)? {
            Ok(()) => self.count(&msg, lanes, if self.began { Came::Miss } else { Came::Hit }),
            Err(why) => {
                self.count(&msg, lanes, if matches!(why, Wait::Line) { Came::Merged } else { Came::Miss });
                self.park(msg, lanes);
                self.register(self.slot(&msg), why);
            }
        }
        Ok(Offer::Taken)
    }

    /// Refuses a request that has no space to wait. Some senders answer a probe about a line only when they know the
    /// outcome of their own request for it. Such a request must not stay on the wire, because messages behind it may be
    /// ones that a probe of this cache waits for.
    fn turn_away(&mut self, msg: &Msg<LINE>) -> Offer {
        if !self.nacks {
            return Offer::Refused;
        }
        self.out.push(Msg::new(self.spec.me, msg.from, Kind::Nack, msg.line, Block::EMPTY));
        Offer::Nacked
    }

    /// Counts the last request as one that missed in the requester's TLB; returns whether it also missed here.
    pub fn count_tlb_missed(&self) -> bool {
        self.tlb_missed.iter().for_each(|counts| counts.add(0, self.last, 1));
        self.tlb_missed.is_some() && self.last == Came::Miss as usize
    }

    /// Counts a request from above.
    fn count(&mut self, msg: &Msg<LINE>, lanes: u8, came: Came) {
        if msg.lane() == Lane::Request {
            self.last = came as usize;
            let writes = !msg.data.mask().is_empty() || matches!(msg.kind, Kind::GetX | Kind::Upgrade);
            self.accesses.add(usize::from(writes), came as usize, lanes.into());
        }
    }
}
