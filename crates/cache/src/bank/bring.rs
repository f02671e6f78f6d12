//! Accesses that are performed in this cache and so need their line here: looks the line up, and fetches it for them.

use super::{Bank, Offer, stands};
use mem::{Block, LINE};
use protocol::{Cell, Impossible, Msg, perform};

/// The state in which an access would find its line now.
#[derive(Clone, Copy, Debug)]
pub enum Meets {
    /// The line has a transaction that must complete first.
    Waits,
    /// The line has to be fetched first ([`Bank::bring`]).
    Brings,
    /// The line's bytes, which the atomic access changes here.
    Performs(Block<LINE>),
    /// The line accepts the message as it is.
    Goes,
}

impl Bank {
    pub fn meets(&self, msg: &Msg<LINE>) -> Meets {
        let line = self.line(self.find(msg.line), msg.line);
        match self.look(line, msg) {
            Some((_, Cell::Stall)) => Meets::Waits,
            Some((_, cell)) if self.table.brings(cell) => Meets::Brings,
            Some((_, cell)) if self.table.performs(cell) => Meets::Performs(line.data),
            _ => Meets::Goes,
        }
    }

    /// Fetches the line of an access, unless it has a transaction in flight or messages wait for it. Returns whether
    /// the fetch was started.
    pub fn bring(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        if self.is_busy(msg.line) {
            return Ok(false);
        }
        // Such a cell does not change the line and does not count as a use of it.
        let mut line = *self.line(self.find(msg.line), msg.line);
        let (met, mut sends) = (self.look(&line, msg), Vec::new());
        if let Some((event, _)) = met {
            self.steps.count(line.state.into(), event.into());
        }
        let (controller, place) = (&*self.spec.controller, stands(&self.spec, *self.spec.below.of(msg.line.0)));
        perform(controller, self.table, place, &mut line, msg, met, &mut self.log, &mut sends)?;
        let own = sends.pop().expect("a cell that brings a line sends its controller a request");
        Ok(self.offer(own)? == Offer::Taken)
    }
}
