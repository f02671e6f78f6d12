//! Caches and wires as machine files describe them: the same keys wherever they stand.

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
}

impl Choice for Replacement {
    fn words() -> Vec<(&'static str, Self)> {
        vec![("lru", Self::Lru), ("plru", Self::Plru), ("random", Self::Random)]
    }
}

/// A cache of its own.
pub(crate) fn cache(file: &mut File, path: &str) -> Result<CacheSpec, MachineError> {
    let of: CacheFile = file.section(path)?;
    let (mshrs, waiting) = (of.mshrs.count(), of.waiting.count());
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

/// Of a cache, or of each bank of one.
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

/// A wire along which the machine can be cut.
pub(crate) fn wire(file: &mut File, path: &str) -> Result<LinkSpec, MachineError> {
    let wire: WireFile = file.section(path)?;
    let bytes_per_cycle = wire.bytes_per_cycle.map(Positive::get);
    Ok(LinkSpec { latency: wire.latency.0, capacity: wire.capacity.count(), bytes_per_cycle })
}
