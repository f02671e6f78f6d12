//! Allocators for the memories that devices have besides the host's.

use super::PAGE;
use crate::state::state;
use mem::{Bytes, PhysAddr, Zone};
use std::collections::BTreeSet;

/// The frames of one memory. They are allocated from the bottom up, and the lowest freed frame is reused first, so that
/// physical addresses are the same in every run.
#[derive(Debug)]
pub struct ZoneFrames {
    base: PhysAddr,
    size: u64,
    /// Frames above this have never been allocated.
    next: u64,
    free: BTreeSet<u64>,
    used: u64,
}

state!(struct ZoneFrames { base, size, next, free, used });

impl ZoneFrames {
    pub fn new(zone: Zone, size: Bytes) -> Self {
        Self { base: zone.base(), size: size.0 / PAGE * PAGE, next: 0, free: BTreeSet::new(), used: 0 }
    }

    /// Allocates a frame; none if the memory is full. Its contents are undefined.
    pub fn take(&mut self) -> Option<PhysAddr> {
        let at = match self.free.pop_first() {
            Some(at) => at,
            None if self.next < self.size => {
                self.next += PAGE;
                self.next - PAGE
            }
            None => return None,
        };
        self.used += PAGE;
        Some(self.base + Bytes(at))
    }

    pub fn give_back(&mut self, frame: PhysAddr) {
        self.used -= PAGE;
        self.free.insert(frame.0 - self.base.0);
    }

    /// The free space.
    pub fn left(&self) -> Bytes {
        Bytes(self.size - self.used)
    }

    pub fn size(&self) -> Bytes {
        Bytes(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_given_out_from_the_bottom_up_and_used_again() {
        let mut frames = ZoneFrames::new(Zone::Gpu(1), Bytes(3 * PAGE + 1));
        let base = Zone::Gpu(1).base();
        let taken: Vec<_> = std::iter::from_fn(|| frames.take()).collect();
        assert_eq!(taken, [0, 1, 2].map(|n| base + Bytes(n * PAGE)), "the memory holds three whole pages");
        frames.give_back(taken[2]);
        frames.give_back(taken[1]);
        assert_eq!((frames.left(), frames.take()), (Bytes(2 * PAGE), Some(taken[1])));
    }
}
