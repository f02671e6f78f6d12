//! Detects sequential faults in an object, and decides how much to open at once.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

/// Growth factor: a lone fault opens one block, and the second fault of a sequence opens as much as is allowed.
const GROWTH: usize = 64;

/// The last opening of an object: where it ended, and its length.
#[derive(Default)]
pub struct Streak(AtomicU64);

impl Streak {
    /// The number of blocks to open for a fault at `block`, including it, at most `limit`. The number grows while each
    /// fault comes where the last opening ended. An opening ends at a multiple of its length, so that huge pages are
    /// opened whole.
    pub fn at(&self, block: usize, limit: usize) -> usize {
        let (expected, last) = self.last();
        let wish = if block == expected && last > 0 { (last * GROWTH).min(limit.max(1)) } else { 1 };
        let end = ((block + wish) / wish * wish).max(block + 1);
        self.0.store((end as u64) << 24 | wish as u64 & 0xFF_FFFF, Ordering::Relaxed);
        end - block
    }

    /// The end and the length of the last opening.
    fn last(&self) -> (usize, usize) {
        let packed = self.0.load(Ordering::Relaxed);
        ((packed >> 24) as usize, (packed & 0xFF_FFFF) as usize)
    }

    /// Whether a fault at `block` would continue a sequence.
    pub fn continues_at(&self, block: usize) -> bool {
        let (expected, last) = self.last();
        block == expected && last >= 2
    }

    /// Records a fault at blocks that had been fetched early.
    pub fn reached(&self, blocks: &Range<usize>) {
        self.0.store((blocks.end as u64) << 24 | blocks.len() as u64 & 0xFF_FFFF, Ordering::Relaxed);
    }

    /// Where an opening at `block` would end if it continued the sequence, with at most `limit` blocks; `block` if
    /// there is none.
    pub fn next(&self, block: usize, limit: usize) -> usize {
        let (_, last) = self.last();
        match (last * GROWTH).min(limit) {
            wish if last >= 2 && wish > 0 => (block + wish) / wish * wish,
            _ => block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_grow_while_faults_follow_each_other() {
        let streak = Streak::default();
        let counts: Vec<_> = [4, 5, 64, 128].map(|block| streak.at(block, 64)).into();
        assert_eq!(counts, [1, 59, 64, 64], "to 5, 64, 128 and 192");
        assert_eq!((streak.next(192, 64), streak.next(192, 0)), (256, 192));
        assert_eq!(streak.at(3, 8), 1, "elsewhere");
        assert_eq!(streak.next(4, 8), 4, "one alone is no row");
        assert_eq!(streak.at(4, 1), 1, "no more than allowed");
        streak.reached(&(10..14));
        assert!(streak.continues_at(14) && !streak.continues_at(13));
        assert_eq!((streak.next(14, 8), streak.at(14, 8)), (16, 2), "as if the program had opened them");
    }
}
