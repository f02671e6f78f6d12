//! The two tables of a forward-backward table (`[vcache Fig. 7]`). No time.
//!
//! The backward table has an entry for each page of memory of which a virtual cache may hold something, in sets of ways by the number of the page of
//! memory. The forward table finds the entry of a leading page; it has exactly as many entries.

use crate::{PageSize, Rights, Shootdown, TlbSpec, Translation};
use engine::{Level, Scope};
use mem::{Asid, LINE, LineAddr, PAGE, PhysAddr, Sets, VirtAddr};
use rustc_hash::FxHashMap;
use std::{cell::RefCell, rc::Rc};

/// Above the bits of a virtual address in the tag of a line, the number of its address space.
const SPACE: u32 = 48;

/// What is known about a page of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The leading page, under whose name its lines are in caches: the number of its first tag.
    pub page: u64,
    /// The number of the page of memory.
    pub frame: u64,
    /// The lines of it that the second-level cache holds, or has been promised.
    pub lines: u64,
    /// It may be written, as the page tables have it.
    pub writable: bool,
    /// A line of it has been claimed to be written.
    pub written: bool,
    /// It has been read under another name.
    pub synonym: bool,
    /// Messages about it that those below have not answered.
    pub outstanding: u32,
    /// It goes: nothing new is begun.
    pub locked: bool,
}

impl Entry {
    /// A line of it, as memory names it.
    pub fn place(&self, line: LineAddr) -> LineAddr {
        LineAddr(self.frame * PAGE + line.0 % PAGE)
    }
}

/// The tables.
pub(crate) struct Tables {
    backward: Sets<Entry>,
    /// Looked up, never walked.
    forward: FxHashMap<u64, usize>,
    ways: usize,
    /// Pages of which the second-level cache holds a line.
    pages: Option<Level>,
    with_lines: u64,
    /// What the IOMMU has been told to forget and this table has not: it must not learn that from here again.
    shooting: Option<Shootdown>,
}

impl Tables {
    fn new(spec: TlbSpec) -> Self {
        Self {
            backward: spec.build(),
            forward: FxHashMap::default(),
            ways: spec.entries(),
            pages: None,
            with_lines: 0,
            shooting: None,
        }
    }

    pub fn measure(&mut self, scope: &Scope) {
        self.pages = Some(scope.level("pages"));
    }

    /// The way of a leading page.
    pub fn of_page(&self, page: u64) -> Option<usize> {
        self.forward.get(&page).copied()
    }

    /// The way of a page of memory.
    pub fn of_frame(&mut self, frame: u64) -> Option<usize> {
        let way = self.backward.find(frame, |entry| entry.frame == frame)?;
        self.backward.touch(way);
        Some(way)
    }

    pub fn entry(&self, way: usize) -> &Entry {
        self.backward.get(way).expect("a way that is known holds an entry")
    }

    pub fn entry_mut(&mut self, way: usize) -> &mut Entry {
        self.backward.get_mut(way).expect("a way that is known holds an entry")
    }

    /// A line is promised to the second-level cache, or has left it.
    pub fn set_line(&mut self, way: usize, bit: u64, held: bool) {
        let entry = self.entry_mut(way);
        let had = entry.lines != 0;
        entry.lines = if held { entry.lines | bit } else { entry.lines & !bit };
        let has = entry.lines != 0;
        self.with_lines = self.with_lines + u64::from(has) - u64::from(had);
        if let Some(pages) = self.pages.as_ref().filter(|_| has != had) {
            pages.set(self.with_lines);
        }
    }

    /// All lines that are meant have left the second-level cache.
    pub fn clear_lines(&mut self, meant: impl Fn(LineAddr) -> bool) {
        for way in 0..self.ways {
            let Some(&Entry { page, lines, .. }) = self.backward.get(way).filter(|entry| entry.lines != 0) else {
                continue;
            };
            let lines = (0..u64::BITS).map(|bit| 1 << bit).filter(|bit| lines & bit != 0);
            let line = |bit: u64| LineAddr(page * PAGE + u64::from(bit.trailing_zeros()) * LINE as u64);
            let gone = lines.filter(|bit| meant(line(*bit))).fold(0, |gone, bit| gone | bit);
            self.set_line(way, gone, false);
        }
    }

    /// A way for a new page of memory: a free one; else one whose entry has to go first.
    pub fn room(&mut self, frame: u64) -> Result<usize, Option<usize>> {
        match self.backward.free(frame) {
            Some(way) => Ok(way),
            None => Err(self.backward.victim(frame, |entry| !entry.locked)),
        }
    }

    /// Enters a page. It must have no entry, and neither must its page of memory.
    pub fn insert(&mut self, way: usize, entry: Entry) {
        let (page, frame) = (entry.page, entry.frame);
        debug_assert!(self.backward.find(frame, |entry| entry.frame == frame).is_none(), "a page has one leading name");
        let before = self.forward.insert(page, way);
        assert!(before.is_none(), "a name leads to one page of memory");
        self.backward.fill(way, entry);
    }

    pub fn remove(&mut self, way: usize) {
        if let Some(entry) = self.backward.clear(way) {
            assert_eq!(entry.lines, 0, "an entry goes when the second-level cache holds nothing of it");
            self.forward.remove(&entry.page);
        }
    }

    /// The ways of all entries of an address space, or of all, that are not going yet.
    pub fn all(&self, asid: Option<Asid>) -> Vec<usize> {
        let meant = |way: &usize| {
            let of = |entry: &Entry| !entry.locked && asid.is_none_or(|asid| space(entry.page * PAGE) == asid);
            self.backward.get(*way).is_some_and(of)
        };
        (0..self.ways).filter(meant).collect()
    }
}

/// A forward-backward table, which an IOMMU may use as a second-level TLB. Clones are the same table.
#[derive(Clone)]
pub struct FbtTables(pub(crate) Rc<RefCell<Tables>>);

impl FbtTables {
    pub fn new(spec: TlbSpec) -> Self {
        Self(Rc::new(RefCell::new(Tables::new(spec))))
    }

    /// The IOMMU has been told to forget this; the table will be.
    pub(crate) fn begin_shooting(&self, what: Shootdown) {
        self.0.borrow_mut().shooting = Some(what);
    }

    /// The table has forgotten it.
    pub(crate) fn end_shooting(&self) {
        self.0.borrow_mut().shooting = None;
    }

    /// What is known about a page.
    pub(crate) fn find(&self, asid: Asid, virt: VirtAddr, write: bool) -> Option<Translation> {
        let tables = self.0.borrow();
        if tables.shooting.is_some_and(|what| what.covers(asid, virt)) {
            return None;
        }
        let way = tables.of_page(tag(asid, virt).0 / PAGE)?;
        let entry = tables.entry(way);
        let (page, frame) = (virt.align_down(PageSize::Small.bytes()), PhysAddr(entry.frame * PAGE));
        let rights = Rights { write: entry.writable, execute: true };
        let found = Translation { page, frame, size: PageSize::Small, rights };
        (!entry.locked && (entry.writable || !write)).then_some(found)
    }
}

/// The tag of an address.
pub(crate) fn tag(asid: Asid, virt: VirtAddr) -> LineAddr {
    LineAddr(u64::from(asid.0) << SPACE | virt.0)
}

/// The address space of a tag.
pub(crate) fn space(tag: u64) -> Asid {
    Asid((tag >> SPACE) as u16)
}

/// The virtual address of a tag.
pub(crate) fn address(tag: u64) -> VirtAddr {
    VirtAddr(tag & ((1 << SPACE) - 1))
}

/// The bit of a line in the vector of its page.
pub(crate) fn bit(line: LineAddr) -> u64 {
    1 << (line.0 % PAGE / LINE as u64)
}
