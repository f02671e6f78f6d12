//! Where the page tables of each address space begin, and which of their pages may be known in two ways.
//!
//! Between a change of the tables and the end of the shootdown that follows, a requester may go by the old page or by the
//! new one. Of a page that was shot down, requests may come even later that were made before: a core that had one in its queues
//! when another thread took the page away. Only for other pages is a difference between requester and tables a mistake.

use crate::{PageSize, Shootdown};
use mem::{Asid, PhysAddr, VirtAddr};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{cell::RefCell, rc::Rc};

/// The address spaces that can be translated. Clones are handles to the same table.
#[derive(Clone, Default)]
pub struct Roots(Rc<RefCell<FxHashMap<Asid, Space>>>);

#[derive(Default)]
struct Space {
    root: Option<PhysAddr>,
    changes_under_way: u32,
    /// Pages that have been shot down, in pieces of the largest size; or all. Only looked up.
    changed: FxHashSet<VirtAddr>,
    all_changed: bool,
}

impl Roots {
    /// The tables of an address space begin here from now on.
    pub fn set(&self, asid: Asid, root: PhysAddr) {
        self.0.borrow_mut().entry(asid).or_default().root = Some(root);
    }

    /// Where the tables of an address space begin.
    pub fn root(&self, asid: Asid) -> Option<PhysAddr> {
        self.0.borrow().get(&asid)?.root
    }

    /// Entries of an address space that somebody may have seen are being changed, until [`Roots::end_change`].
    pub fn begin_change(&self, asid: Asid) {
        self.0.borrow_mut().entry(asid).or_default().changes_under_way += 1;
    }

    /// A change is over: nobody goes by what was before.
    ///
    /// # Panics
    /// If no change was under way.
    pub fn end_change(&self, asid: Asid) {
        let mut spaces = self.0.borrow_mut();
        let space = spaces.get_mut(&asid).filter(|space| space.changes_under_way > 0);
        space.expect("a change that ends has begun").changes_under_way -= 1;
    }

    /// What a shootdown is about may be known in two ways from now on.
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

    /// Whether what is found for an address may be older or newer than what the requester goes by.
    pub fn may_differ(&self, asid: Asid, virt: VirtAddr) -> bool {
        self.0.borrow().get(&asid).is_some_and(|space| {
            space.changes_under_way > 0
                || space.all_changed
                || !space.changed.is_empty() && space.changed.contains(&virt.align_down(PageSize::Huge.bytes()))
        })
    }
}
