//! Where an object may differ from how it was last handed over, so that a call need not look at every block.
//!
//! Once a kernel on a device may write an object, that device alone has every block of it. What happens to blocks after that is
//! marked before it happens, by whoever has locked them; the next such call on the same device looks only there. Between marking and
//! the change, whoever marks looks for calls in flight again, and a call says that it is in flight before it looks for marks: one of
//! them sees the other. Hence `SeqCst`.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

/// See the module.
pub struct Handover {
    device: AtomicUsize,
    low: AtomicUsize,
    high: AtomicUsize,
}

const NOBODY: usize = usize::MAX;

impl Default for Handover {
    fn default() -> Self {
        Self { device: AtomicUsize::new(NOBODY), low: AtomicUsize::new(usize::MAX), high: AtomicUsize::new(0) }
    }
}

impl Handover {
    /// Something will happen to these blocks.
    pub fn mark(&self, blocks: &Range<usize>) {
        self.low.fetch_min(blocks.start, SeqCst);
        self.high.fetch_max(blocks.end, SeqCst);
    }

    /// The object of so many `blocks` is about to be handed over to a device: where to look.
    pub fn begin(&self, device: usize, blocks: usize) -> Range<usize> {
        let (low, high) = (self.low.swap(usize::MAX, SeqCst), self.high.swap(0, SeqCst));
        match self.device.swap(NOBODY, SeqCst) {
            before if before == device => low.min(high)..high,
            _ => 0..blocks,
        }
    }

    /// It has been.
    pub fn end(&self, device: usize) {
        self.device.store(device, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_call_on_the_same_device_looks_where_something_happened() {
        let handover = Handover::default();
        assert_eq!(handover.begin(1, 9), 0..9);
        handover.end(1);
        assert!(handover.begin(1, 9).is_empty());
        handover.end(1);
        handover.mark(&(3..4));
        handover.mark(&(6..7));
        assert_eq!(handover.begin(1, 9), 3..7);
        assert_eq!(handover.begin(1, 9), 0..9, "the one before did not come to its end");
        handover.end(1);
        assert_eq!(handover.begin(0, 9), 0..9, "another device");
    }
}
