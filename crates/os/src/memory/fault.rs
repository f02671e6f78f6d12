//! Failed accesses and their causes.

use super::{AddressSpace, PAGE, USER_END};
pub use x86::Access;
use x86::Stop;

/// Why an access failed. Linux reports each cause by a different signal or code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAccess {
    /// There is no area (SIGSEGV, SEGV_MAPERR).
    NotMapped,
    /// The area forbids the access (SIGSEGV, SEGV_ACCERR).
    Forbidden,
    /// The page lies past the end of its file (SIGBUS).
    PastEndOfFile,
    /// A driver guards the page and handles the access.
    Guarded,
    /// The access is allowed, but physical memory is exhausted.
    NoMemory,
}

impl BadAccess {
    /// The page fault that the processor reports.
    pub(super) fn stop(self, address: u64, access: Access) -> Stop {
        Stop::PageFault { address, access, present: matches!(self, BadAccess::Forbidden | BadAccess::Guarded) }
    }
}

impl AddressSpace {
    /// Why an access failed; none if it would succeed now.
    pub fn why(&mut self, address: u64, access: Access) -> Option<BadAccess> {
        if address >= USER_END {
            return Some(BadAccess::NotMapped);
        }
        self.page(address, access).err()
    }

    /// Touches the pages of a range, as far as memory suffices. The other pages fault later, when they are accessed.
    pub fn bring_in_all(&mut self, start: u64, size: u64, access: Access) {
        let room = self.limit().0.saturating_sub(self.used().0) / 2;
        for page in 0..size.min(room).div_ceil(PAGE) {
            let _ = self.why(start + page * PAGE, access);
        }
    }
}
