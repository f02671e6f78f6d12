//! A channel of memory: which addresses belong to it, and its bytes.

use mem::{Frames, PhysAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which addresses belong to a channel: so many bytes go to each in turn.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    pub number: u64,
    pub of: u64,
    pub interleave: u64,
}

impl Channel {
    /// Where an address of this channel lies within it: its bytes are packed, whatever lies between them elsewhere.
    pub fn inside(&self, address: PhysAddr) -> PhysAddr {
        PhysAddr(address.0 / (self.interleave * self.of) * self.interleave + address.0 % self.interleave)
    }

    /// The address of what lies there within the channel.
    pub fn outside(&self, inside: PhysAddr) -> PhysAddr {
        let (turn, place) = (inside.0 / self.interleave, inside.0 % self.interleave);
        PhysAddr((turn * self.of + self.number) * self.interleave + place)
    }
}

/// The bytes of a channel, as they lie within it. Clones are handles to the same bytes: a memory has one while it runs, and
/// whoever built it may read and write by another while the machine rests.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<Frames>>);

impl Store {
    pub fn new(frames: Frames) -> Self {
        Self(Arc::new(Mutex::new(frames)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Frames> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bytes out; zeros are left.
    pub fn take(&self) -> Frames {
        std::mem::take(&mut *self.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_packs_its_bytes_and_finds_them_again() {
        let channel = Channel { number: 3, of: 16, interleave: 128 };
        let addresses = [3 * 128, 3 * 128 + 127, 19 * 128 + 64, (5 * 16 + 3) * 128];
        let inside = addresses.map(|address| channel.inside(PhysAddr(address)).0);
        assert_eq!(inside, [0, 127, 128 + 64, 5 * 128]);
        assert_eq!(inside.map(|address| channel.outside(PhysAddr(address)).0), addresses);
    }
}
