//! `mremap` and `brk`: mappings that grow, shrink and move with their contents.

use super::{
    AddressSpace, HUGE_PAGE, MapError, Place, USER_END,
    area::{Area, Rights},
    mapping::check_range,
    page_up, table,
};
use mem::VirtAddr;

/// Whether `mremap` may move the mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Never,
    IfNeeded,
    To(u64),
}

impl AddressSpace {
    /// Changes the size of a mapping, which must be a single area; returns its address.
    pub fn remap(&mut self, start: u64, old: u64, new: u64, may: Move) -> Result<u64, MapError> {
        let old = page_up(old).ok_or(MapError::Invalid)?;
        let new = page_up(new).filter(|size| *size > 0).ok_or(MapError::Invalid)?;
        if check_range(start, old.max(1)).is_err() || old == 0 || new > USER_END {
            return Err(MapError::Invalid);
        }
        let end = start + old;
        let (area_start, area) = self.areas.find(start).ok_or(MapError::NoMemory)?;
        if end > area.end {
            return Err(MapError::NoMemory);
        }
        let whole = (area_start, area.end);
        let area = area.clone();
        if let Move::To(target) = may {
            check_range(target, new).map_err(|_| MapError::Invalid)?;
            if target < end && start < target + new {
                return Err(MapError::Invalid);
            }
            self.unmap(target, new)?;
            return self.move_area(start, old, target, new, area);
        }
        if new <= old {
            if new < old {
                self.unmap(start + new, old - new)?;
            }
            return Ok(start);
        }
        let grown = start + new;
        if new - old > self.physical.limit().0 && area.rights.write() {
            return Err(MapError::NoMemory);
        }
        if end == whole.1 && grown <= USER_END && self.areas.free(end, grown) {
            self.areas.change(start, end, |_| {});
            let more = Area { end: grown, backing: self.backing_at(end - 1, 1), ..area };
            self.areas.insert(end, more);
            return Ok(start);
        }
        if may == Move::Never {
            return Err(MapError::NoMemory);
        }
        let align = if area.huge { HUGE_PAGE } else { super::PAGE };
        let target = self.areas.highest_free(new, align, super::LOWEST, start.max(0x7fff_f7ff_f000));
        self.move_area(start, old, target.ok_or(MapError::NoMemory)?, new, area)
    }

    /// The backing that an area would have `distance` bytes past a mapped address.
    fn backing_at(&self, address: u64, distance: u64) -> super::Backing {
        let (start, area) = self.areas.find(address).expect("the caller found it");
        match &area.backing {
            super::Backing::Zeros(name) => super::Backing::Zeros(name),
            super::Backing::File { file, offset } => {
                super::Backing::File { file: file.clone(), offset: offset + (address + distance - start) }
            }
        }
    }

    fn move_area(&mut self, start: u64, old: u64, target: u64, new: u64, area: Area) -> Result<u64, MapError> {
        let keep = old.min(new);
        let backing = self.backing_at(start, 0);
        // Pages are moved one by one, so huge pages at the borders are split first.
        for border in [start, start + keep] {
            self.split_at(border).ok_or(MapError::NoMemory)?;
        }
        for (begin, leaf) in table::leaves(&self.physical, self.root, start, start + keep) {
            if leaf.size == HUGE_PAGE {
                self.forget(begin, begin + HUGE_PAGE);
                table::split(&mut self.physical, leaf).ok_or(MapError::NoMemory)?;
            }
        }
        self.note_code_change(start, start + old, Rights::NONE);
        for (begin, leaf) in table::leaves(&self.physical, self.root, start, start + keep) {
            let entry = self.take_entry(leaf.at);
            let to = VirtAddr(target + (begin - start));
            if table::map(&mut self.physical, self.root, to, entry).is_none() {
                // Only part of the mapping has moved: the process can't continue.
                self.physical.write_u64(leaf.at, entry.0);
                self.exhausted = true;
                return Err(MapError::NoMemory);
            }
        }
        self.forget(start, start + old);
        self.unmap(start, old)?;
        self.areas.insert(target, Area { end: target + new, backing, ..area });
        Ok(target)
    }

    /// Moves the end of the heap that begins at `start` from `old` to `new`; returns the resulting end.
    pub fn set_break(&mut self, start: u64, old: u64, new: u64) -> u64 {
        let (Some(from), Some(to)) = (page_up(old), page_up(new)) else { return old };
        if new < start || to > USER_END {
            return old;
        }
        let done = match to.cmp(&from) {
            std::cmp::Ordering::Less => self.unmap(to, from - to),
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => {
                self.map_at(Place::ExactlyIfFree(from), to - from, Rights::READ_WRITE, "[heap]").map(|_| ())
            }
        };
        if done.is_ok() { new } else { old }
    }
}
