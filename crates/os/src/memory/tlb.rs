//! The software TLB: maps a virtual page to its bytes in the host's memory within a few nanoseconds.
//!
//! It is not a model of hardware. It has three direct-mapped parts, one for each kind of access, so that a hit also
//! proves that the access is allowed.

use mem::FrameId;

/// Covers 16 MiB, for programs that walk down the columns of a large matrix and touch a new page on each access.
const SLOTS: usize = 4096;
const NO_PAGE: u64 = u64::MAX;

/// The location of a page's bytes: a frame, and the page's offset in it.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    page: u64,
    pub frame: FrameId,
    pub offset: u32,
}

/// The part for one kind of access.
pub struct Part {
    slots: Box<[Slot; SLOTS]>,
}

impl Part {
    fn new(nowhere: FrameId) -> Part {
        let empty = vec![Slot { page: NO_PAGE, frame: nowhere, offset: 0 }; SLOTS].into_boxed_slice();
        Part { slots: empty.try_into().expect("as many slots as were made") }
    }

    /// The slot of a page number (an address divided by 4096), on a hit.
    #[inline(always)]
    pub fn find(&self, page: u64) -> Option<Slot> {
        let slot = self.slots[page as usize % SLOTS];
        (slot.page == page).then_some(slot)
    }

    pub fn fill(&mut self, page: u64, frame: FrameId, offset: u32) {
        self.slots[page as usize % SLOTS] = Slot { page, frame, offset };
    }

    pub fn clear(&mut self) {
        for slot in self.slots.iter_mut() {
            slot.page = NO_PAGE;
        }
    }

    pub fn forget_page(&mut self, page: u64) {
        self.forget(page, page);
    }

    fn forget(&mut self, first: u64, last: u64) {
        if last - first >= SLOTS as u64 {
            return self.clear();
        }
        for page in first..=last {
            let slot = &mut self.slots[page as usize % SLOTS];
            if slot.page == page {
                slot.page = NO_PAGE;
            }
        }
    }
}

pub struct Tlb {
    pub read: Part,
    pub write: Part,
    pub execute: Part,
}

impl Tlb {
    /// An empty TLB; `nowhere` is any existing frame.
    pub fn new(nowhere: FrameId) -> Tlb {
        Tlb { read: Part::new(nowhere), write: Part::new(nowhere), execute: Part::new(nowhere) }
    }

    /// Drops the pages that overlap a range of addresses.
    pub fn forget(&mut self, start: u64, end: u64) {
        if start < end {
            for part in [&mut self.read, &mut self.write, &mut self.execute] {
                part.forget(start >> 12, (end - 1) >> 12);
            }
        }
    }
}
