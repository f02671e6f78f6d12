//! Units of a resource: space in a queue, miss registers, ports of a bank.
//!
//! A ticket counter and an eventcount (Reed and Kanodia's sequencer) make the order fair without a list of waiters. The
//! holder of ticket n may proceed when n + 1 units have become available, however many contexts ask later. So a sender
//! that found a queue full is never overtaken, and no sender starves.

use crate::{
    context::Scope,
    core::Moment,
    eventcount::{EventCount, Reason},
    name::Name,
    stats::Counter,
};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// A resource of a fixed number of units. Clones are handles to the same units.
#[derive(Clone)]
pub struct Credits(Rc<Inner>);

struct Inner {
    units: u64,
    /// Number of tickets issued.
    tickets: Cell<u64>,
    /// Number of units returned.
    returned: EventCount,
    /// Advanced with `returned`, for an element that waits for space in several places.
    bell: RefCell<Option<EventCount>>,
    /// Tickets of contexts that stopped waiting. When such a ticket's turn comes, its unit passes on to the next
    /// ticket.
    abandoned: RefCell<Vec<u64>>,
    scope: Scope,
    waited: Counter,
}

impl Credits {
    pub(crate) fn new(scope: &Scope, units: u64) -> Credits {
        assert!(units > 0, "'{}' has no units: a context that acquires one would wait for ever", scope.path());
        Credits(Rc::new(Inner {
            units,
            tickets: Cell::new(0),
            returned: scope.eventcount_for("room", Reason::Resource),
            bell: RefCell::default(),
            abandoned: RefCell::default(),
            scope: scope.clone(),
            waited: scope.counter("wait_cycles"),
        }))
    }

    /// Number of units available now.
    #[inline]
    pub fn available(&self) -> u64 {
        (self.0.units + self.0.returned.count()).saturating_sub(self.0.tickets.get())
    }

    /// Takes a unit if one is available and no earlier context waits for it.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        let available = self.available() > 0;
        if available {
            self.0.tickets.set(self.0.tickets.get() + 1);
        }
        available
    }

    /// Takes a unit, waiting in ticket order.
    pub async fn acquire(&self) {
        if self.try_acquire() {
            return;
        }
        let ticket = Ticket { credits: self, number: self.0.tickets.get() };
        self.0.tickets.set(ticket.number + 1);
        let since = self.0.scope.now().0;
        self.0.returned.wait(ticket.number + 1 - self.0.units).await;
        std::mem::forget(ticket);
        self.0.waited.add(self.0.scope.now().0 - since);
    }

    /// Declares that the running context returns units, for reports on stuck runs. Not needed once it has returned one.
    pub fn will_release(&self) {
        self.expect_from(self.0.scope.core.running().who);
    }

    /// Returns a unit.
    pub fn release(&self) {
        self.release_by(self.0.returned.0.core.running());
    }

    /// Returns a unit; `moment` says which context caused it and when.
    pub(crate) fn release_by(&self, moment: Moment) {
        self.0.returned.0.advance_by(moment);
        if let Some(bell) = &*self.0.bell.borrow() {
            bell.advance();
        }
        if !self.0.abandoned.borrow().is_empty() {
            self.pass_on();
        }
    }

    /// Returns the units of abandoned tickets whose turn has come.
    #[cold]
    fn pass_on(&self) {
        let gone = |credits: &Inner| {
            let reached = credits.units + credits.returned.count();
            let mut abandoned = credits.abandoned.borrow_mut();
            let found = abandoned.iter().position(|ticket| *ticket < reached);
            found.map(|at| abandoned.swap_remove(at))
        };
        while gone(&self.0).is_some() {
            self.0.returned.advance();
        }
    }

    /// From now on, also advances `bell` whenever a unit is returned; `None` stops that.
    pub(crate) fn ring(&self, bell: Option<&EventCount>) {
        self.0.bell.replace(bell.cloned());
    }

    /// Records which context returns units, for a report on a deadlock.
    #[inline]
    pub(crate) fn expect_from(&self, who: Name) {
        self.0.returned.0.expected.set(who);
    }

    /// The eventcount on which contexts wait for a unit.
    pub(crate) fn room(&self) -> &EventCount {
        &self.0.returned
    }
}

/// An outstanding ticket. Dropping it marks the ticket as abandoned.
struct Ticket<'a> {
    credits: &'a Credits,
    number: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.credits.0.abandoned.borrow_mut().push(self.number);
        self.credits.pass_on();
    }
}
