//! A journal: what elements of a model tell an auditor outside it.
//!
//! A link takes part in a run: it has a latency, its mail begins windows, contexts wait at its ends. A journal does not. What elements
//! write into it during a round is read while the next one runs, outside simulated time, and nothing in the model can read it. So a run
//! with an auditor is the run without one, to the cycle and to the byte. What an auditor finds ends the run, at the same round in
//! every run, whatever the number of threads.

use crate::{context::Scope, core::Core, time::Time};
use std::{
    cell::RefCell,
    rc::{Rc, Weak},
    sync::{Arc, Mutex, PoisonError},
};

/// Something that was written into a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// When.
    pub time: Time,
    /// By which pen.
    pub source: u32,
    /// What.
    pub item: T,
}

/// Reads a journal and says what is wrong.
pub trait Auditor<T>: Send {
    /// Takes what was written in a round, in the order of times, at one time in the order of sources, and of one source in the
    /// order in which it wrote. An error ends the run as failed, at that time.
    fn audit(&mut self, entries: &mut dyn Iterator<Item = Entry<T>>) -> Result<(), (Time, String)>;
}

/// One round's entries are written while the last one's are read.
struct Pages<T>([Mutex<Vec<Entry<T>>>; 2]);

impl<T> Pages<T> {
    fn with<R>(&self, parity: usize, f: impl FnOnce(&mut Vec<Entry<T>>) -> R) -> R {
        f(&mut self.0[parity].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A journal of a model; [`Model::audit`](crate::Model::audit) says who reads it.
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

/// Writes into a journal; made by [`Scope::pen`]. Clones are one source.
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
    /// Of this round.
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

    /// Writes something down, as of now.
    pub fn write(&self, item: T) {
        let Inner { source, core, entries, own, .. } = &*self.0;
        let mut entries = entries.borrow_mut();
        if entries.is_empty() {
            core.shared.written.borrow_mut().push(own.upgrade().expect("a pen in use is alive"));
        }
        entries.push(Entry { time: core.time(), source: *source, item });
    }
}

/// A pen that has written something in this round.
pub(crate) trait Written {
    /// Hands that over to the journal.
    fn hand_over(&self, parity: usize);
}

impl<T> Written for Inner<T> {
    fn hand_over(&self, parity: usize) {
        self.journal.0.with(parity, |page| page.append(&mut self.entries.borrow_mut()));
    }
}

/// A journal with its auditor.
pub(crate) trait Audit: Send {
    /// Reads what was written in the last round of this parity; an error has the auditor's name.
    fn read(&mut self, parity: usize) -> Result<(), Finding>;
}

/// What an auditor has found.
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
    /// Kept for its room.
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
        // What one source wrote is in order already: only a stable sort keeps it so.
        self.page.sort_by_key(|entry| (entry.time, entry.source));
        let found = self.auditor.audit(&mut self.page.drain(..));
        found.map_err(|(time, message)| Finding { time, auditor: self.name.clone(), message })
    }
}
