//! The software TLB: from a virtual page to the place of its bytes in the host's memory, in a few nanoseconds.
//!
//! It is no model of hardware. It has three parts, one for each kind of access, so that a hit is also the proof that the
//! access is allowed. Each is direct-mapped.

use mem::FrameId;

const SLOTS: usize = 1024;
const NO_PAGE: u64 = u64::MAX;

/// Where a page's bytes are: a frame, and the offset of the page in it.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    page: u64,
    pub frame: FrameId,
    pub offset: u32,
}

/// One kind of access.
pub struct Part {
    slots: Box<[Slot; SLOTS]>,
}

impl Part {
    fn new(nowhere: FrameId) -> Part {
        let empty = vec![Slot { page: NO_PAGE, frame: nowhere, offset: 0 }; SLOTS].into_boxed_slice();
        Part { slots: empty.try_into().expect("as many slots as were made") }
    }

    /// The slot of a page (an address over 4096), if it is there.
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
    /// An empty one; `nowhere` is any frame that exists.
    pub fn new(nowhere: FrameId) -> Tlb {
        Tlb { read: Part::new(nowhere), write: Part::new(nowhere), execute: Part::new(nowhere) }
    }

    /// Forgets the pages that touch a range of addresses.
    pub fn forget(&mut self, start: u64, end: u64) {
        if start < end {
            for part in [&mut self.read, &mut self.write, &mut self.execute] {
                part.forget(start >> 12, (end - 1) >> 12);
            }
        }
    }
}
