//! The allocator of physical pages, and its limit.
//!
//! Pages are allocated from the bottom up and reused after they are freed, so that physical addresses are the same in
//! every run. Pages of 2 MiB are naturally aligned; only the touched parts of them take up memory on the host.

use super::window::Window;
use crate::state::{Read, Reader, State, Unreadable};
use mem::{Bytes, FRAME, Frames, PAGE, PhysAddr};

/// The size of a huge page.
pub const HUGE_PAGE: u64 = 2 << 20;

/// Where the memory for programs begins; the first MiB is left to firmware, as on a PC.
const FIRST: u64 = 1 << 20;

/// The physical memory of a machine, and the allocation state of its pages.
pub struct Physical {
    pub frames: Frames,
    /// On a timed machine: the stores that have been executed but not yet performed.
    pub window: Option<Box<Window>>,
    next: u64,
    free: Vec<u64>,
    free_huge: Vec<u64>,
    used: u64,
    limit: u64,
}

impl Physical {
    /// A memory of which at most `limit` bytes can be allocated.
    pub fn new(limit: Bytes) -> Physical {
        Physical {
            frames: Frames::new(),
            window: None,
            next: FIRST,
            free: Vec::new(),
            free_huge: Vec::new(),
            used: 0,
            limit: limit.0,
        }
    }

    pub fn used(&self) -> Bytes {
        Bytes(self.used)
    }

    pub fn limit(&self) -> Bytes {
        Bytes(self.limit)
    }

    /// Allocates a zeroed page; none if the limit is reached.
    pub fn page(&mut self) -> Option<PhysAddr> {
        self.charge(PAGE)?;
        if let Some(place) = self.free.iter().rposition(|page| !self.is_awaited(*page)) {
            let page = PhysAddr(self.free.remove(place));
            self.clear(page, PAGE);
            return Some(page);
        }
        if let Some(huge) = self.pop_huge() {
            self.free.extend((1..HUGE_PAGE / PAGE).rev().map(|index| huge + index * PAGE));
            self.clear(PhysAddr(huge), PAGE);
            return Some(PhysAddr(huge));
        }
        let page = self.next;
        self.next += PAGE;
        Some(PhysAddr(page))
    }

    /// Allocates a zeroed huge page; none if the limit is reached.
    pub fn huge_page(&mut self) -> Option<PhysAddr> {
        self.charge(HUGE_PAGE)?;
        if let Some(page) = self.pop_huge() {
            self.clear(PhysAddr(page), HUGE_PAGE);
            return Some(PhysAddr(page));
        }
        // Small pages skipped for alignment stay available.
        while !self.next.is_multiple_of(HUGE_PAGE) {
            self.free.push(self.next);
            self.next += PAGE;
        }
        let page = self.next;
        self.next += HUGE_PAGE;
        Some(PhysAddr(page))
    }

    pub fn give_back(&mut self, page: PhysAddr) {
        self.used -= PAGE;
        self.unshare(page, PAGE);
        self.free.push(page.0);
    }

    pub fn give_back_huge(&mut self, page: PhysAddr) {
        self.used -= HUGE_PAGE;
        self.unshare(page, HUGE_PAGE);
        self.free_huge.push(page.0);
    }

    /// Takes a free huge page that no device uses and no pending store targets.
    fn pop_huge(&mut self) -> Option<u64> {
        let awaited = |huge: &u64| (0..HUGE_PAGE / PAGE).any(|index| self.is_awaited(huge + index * PAGE));
        let place = self.free_huge.iter().rposition(|huge| !awaited(huge))?;
        Some(self.free_huge.remove(place))
    }

    /// Whether a freed page can't be reused yet: another agent's stores to it are pending, or a device uses it.
    fn is_awaited(&self, page: u64) -> bool {
        self.window.as_ref().is_some_and(|window| window.is_awaited(PhysAddr(page)))
    }

    fn unshare(&mut self, start: PhysAddr, size: u64) {
        if let Some(window) = &mut self.window {
            window.unshare(start, size);
        }
    }

    pub fn copy(&mut self, from: PhysAddr, to: PhysAddr) {
        let mut bytes = [0; PAGE as usize];
        self.read(from, &mut bytes);
        self.write(to, &bytes);
    }

    pub fn read(&self, address: PhysAddr, bytes: &mut [u8]) {
        self.frames.read(address, bytes);
        if let Some(window) = &self.window {
            window.overlay(address, bytes);
        }
    }

    pub fn write(&mut self, address: PhysAddr, bytes: &[u8]) {
        match &mut self.window {
            Some(window) => window.store_physical(address, bytes),
            None => self.frames.write(address, bytes),
        }
    }

    /// Saves which pages are allocated; the contents of the frames are saved apart.
    pub fn save(&self, to: &mut Vec<u8>) {
        let Self { frames: _, window: _, next, free, free_huge, used, limit } = self;
        (*limit).save(to);
        (*next, *used).save(to);
        free.save(to);
        free_huge.save(to);
    }

    /// Takes over these frames, and which pages of them are allocated.
    pub fn load(&mut self, from: &mut Reader, frames: Frames) -> Read<()> {
        let limit = u64::load(from)?;
        if limit != self.limit {
            let own = Bytes(self.limit);
            return Err(Unreadable(format!(
                "the program had {} of memory, not {own}: set --memory to that size",
                Bytes(limit)
            )));
        }
        (self.next, self.used) = State::load(from)?;
        self.free = State::load(from)?;
        self.free_huge = State::load(from)?;
        self.frames = frames;
        Ok(())
    }

    pub fn read_u64(&self, address: PhysAddr) -> u64 {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    pub fn write_u64(&mut self, address: PhysAddr, value: u64) {
        self.write(address, &value.to_le_bytes());
    }

    fn charge(&mut self, size: u64) -> Option<()> {
        let used = self.used + size;
        (used <= self.limit).then(|| self.used = used)
    }

    fn clear(&mut self, start: PhysAddr, size: u64) {
        if let Some(window) = &mut self.window {
            let zeros = [0; PAGE as usize];
            (start.0..start.0 + size).step_by(zeros.len()).for_each(|at| window.store_physical(PhysAddr(at), &zeros));
            return;
        }
        let mut at = start.0;
        let end = start.0 + size;
        while at < end {
            let inside = at % FRAME as u64;
            let count = (end - at).min(FRAME as u64 - inside);
            if let Some(frame) = self.frames.existing(PhysAddr(at)) {
                self.frames.bytes_mut(frame)[inside as usize..(inside + count) as usize].fill(0);
            }
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_page_is_allocated_again_as_zeros() {
        let mut physical = Physical::new(Bytes(1 << 20));
        let page = physical.page().unwrap();
        physical.write_u64(page, 7);
        physical.give_back(page);
        assert_eq!(physical.page(), Some(page));
        assert_eq!(physical.read_u64(page), 0);
    }

    #[test]
    fn no_more_is_given_out_than_the_limit() {
        let mut physical = Physical::new(Bytes(2 * PAGE));
        assert!(physical.page().is_some() && physical.page().is_some());
        assert_eq!((physical.page(), physical.huge_page()), (None, None));
        assert_eq!(physical.used(), Bytes(2 * PAGE));
    }

    #[test]
    fn huge_pages_are_aligned_and_take_no_room_until_touched() {
        let mut physical = Physical::new(Bytes(64 << 20));
        physical.page().unwrap();
        let huge = physical.huge_page().unwrap();
        assert_eq!(huge.0 % HUGE_PAGE, 0);
        assert_eq!(physical.frames.size(), Bytes(0));
    }
}
