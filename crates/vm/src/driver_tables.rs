//! Page tables that a driver keeps, and the faults that it handles.
//!
//! Each GPU has a table of its own, an address space. A walk that finds no page, or finds a read-only page for a write,
//! is a fault: its request is parked until the driver has answered, and occupies no walker. The driver is notified once
//! per page.

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

/// The driver's answer to a fault: handled, or the reason why the access is not possible.
pub(crate) type FaultAnswer = (Asid, VirtAddr, Result<(), String>);

/// The tables. Clones share them.
#[derive(Clone, Default)]
pub struct DriverTables(Rc<Inner>);

#[derive(Default)]
struct Inner {
    /// Never iterated.
    pages: RefCell<FxHashMap<(Asid, VirtAddr), Translation>>,
    /// Pages with a pending fault, and whether a write is among them.
    open: RefCell<BTreeMap<(Asid, VirtAddr), bool>>,
    /// Faults that the driver has not taken yet.
    news: RefCell<Vec<Fault>>,
    answers: RefCell<VecDeque<FaultAnswer>>,
    /// Advanced when the driver has answered.
    answered: OnceCell<EventCount>,
    /// Called on a new fault.
    listener: OnceCell<Box<dyn Fn()>>,
}

impl DriverTables {
    /// `listener` is called on each new fault.
    pub fn listen(&self, listener: impl Fn() + 'static) {
        assert!(self.0.listener.set(Box::new(listener)).is_ok(), "tables have one driver");
    }

    /// Adds a page. An old entry must have been [removed](Self::remove), unless only its rights are extended.
    pub fn insert(&self, asid: Asid, page: VirtAddr, frame: PhysAddr, writable: bool) {
        let rights = Rights { write: writable, execute: true };
        let translation = Translation { page, frame, size: PageSize::Small, rights };
        self.0.pages.borrow_mut().insert((asid, page), translation);
    }

    /// Removes a page; returns its frame. The page must be shot down before the frame is used for something else.
    pub fn remove(&self, asid: Asid, page: VirtAddr) -> Option<PhysAddr> {
        self.0.pages.borrow_mut().remove(&(asid, page)).map(|found| found.frame)
    }

    /// Takes the faults that the driver has not seen yet, in order.
    pub fn take_faults(&self) -> Vec<Fault> {
        self.0.news.take()
    }

    /// How many pages of an address space have a pending fault.
    pub fn open_faults(&self, asid: Asid) -> usize {
        self.0.open.borrow().range((asid, VirtAddr(0))..=(asid, VirtAddr(u64::MAX))).count()
    }

    /// The driver has handled a fault, or reports why it could not.
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

    /// The translation of an address, if the page is there and allows the access.
    pub(crate) fn find(&self, asid: Asid, address: VirtAddr, write: bool) -> Option<Translation> {
        let page = address.align_down(PageSize::Small.bytes());
        self.0.pages.borrow().get(&(asid, page)).copied().filter(|found| found.rights.write || !write)
    }

    /// A walk has faulted: notifies the driver, unless it has already been notified of this page and access.
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
