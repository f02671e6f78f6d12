//! Caches and wires in machine files. The keys are equal for all caches and for all wires.

use crate::{
    file::{File, MachineError},
    spec::CacheSpec,
    units::Size,
    values::{Choice, Crossing, Number, OneOf, Positive, WIDE},
};
use cache::{Replacement, Shape};
use engine::LinkSpec;
use mem::{Bytes, LINE};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheFile {
    size: Size,
    ways: Positive<WIDE>,
    mshrs: Positive,
    waiting: Positive,
    join_queue: Option<Positive>,
    write_back_queue: Option<Positive>,
    latency: Number,
    line: Option<Size>,
    replacement: Option<OneOf<Replacement>>,
    ports: Option<Positive<WIDE>>,
    tags: Option<OneOf<Tags>>,
}

/// The kind of address that a cache's tags hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    Physical,
    Virtual,
}

impl Choice for Tags {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("physical", Self::Physical), ("virtual", Self::Virtual)]
    }
}

impl Choice for Replacement {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("lru", Self::Lru), ("plru", Self::Plru), ("random", Self::Random)]
    }
}

/// Reads the section of a cache.
pub(crate) fn cache(file: &mut File, path: &str) -> Result<CacheSpec, MachineError> {
    let of: CacheFile = file.section(path)?;
    let (mshrs, waiting) = (of.mshrs.count(), of.waiting.count());
    if of.tags.is_some() && path != "gpu.l1v" {
        let reason = "only gpu.l1v and gpu.l2 say by what a GPU's caches know lines: leave it out";
        return Err(file.wrong(path, Some("tags"), reason));
    }
    Ok(CacheSpec {
        shape: shape(file, path, (of.size.0, of.ways.count()), of.line, of.replacement)?,
        mshrs,
        waiting,
        join_queue: of.join_queue.map_or(waiting, Positive::count),
        write_back_queue: of.write_back_queue.map_or(mshrs, Positive::count),
        latency: of.latency.cycles(),
        ports: of.ports.map_or(1, Positive::count),
    })
}

/// Which of a GPU's caches have virtual tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualCaches {
    None,
    /// The vector caches of compute units (`[vcache 5.4]`).
    FirstLevel,
    /// All of them.
    All,
}

/// Which of a GPU's caches have virtual tags. If the L2 has them, all caches above it do.
pub(crate) fn tags(file: &File) -> Result<VirtualCaches, MachineError> {
    let said = |path: &str| match file.says(path, "tags") {
        true => file.key::<OneOf<Tags>>(path, "tags").map(|tags| Some(tags.0)),
        false => Ok(None),
    };
    let (l1v, l2) = (said("gpu.l1v")?, said("gpu.l2")?.unwrap_or(Tags::Physical));
    match (l1v.unwrap_or(l2), l2) {
        (Tags::Physical, Tags::Virtual) => {
            let reason =
                "the L2 has virtual tags (gpu.l2.tags), and asks below by them: first-level caches must have them, too";
            Err(file.wrong("gpu.l1v", Some("tags"), reason))
        }
        (Tags::Virtual, Tags::Physical) => Ok(VirtualCaches::FirstLevel),
        (Tags::Physical, Tags::Physical) => Ok(VirtualCaches::None),
        (Tags::Virtual, Tags::Virtual) => Ok(VirtualCaches::All),
    }
}

/// The shape of a cache, or of one bank of a banked cache.
pub(crate) fn shape(
    file: &File,
    path: &str,
    (size, ways): (Bytes, usize),
    line: Option<Size>,
    replacement: Option<OneOf<Replacement>>,
) -> Result<Shape, MachineError> {
    let line = line.map_or(Bytes(LINE as u64), |line| line.0);
    let shape = Shape::of_lines(size, ways, line).map_err(|reason| file.wrong(path, Some("size"), reason))?;
    let Some(OneOf(policy)) = replacement else { return Ok(shape) };
    shape.replacing(policy).map_err(|reason| file.wrong(path, Some("replacement"), reason))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireFile {
    latency: Crossing,
    capacity: Positive,
    bytes_per_cycle: Option<Positive>,
}

/// Reads the section of a wire. Its latency is above zero, so that the model can be partitioned along it.
pub(crate) fn wire(file: &mut File, path: &str) -> Result<LinkSpec, MachineError> {
    let wire: WireFile = file.section(path)?;
    let bytes_per_cycle = wire.bytes_per_cycle.map(Positive::get);
    Ok(LinkSpec { latency: wire.latency.0, capacity: wire.capacity.count(), bytes_per_cycle })
}
