//! Memories of GPUs that are levels above the host's, as a machine file says in `[gpu.memory]`: each holds blocks of it
//! (UMH, `[umh]`, 5).

use crate::{
    caches::{WireFile, wire},
    file::{Because, File, MachineError},
    memory,
    spec::Banks,
    units::Size,
    values::{OneOf, Positive, WIDE},
};
use dram::{RoomSpec, Timing};
use engine::LinkSpec;
use mem::LINE;
use protocol::{catalogue::Choice as Protocol, roles::Role};
use serde::{Deserialize, Deserializer, de};

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

/// 1, 2, 4, .. or 64 lines.
struct Block(u64);

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Size::deserialize(from)?.0.0;
        if bytes.is_power_of_two() && (1..=64).contains(&(bytes / LINE as u64)) {
            return Ok(Self(bytes));
        }
        Err(de::Error::custom(format!("must be 1, 2, 4, .. or 64 lines of {LINE} B")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuMemoryFile {
    size: Size,
    ways: Positive<WIDE>,
    block: Block,
    /// Needed where there are several GPUs.
    peer_transfer: Option<bool>,
    kind: OneOf<memory::Kind>,
}

/// Of each GPU; lines are dealt over `banks`. `None` if memories of GPUs are no levels in this protocol.
pub fn levels(file: &mut File, protocol: Protocol, gpus: usize, banks: Banks) -> Result<Option<Levels>, MachineError> {
    let (path, to_host) = ("gpu.memory", "wires.gpu_host");
    if !protocol.has(Role::GpuMemory) {
        let why = "memories of GPUs are no levels above the host's in this protocol; set protocol to nmoesi, nmoesi_wb";
        let why = Because::new("protocol", why);
        file.idle_section::<GpuMemoryFile>(path, &why)?;
        file.idle_section::<WireFile>(to_host, &why)?;
        return Ok(None);
    }
    if gpus == 1 {
        file.idle("gpu.memory.peer_transfer", &Because::new("gpus", "gpus is 1; set gpus to 2 or more"));
    }
    if !file.has(path) {
        let reason = format!(
            "{} makes memories of GPUs levels above the host's: a section [{path}] must say how",
            protocol.name
        );
        return Err(file.wrong("", Some("protocol"), reason));
    }
    let GpuMemoryFile { size, ways, block: Block(block), peer_transfer, kind } = file.section(path)?;
    let Some(peer_transfer) = peer_transfer.or((gpus == 1).then_some(false)) else {
        return Err(file.lacks(path, "peer_transfer"));
    };
    let timing = memory::of_kind(file, path, kind.0)?;
    let wire = wire(file, to_host)?;
    if block > banks.interleave.bytes() {
        let reason = "a block lies behind one bank of the L2: it can't be longer than `interleave` there";
        return Err(file.wrong(path, Some("block"), reason));
    }
    let room = room(file, (size.0.0, ways.count()), block, banks)?;
    Ok(Some(Levels { room, timing, peer_transfer, wire }))
}

/// What a memory behind a bank holds.
fn room(file: &File, (size, ways): (u64, usize), block: u64, banks: Banks) -> Result<RoomSpec, MachineError> {
    let wrong = |reason: String| Err(file.wrong("gpu.memory", Some("size"), reason));
    let blocks = size / banks.count as u64 / block;
    if blocks > MOST_BLOCKS {
        return wrong(format!(
            "behind each bank of the L2 lie {blocks} blocks of {block} B; {MOST_BLOCKS} are the most"
        ));
    }
    let sets = blocks as usize / ways;
    if !sets.is_power_of_two() || sets as u64 * ways as u64 != blocks {
        return wrong(format!(
            "behind each bank of the L2 lie {blocks} blocks of {block} B; in {ways} ways they must make sets whose number is a power of two"
        ));
    }
    Ok(RoomSpec { sets, ways, block, share: banks.share(0) })
}
