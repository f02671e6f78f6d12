//! A journal: what elements of a model report to an auditor outside the model.
//!
//! A link takes part in a run: it has a latency, its mail starts windows, contexts wait at its ends. A journal does
//! not. The auditor reads the entries of a round while the next round runs, outside simulated time, and nothing in the
//! model can read them. So a run with an auditor equals the run without one, to the cycle and to the byte. An auditor's
//! finding ends the run, in the same round for any number of threads.

use crate::{context::Scope, core::Core, time::Time};
use std::{
    cell::RefCell,
    rc::{Rc, Weak},
    sync::{Arc, Mutex, PoisonError},
};

/// An entry of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// When it was written.
    pub time: Time,
    /// The number of the pen that wrote it.
    pub source: u32,
    /// The content.
    pub item: T,
}

/// Reads a journal and reports errors.
pub trait Auditor<T>: Send {
    /// Reads the entries of a round, ordered by time, then by source, then in the order of writing. An error ends the
    /// run as failed, at the time it states.
    fn audit(&mut self, entries: &mut dyn Iterator<Item = Entry<T>>) -> Result<(), (Time, String)>;
}

/// Double-buffered entries: one round's are written while the previous one's are read.
struct Pages<T>([Mutex<Vec<Entry<T>>>; 2]);

impl<T> Pages<T> {
    fn with<R>(&self, parity: usize, f: impl FnOnce(&mut Vec<Entry<T>>) -> R) -> R {
        f(&mut self.0[parity].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A journal of a model; [`Model::audit`](crate::Model::audit) sets its auditor.
pub struct Journal<T>(Arc<Pages<T>>);

impl<T> Default for Journal<T> {
    fn default() -> Journal<T> {
        Journal(Arc::new(Pages([const { Mutex::new(Vec::new()) }; 2])))
    }
}

impl<T> Clone for Journal<T> {
    fn clone(&self) -> Journal<T> {
        Journal(Arc::clone(&self.0))
    }
}

/// Writes into a journal; made by [`Scope::pen`]. Clones share one source number.
pub struct Pen<T>(Rc<Inner<T>>);

impl<T> Clone for Pen<T> {
    fn clone(&self) -> Pen<T> {
        Pen(Rc::clone(&self.0))
    }
}

struct Inner<T> {
    journal: Journal<T>,
    source: u32,
    core: Rc<Core>,
    /// The entries of this round.
    entries: RefCell<Vec<Entry<T>>>,
    own: Weak<Inner<T>>,
}

impl<T: Send + 'static> Pen<T> {
    pub(crate) fn new(journal: &Journal<T>, source: u32, scope: &Scope) -> Pen<T> {
        let (journal, core) = (journal.clone(), Rc::clone(&scope.core));
        let inner =
            |own: &Weak<Inner<T>>| Inner { journal, source, core, entries: RefCell::default(), own: own.clone() };
        Pen(Rc::new_cyclic(inner))
    }

    /// Writes an entry with the current time.
    pub fn write(&self, item: T) {
        let Inner { source, core, entries, own, .. } = &*self.0;
        let mut entries = entries.borrow_mut();
        if entries.is_empty() {
            core.shared.written.borrow_mut().push(own.upgrade().expect("a pen in use is alive"));
        }
        entries.push(Entry { time: core.time(), source: *source, item });
    }
}

/// A pen that has written in this round.
pub(crate) trait Written {
    /// Passes its entries to the journal.
    fn hand_over(&self, parity: usize);
}

impl<T> Written for Inner<T> {
    fn hand_over(&self, parity: usize) {
        self.journal.0.with(parity, |page| page.append(&mut self.entries.borrow_mut()));
    }
}

/// A journal with its auditor.
pub(crate) trait Audit: Send {
    /// Reads the entries of the last round of this parity; an error carries the auditor's name.
    fn read(&mut self, parity: usize) -> Result<(), Finding>;
}

/// An error that an auditor has found.
#[derive(Clone)]
pub(crate) struct Finding {
    pub(crate) time: Time,
    pub(crate) auditor: String,
    pub(crate) message: String,
}

struct Audited<T, A> {
    name: String,
    journal: Journal<T>,
    auditor: A,
    /// Kept between rounds to reuse its allocation.
    page: Vec<Entry<T>>,
}

pub(crate) fn audited<T: Send + 'static>(
    name: String,
    journal: Journal<T>,
    auditor: impl Auditor<T> + 'static,
) -> Box<dyn Audit> {
    Box::new(Audited { name, journal, auditor, page: Vec::new() })
}

impl<T: Send, A: Auditor<T>> Audit for Audited<T, A> {
    fn read(&mut self, parity: usize) -> Result<(), Finding> {
        self.journal.0.with(parity, |page| std::mem::swap(page, &mut self.page));
        // The entries of one source are in order already; a stable sort keeps them so.
        self.page.sort_by_key(|entry| (entry.time, entry.source));
        let found = self.auditor.audit(&mut self.page.drain(..));
        found.map_err(|(time, message)| Finding { time, auditor: self.name.clone(), message })
    }
}
