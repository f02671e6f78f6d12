//! The memories of a machine: where the channels of each stand, and which addresses each channel holds.
//!
//! A machine with several memories has a zone of physical addresses for each ([`mem::Zone`]): the host's first, then
//! those of the GPUs. A machine with one memory uses its addresses directly.

use dram::Timing;
use mem::{Bytes, Interleave, Share, Stride};

/// The place of a memory's channels in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One channel behind each L2 bank number, shared by all GPUs.
    L2,
    /// Below GPU memories, each of which is a level above it.
    Levels,
    /// Behind the system agent of a CPU.
    Agent,
    /// At the host's end of a fabric.
    Host,
    /// In memory stacks, each with a fabric port of its own.
    Stacks,
    /// One channel behind each bank of this GPU's L2.
    Gpu(usize),
}

/// A memory with its own range of addresses.
#[derive(Clone, Copy, Debug)]
pub struct MemoryZone {
    pub place: Place,
    /// Timing of each channel.
    pub timing: Timing,
    /// Consecutive pieces of `interleave` bytes go to the stacks in turn, and within a stack to its channels in turn.
    pub stacks: usize,
    pub channels: usize,
    pub interleave: Stride,
    /// Index of its first channel among the channels of all memories.
    pub first: usize,
    /// Capacity that a driver can allocate in it; `None`: unlimited.
    pub size: Option<Bytes>,
    /// Whether it is the memory of the host's programs.
    pub of_host: bool,
}

impl MemoryZone {
    /// Number of channels.
    pub fn count(&self) -> usize {
        self.stacks * self.channels
    }

    /// Which addresses of the zone each channel holds, by channel index.
    pub fn deal(&self) -> Interleave<usize> {
        let stack = |number: usize| {
            let first = self.first + number * self.channels;
            Interleave::deal(self.interleave, first..first + self.channels)
        };
        match self.stacks {
            1 => stack(0),
            count => Interleave::Deal { stride: self.interleave, over: (0..count).map(stack).collect() },
        }
    }
}

/// Which channel holds which addresses, by channel index.
pub fn deal(zones: &[MemoryZone]) -> Interleave<usize> {
    Interleave::of_zones(zones.iter().map(MemoryZone::deal).collect())
}

/// The addresses of each channel.
pub fn shares(zones: &[MemoryZone]) -> Vec<Share> {
    deal(zones).shares().into_iter().map(|(_, share)| share).collect()
}

/// The first addresses of the memories.
pub fn bases(zones: &[MemoryZone]) -> Vec<u64> {
    (0..zones.len() as u64).map(|number| number * mem::ZONE).collect()
}
