//! Small blocks of memory for devices to read: descriptors of images, samplers and transfers.

use crate::state::state;
use std::collections::VecDeque;

use mem::{Bytes, VirtAddr};

use super::error::Cl;
use crate::guest::GuestMemory;

/// The size of each mapping.
const PIECE: u64 = 64 << 10;

/// An allocator of equally sized slots.
#[derive(Debug)]
pub struct Slots {
    /// The size of one slot.
    size: u64,
    /// The slot that was freed first is reused first.
    free: VecDeque<VirtAddr>,
    /// The mapped memory.
    pieces: Vec<VirtAddr>,
}

state!(struct Slots { size, free, pieces });

impl Slots {
    /// Slots of `size` bytes, a power of two.
    pub fn of(size: Bytes) -> Self {
        Self { size: size.0, free: VecDeque::new(), pieces: Vec::new() }
    }

    /// Writes words to a slot.
    pub fn put(&mut self, guest: &mut dyn GuestMemory, words: &[u32]) -> Cl<VirtAddr> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put_bytes(guest, &bytes)
    }

    /// Writes bytes to a new slot; they must fit.
    pub fn put_bytes(&mut self, guest: &mut dyn GuestMemory, bytes: &[u8]) -> Cl<VirtAddr> {
        if self.free.is_empty() {
            let base = guest.map_anonymous(Bytes(PIECE))?;
            self.pieces.push(base);
            self.free.extend((0..PIECE / self.size).map(|n| base + Bytes(n * self.size)));
        }
        let slot = self.free.pop_front().expect("there is a slot: some were just added");
        guest.write(slot, bytes)?;
        Ok(slot)
    }

    /// All memory that holds slots.
    pub fn all(&self) -> impl Iterator<Item = (VirtAddr, Bytes)> {
        self.pieces.iter().map(|base| (*base, Bytes(PIECE)))
    }

    pub fn take(&mut self, slot: VirtAddr) {
        self.free.push_back(slot);
    }
}
