//! A process's memory: physical pages, page tables in them, areas that say what belongs where, and a software TLB.
//!
//! The page tables are real x86-64 tables in the simulated physical memory, so that a modelled walker can read what a
//! hardware walker would. The areas are the kernel's own notes, from which a page fault learns what a page shall hold.

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

/// The end of the half of the address space that belongs to programs, less one guard page, as Linux has it.
pub const USER_END: u64 = 0x7fff_ffff_f000;

/// The lowest address a program may map.
pub const LOWEST: u64 = 0x1_0000;

/// `address` rounded up to a page; nothing if that is past the end of all addresses.
pub fn page_up(address: u64) -> Option<u64> {
    address.checked_add(PAGE - 1).map(|end| end & !(PAGE - 1))
}

/// `address` rounded down to a page.
pub fn page_down(address: u64) -> u64 {
    address & !(PAGE - 1)
}
