//! Predicts which blocks the program reads after a call, so that they can be fetched before it does.
//!
//! Time is counted in returns of calls that write the object. A block that was read after each of the last three
//! returns is expected to be read after this one; a block that was fetched in vain is not expected again. Two returns
//! are not enough: an element that is changed before a call and read after it causes two accesses in a row, and then
//! another element is used.
//!
//! Only a fault shows that a block was read, and a fault costs as much as a small transfer. A block that was read after
//! each of the last eight returns is trusted: it is opened without a fault, for as many returns as it was seen to be
//! read. Then it is left closed once, to check that the program still reads it.

use std::{
    ops::Range,
    sync::atomic::{AtomicU16, AtomicU32, AtomicUsize, Ordering},
};

/// The prediction for the blocks of an object.
#[derive(Debug)]
pub struct Habit {
    returns: AtomicU16,
    /// One packed `Looks` per block.
    blocks: Box<[AtomicU32]>,
    /// Bounds of the blocks read since the last return.
    low: AtomicUsize,
    high: AtomicUsize,
}

/// The history of a block.
#[derive(Clone, Copy)]
struct Looks {
    /// The return after which the block was last read, or trusted to be read.
    last: u16,
    /// Number of consecutive returns after which it was seen to be read.
    seen: u8,
    /// Number of returns since then after which it was trusted to be read.
    trusted: u8,
}

/// Number of consecutive returns after which a block is expected to be read.
const HABIT: u8 = 3;
/// Number of consecutive returns after which a block is trusted.
const TRUST: u8 = 8;
/// Upper limit of `seen`, and so of consecutive openings on trust.
const MOST: u8 = 32;

impl Looks {
    fn of(word: &AtomicU32) -> Self {
        let [low, high, seen, trusted] = word.load(Ordering::Relaxed).to_le_bytes();
        Self { last: u16::from_le_bytes([low, high]), seen, trusted }
    }

    fn store(self, word: &AtomicU32) {
        let [low, high] = self.last.to_le_bytes();
        word.store(u32::from_le_bytes([low, high, self.seen, self.trusted]), Ordering::Relaxed);
    }

    /// Whether it was read after the return before number `now`, and often enough to be expected again.
    fn expected(self, now: u16) -> bool {
        now.wrapping_sub(self.last) == 1 && self.seen >= HABIT
    }
}

impl Habit {
    pub fn new(blocks: usize) -> Self {
        let blocks = (0..blocks).map(|_| AtomicU32::new(0)).collect();
        Self { returns: AtomicU16::new(0), blocks, low: AtomicUsize::new(usize::MAX), high: AtomicUsize::new(0) }
    }

    /// Records that the program reads blocks that were on a device.
    pub fn note(&self, blocks: Range<usize>) {
        let now = self.now();
        self.reach(&blocks);
        for block in &self.blocks[blocks] {
            let looks = Looks::of(block);
            let seen = match now.wrapping_sub(looks.last) {
                0 => looks.seen.max(1),
                1 => (looks.seen + 1).min(MOST),
                _ => 1,
            };
            Looks { last: now, seen, trusted: 0 }.store(block);
        }
    }

    /// Records that blocks have been opened on trust.
    pub fn trust(&self, blocks: Range<usize>) {
        let now = self.now();
        self.reach(&blocks);
        for block in &self.blocks[blocks] {
            let looks = Looks::of(block);
            Looks { last: now, trusted: looks.trusted.saturating_add(1), ..looks }.store(block);
        }
    }

    fn now(&self) -> u16 {
        self.returns.load(Ordering::Relaxed)
    }

    fn reach(&self, blocks: &Range<usize>) {
        self.low.fetch_min(blocks.start, Ordering::Relaxed);
        self.high.fetch_max(blocks.end, Ordering::Relaxed);
    }

    /// Counts the return of a call, and returns the range that may contain expected blocks.
    pub fn returned(&self) -> Range<usize> {
        self.returns.fetch_add(1, Ordering::Relaxed);
        let low = self.low.swap(usize::MAX, Ordering::Relaxed);
        let high = self.high.swap(0, Ordering::Relaxed);
        low.min(high)..high
    }

    /// Whether the program is expected to read a block before the next return.
    pub fn expects(&self, block: usize) -> bool {
        Looks::of(&self.blocks[block]).expected(self.now())
    }

    /// Whether the block may be opened without a fault.
    pub fn is_trusted(&self, block: usize) -> bool {
        let looks = Looks::of(&self.blocks[block]);
        looks.expected(self.now()) && looks.seen >= TRUST && looks.trusted < looks.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_read_after_three_calls_is_expected_after_the_fourth_and_no_longer_if_it_is_not_read() {
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

    #[test]
    fn a_block_read_after_eight_calls_is_trusted_eight_times_and_then_watched_once() {
        let habit = Habit::new(2);
        habit.returned();
        let looked_at = |times| {
            for _ in 0..times {
                assert!(!habit.is_trusted(0));
                habit.note(0..1);
                habit.returned();
            }
            let mut trusted = 0;
            while habit.is_trusted(0) {
                habit.trust(0..1);
                habit.returned();
                trusted += 1;
            }
            trusted
        };
        assert_eq!([looked_at(8), looked_at(1), looked_at(1)], [8, 9, 10]);
        assert!(habit.expects(0), "it is fetched before it is watched");
        habit.returned();
        assert!(!habit.expects(0), "no thread looked");
        assert_eq!(looked_at(8), 8, "trust is earned anew");
    }
}
