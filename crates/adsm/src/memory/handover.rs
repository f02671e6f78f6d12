//! Tracks which blocks may have changed since an object was last handed over, so that a call need not check every
//! block.
//!
//! After a call that may write an object, its device alone has every block. Each later change of blocks is marked
//! before it is made, by the thread that has locked them. The next such call on the same device checks only the marked
//! blocks. Between marking and changing, the marking thread checks again for calls in flight, and a call registers as
//! in flight before it reads the marks. So at least one of the two notices the other. Hence `SeqCst`.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
};

/// The marks of an object.
pub struct Handover {
    device: AtomicUsize,
    /// One bit for each 64th of the blocks.
    marks: AtomicU64,
    blocks: usize,
}

const NOBODY: usize = usize::MAX;

impl Handover {
    /// For an object of `blocks` blocks.
    pub fn new(blocks: usize) -> Self {
        Self { device: AtomicUsize::new(NOBODY), marks: AtomicU64::new(0), blocks }
    }

    /// Number of blocks that share a bit.
    fn share(&self) -> usize {
        self.blocks.div_ceil(u64::BITS as usize).max(1)
    }

    /// Marks blocks that are about to change.
    pub fn mark(&self, blocks: &Range<usize>) {
        let Some(last) = blocks.clone().last() else { return };
        let (first, last) = (blocks.start / self.share(), last / self.share());
        self.marks.fetch_or(u64::MAX >> (u64::BITS as usize - 1 - (last - first)) << first, SeqCst);
    }

    /// Begins a handover of the object to a device. Returns the ranges to check, in ascending order.
    pub fn begin(&self, device: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let mut marks = self.marks.swap(0, SeqCst);
        if self.device.swap(NOBODY, SeqCst) != device {
            marks = u64::MAX;
        }
        let (share, blocks) = (self.share(), self.blocks);
        std::iter::from_fn(move || {
            let first = marks.trailing_zeros();
            let count = marks.checked_shr(first)?.trailing_ones();
            marks &= u64::MAX.checked_shl(first + count).unwrap_or(0);
            let place = |bit: u32| (bit as usize * share).min(blocks);
            Some(place(first)..place(first + count))
        })
    }

    /// Completes the handover.
    pub fn end(&self, device: usize) {
        self.device.store(device, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(handover: &Handover, device: usize) -> Vec<(usize, usize)> {
        handover.begin(device).map(|look| (look.start, look.end)).collect()
    }

    #[test]
    fn a_second_call_on_the_same_device_looks_where_something_happened() {
        let handover = Handover::new(9);
        assert_eq!(looks(&handover, 1), [(0, 9)]);
        handover.end(1);
        assert!(looks(&handover, 1).is_empty());
        handover.end(1);
        handover.mark(&(3..4));
        handover.mark(&(6..8));
        assert_eq!(looks(&handover, 1), [(3, 4), (6, 8)]);
        assert_eq!(looks(&handover, 1), [(0, 9)], "the one before did not come to its end");
        handover.end(1);
        assert_eq!(looks(&handover, 0), [(0, 9)], "another device");
    }

    #[test]
    fn many_blocks_are_checked_by_64ths_and_none_is_missed() {
        let handover = Handover::new(1000);
        handover.end(0);
        handover.mark(&(15..16));
        handover.mark(&(500..530));
        handover.mark(&(999..1000));
        assert_eq!(looks(&handover, 0), [(0, 16), (496, 544), (992, 1000)]);
        handover.end(0);
        handover.mark(&(0..1000));
        assert_eq!(looks(&handover, 0), [(0, 1000)]);
    }
}
