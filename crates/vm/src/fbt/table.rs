//! The two tables of a forward-backward table (`[vcache Fig. 7]`). They know no time.
//!
//! The backward table is set-associative and indexed by physical page. It has an entry for each physical page that a
//! virtual cache may hold lines of. The forward table finds the entry of a leading virtual page; both have the same
//! entries.

use crate::{PageSize, Rights, Shootdown, TlbSpec, Translation};
use engine::{Level, Scope};
use mem::{Asid, LINE, LineAddr, PAGE, PhysAddr, Sets, VirtAddr};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{cell::RefCell, rc::Rc};

/// In the tag of a line, the address space number starts at this bit, above the bits of a virtual address.
const SPACE: u32 = 48;

/// The record of a physical page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The leading virtual page, whose tags its lines have in caches: the tag divided by the page size.
    pub page: u64,
    /// The physical page number.
    pub frame: u64,
    /// Its lines that the second-level cache holds or will receive, as a bit vector.
    pub lines: u64,
    /// Whether the page tables allow writes.
    pub writable: bool,
    /// Whether a line of it has been claimed for writing.
    pub written: bool,
    /// Whether it has been read under another virtual page.
    pub synonym: bool,
    /// Messages about it that were sent below and are not answered yet.
    pub outstanding: u32,
    /// Whether it is being removed: no new requests are started.
    pub locked: bool,
    /// Whether its lines have been recalled: a claim that arrives after that is answered under the next entry.
    pub recalled: bool,
}

impl Entry {
    /// The physical address of one of its lines.
    pub fn place(&self, line: LineAddr) -> LineAddr {
        LineAddr(self.frame * PAGE + line.0 % PAGE)
    }

    /// The tag of one of its lines.
    pub fn tag(&self, line: LineAddr) -> LineAddr {
        LineAddr(self.page * PAGE + line.0 % PAGE)
    }
}

/// The forward and the backward table.
pub(crate) struct Tables {
    backward: Sets<Entry>,
    /// Never iterated.
    forward: FxHashMap<u64, usize>,
    ways: usize,
    /// Statistic: pages of which the second-level cache holds a line.
    pages: Option<Level>,
    /// The current value of `pages`.
    with_lines: u64,
    /// A shootdown that the IOMMU has carried out and this table has not: the IOMMU must not get these pages from
    /// here.
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

    /// The way of a leading virtual page.
    pub fn of_page(&self, page: u64) -> Option<usize> {
        self.forward.get(&page).copied()
    }

    /// The way of a physical page.
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

    /// Records that the second-level cache will receive a line, or that it has lost it.
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

    /// Records that all lines that `meant` selects have left the second-level cache.
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

    /// A way for a new physical page: `Ok` if it is free; otherwise the victim that must be removed first, if there
    /// is one.
    pub fn room(&mut self, frame: u64) -> Result<usize, Option<usize>> {
        match self.backward.free(frame) {
            Some(way) => Ok(way),
            None => Err(self.backward.victim(frame, |entry| !entry.locked)),
        }
    }

    /// Adds an entry. Neither its virtual nor its physical page may have one.
    pub fn insert(&mut self, way: usize, entry: Entry) {
        let (page, frame) = (entry.page, entry.frame);
        debug_assert!(self.backward.find(frame, |entry| entry.frame == frame).is_none(), "a page has one leading name");
        let before = self.forward.insert(page, way);
        assert!(before.is_none(), "a name leads to one page of memory");
        self.backward.fill(way, frame, entry);
        self.check_in_tests();
    }

    /// Checks small tables in builds with debug assertions, where tests run.
    fn check_in_tests(&self) {
        if cfg!(debug_assertions) && self.ways <= 64 {
            self.check().unwrap_or_else(|wrong| panic!("a forward-backward table is wrong: {wrong}"));
        }
    }

    pub fn remove(&mut self, way: usize) {
        if let Some(entry) = self.backward.clear(way) {
            assert_eq!(entry.lines, 0, "an entry goes when the second-level cache holds nothing of it");
            self.forward.remove(&entry.page);
        }
        self.check_in_tests();
    }

    /// Whether both tables have the same entries, each page of memory has one leading name, each name leads to one
    /// page, and each line is counted; the error says which of these does not hold. This check sees the table alone. A
    /// line that the caches above hold and the table does not know is detected when a cache sends it.
    pub fn check(&self) -> Result<(), String> {
        let entries = (0..self.ways).filter_map(|way| Some((way, self.backward.get(way)?)));
        let (mut frames, mut count, mut with_lines) = (FxHashSet::default(), 0, 0);
        for (way, Entry { page, frame, lines, written, synonym, .. }) in entries {
            count += 1;
            with_lines += u64::from(*lines != 0);
            match self.forward.get(page) {
                Some(found) if *found == way => {}
                found => return Err(format!("the name {page:#x} of way {way} leads to {found:?}")),
            }
            if !frames.insert(*frame) {
                return Err(format!("page {frame:#x} of memory has two leading names"));
            }
            if *written && *synonym {
                return Err(format!("page {frame:#x} of memory is written and was read under two names"));
            }
        }
        match (count == self.forward.len(), with_lines == self.with_lines) {
            (true, true) => Ok(()),
            (false, _) => Err(format!("{count} entries have {} names", self.forward.len())),
            (_, false) => Err(format!("{with_lines} pages with lines are counted as {}", self.with_lines)),
        }
    }

    /// The ways of all entries of an address space, or of all spaces, that are not being removed.
    pub fn all(&self, asid: Option<Asid>) -> Vec<usize> {
        let meant = |way: &usize| {
            let of = |entry: &Entry| !entry.locked && asid.is_none_or(|asid| space(entry.page * PAGE) == asid);
            self.backward.get(*way).is_some_and(of)
        };
        (0..self.ways).filter(meant).collect()
    }
}

/// A forward-backward table, which an IOMMU may use as a second-level TLB. Clones share one table.
#[derive(Clone)]
pub struct FbtTables(pub(crate) Rc<RefCell<Tables>>);

impl FbtTables {
    pub fn new(spec: TlbSpec) -> Self {
        Self(Rc::new(RefCell::new(Tables::new(spec))))
    }

    /// The IOMMU has carried out this shootdown; the FBT has not done so yet.
    pub(crate) fn begin_shooting(&self, what: Shootdown) {
        self.0.borrow_mut().shooting = Some(what);
    }

    /// The FBT has carried out the shootdown.
    pub(crate) fn end_shooting(&self) {
        self.0.borrow_mut().shooting = None;
    }

    /// The translation of a page, if it is known and allows the access.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(page: u64, frame: u64) -> Entry {
        let (written, synonym, locked, recalled) = (false, false, false, false);
        Entry { page, frame, lines: 0, writable: true, written, synonym, outstanding: 0, locked, recalled }
    }

    fn tables() -> Tables {
        let mut tables = Tables::new(TlbSpec::new(4, 2).expect("it is even"));
        for (page, frame) in [(7, 1), (8, 2), (9, 3)] {
            let way = tables.room(frame).expect("there is room");
            tables.insert(way, entry(page, frame));
        }
        tables
    }

    #[test]
    fn tables_that_agree_are_sound() {
        let mut tables = tables();
        let way = tables.of_page(8).expect("it is there");
        tables.set_line(way, 1, true);
        assert_eq!(tables.check(), Ok(()));
    }

    #[test]
    fn each_way_in_which_tables_can_be_wrong_is_noticed() {
        let wrong = |change: fn(&mut Tables, usize)| {
            let mut tables = tables();
            let way = tables.of_page(8).expect("it is there");
            change(&mut tables, way);
            tables.check().expect_err("it is noticed")
        };
        let two_names = wrong(|tables, way| tables.entry_mut(way).frame = 1);
        assert!(two_names.contains("has two leading names"), "{two_names}");
        let no_name = wrong(|tables, _| _ = tables.forward.remove(&8));
        assert!(no_name.contains("leads to None"), "{no_name}");
        let other = wrong(|tables, way| tables.entry_mut(way).page = 7);
        assert!(other.contains("leads to Some"), "{other}");
        let left_over = wrong(|tables, way| _ = tables.forward.insert(30, way));
        assert!(left_over.contains("3 entries have 4 names"), "{left_over}");
        let uncounted = wrong(|tables, way| tables.entry_mut(way).lines = 1);
        assert!(uncounted.contains("are counted as 0"), "{uncounted}");
        let both = wrong(|tables, way| (tables.entry_mut(way).written, tables.entry_mut(way).synonym) = (true, true));
        assert!(both.contains("written and was read"), "{both}");
    }
}
