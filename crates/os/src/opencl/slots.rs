//! Small pieces of device memory: descriptions of images and samplers.

use std::collections::VecDeque;

use mem::{Bytes, VirtAddr};

use super::error::Cl;
use crate::guest::GuestMemory;

/// Room for one description.
const SLOT: u64 = 64;
/// How much is asked for at a time.
const PIECE: u64 = 64 << 10;

/// Slots that are free.
#[derive(Debug, Default)]
pub struct Slots {
    /// The one that was given back first is used first.
    free: VecDeque<VirtAddr>,
    /// What has been asked for.
    pieces: Vec<VirtAddr>,
}

impl Slots {
    /// Writes up to 16 words to a slot.
    pub fn put(&mut self, guest: &mut dyn GuestMemory, words: &[u32]) -> Cl<VirtAddr> {
        if self.free.is_empty() {
            let base = guest.map_anonymous(Bytes(PIECE))?;
            self.pieces.push(base);
            self.free.extend((0..PIECE / SLOT).map(|n| base + Bytes(n * SLOT)));
        }
        let slot = self.free.pop_front().expect("there is a slot: some were just added");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        guest.write(slot, &bytes)?;
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
