//! Page tables of x86-64 as a walker reads them: four levels of 512 entries of 8 bytes, leaves of 4 KiB at the lowest level and of
//! 2 MiB one above. The kernel writes them. Walkers don't set the bits that say whether a page was accessed or written.

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

    pub fn is_present(self) -> bool {
        self.0 & Entry::PRESENT != 0
    }

    /// Whether the walk ends here, at an entry of this level.
    pub fn is_leaf(self, level: u32) -> bool {
        level == 0 || self.0 & Entry::LEAF != 0
    }

    /// Where the page, or the table of the next level, lies.
    pub fn address(self) -> PhysAddr {
        PhysAddr(self.0 & Entry::ADDRESS)
    }

    pub fn rights(self) -> Rights {
        Rights { write: self.0 & Entry::WRITABLE != 0, execute: self.0 & Entry::NO_EXECUTE == 0 }
    }
}

/// The size of a leaf of this level, if there are such pages.
pub(crate) fn size(level: u32) -> Option<PageSize> {
    [PageSize::Small, PageSize::Huge].get(level as usize).copied()
}

/// Which entry of its level, counted through all tables of the address space, stands for an address.
pub(crate) fn prefix(address: VirtAddr, level: u32) -> u64 {
    (address.0 & 0xffff_ffff_ffff) >> (12 + 9 * level)
}

/// Where the entry for an address lies in a table.
pub(crate) fn entry_at(table: PhysAddr, address: VirtAddr, level: u32) -> PhysAddr {
    PhysAddr(table.0 + (prefix(address, level) & 511) * 8)
}
