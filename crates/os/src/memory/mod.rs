//! The memory of a process: physical pages, page tables stored in them, areas that describe each address range, and a
//! software TLB.
//!
//! The page tables are real x86-64 tables in the simulated physical memory, so that a modelled page-table walker can
//! read them. The areas are the kernel's own records, from which it handles page faults.

mod access;
mod area;
mod fault;
mod gaps;
mod guard;
mod mapping;
mod moving;
mod physical;
mod space;
mod table;
mod tlb;
mod window;
mod windowed;
mod zones;

pub use area::{Area, Areas, Backing, MappedFile, Rights};
pub use fault::{Access, BadAccess};
pub use mapping::{MapError, MapRequest, Place};
pub use mem::PAGE;
pub use moving::Move;
pub use physical::{HUGE_PAGE, Physical};
pub use space::AddressSpace;
pub use table::{Entry, Leaf, walk};
pub use window::{DIRECT_MAP, Line, Look, Sight, Touch, Window};
pub use zones::ZoneFrames;

/// The end of the program's half of the address space, less one guard page, as in Linux.
pub const USER_END: u64 = 0x7fff_ffff_f000;

/// The lowest address a program may map.
pub const LOWEST: u64 = 0x1_0000;

/// `address` rounded up to a page; none on overflow.
pub fn page_up(address: u64) -> Option<u64> {
    address.checked_add(PAGE - 1).map(|end| end & !(PAGE - 1))
}

/// `address` rounded down to a page.
pub fn page_down(address: u64) -> u64 {
    address & !(PAGE - 1)
}
