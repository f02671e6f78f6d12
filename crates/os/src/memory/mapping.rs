//! The memory side of `mmap`, `munmap`, `mprotect` and `madvise`.

use super::{
    AddressSpace, HUGE_PAGE, LOWEST, PAGE, USER_END,
    area::{Area, Backing, Rights},
    page_down, page_up,
    table::{self, Entry},
};
use mem::PhysAddr;
use thiserror::Error;

/// The search for free addresses starts here, below the stack and a gap, and goes down.
const MAP_TOP: u64 = 0x7fff_f7ff_f000;

/// Linux's limit on the number of areas.
const MOST_AREAS: usize = 65_530;

/// Why a mapping operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MapError {
    #[error("the range is empty, not aligned, or outside the program's half of the address space")]
    Invalid,
    #[error("there is no free range, or nothing is mapped there")]
    NoMemory,
    #[error("something is mapped there already")]
    Exists,
}

/// Where to place a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Anywhere; the address is a hint.
    Anywhere(u64),
    /// In the first two GiB, where an address fits into 31 bits.
    Low,
    /// Exactly here, replacing existing mappings.
    Exactly(u64),
    /// Exactly here; fails if the range is in use.
    ExactlyIfFree(u64),
}

/// A request for a new mapping.
pub struct MapRequest {
    pub place: Place,
    pub size: u64,
    pub rights: Rights,
    pub backing: Backing,
    pub shared: bool,
    pub huge: bool,
    /// No memory is reserved: the size may exceed physical memory.
    pub no_reserve: bool,
}

impl AddressSpace {
    /// Creates a mapping; returns its address.
    pub fn map(&mut self, request: MapRequest) -> Result<u64, MapError> {
        let align = if request.huge { HUGE_PAGE } else { PAGE };
        let size = page_up(request.size).filter(|size| *size > 0).ok_or(MapError::Invalid)?;
        let size = size.checked_next_multiple_of(align).ok_or(MapError::NoMemory)?;
        if size > USER_END - LOWEST || self.areas.count() >= MOST_AREAS {
            return Err(MapError::NoMemory);
        }
        // Like Linux's heuristic overcommit: reject only requests that can never be satisfied.
        if !request.no_reserve && request.rights.write() && size > self.physical.limit().0 {
            return Err(MapError::NoMemory);
        }
        // Like Linux where anonymous memory gets huge pages: what is large enough for one begins where one may.
        let large = self.huge_pages && size >= HUGE_PAGE && matches!(request.backing, Backing::Zeros(_));
        let boundary = if large { HUGE_PAGE } else { align };
        let start = match request.place {
            Place::Exactly(address) => {
                self.unmap(check_range(address, size)?, size)?;
                address
            }
            Place::ExactlyIfFree(address) => {
                check_range(address, size)?;
                if !self.areas.free(address, address + size) {
                    return Err(MapError::Exists);
                }
                address
            }
            Place::Low => {
                self.areas.highest_free(size, boundary, 0x4000_0000, 0x8000_0000).ok_or(MapError::NoMemory)?
            }
            Place::Anywhere(wish) => {
                let wish = page_down(wish);
                let good =
                    wish.is_multiple_of(align) && check_range(wish, size).is_ok() && self.areas.free(wish, wish + size);
                if good {
                    wish
                } else {
                    self.areas.highest_free(size, boundary, LOWEST, MAP_TOP).ok_or(MapError::NoMemory)?
                }
            }
        };
        if request.rights.execute() {
            self.code_changed();
        }
        let MapRequest { rights, backing, shared, huge, .. } = request;
        self.areas.insert(start, Area { end: start + size, rights, backing, shared, huge });
        Ok(start)
    }

    /// The address that [`AddressSpace::map`] would choose for `size` bytes.
    pub fn room_for(&self, size: u64) -> Option<u64> {
        self.areas.highest_free(page_up(size)?, PAGE, LOWEST, MAP_TOP)
    }

    /// Maps zeroed pages at a free address.
    pub fn map_zeros(&mut self, size: u64, rights: Rights) -> Result<u64, MapError> {
        self.map_at(Place::Anywhere(0), size, rights, "")
    }

    /// Maps zeroed pages at `place`, under the name that `/proc/self/maps` shows.
    pub fn map_at(&mut self, place: Place, size: u64, rights: Rights, name: &'static str) -> Result<u64, MapError> {
        let backing = Backing::Zeros(name);
        self.map(MapRequest { place, size, rights, backing, shared: false, huge: false, no_reserve: false })
    }

    /// Removes mappings; unmapped parts of the range are ignored.
    pub fn unmap(&mut self, start: u64, size: u64) -> Result<(), MapError> {
        let size = page_up(size).filter(|size| *size > 0).ok_or(MapError::Invalid)?;
        let end = start.checked_add(size).filter(|end| *end <= USER_END).ok_or(MapError::Invalid)?;
        if !start.is_multiple_of(PAGE) {
            return Err(MapError::Invalid);
        }
        self.split_at(start).and_then(|()| self.split_at(end)).ok_or(MapError::NoMemory)?;
        self.note_code_change(start, end, Rights::NONE);
        self.drop_pages(start, end);
        self.drop_guards(start, end);
        self.areas.remove(start, end);
        Ok(())
    }

    /// Changes the rights of a range, all of which must be mapped.
    pub fn protect(&mut self, start: u64, size: u64, rights: Rights) -> Result<(), MapError> {
        if !start.is_multiple_of(PAGE) {
            return Err(MapError::Invalid);
        }
        let size = page_up(size).ok_or(MapError::NoMemory)?;
        let end = start.checked_add(size).filter(|end| *end <= USER_END).ok_or(MapError::NoMemory)?;
        if !self.areas.cover(start, end) || self.areas.count() >= MOST_AREAS {
            return Err(MapError::NoMemory);
        }
        self.split_at(start).and_then(|()| self.split_at(end)).ok_or(MapError::NoMemory)?;
        self.note_code_change(start, end, rights);
        self.areas.change(start, end, |area| area.rights = rights);
        let leaves = table::leaves(&self.physical, self.root, start, end);
        for (page, leaf) in &leaves {
            let rights = self.guarded_rights(*page, rights);
            self.physical.write_u64(leaf.at, leaf.entry.with_rights(rights).0);
        }
        self.forget_pages(&leaves);
        Ok(())
    }

    /// Discards the contents of a range: the next access finds zeros or the file's bytes again.
    pub fn discard(&mut self, start: u64, size: u64) -> Result<(), MapError> {
        let end = self.advised_range(start, size)?;
        self.split_at(start).and_then(|()| self.split_at(end)).ok_or(MapError::NoMemory)?;
        self.note_code_change(start, end, Rights::NONE);
        self.drop_pages(start, end);
        Ok(())
    }

    /// Sets whether a range should use huge pages.
    pub fn advise_huge(&mut self, start: u64, size: u64, huge: bool) -> Result<(), MapError> {
        let end = self.advised_range(start, size)?;
        self.areas.change(start, end, |area| area.huge = huge);
        Ok(())
    }

    /// Checks a range given to `madvise`, all of which must be mapped; returns its end.
    pub fn advised_range(&self, start: u64, size: u64) -> Result<u64, MapError> {
        let size = page_up(size).ok_or(MapError::Invalid)?;
        let end = start.checked_add(size).ok_or(MapError::Invalid)?;
        if !start.is_multiple_of(PAGE) || end > USER_END {
            return Err(MapError::Invalid);
        }
        if self.areas.cover(start, end) { Ok(end) } else { Err(MapError::NoMemory) }
    }

    /// The addresses of the resident pages of a range.
    pub fn resident_pages(&self, start: u64, end: u64) -> Vec<u64> {
        let leaves = table::leaves(&self.physical, self.root, start, end);
        let pages = leaves.iter().flat_map(|(begin, leaf)| (*begin..begin + leaf.size).step_by(PAGE as usize));
        pages.filter(|page| (start..end).contains(page)).collect()
    }

    /// Invalidates decoded code if a range held code or may hold code from now on.
    pub(super) fn note_code_change(&mut self, start: u64, end: u64, new: Rights) {
        if new.execute() || self.areas.within(start, end).any(|(_, area)| area.rights.execute()) {
            self.code_changed();
        }
    }

    /// Removes the entry of a small page from the tables and returns it.
    pub(super) fn take_entry(&mut self, at: PhysAddr) -> Entry {
        let entry = Entry(self.physical.read_u64(at));
        self.physical.write_u64(at, 0);
        entry
    }
}

/// Checks that a program can map a range; returns its start.
pub(super) fn check_range(start: u64, size: u64) -> Result<u64, MapError> {
    if !start.is_multiple_of(PAGE) {
        return Err(MapError::Invalid);
    }
    match start.checked_add(size) {
        Some(end) if start >= LOWEST && end <= USER_END => Ok(start),
        _ => Err(MapError::NoMemory),
    }
}
