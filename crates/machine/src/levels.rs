//! GPU memories that are levels above the host's memory, and hold blocks of it (UMH, `[umh 5]`): section `[gpu.memory]`
//! of a machine file.

use crate::{
    caches::{WireFile, wire},
    file::{Because, File, MachineError, join},
    memory::{self, Layout, Stacks},
    spec::Banks,
    units::Size,
    values::{Choice, Interleaving, OneOf, Positive, WIDE},
};
use dram::{RoomSpec, Timing};
use engine::LinkSpec;
use mem::{Bytes, LINE};
use os::opencl::gpu::Synchronisation;
use protocol::{catalogue::Choice as Protocol, roles::Role};
use serde::{Deserialize, Deserializer, de};

/// Limit of the number of blocks: a record of each block is allocated, even of unused ones.
const MOST_BLOCKS: u64 = 1 << 24;

/// The memories of GPUs; each bank of an L2 has one behind it.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    pub room: RoomSpec,
    pub timing: Timing,
    /// Whether GPUs give blocks to each other; else blocks go through the host's memory.
    pub peer_transfer: bool,
    /// Bytes that a bit of a mask stands for.
    pub mask: u8,
    /// When the host sees what kernels have written.
    pub synchronise: Synchronisation,
    /// Wires from each GPU memory to the host's and to those of other GPUs, if no fabric connects them.
    pub wire: Option<LinkSpec>,
}

impl Levels {
    /// Lines of a block, as a power of two.
    pub fn lines_log2(&self) -> usize {
        (self.room.block / LINE as u64).trailing_zeros() as usize
    }
}

/// Bytes that a bit of a mask stands for.
struct MaskBytes(u8);

impl<'de> Deserialize<'de> for MaskBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u8::deserialize(from) {
            Ok(bytes @ (1 | 2 | 4 | 8)) => Ok(Self(bytes)),
            _ => Err(de::Error::custom("must be 1, 2, 4 or 8: bytes that a bit stands for")),
        }
    }
}

/// 1, 2, 4, .. or 256 lines.
struct Block(u64);

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Size::deserialize(from)?.0.0;
        if bytes.is_power_of_two() && (1..=256).contains(&(bytes / LINE as u64)) {
            return Ok(Self(bytes));
        }
        Err(de::Error::custom(format!("must be 1, 2, 4, .. or 256 lines of {LINE} B")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuMemoryFile {
    size: Size,
    ways: Positive<WIDE>,
    block: Block,
    /// Required with several GPUs.
    peer_transfer: Option<bool>,
    /// Default: one byte.
    mask: Option<MaskBytes>,
    /// Required on a fabric.
    synchronise: Option<OneOf<Synchronisation>>,
    kind: OneOf<memory::Kind>,
    #[serde(rename = "role")]
    _role: Option<OneOf<GpuMemoryRole>>,
    #[serde(rename = "stacks")]
    _stacks: Option<Stacks>,
    #[serde(rename = "channels")]
    _channels: Option<Positive<WIDE>>,
    #[serde(rename = "interleave")]
    _interleave: Option<Interleaving>,
}

/// The role of the memories of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuMemoryRole {
    /// Levels above the host's.
    Level,
    /// Each GPU's own.
    Local,
    /// A memory that all GPUs share, in stacks on the fabric.
    Shared,
}

impl Choice for GpuMemoryRole {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("level", Self::Level), ("local", Self::Local), ("shared", Self::Shared)]
    }
}

impl Choice for Synchronisation {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("final", Self::Final), ("dynamic", Self::Dynamic)]
    }
}

/// The role of the memories of GPUs, if the file states it.
pub fn role(file: &File) -> Result<Option<GpuMemoryRole>, MachineError> {
    match file.says("gpu.memory", "role") {
        true => file.key::<OneOf<GpuMemoryRole>>("gpu.memory", "role").map(|role| Some(role.0)),
        false => Ok(None),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnFile {
    #[serde(rename = "role")]
    _role: OneOf<GpuMemoryRole>,
    kind: OneOf<memory::Kind>,
    size: Size,
    stacks: Option<Stacks>,
    channels: Option<Positive<WIDE>>,
    interleave: Option<Interleaving>,
    #[serde(rename = "ways")]
    _ways: Option<Positive<WIDE>>,
    #[serde(rename = "block")]
    _block: Option<Size>,
    #[serde(rename = "peer_transfer")]
    _peer_transfer: Option<bool>,
    #[serde(rename = "synchronise")]
    _synchronise: Option<OneOf<Synchronisation>>,
    #[serde(rename = "mask")]
    _mask: Option<MaskBytes>,
}

/// Size of the memory of GPUs where it is not a level above another memory: of each GPU, or of all together.
pub struct OwnMemory {
    pub timing: Timing,
    pub size: Bytes,
    pub layout: Layout,
}

pub fn own_memory(file: &mut File, role: GpuMemoryRole) -> Result<OwnMemory, MachineError> {
    let path = "gpu.memory";
    let word = GpuMemoryRole::words().into_iter().find(|(_, other)| *other == role).map_or("", |(word, _)| word);
    let of_levels = Because::value("gpu.memory.role", word, &["level"]);
    for key in ["ways", "block", "peer_transfer", "synchronise", "mask"] {
        file.idle(&join(path, key), &of_levels);
    }
    file.idle_section::<WireFile>("wires.gpu_host", &of_levels)?;
    if role == GpuMemoryRole::Local {
        let behind = Because::value("gpu.memory.role", word, &["shared"]);
        for key in ["stacks", "channels", "interleave"] {
            file.idle(&join(path, key), &behind);
        }
    }
    let OwnFile { kind, size, stacks, channels, interleave, .. } = file.section(path)?;
    if size.0.0 > mem::ZONE || size.0.0 == 0 {
        return Err(file.wrong(path, Some("size"), "must be more than 0"));
    }
    let timing = memory::of_kind(file, path, kind.0)?;
    Ok(OwnMemory { timing, size: size.0, layout: Layout { stacks, channels, interleave } })
}

/// Bytes of a block, if memories of GPUs are levels in this protocol.
pub fn block(file: &File, protocol: Protocol) -> Result<Option<u64>, MachineError> {
    match protocol.has(Role::GpuMemory) && file.says("gpu.memory", "block") {
        true => file.key::<Block>("gpu.memory", "block").map(|block| Some(block.0)),
        false => Ok(None),
    }
}

/// Reads the memories of GPUs as levels; lines are interleaved over `banks`. `None` if the protocol does not support
/// this.
pub fn levels(
    file: &mut File,
    protocol: Protocol,
    gpus: usize,
    banks: Banks,
    fabric: bool,
) -> Result<Option<Levels>, MachineError> {
    let (path, to_host) = ("gpu.memory", "wires.gpu_host");
    match role(file)? {
        Some(GpuMemoryRole::Local | GpuMemoryRole::Shared) if protocol.has(Role::GpuMemory) => {
            let reason =
                format!("{} makes memories of GPUs levels above the host's: set it to \"level\"", protocol.name);
            return Err(file.wrong(path, Some("role"), reason));
        }
        Some(GpuMemoryRole::Local | GpuMemoryRole::Shared) => return Ok(None),
        Some(GpuMemoryRole::Level) | None => {}
    }
    for key in ["stacks", "channels", "interleave"] {
        let why = Because::new(
            "gpu.memory.role",
            "this memory has a part behind each bank of the L2; set gpu.memory.role to shared",
        );
        file.idle(&join(path, key), &why);
    }
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
    if !fabric {
        let why = Because::new("fabric", "without a fabric all is flushed at a kernel's end; add one (fabric.part)");
        file.idle("gpu.memory.synchronise", &why);
    }
    let GpuMemoryFile { size, ways, block: Block(block), peer_transfer, kind, synchronise, mask, .. } =
        file.section(path)?;
    let Some(OneOf(synchronise)) = synchronise.or((!fabric).then_some(OneOf(Synchronisation::Final))) else {
        return Err(file.lacks(path, "synchronise"));
    };
    let Some(peer_transfer) = peer_transfer.or((gpus == 1).then_some(false)) else {
        return Err(file.lacks(path, "peer_transfer"));
    };
    let timing = memory::of_kind(file, path, kind.0)?;
    let wire = match fabric {
        true => {
            let why = Because::new("fabric", "a fabric joins memories of GPUs and the host's; set fabric.bandwidth");
            file.idle_section::<WireFile>(to_host, &why)?;
            None
        }
        false => Some(wire(file, to_host)?),
    };
    if block > banks.interleave.bytes() {
        let reason = "a block lies behind one bank of the L2: it can't be longer than `interleave` there";
        return Err(file.wrong(path, Some("block"), reason));
    }
    let room = room(file, (size.0.0, ways.count()), block, banks)?;
    Ok(Some(Levels { room, timing, peer_transfer, mask: mask.map_or(1, |mask| mask.0), synchronise, wire }))
}

/// The number of blocks in the memory behind a bank, and their sets.
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
