//! Memories of GPUs that are levels above the host's, as a machine file says in `[gpu.memory]`: each holds blocks of it
//! (UMH, `[umh]`, 5).

use crate::{
    file::{File, MachineError},
    memory,
    spec::{Banks, at_least_one, wire},
    units::Size,
};
use dram::{RoomSpec, Timing};
use engine::LinkSpec;
use mem::LINE;
use serde::Deserialize;

/// What is known of each block is kept, whether it is used or not.
const MOST_BLOCKS: u64 = 1 << 24;

/// The memories of GPUs; each bank of an L2 has one behind it.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    pub room: RoomSpec,
    pub timing: Timing,
    /// Whether GPUs give blocks to each other; else blocks go through the host's memory.
    pub peer_transfer: bool,
    /// From each to the host's memory and to those of other GPUs.
    pub wire: LinkSpec,
}

impl Levels {
    /// Lines of a block, as a power of two.
    pub fn lines_log2(&self) -> usize {
        (self.room.block / LINE as u64).trailing_zeros() as usize
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuMemoryFile {
    size: Size,
    ways: usize,
    block: Size,
    peer_transfer: bool,
    kind: String,
}

/// `None` if the file says nothing about them. Of each GPU; lines are dealt over `banks`.
pub fn levels(file: &mut File, banks: Banks) -> Result<Option<Levels>, MachineError> {
    let path = "gpu.memory";
    if !file.has(path) {
        return Ok(None);
    }
    let GpuMemoryFile { size, ways, block, peer_transfer, kind } = file.section(path)?;
    let timing = memory::of_kind(file, path, &kind)?;
    let wire = wire(file, "wires.gpu_host")?;
    at_least_one(file, path, "ways", ways)?;
    let block = block.0.0;
    if !block.is_power_of_two() || !(1..=64).contains(&(block / LINE as u64)) {
        return Err(file.wrong(path, Some("block"), format!("must be 1, 2, 4, .. or 64 lines of {LINE} B")));
    }
    if block > banks.interleave.bytes() {
        let reason = "a block lies behind one bank of the L2: it can't be longer than `interleave` there";
        return Err(file.wrong(path, Some("block"), reason));
    }
    let blocks = size.0.0 / banks.count as u64 / block;
    if blocks > MOST_BLOCKS {
        let reason = format!("behind each bank of the L2 lie {blocks} blocks of {block} B; {MOST_BLOCKS} are the most");
        return Err(file.wrong(path, Some("size"), reason));
    }
    let sets = blocks as usize / ways;
    if !sets.is_power_of_two() || sets as u64 * ways as u64 != blocks {
        let reason = format!(
            "behind each bank of the L2 lie {blocks} blocks of {block} B; in {ways} ways they must make sets whose number is a power of two"
        );
        return Err(file.wrong(path, Some("size"), reason));
    }
    let room = RoomSpec { sets, ways, block, share: banks.share(0) };
    Ok(Some(Levels { room, timing, peer_transfer, wire }))
}
