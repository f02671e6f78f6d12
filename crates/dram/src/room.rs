//! Where blocks lie of which not all have room: sets of ways, the least recently used block first to go.

use mem::{LineAddr, PhysAddr, Share};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The shape of a memory that holds blocks of another, or of a unit that knows something of some blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomSpec {
    /// A power of two.
    pub sets: usize,
    pub ways: usize,
    /// Bytes of a block.
    pub block: u64,
    /// The addresses whose blocks may lie here.
    pub share: Share,
}

pub struct Room {
    spec: RoomSpec,
    ways: Vec<Way>,
    clock: u64,
    /// By set: blocks that wait for a way, in order. Only looked up.
    wanted: FxHashMap<usize, VecDeque<LineAddr>>,
}

#[derive(Clone, Copy)]
struct Way {
    held: Option<LineAddr>,
    used: u64,
    /// It has been told to go.
    leaving: bool,
}

impl Room {
    pub fn new(spec: RoomSpec) -> Self {
        let free = Way { held: None, used: 0, leaving: false };
        Self { spec, ways: vec![free; spec.sets * spec.ways], clock: 0, wanted: FxHashMap::default() }
    }

    fn set(&self, block: LineAddr) -> usize {
        let RoomSpec { sets, block: bytes, share, .. } = self.spec;
        (share.inside(PhysAddr(block.0)).0 / bytes) as usize & (sets - 1)
    }

    fn ways_of(&self, block: LineAddr) -> std::ops::Range<usize> {
        let first = self.set(block) * self.spec.ways;
        first..first + self.spec.ways
    }

    fn find(&self, block: LineAddr) -> Option<usize> {
        self.ways_of(block).find(|&way| self.ways[way].held == Some(block))
    }

    /// Where a block that is here lies.
    pub fn at(&self, block: LineAddr) -> Option<u64> {
        self.find(block).map(|way| way as u64 * self.spec.block)
    }

    /// The block was used.
    pub fn touch(&mut self, block: LineAddr) {
        if let Some(way) = self.find(block) {
            self.clock += 1;
            self.ways[way].used = self.clock;
        }
    }

    /// Gives a block a way, if one is free and nobody waits for it longer; else the block waits for its turn.
    pub fn take(&mut self, block: LineAddr) -> bool {
        if self.find(block).is_some() {
            return true;
        }
        let free = self.ways_of(block).find(|&way| self.ways[way].held.is_none());
        let queue = self.wanted.entry(self.set(block)).or_default();
        match free {
            Some(way) if queue.front().is_none_or(|first| *first == block) => {
                queue.pop_front();
                self.ways[way] = Way { held: Some(block), used: self.clock, leaving: false };
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

    /// The block that should make room for one that waits, unless as many go already as wait: the first that `can` go.
    pub fn victim(&mut self, block: LineAddr, can: impl Fn(LineAddr) -> bool) -> Option<LineAddr> {
        let waiting = self.wanted.get(&self.set(block)).map_or(0, VecDeque::len);
        let ways = self.ways_of(block);
        let going = self.ways[ways.clone()].iter().filter(|way| way.leaving || way.held.is_none()).count();
        if going >= waiting {
            return None;
        }
        let held = ways.filter(|&way| !self.ways[way].leaving && self.ways[way].held.is_some_and(&can));
        let oldest = held.min_by_key(|&way| self.ways[way].used)?;
        self.ways[oldest].leaving = true;
        self.ways[oldest].held
    }

    /// The block is gone.
    pub fn free(&mut self, block: LineAddr) {
        if let Some(way) = self.find(block) {
            self.ways[way] = Way { held: None, used: 0, leaving: false };
        }
    }

    /// The block that has waited longest for a way of this one's set.
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
