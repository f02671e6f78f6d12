//! The part of a process that runs on one core.

use super::software::State;
use cpu::{Executed, Fetch, Program};
use engine::Time;
use std::{cell::RefCell, rc::Rc};

/// The threads of one core; the core fetches their instructions here.
pub struct Guest {
    pub(super) state: Rc<RefCell<State>>,
    /// Index of the core's first hardware thread among those of all cores.
    pub(super) first: usize,
}

impl Program for Guest {
    fn next(&mut self, thread: usize, quiet: bool, executed: &mut Executed, now: Time) -> Fetch {
        self.state.borrow_mut().next(self.first + thread, quiet, executed, now)
    }

    /// Nothing to do here: the store took effect when the cache performed it ([`Software::perform`](super::Software)).
    /// A core must not see its own store after other cores already see a later one.
    fn performed(&mut self, _: usize) {}
}
