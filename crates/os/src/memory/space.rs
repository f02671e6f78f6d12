//! The address space of a process: its page tables, its areas, and its page-fault handler.

use super::{
    HUGE_PAGE, PAGE, Physical, USER_END,
    area::{Area, Areas, Backing, Rights},
    fault::BadAccess,
    table::{self, Entry, Leaf},
    tlb::Tlb,
};
use crate::{
    guest::Guard,
    state::{Read, Reader, State},
};
use mem::{Bytes, FRAME, FrameId, Frames, PhysAddr, VirtAddr};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use x86::{Access, Stop};

/// The memory of a process.
pub struct AddressSpace {
    pub(super) physical: Physical,
    pub(super) root: PhysAddr,
    pub(super) areas: Areas,
    pub(super) tlb: Tlb,
    /// The shared page of zeros, mapped for reads until the first write.
    zeros: PhysAddr,
    /// Pages from which code has been fetched since `code_version` changed.
    code_pages: FxHashSet<u64>,
    pub(super) code_version: u64,
    /// Whether an allowed access failed because physical memory was exhausted.
    pub(super) exhausted: bool,
    /// Whether timed cores use this memory, now or later ([`AddressSpace::expect_cores`]).
    pub(super) for_cores: bool,
    /// Whether anonymous areas get huge pages wherever they fit.
    pub huge_pages: bool,
    /// Page guards of the driver, by address, and the last access of the kernel that one of them refused.
    pub(super) guards: BTreeMap<u64, Guard>,
    pub(super) guarded: Option<crate::guest::Fault>,
    faults: u64,
    /// The faults among these that had to read a file.
    hard_faults: u64,
}

/// The location of a page: its physical address, its frame on the host, and the offset in the frame.
pub(super) struct Backed {
    pub phys: PhysAddr,
    pub frame: FrameId,
    pub offset: u32,
}

impl AddressSpace {
    /// An empty address space, whose pages and tables may take up to `limit` bytes of physical memory.
    pub fn new(limit: Bytes) -> AddressSpace {
        let smallest = Bytes(limit.0.max(16 * PAGE));
        let mut physical = Physical::new(smallest);
        let mut page = || physical.page().expect("the smallest memory holds a few pages");
        let (root, zeros) = (page(), page());
        let nowhere = physical.frames.frame(zeros);
        AddressSpace {
            physical,
            root,
            areas: Areas::default(),
            tlb: Tlb::new(nowhere),
            zeros,
            code_pages: FxHashSet::default(),
            code_version: 0,
            exhausted: false,
            for_cores: false,
            huge_pages: false,
            guards: BTreeMap::new(),
            guarded: None,
            faults: 0,
            hard_faults: 0,
        }
    }

    pub fn areas(&self) -> &Areas {
        &self.areas
    }

    /// The physical address of the top-level page table (the value of CR3).
    pub fn root(&self) -> PhysAddr {
        self.root
    }

    pub fn frames(&self) -> &Frames {
        &self.physical.frames
    }

    pub fn frames_mut(&mut self) -> &mut Frames {
        &mut self.physical.frames
    }

    /// Physical memory in use, page tables included.
    pub fn used(&self) -> Bytes {
        self.physical.used()
    }

    pub fn limit(&self) -> Bytes {
        self.physical.limit()
    }

    /// The number of page faults: pages mapped or copied.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// The number of page faults that had to read a file.
    pub fn hard_faults(&self) -> u64 {
        self.hard_faults
    }

    /// Whether an access failed because physical memory is used up.
    pub fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// The page of an address with the rights for an access; mapped or copied first if necessary.
    pub(super) fn page(&mut self, address: u64, access: Access) -> Result<Leaf, BadAccess> {
        let leaf = table::find(&self.physical, self.root, VirtAddr(address)).filter(|_| address < USER_END);
        if let Some(leaf) = leaf.filter(|leaf| leaf.entry.allows(access)) {
            let mut marks = Entry::ACCESSED;
            if access == Access::Write {
                marks |= Entry::DIRTY;
            }
            if leaf.entry.0 & marks != marks {
                self.physical.write_u64(leaf.at, leaf.entry.0 | marks);
            }
            return Ok(leaf);
        }
        self.bring_in(address, access)?;
        table::find(&self.physical, self.root, VirtAddr(address)).ok_or(BadAccess::NoMemory)
    }

    /// The page of an address as a core sees it: a page fault unless the tables have it with the rights for the access.
    pub(super) fn present(&self, address: u64, access: Access) -> Result<Leaf, Stop> {
        let leaf = table::find(&self.physical, self.root, VirtAddr(address));
        let present = leaf.is_some_and(|leaf| leaf.entry.has(Entry::PRESENT));
        leaf.filter(|leaf| leaf.entry.allows(access)).ok_or(Stop::PageFault { address, access, present })
    }

    /// Handles a page fault: maps the page or copies it, if the area allows the access.
    fn bring_in(&mut self, address: u64, access: Access) -> Result<(), BadAccess> {
        let (start, area) = self.areas.find(address).ok_or(BadAccess::NotMapped)?;
        let allowed = match access {
            Access::Read => area.rights.any(),
            Access::Write => area.rights.write(),
            Access::Execute => area.rights.execute(),
        };
        if !allowed {
            return Err(BadAccess::Forbidden);
        }
        let mut area = area.clone();
        self.check_guard(address, access)?;
        area.rights = self.guarded_rights(address, area.rights);
        let done = match table::find(&self.physical, self.root, VirtAddr(address)) {
            Some(leaf) => {
                self.forget(address, address + 1);
                self.copy_on_write(address, leaf, area.rights)
            }
            None => self.first_touch(address, access, start, &area)?,
        };
        self.faults += 1;
        done.ok_or_else(|| {
            self.exhausted = true;
            BadAccess::NoMemory
        })
    }

    fn copy_on_write(&mut self, address: u64, leaf: Leaf, rights: Rights) -> Option<()> {
        debug_assert!(leaf.entry.has(Entry::COPY), "only a page to be copied refuses what its area allows");
        let fresh = self.physical.page()?;
        if leaf.entry.address() != self.zeros {
            self.physical.copy(leaf.entry.address(), fresh);
        }
        let marks = Entry::ACCESSED | Entry::DIRTY;
        let entry = Entry(Entry::leaf(fresh, rights).0 | marks);
        table::map(&mut self.physical, self.root, VirtAddr(address), entry)
    }

    fn first_touch(&mut self, address: u64, access: Access, start: u64, area: &Area) -> Result<Option<()>, BadAccess> {
        let page = address & !(PAGE - 1);
        match &area.backing {
            Backing::Zeros(_) => {
                if (area.huge || self.huge_pages)
                    && self.guards.is_empty()
                    && let Some(done) = self.huge_first_touch(address, start, area)
                {
                    return Ok(Some(done));
                }
                // For timed cores the shared page of zeros is not used: they keep translations, so a page must not
                // change its frame.
                if access != Access::Write && !self.for_cores {
                    let entry = Entry(self.zeros.0 | Entry::COPY).with_rights(area.rights);
                    let entry = Entry(entry.0 | Entry::ACCESSED);
                    return Ok(table::map(&mut self.physical, self.root, VirtAddr(page), entry));
                }
                Ok(self.fresh_page(page, area.rights, Entry::ACCESSED | Entry::DIRTY, None))
            }
            Backing::File { file, offset } => {
                let mut bytes = [0; PAGE as usize];
                let read = file.read_at(offset + (page - start), &mut bytes);
                if !matches!(read, Ok(count) if count > 0) {
                    return Err(BadAccess::PastEndOfFile);
                }
                self.hard_faults += 1;
                Ok(self.fresh_page(page, area.rights, Entry::ACCESSED, Some(&bytes)))
            }
        }
    }

    /// Brings in a page of 2 MiB if its whole range lies in the area and no small page is resident there. None: use a
    /// small page.
    fn huge_first_touch(&mut self, address: u64, start: u64, area: &Area) -> Option<()> {
        let page = address & !(HUGE_PAGE - 1);
        let inside = start <= page && page + HUGE_PAGE <= area.end;
        if !inside || !table::room_for_huge(&self.physical, self.root, VirtAddr(page)) {
            return None;
        }
        let fresh = self.physical.huge_page()?;
        let entry = Entry(Entry::leaf(fresh, area.rights).0 | Entry::ACCESSED);
        table::map_huge(&mut self.physical, self.root, VirtAddr(page), entry)
    }

    /// Maps a page of zeros or of these bytes, which are written before the page appears in the tables.
    fn fresh_page(&mut self, page: u64, rights: Rights, marks: u64, bytes: Option<&[u8]>) -> Option<()> {
        let fresh = self.physical.page()?;
        if let Some(bytes) = bytes {
            self.physical.write(fresh, bytes);
        }
        let entry = Entry(Entry::leaf(fresh, rights).0 | marks);
        table::map(&mut self.physical, self.root, VirtAddr(page), entry)
    }

    /// Frees the pages of a range; the areas stay. Huge pages must already be split at its borders.
    pub(super) fn drop_pages(&mut self, start: u64, end: u64) {
        let leaves = table::leaves(&self.physical, self.root, start, end);
        for (_, leaf) in &leaves {
            self.physical.write_u64(leaf.at, 0);
            let page = leaf.entry.address();
            if leaf.size == HUGE_PAGE {
                self.physical.give_back_huge(page);
            } else if page != self.zeros {
                self.physical.give_back(page);
            }
        }
        self.forget_pages(&leaves);
    }

    /// Splits the huge page that contains `border`, if `border` is inside one.
    pub(super) fn split_at(&mut self, border: u64) -> Option<()> {
        if border.is_multiple_of(HUGE_PAGE) {
            return Some(());
        }
        match table::find(&self.physical, self.root, VirtAddr(border)) {
            Some(leaf) if leaf.size == HUGE_PAGE => {
                self.forget(border & !(HUGE_PAGE - 1), (border | (HUGE_PAGE - 1)) + 1);
                table::split(&mut self.physical, leaf)
            }
            _ => Some(()),
        }
    }

    /// The location of the page of an address.
    pub(super) fn backed(&mut self, leaf: Leaf, address: u64) -> Backed {
        let phys = PhysAddr(leaf.place(VirtAddr(address)).0 & !(PAGE - 1));
        Backed { phys, frame: self.physical.frames.frame(phys), offset: (phys.0 % FRAME as u64) as u32 }
    }

    /// Some existing frame, as a placeholder.
    pub(super) fn nowhere(&mut self) -> FrameId {
        self.physical.frames.frame(self.zeros)
    }

    /// Drops cached translations of a range that has changed.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        self.tlb.forget(start, end);
        if let Some(window) = &mut self.physical.window
            && start < end
        {
            window.note_change(start, end);
        }
    }

    /// Drops cached translations of pages that have changed. Pages that are not in the tables have none.
    pub(super) fn forget_pages(&mut self, leaves: &[(u64, Leaf)]) {
        for range in leaves.chunk_by(|(start, leaf), (next, _)| start + leaf.size == *next) {
            if let [(start, _), ..] = range
                && let [.., (last, leaf)] = range
            {
                self.forget(*start, last + leaf.size);
            }
        }
    }

    /// Records that code was fetched from a page.
    pub(super) fn note_code(&mut self, page: u64) {
        self.code_pages.insert(page);
    }

    /// Saves everything but the contents of the frames.
    pub(crate) fn save_state(&self, to: &mut Vec<u8>) {
        let Self { physical, root, areas, zeros, code_version, exhausted, guards, faults, hard_faults, .. } = self;
        physical.save(to);
        (*root, *zeros).save(to);
        areas.save(to);
        (*code_version, *exhausted).save(to);
        guards.save(to);
        (*faults, *hard_faults).save(to);
    }

    /// Takes over what was saved, with these frames.
    pub(crate) fn load_state(&mut self, from: &mut Reader, frames: Frames) -> Read<()> {
        self.physical.load(from, frames)?;
        (self.root, self.zeros) = State::load(from)?;
        self.areas = Areas::load(from)?;
        (self.code_version, self.exhausted) = State::load(from)?;
        self.guards = State::load(from)?;
        (self.faults, self.hard_faults) = State::load(from)?;
        self.tlb = Tlb::new(self.physical.frames.frame(self.zeros));
        self.code_pages = FxHashSet::default();
        self.guarded = None;
        Ok(())
    }

    /// Whether code was fetched from a page, so that a write must change the code version.
    pub(super) fn holds_code(&self, page: u64) -> bool {
        self.code_pages.contains(&page)
    }

    /// Whether code was fetched from a range of addresses. The iteration order does not affect the result.
    pub(super) fn holds_code_in(&self, start: u64, end: u64) -> bool {
        self.code_pages.iter().any(|page| page * PAGE < end && start < (page + 1) * PAGE)
    }

    /// Invalidates all fetched and decoded code.
    pub(super) fn code_changed(&mut self) {
        self.code_version += 1;
        self.code_pages.clear();
        self.tlb.execute.clear();
    }
}
