//! Memory that is mapped twice.
//!
//! A [`Backing`] is an anonymous file with a mapping of its own (the *alias*), which is always readable and writable:
//! transfers use it while the program's [`View`] of the same bytes is closed. A view can be mapped over a range that a
//! device driver has reserved, so that CPU and GPU use one address. When the view is dropped, the range stays reserved,
//! as the driver expects.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

/// The size of a page of this computer.
pub fn page_size() -> usize {
    // SAFETY: asks for a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// The size of a huge page.
pub const HUGE: usize = 2 << 20;

/// The smallest multiple of `unit` that holds `bytes`.
pub fn round_up(bytes: usize, unit: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(unit)
}

/// An anonymous file and its always open mapping.
pub struct Backing {
    file: OwnedFd,
    len: usize,
    alias: *mut u8,
}

// SAFETY: the alias is plain shared memory; the blocks' states control access to it.
unsafe impl Send for Backing {}
// SAFETY: as above.
unsafe impl Sync for Backing {}

impl Backing {
    /// Creates `len` bytes of zeros, a multiple of the page size.
    pub fn new(len: usize) -> io::Result<Self> {
        // SAFETY: the name is a C string; flags are plain.
        let fd = unsafe { libc::memfd_create(c"adsm".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just created, with no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let size = libc::off_t::try_from(len).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
        // SAFETY: an open file.
        if unsafe { libc::ftruncate(fd, size) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let alias = map(&file, ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, 0)?;
        Ok(Self { file, len, alias })
    }

    /// The always open mapping.
    pub fn alias(&self) -> *mut u8 {
        self.alias
    }

    /// Creates the program's mapping: at `over`, which must lie in a reserved range, or anywhere. It is readable, and
    /// its pages are present. With `huge`, they are huge pages if the system allows it: opening and closing 4 MiB then
    /// takes 2 us instead of 33. Huge pages are not mapped before the first access, which maps as much as is open then:
    /// splitting a huge mapping for one block costs 5 to 30 us more where a CUDA driver watches the process.
    ///
    /// # Safety
    /// `over` must be the start of `len` bytes that the caller may replace.
    pub unsafe fn view(&self, over: Option<usize>, huge: bool) -> io::Result<View> {
        let (at, fixed) = over.map_or((ptr::null_mut(), 0), |at| (at as *mut u8, libc::MAP_FIXED));
        let base = map(&self.file, at, self.len, libc::PROT_READ | libc::PROT_WRITE, fixed)?;
        let view = View { base, len: self.len, over: over.is_some() };
        // Present pages make later openings cheap. A system too old for this populates on access.
        // SAFETY: our own mapping.
        unsafe { libc::madvise(base.cast(), self.len, libc::MADV_POPULATE_WRITE) };
        if huge {
            // Only present pages can be made huge.
            collapse(base, self.len);
        }
        // SAFETY: as above.
        if unsafe { libc::mprotect(base.cast(), self.len, libc::PROT_READ) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(view)
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        // SAFETY: our own mapping, whose address is no longer used.
        unsafe { libc::munmap(self.alias.cast(), self.len) };
    }
}

/// Converts the aligned part of a view to huge pages, and unmaps these. If the system refuses, small pages stay mapped.
fn collapse(base: *mut u8, len: usize) {
    let first = (base as usize).next_multiple_of(HUGE);
    let end = (base as usize + len) / HUGE * HUGE;
    if first < end {
        let (first, len) = (first as *mut libc::c_void, end - first);
        // SAFETY: a part of our own mapping that is not in use yet; its bytes are in the file.
        unsafe {
            if libc::madvise(first, len, libc::MADV_COLLAPSE) == 0 {
                libc::madvise(first, len, libc::MADV_DONTNEED);
            }
        }
    }
}

/// The program's view of a [`Backing`].
pub struct View {
    base: *mut u8,
    len: usize,
    over: bool,
}

// SAFETY: plain shared memory, as for the backing.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    pub fn base(&self) -> *mut u8 {
        self.base
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if self.over {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
            // SAFETY: replaces our own mapping by what the driver had there: an inaccessible reservation.
            unsafe { libc::mmap(self.base.cast(), self.len, libc::PROT_NONE, flags, -1, 0) };
        } else {
            // SAFETY: our own mapping.
            unsafe { libc::munmap(self.base.cast(), self.len) };
        }
    }
}

fn map(file: &OwnedFd, at: *mut u8, len: usize, protection: i32, flags: i32) -> io::Result<*mut u8> {
    // SAFETY: without MAP_FIXED the kernel picks free addresses; with it, the caller of `view` guarantees the range.
    let base = unsafe { libc::mmap(at.cast(), len, protection, libc::MAP_SHARED | flags, file.as_raw_fd(), 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // A child after fork(2) must not share these bytes with its parent.
    // SAFETY: just mapped.
    unsafe { libc::madvise(base, len, libc::MADV_DONTFORK) };
    Ok(base.cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_views_show_the_same_bytes_and_the_alias_stays_open() {
        let backing = Backing::new(page_size()).unwrap();
        // SAFETY: anywhere.
        let view = unsafe { backing.view(None, false) }.unwrap();
        // SAFETY: both views are one page long; the program's is readable.
        unsafe {
            backing.alias().write(7);
            assert_eq!(view.base().read(), 7);
            libc::mprotect(view.base().cast(), page_size(), libc::PROT_NONE);
            backing.alias().write(8);
            assert_eq!(backing.alias().read(), 8);
        }
    }

    #[test]
    fn a_view_over_a_reservation_takes_its_address_and_leaves_it_reserved() {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh reservation.
        let reserved = unsafe { libc::mmap(ptr::null_mut(), page_size(), libc::PROT_NONE, flags, -1, 0) };
        let backing = Backing::new(page_size()).unwrap();
        // SAFETY: reserved above.
        let view = unsafe { backing.view(Some(reserved as usize), true) }.unwrap();
        assert_eq!(view.base() as usize, reserved as usize);
        drop(view);
        // A mapping with MAP_FIXED_NOREPLACE fails: the range is still reserved.
        // SAFETY: requests the range, and unmaps it.
        unsafe {
            let flags = flags | libc::MAP_FIXED_NOREPLACE;
            assert_eq!(libc::mmap(reserved, page_size(), libc::PROT_NONE, flags, -1, 0), libc::MAP_FAILED);
            libc::munmap(reserved, page_size());
        }
    }
}
