//! The root of each address space's page tables, and the pages whose old and new translations may both be in use.
//!
//! Between a change of the tables and the end of the shootdown that follows, a requester may use the old translation
//! or the new one. Even after the shootdown, older requests for the page may still arrive: a core can have one queued
//! when another thread unmaps the page. For all other pages, a difference between requester and tables is an error.

use crate::{PageSize, Shootdown};
use mem::{Asid, PhysAddr, VirtAddr};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{cell::RefCell, rc::Rc};

/// The address spaces that can be translated. Clones share one table.
#[derive(Clone, Default)]
pub struct Roots(Rc<RefCell<FxHashMap<Asid, Space>>>);

#[derive(Default)]
struct Space {
    root: Option<PhysAddr>,
    changes_under_way: u32,
    /// Pages that have been shot down, aligned to the largest page size. Never iterated.
    changed: FxHashSet<VirtAddr>,
    /// Whether every page of the address space has been shot down.
    all_changed: bool,
}

impl Roots {
    /// Sets the root of an address space's page tables.
    pub fn set(&self, asid: Asid, root: PhysAddr) {
        self.0.borrow_mut().entry(asid).or_default().root = Some(root);
    }

    /// The root of an address space's page tables.
    pub fn root(&self, asid: Asid) -> Option<PhysAddr> {
        self.0.borrow().get(&asid)?.root
    }

    /// Entries of an address space that hardware may have read are being changed, until [`Roots::end_change`].
    pub fn begin_change(&self, asid: Asid) {
        self.0.borrow_mut().entry(asid).or_default().changes_under_way += 1;
    }

    /// A change is complete: no element uses the old entries any more.
    ///
    /// # Panics
    /// If no change was in progress.
    pub fn end_change(&self, asid: Asid) {
        let mut spaces = self.0.borrow_mut();
        let space = spaces.get_mut(&asid).filter(|space| space.changes_under_way > 0);
        space.expect("a change that ends has begun").changes_under_way -= 1;
    }

    /// From now on, the old and the new translation of these pages may both be in use.
    pub fn shot_down(&self, what: Shootdown) {
        let mut spaces = self.0.borrow_mut();
        match what {
            Shootdown::Page { asid, virt } => {
                spaces.entry(asid).or_default().changed.insert(virt.align_down(PageSize::Huge.bytes()));
            }
            Shootdown::Space { asid } => spaces.entry(asid).or_default().all_changed = true,
            Shootdown::All => spaces.values_mut().for_each(|space| space.all_changed = true),
        }
    }

    /// Whether the translation found for an address may be older or newer than the requester's.
    pub fn may_differ(&self, asid: Asid, virt: VirtAddr) -> bool {
        self.0.borrow().get(&asid).is_some_and(|space| {
            space.changes_under_way > 0
                || space.all_changed
                || !space.changed.is_empty() && space.changed.contains(&virt.align_down(PageSize::Huge.bytes()))
        })
    }
}
