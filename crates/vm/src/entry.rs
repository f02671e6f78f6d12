//! x86-64 page tables as a walker reads them: four levels of 512 entries of 8 bytes, with leaves of 4 KiB at the
//! lowest level and of 2 MiB one above. The kernel writes them. Walkers do not set the accessed and dirty bits.

use crate::{PageSize, Rights};
use mem::{PhysAddr, VirtAddr};

/// The level of the root.
pub(crate) const TOP_LEVEL: u32 = 3;

/// One entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(pub u64);

impl Entry {
    const PRESENT: u64 = 1;
    const WRITABLE: u64 = 1 << 1;
    const LEAF: u64 = 1 << 7;
    const NO_EXECUTE: u64 = 1 << 63;
    const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

    /// An entry that leads to a page, or to a table.
    pub fn to(address: PhysAddr, writable: bool) -> Entry {
        Entry(address.0 | Entry::PRESENT | if writable { Entry::WRITABLE } else { 0 })
    }

    pub fn is_present(self) -> bool {
        self.0 & Entry::PRESENT != 0
    }

    /// Whether the walk ends here, at an entry of this level.
    pub fn is_leaf(self, level: u32) -> bool {
        level == 0 || self.0 & Entry::LEAF != 0
    }

    /// The address of the page, or of the table of the next level.
    pub fn address(self) -> PhysAddr {
        PhysAddr(self.0 & Entry::ADDRESS)
    }

    pub fn rights(self) -> Rights {
        Rights { write: self.0 & Entry::WRITABLE != 0, execute: self.0 & Entry::NO_EXECUTE == 0 }
    }
}

/// The page size of a leaf at this level; `None` if there are no such pages.
pub(crate) fn size(level: u32) -> Option<PageSize> {
    [PageSize::Small, PageSize::Huge].get(level as usize).copied()
}

/// The number of the entry for an address among all entries of its level in the address space.
pub(crate) fn prefix(address: VirtAddr, level: u32) -> u64 {
    (address.0 & 0xffff_ffff_ffff) >> (12 + 9 * level)
}

/// The address of the entry for `address` in a table.
pub(crate) fn entry_at(table: PhysAddr, address: VirtAddr, level: u32) -> PhysAddr {
    PhysAddr(table.0 + (prefix(address, level) & 511) * 8)
}
