//! Where the page tables of each address space begin, and whether they are just being changed.
//!
//! Between a change of the tables and the end of the shootdown that follows, a requester may go by the old page or by the
//! new one. Only outside of that time is a difference between the two a mistake.

use mem::{Asid, PhysAddr};
use rustc_hash::FxHashMap;
use std::{cell::RefCell, rc::Rc};

/// The address spaces that can be translated. Clones are handles to the same table.
#[derive(Clone, Default)]
pub struct Roots(Rc<RefCell<FxHashMap<Asid, Space>>>);

#[derive(Clone, Copy, Default)]
struct Space {
    root: Option<PhysAddr>,
    changes_under_way: u32,
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

    /// Whether what is found may be older or newer than what the requester goes by.
    pub fn is_changing(&self, asid: Asid) -> bool {
        self.0.borrow().get(&asid).is_some_and(|space| space.changes_under_way > 0)
    }
}
