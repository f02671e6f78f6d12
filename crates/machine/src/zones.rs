//! The memories of a machine: where the channels of each stand, and which addresses each channel has.
//!
//! A machine with several memories has a zone of physical addresses for each ([`mem::Zone`]): the host's first, then those of GPUs. With
//! one memory addresses are those of that one.

use dram::Timing;
use mem::{Bytes, Interleave, Share, Stride};

/// Where the channels of a memory stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One behind each bank of an L2; the GPUs have them in common.
    L2,
    /// Below memories of GPUs, each of which is a level above it.
    Levels,
    /// Behind the system agent of a CPU.
    Agent,
    /// At the host's end of a fabric.
    Host,
    /// In stacks, each with an end of the fabric.
    Stacks,
    /// One behind each bank of this GPU's L2.
    Gpu(usize),
}

/// A memory with addresses of its own.
#[derive(Clone, Copy, Debug)]
pub struct MemoryZone {
    pub place: Place,
    /// Of each channel.
    pub timing: Timing,
    /// `interleave` bytes go to each stack in turn, and within a stack to each channel.
    pub stacks: usize,
    pub channels: usize,
    pub interleave: Stride,
    /// The number of its first channel among those of all memories.
    pub first: usize,
    /// How much a driver can place in it; none: as much as it likes.
    pub size: Option<Bytes>,
    /// Whether it is the memory of the host's programs.
    pub of_host: bool,
}

impl MemoryZone {
    /// How many channels there are in all.
    pub fn count(&self) -> usize {
        self.stacks * self.channels
    }

    /// Which addresses of the zone each channel has, by its number among all.
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

/// Which channel has which addresses, by number.
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
