//! Which blocks the program looks at after each call, so that they can be fetched before it does.
//!
//! Time is counted in returns of calls that write the object. A block that was fetched after each of the last three is expected to
//! be wanted after this one; one that was fetched in vain is not expected again. Not two: an element that is changed before a call
//! and read after it is looked at twice in a row, and then another one is.

use std::{
    ops::Range,
    sync::atomic::{AtomicU16, AtomicUsize, Ordering},
};

/// See the module.
#[derive(Debug)]
pub struct Habit {
    returns: AtomicU16,
    /// Of each block: the return after which it was last looked at (12 bits), and after how many in a row (4 bits).
    blocks: Box<[AtomicU16]>,
    /// Everything looked at since the last return lies here.
    low: AtomicUsize,
    high: AtomicUsize,
}

const COUNT: u16 = 15;
/// So many returns in a row make a habit.
const HABIT: u16 = 3;

impl Habit {
    pub fn new(blocks: usize) -> Self {
        let blocks = (0..blocks).map(|_| AtomicU16::new(0)).collect();
        Self { returns: AtomicU16::new(0), blocks, low: AtomicUsize::new(usize::MAX), high: AtomicUsize::new(0) }
    }

    /// The program looks at blocks that a device had.
    pub fn note(&self, blocks: Range<usize>) {
        let now = self.returns.load(Ordering::Relaxed) & 0xFFF;
        self.low.fetch_min(blocks.start, Ordering::Relaxed);
        self.high.fetch_max(blocks.end, Ordering::Relaxed);
        for block in &self.blocks[blocks] {
            let (last, count) = unpack(block.load(Ordering::Relaxed));
            let count = match now.wrapping_sub(last) & 0xFFF {
                0 => count.max(1),
                1 => (count + 1).min(COUNT),
                _ => 1,
            };
            block.store(now << 4 | count, Ordering::Relaxed);
        }
    }

    /// A call has returned: where there may be blocks that it pays to fetch.
    pub fn returned(&self) -> Range<usize> {
        self.returns.fetch_add(1, Ordering::Relaxed);
        let low = self.low.swap(usize::MAX, Ordering::Relaxed);
        let high = self.high.swap(0, Ordering::Relaxed);
        low.min(high)..high
    }

    /// Whether the program is expected to look at a block before the next return.
    pub fn expects(&self, block: usize) -> bool {
        let now = self.returns.load(Ordering::Relaxed) & 0xFFF;
        let (last, count) = unpack(self.blocks[block].load(Ordering::Relaxed));
        now.wrapping_sub(last) & 0xFFF == 1 && count >= HABIT
    }
}

fn unpack(word: u16) -> (u16, u16) {
    (word >> 4, word & COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_looked_at_after_three_calls_is_expected_after_the_fourth_and_given_up_when_it_is_not_wanted() {
        let habit = Habit::new(4);
        assert_eq!(habit.returned(), 0..0);
        for _ in 0..3 {
            assert!(!habit.expects(1));
            habit.note(1..3);
            assert_eq!(habit.returned(), 1..3);
        }
        assert!(habit.expects(1) && habit.expects(2) && !habit.expects(0));
        habit.note(2..3);
        assert_eq!(habit.returned(), 2..3);
        assert!(!habit.expects(1) && habit.expects(2));
    }
}
