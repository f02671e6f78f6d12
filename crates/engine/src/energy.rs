//! Energy, as `[giles]` section 2.3.2 accounts for it: a passive part proportional to time and an active part for each
//! event. [`Statistics::energy`](crate::Statistics::energy) adds both up for any part of the system, by its path.
//!
//! The thesis charges the passive part for cycles spent waiting and includes leakage of busy cycles in the active
//! profile. Here leakage is charged in every cycle and an event costs only what it adds, as published per-event figures
//! are given. Energy is a whole number of femtojoules, so that sums do not depend on their order.

use crate::{core::Core, stats::Value, time::Time};
use std::{cell::Cell, rc::Rc};

/// The energy account of an element.
#[derive(Clone)]
pub struct Energy(pub(crate) Rc<Account>);

impl Energy {
    /// Charges `femtojoules` for an event.
    #[inline]
    pub fn spend(&self, femtojoules: u64) {
        self.0.active.set(self.0.active.get() + femtojoules);
    }
}

pub(crate) struct Account {
    core: Rc<Core>,
    /// Femtojoules per cycle.
    passive: u64,
    active: Cell<u64>,
    /// The cycle in which this region began.
    start: Cell<u64>,
}

impl Account {
    pub(crate) fn new(core: Rc<Core>, passive: u64) -> Account {
        let start = Cell::new(core.now.get());
        Account { core, passive, active: Cell::new(0), start }
    }

    pub(crate) fn read(&self, end: Time) -> Value {
        let cycles = self.core.clock.first_at(end).saturating_sub(self.start.get());
        Value::Energy { passive: cycles * self.passive, active: self.active.get() }
    }

    pub(crate) fn reset(&self, end: Time) {
        self.start.set(self.core.clock.first_at(end));
        self.active.set(0);
    }
}
