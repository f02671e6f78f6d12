//! Set-associative placement of blocks where not all fit, with LRU replacement or replacement of the least valuable
//! block.

use mem::{LineAddr, PhysAddr, Sets, Share};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The geometry of a memory that caches blocks of another, or of a unit that keeps records of some blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomSpec {
    /// A power of two.
    pub sets: usize,
    pub ways: usize,
    /// Bytes in a block.
    pub block: u64,
    /// The addresses whose blocks may be placed here.
    pub share: Share,
}

pub struct Room {
    spec: RoomSpec,
    held: Sets<Held>,
    /// By the first way of each set: blocks that wait for a way there, in order. Never iterated.
    wanted: FxHashMap<usize, VecDeque<LineAddr>>,
}

struct Held {
    block: LineAddr,
    /// Whether its eviction has started.
    leaving: bool,
}

impl Room {
    pub fn new(spec: RoomSpec) -> Self {
        Self { spec, held: Sets::new(spec.sets, spec.ways), wanted: FxHashMap::default() }
    }

    /// The number of a block among those that may be placed here; it selects the set.
    fn number(&self, block: LineAddr) -> u64 {
        self.spec.share.inside(PhysAddr(block.0)).0 / self.spec.block
    }

    /// The first way of the block's set, which identifies the set.
    fn set(&self, block: LineAddr) -> usize {
        self.held.ways(self.number(block)).start
    }

    fn find(&self, block: LineAddr) -> Option<usize> {
        self.held.find(self.number(block), |held| held.block == block)
    }

    /// The offset of a block that is held.
    pub fn at(&self, block: LineAddr) -> Option<u64> {
        self.find(block).map(|way| way as u64 * self.spec.block)
    }

    /// Marks the block as used most recently.
    pub fn touch(&mut self, block: LineAddr) {
        if let Some(way) = self.find(block) {
            self.held.touch(way);
        }
    }

    /// Gives a block a way, if one is free and no other block has waited longer; otherwise the block waits its turn.
    pub fn take(&mut self, block: LineAddr) -> bool {
        if self.find(block).is_some() {
            return true;
        }
        let free = self.held.free(self.number(block));
        let queue = self.wanted.entry(self.set(block)).or_default();
        match free {
            Some(way) if queue.front().is_none_or(|first| *first == block) => {
                queue.pop_front();
                self.held.fill(way, self.number(block), Held { block, leaving: false });
                true
            }
            _ => {
                if !queue.contains(&block) {
                    queue.push_back(block);
                }
                false
            }
        }
    }

    /// The least recently used block that `can` be evicted for a waiting one; `None` if as many ways are free or
    /// being freed as blocks wait.
    pub fn victim(&mut self, block: LineAddr, can: impl Fn(LineAddr) -> bool) -> Option<LineAddr> {
        let waiting = self.wanted.get(&self.set(block)).map_or(0, VecDeque::len);
        let number = self.number(block);
        let going = self.held.ways(number).filter(|&way| self.held.get(way).is_none_or(|held| held.leaving)).count();
        if going >= waiting {
            return None;
        }
        let oldest = self.held.victim(number, |held| !held.leaving && can(held.block))?;
        let victim = self.held.get_mut(oldest)?;
        victim.leaving = true;
        Some(victim.block)
    }

    /// Gives a block a way at once. If none is free, it replaces the block of its set with the least `worth`, which
    /// is returned.
    pub fn replace(&mut self, block: LineAddr, worth: impl Fn(LineAddr) -> u64) -> Option<LineAddr> {
        if self.find(block).is_some() {
            return None;
        }
        let number = self.number(block);
        let mut gone = None;
        let way = self.held.free(number).or_else(|| {
            let held = self.held.ways(number).filter_map(|way| Some((worth(self.held.get(way)?.block), way)));
            let (_, way) = held.min()?;
            gone = self.held.get(way).map(|held| held.block);
            Some(way)
        });
        self.held.fill(way.expect("a set has ways"), number, Held { block, leaving: false });
        gone
    }

    /// Frees the way of a block that is gone.
    pub fn free(&mut self, block: LineAddr) {
        if let Some(way) = self.find(block) {
            self.held.clear(way);
        }
    }

    /// The block that has waited longest for a way in this block's set.
    pub fn next_wanted(&self, block: LineAddr) -> Option<LineAddr> {
        self.wanted.get(&self.set(block)).and_then(VecDeque::front).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: RoomSpec = RoomSpec { sets: 2, ways: 2, block: 256, share: Share::ALL };

    fn block(number: u64) -> LineAddr {
        LineAddr(number * 256)
    }

    #[test]
    fn the_block_of_least_worth_goes_at_once() {
        let mut room = Room::new(SPEC);
        let worth = |block: LineAddr| if block.0 == 0 { 7 } else { 3 };
        assert_eq!((room.replace(block(0), worth), room.replace(block(2), worth)), (None, None));
        assert_eq!(room.replace(block(2), worth), None, "it is here");
        assert_eq!(room.replace(block(4), worth), Some(block(2)), "though it was used last");
        assert!(room.at(block(0)).is_some() && room.at(block(2)).is_none());
    }

    #[test]
    fn the_least_recently_used_block_that_can_go_goes_and_its_way_is_given_in_turn() {
        let mut room = Room::new(SPEC);
        assert!(room.take(block(0)) && room.take(block(2)));
        room.touch(block(2));
        room.touch(block(0));
        assert!(!room.take(block(4)) && !room.take(block(6)));
        assert!(room.take(block(1)), "other sets have room");
        assert_eq!(room.victim(block(4), |_| true), Some(block(2)));
        assert_eq!(room.victim(block(4), |other| other != block(0)), None);
        assert_eq!(room.victim(block(6), |_| true), Some(block(0)), "two wait, so two go");
        room.free(block(2));
        assert_eq!(room.next_wanted(block(2)), Some(block(4)));
        assert!(!room.take(block(6)), "it is not its turn");
        assert!(room.take(block(4)));
        assert_eq!(room.at(block(4)), Some(256));
    }
}
