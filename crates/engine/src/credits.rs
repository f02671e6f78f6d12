//! Units of a resource: room in a queue, miss registers, ports of a bank.
//!
//! A ticket and an eventcount (Reed and Kanodia's sequencer) make it fair without a line to stand in: who comes n-th may
//! go on when n units have been there, whoever else asks meanwhile. So a sender that found a queue full is never
//! overtaken, and nobody starves.

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

/// So many units of a resource. Clones are handles to the same units.
#[derive(Clone)]
pub struct Credits(Rc<Inner>);

struct Inner {
    units: u64,
    /// How many tickets have been given out.
    tickets: Cell<u64>,
    /// How many units have come back.
    returned: EventCount,
    /// Advanced with `returned`, for an element that waits for room in several places.
    bell: RefCell<Option<EventCount>>,
    /// Tickets of those who gave up waiting; their unit goes on to the next as soon as it is their turn.
    abandoned: RefCell<Vec<u64>>,
    scope: Scope,
    waited: Counter,
}

impl Credits {
    pub(crate) fn new(scope: &Scope, units: u64) -> Credits {
        assert!(units > 0, "'{}' has no units: whoever asks for one would wait for ever", scope.path());
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

    /// How many units are there to be had now.
    #[inline]
    pub fn available(&self) -> u64 {
        (self.0.units + self.0.returned.count()).saturating_sub(self.0.tickets.get())
    }

    /// Takes a unit if one is there and nobody waits for it.
    #[inline]
    pub fn try_acquire(&self) -> bool {
        let available = self.available() > 0;
        if available {
            self.0.tickets.set(self.0.tickets.get() + 1);
        }
        available
    }

    /// Takes a unit, waiting for its turn.
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

    /// Says that the running context is the one that gives a unit back, for reports on runs that do not get on. Once a unit has been
    /// given back that is known anyway.
    pub fn will_release(&self) {
        self.expect_from(self.0.scope.core.running().who);
    }

    /// Gives a unit back.
    pub fn release(&self) {
        self.release_by(self.0.returned.0.core.running());
    }

    /// Gives a unit back, which `moment` brought about.
    pub(crate) fn release_by(&self, moment: Moment) {
        self.0.returned.0.advance_by(moment);
        if let Some(bell) = &*self.0.bell.borrow() {
            bell.advance();
        }
        if !self.0.abandoned.borrow().is_empty() {
            self.pass_on();
        }
    }

    /// Gives back the units whose turn has come but whose owner is gone.
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

    /// From now on, advances `bell` as well whenever a unit comes back, or nothing else.
    pub(crate) fn ring(&self, bell: Option<&EventCount>) {
        self.0.bell.replace(bell.cloned());
    }

    /// Notes who gives units back, for a report on a deadlock.
    #[inline]
    pub(crate) fn expect_from(&self, who: Name) {
        self.0.returned.0.expected.set(who);
    }

    /// The eventcount on which those wait who found no unit.
    pub(crate) fn room(&self) -> &EventCount {
        &self.0.returned
    }
}

/// A place in the line, kept while its owner waits.
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
