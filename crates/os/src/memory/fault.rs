//! Accesses that fail, and why.

use super::{AddressSpace, PAGE, USER_END};
pub use x86::Access;
use x86::Stop;

/// Why an access failed. Linux makes a different signal or code of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAccess {
    /// No area is there (SIGSEGV, SEGV_MAPERR).
    NotMapped,
    /// The area does not allow it (SIGSEGV, SEGV_ACCERR).
    Forbidden,
    /// The page lies past the end of its file (SIGBUS).
    PastEndOfFile,
    /// A driver protects the page: the access is its affair.
    Guarded,
    /// The access is allowed, but the physical memory is used up.
    NoMemory,
}

impl BadAccess {
    /// What the processor reports.
    pub(super) fn stop(self, address: u64, access: Access) -> Stop {
        Stop::PageFault { address, access, present: matches!(self, BadAccess::Forbidden | BadAccess::Guarded) }
    }
}

impl AddressSpace {
    /// Why an access that stopped did so. Nothing, if it would succeed by now.
    pub fn why(&mut self, address: u64, access: Access) -> Option<BadAccess> {
        if address >= USER_END {
            return Some(BadAccess::NotMapped);
        }
        self.page(address, access).err()
    }

    /// Touches pages; as many as there is memory for. What can't be brought in now fails when it is touched.
    pub fn bring_in_all(&mut self, start: u64, size: u64, access: Access) {
        let room = self.limit().0.saturating_sub(self.used().0) / 2;
        for page in 0..size.min(room).div_ceil(PAGE) {
            let _ = self.why(start + page * PAGE, access);
        }
    }
}
