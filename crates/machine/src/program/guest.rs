//! What a core runs.

use super::software::State;
use cpu::{Executed, Fetch, Program};
use engine::Time;
use std::{cell::RefCell, rc::Rc};

/// The threads of one core, to be asked for their next instructions.
pub struct Guest {
    pub(super) state: Rc<RefCell<State>>,
    /// The number of the core's first hardware thread among all.
    pub(super) first: usize,
}

impl Program for Guest {
    fn next(&mut self, thread: usize, quiet: bool, executed: &mut Executed, now: Time) -> Fetch {
        self.state.borrow_mut().next(self.first + thread, quiet, executed, now)
    }

    /// Nothing is left to do: the window has known since the cache performed it ([`Software::perform`](super::Software)), for a
    /// core must not go on to see its own store when others already see a later one.
    fn performed(&mut self, _: usize) {}
}
