//! Accesses that need a line here, whole or to write: what they would meet, and having the line brought.

use super::{Bank, Offer, stands};
use mem::{Block, LINE};
use protocol::{Cell, Impossible, Msg, perform};

/// What an access would meet now.
#[derive(Clone, Copy, Debug)]
pub enum Meets {
    /// Something that must end first.
    Waits,
    /// The line has to be brought first ([`Bank::bring`]).
    Brings,
    /// These bytes, which it is to change as an atomic access.
    Performs(Block<LINE>),
    /// A line that takes it as it is.
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

    /// Has the line of an access brought, unless something is under way or waits for it already. Says whether it could.
    pub fn bring(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        if self.is_busy(msg.line) {
            return Ok(false);
        }
        // Such a cell leaves the line as it is, and is no use of it.
        let mut line = *self.line(self.find(msg.line), msg.line);
        let (met, mut sends) = (self.look(&line, msg), Vec::new());
        if let Some((event, _)) = met {
            self.steps.count(line.state.into(), event.into());
        }
        let (controller, place) = (&*self.spec.controller, stands(&self.spec, msg.line));
        perform(controller, self.table, place, &mut line, msg, met, &mut self.log, &mut sends)?;
        let own = sends.pop().expect("a cell that brings a line sends its controller a request");
        Ok(self.offer(own)? == Offer::Taken)
    }
}
