//! Page tables of x86-64: four levels of 512 entries, leaves of 4 KiB at the lowest level and of 2 MiB one level above.
//!
//! Two bits that the hardware leaves to software are used: *copy* (the page is shared, and read-only until it is copied
//! on a write) and *kept* (the page is resident but inaccessible, after `mprotect(PROT_NONE)`).

use super::{
    PAGE,
    area::Rights,
    physical::{HUGE_PAGE, Physical},
};
use mem::{Frames, PhysAddr, VirtAddr};
use x86::Access;

/// One entry of a page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub u64);

impl Entry {
    pub const PRESENT: u64 = 1;
    pub const WRITABLE: u64 = 1 << 1;
    pub const USER: u64 = 1 << 2;
    pub const ACCESSED: u64 = 1 << 5;
    pub const DIRTY: u64 = 1 << 6;
    pub const HUGE: u64 = 1 << 7;
    pub const KEPT: u64 = 1 << 8;
    pub const COPY: u64 = 1 << 9;
    pub const NO_EXECUTE: u64 = 1 << 63;
    const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

    /// An entry that points to a table of the next level.
    fn table(address: PhysAddr) -> Entry {
        Entry(address.0 | Entry::PRESENT | Entry::WRITABLE | Entry::USER)
    }

    /// A leaf with the rights of its area.
    pub fn leaf(address: PhysAddr, rights: Rights) -> Entry {
        Entry(address.0).with_rights(rights)
    }

    /// This entry with other rights. A copy-on-write page stays read-only.
    pub fn with_rights(self, rights: Rights) -> Entry {
        let kept = self.0 & !(Entry::PRESENT | Entry::WRITABLE | Entry::KEPT | Entry::NO_EXECUTE);
        let mut bits = kept | Entry::USER;
        bits |= if rights.any() { Entry::PRESENT } else { Entry::KEPT };
        if rights.write() && !self.has(Entry::COPY) {
            bits |= Entry::WRITABLE;
        }
        if !rights.execute() {
            bits |= Entry::NO_EXECUTE;
        }
        Entry(bits)
    }

    pub fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    /// Whether there is a page, accessible or kept.
    pub fn resident(self) -> bool {
        self.has(Entry::PRESENT | Entry::KEPT)
    }

    /// Whether the page is present and allows an access.
    pub fn allows(self, access: Access) -> bool {
        self.has(Entry::PRESENT)
            && match access {
                Access::Read => true,
                Access::Write => self.has(Entry::WRITABLE),
                Access::Execute => !self.has(Entry::NO_EXECUTE),
            }
    }

    pub fn address(self) -> PhysAddr {
        PhysAddr(self.0 & Entry::ADDRESS)
    }
}

/// The result of a walk: a leaf entry and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub entry: Entry,
    /// The physical address of the entry.
    pub at: PhysAddr,
    /// The size of the page: [`PAGE`] or [`HUGE_PAGE`] bytes.
    pub size: u64,
}

impl Leaf {
    /// Translates a virtual address in this page.
    pub fn place(&self, address: VirtAddr) -> PhysAddr {
        PhysAddr(self.entry.address().0 + (address.0 & (self.size - 1)))
    }
}

const LOWEST_LEVEL: u32 = 0;
const TOP_LEVEL: u32 = 3;

fn shift(level: u32) -> u32 {
    12 + 9 * level
}

fn entry_at(table: PhysAddr, address: u64, level: u32) -> PhysAddr {
    PhysAddr(table.0 + (address >> shift(level) & 511) * 8)
}

fn read(physical: &Physical, at: PhysAddr) -> Entry {
    Entry(physical.read_u64(at))
}

/// Walks the tables as performed in memory, as a hardware walker does; none if no page is resident.
pub fn walk(frames: &Frames, root: PhysAddr, address: VirtAddr) -> Option<Leaf> {
    follow(root, address, |at| {
        let mut bytes = [0; 8];
        frames.read(at, &mut bytes);
        Entry(u64::from_le_bytes(bytes))
    })
}

/// Walks the tables as the kernel sees them, its own pending stores included.
pub fn find(physical: &Physical, root: PhysAddr, address: VirtAddr) -> Option<Leaf> {
    follow(root, address, |at| read(physical, at))
}

fn follow(root: PhysAddr, address: VirtAddr, read: impl Fn(PhysAddr) -> Entry) -> Option<Leaf> {
    let mut table = root;
    for level in (LOWEST_LEVEL..=TOP_LEVEL).rev() {
        let at = entry_at(table, address.0, level);
        let entry = read(at);
        if level == LOWEST_LEVEL || entry.has(Entry::HUGE) {
            return entry.resident().then_some(Leaf { entry, at, size: 1 << shift(level) });
        }
        if !entry.has(Entry::PRESENT) {
            return None;
        }
        table = entry.address();
    }
    None
}

/// Maps a page of 4 KiB that was not mapped, and adds missing tables above it. None if memory is exhausted.
pub fn map(physical: &mut Physical, root: PhysAddr, address: VirtAddr, entry: Entry) -> Option<()> {
    let table = lowest_table(physical, root, address, LOWEST_LEVEL)?;
    physical.write_u64(entry_at(table, address.0, LOWEST_LEVEL), entry.0);
    Some(())
}

/// Maps a page of 2 MiB. If there is a table of small pages, it must be empty; it is freed.
pub fn map_huge(physical: &mut Physical, root: PhysAddr, address: VirtAddr, entry: Entry) -> Option<()> {
    let table = lowest_table(physical, root, address, 1)?;
    let at = entry_at(table, address.0, 1);
    let old = read(physical, at);
    if old.has(Entry::PRESENT) && !old.has(Entry::HUGE) {
        physical.give_back(old.address());
    }
    physical.write_u64(at, entry.0 | Entry::HUGE);
    Some(())
}

/// Whether a huge page can be mapped here: no small page is resident in its range.
pub fn room_for_huge(physical: &Physical, root: PhysAddr, address: VirtAddr) -> bool {
    let start = address.0 & !(HUGE_PAGE - 1);
    leaves(physical, root, start, start + HUGE_PAGE).is_empty()
}

/// Splits a huge page into 512 small ones with the same rights.
pub fn split(physical: &mut Physical, leaf: Leaf) -> Option<()> {
    let table = physical.page()?;
    for index in 0..512 {
        let entry = (leaf.entry.0 & !Entry::HUGE) + index * PAGE;
        physical.write_u64(PhysAddr(table.0 + index * 8), entry);
    }
    physical.write_u64(leaf.at, Entry::table(table).0);
    Some(())
}

/// The resident leaves that overlap `start..end`, in order, each with its start address. Missing tables are skipped as
/// a whole.
pub fn leaves(physical: &Physical, root: PhysAddr, start: u64, end: u64) -> Vec<(u64, Leaf)> {
    let mut found = Vec::new();
    if start < end {
        collect(physical, root, TOP_LEVEL, 0, start, end, &mut found);
    }
    found
}

fn collect(
    physical: &Physical,
    table: PhysAddr,
    level: u32,
    base: u64,
    start: u64,
    end: u64,
    found: &mut Vec<(u64, Leaf)>,
) {
    let size = 1_u64 << shift(level);
    let first = start.saturating_sub(base) / size;
    let last = ((end - 1 - base) / size).min(511);
    for index in first..=last {
        let at = PhysAddr(table.0 + index * 8);
        let entry = read(physical, at);
        let begin = base + index * size;
        if level == LOWEST_LEVEL || entry.has(Entry::HUGE) {
            if entry.resident() {
                found.push((begin, Leaf { entry, at, size }));
            }
        } else if entry.has(Entry::PRESENT) {
            collect(physical, entry.address(), level - 1, begin, start, end, found);
        }
    }
}

fn lowest_table(physical: &mut Physical, root: PhysAddr, address: VirtAddr, lowest: u32) -> Option<PhysAddr> {
    let mut table = root;
    for level in (lowest + 1..=TOP_LEVEL).rev() {
        let at = entry_at(table, address.0, level);
        let entry = read(physical, at);
        table = if entry.has(Entry::PRESENT) {
            entry.address()
        } else {
            let fresh = physical.page()?;
            physical.write_u64(at, Entry::table(fresh).0);
            fresh
        };
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::Bytes;

    fn memory() -> (Physical, PhysAddr) {
        let mut physical = Physical::new(Bytes(64 << 20));
        let root = physical.page().unwrap();
        (physical, root)
    }

    #[test]
    fn a_walk_finds_what_was_mapped_and_nothing_else() {
        let (mut physical, root) = memory();
        let page = physical.page().unwrap();
        let address = VirtAddr(0x7f12_3456_7000);
        map(&mut physical, root, address, Entry::leaf(page, Rights::READ_WRITE)).unwrap();
        let leaf = walk(&physical.frames, root, VirtAddr(address.0 + 0x123)).unwrap();
        assert_eq!(leaf.place(VirtAddr(address.0 + 0x123)), PhysAddr(page.0 + 0x123));
        assert!(leaf.entry.has(Entry::WRITABLE) && leaf.entry.has(Entry::NO_EXECUTE));
        assert_eq!(walk(&physical.frames, root, VirtAddr(address.0 + PAGE)), None);
    }

    #[test]
    fn a_huge_leaf_splits_into_small_ones_at_the_same_places() {
        let (mut physical, root) = memory();
        let page = physical.huge_page().unwrap();
        let address = VirtAddr(0x4020_0000);
        map_huge(&mut physical, root, address, Entry::leaf(page, Rights::READ)).unwrap();
        let inside = VirtAddr(address.0 + 0x12_3456);
        let before = walk(&physical.frames, root, inside).unwrap();
        assert_eq!(before.size, HUGE_PAGE);
        split(&mut physical, before).unwrap();
        let after = walk(&physical.frames, root, inside).unwrap();
        assert_eq!((after.size, after.place(inside)), (PAGE, before.place(inside)));
        assert_eq!(leaves(&physical, root, address.0 + PAGE, address.0 + 3 * PAGE).len(), 2);
    }

    #[test]
    fn a_kept_page_is_resident_but_not_present() {
        let entry = Entry::leaf(PhysAddr(0x5000), Rights::READ_WRITE).with_rights(Rights::NONE);
        assert!(entry.resident() && !entry.has(Entry::PRESENT));
        assert_eq!(entry.with_rights(Rights::READ_WRITE), Entry::leaf(PhysAddr(0x5000), Rights::READ_WRITE));
    }
}
