//! Page tables that a driver keeps, and the faults that it answers.
//!
//! Each GPU has a table of its own: an address space. A walk that finds no page, or one that may not be written, is a fault: its
//! question is put aside until the driver has answered, and no walker waits for that. Of questions for one page the driver hears once.

use crate::{PageSize, Rights, Translation};
use engine::EventCount;
use mem::{Asid, PhysAddr, VirtAddr};
use rustc_hash::FxHashMap;
use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

/// An access that a table does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub asid: Asid,
    /// The first address of the page.
    pub page: VirtAddr,
    pub write: bool,
}

/// The driver's answer to a fault: what the table has now, or why the access can't be done.
pub(crate) type FaultAnswer = (Asid, VirtAddr, Result<(), String>);

/// The tables. Clones are the same.
#[derive(Clone, Default)]
pub struct DriverTables(Rc<Inner>);

#[derive(Default)]
struct Inner {
    /// Looked up, never walked.
    pages: RefCell<FxHashMap<(Asid, VirtAddr), Translation>>,
    /// Faults that have not been answered, and whether a write is among those of a page.
    open: RefCell<BTreeMap<(Asid, VirtAddr), bool>>,
    /// Those of which the driver has not heard.
    news: RefCell<Vec<Fault>>,
    answers: RefCell<VecDeque<FaultAnswer>>,
    /// Rung when the driver has answered.
    answered: OnceCell<EventCount>,
    /// Called when there is news.
    listener: OnceCell<Box<dyn Fn()>>,
}

impl DriverTables {
    /// `listener` is called when there is a fault of which the driver has not heard.
    pub fn listen(&self, listener: impl Fn() + 'static) {
        assert!(self.0.listener.set(Box::new(listener)).is_ok(), "tables have one driver");
    }

    /// Enters a page. What was there before must have been [taken out](Self::remove), unless only rights have grown.
    pub fn insert(&self, asid: Asid, page: VirtAddr, frame: PhysAddr, writable: bool) {
        let rights = Rights { write: writable, execute: true };
        let translation = Translation { page, frame, size: PageSize::Small, rights };
        self.0.pages.borrow_mut().insert((asid, page), translation);
    }

    /// Takes a page out; says where it was. Those who remember it are to be told before its frame is used otherwise.
    pub fn remove(&self, asid: Asid, page: VirtAddr) -> Option<PhysAddr> {
        self.0.pages.borrow_mut().remove(&(asid, page)).map(|found| found.frame)
    }

    /// The faults of which the driver has not heard, in their order.
    pub fn take_faults(&self) -> Vec<Fault> {
        self.0.news.take()
    }

    /// How many pages of an address space have faulted without an answer so far.
    pub fn open_faults(&self, asid: Asid) -> usize {
        self.0.open.borrow().range((asid, VirtAddr(0))..=(asid, VirtAddr(u64::MAX))).count()
    }

    /// The driver has done what it could about a fault.
    pub fn answer(&self, asid: Asid, page: VirtAddr, answer: Result<(), String>) {
        self.0.open.borrow_mut().remove(&(asid, page));
        self.0.answers.borrow_mut().push_back((asid, page, answer));
        if let Some(bell) = self.0.answered.get() {
            bell.advance();
        }
    }

    pub(crate) fn answered_at(&self, bell: &EventCount) {
        assert!(self.0.answered.set(bell.clone()).is_ok(), "one IOMMU walks these tables");
    }

    pub(crate) fn next_answer(&self) -> Option<FaultAnswer> {
        self.0.answers.borrow_mut().pop_front()
    }

    /// The page of an address, if it is there and may be accessed so.
    pub(crate) fn find(&self, asid: Asid, address: VirtAddr, write: bool) -> Option<Translation> {
        let page = address.align_down(PageSize::Small.bytes());
        self.0.pages.borrow().get(&(asid, page)).copied().filter(|found| found.rights.write || !write)
    }

    /// A walk has found no page: the driver is told, unless it knows.
    pub(crate) fn fault(&self, asid: Asid, address: VirtAddr, write: bool) {
        let page = address.align_down(PageSize::Small.bytes());
        let mut open = self.0.open.borrow_mut();
        let known = open.get(&(asid, page)).copied();
        if known.is_some_and(|known| known || !write) {
            return;
        }
        open.insert((asid, page), write);
        drop(open);
        self.0.news.borrow_mut().push(Fault { asid, page, write });
        if let Some(listener) = self.0.listener.get() {
            listener();
        }
    }
}
