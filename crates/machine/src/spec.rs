//! A machine as its file says, with every number checked.

use crate::{
    file::{File, MachineError},
    units::{Duration, Frequency, Size},
};
use cache::Shape;
use dram::FixedSpec;
use engine::{Cycles, Hertz, LinkSpec};
use gpu::ComputeUnitSpec;
use serde::Deserialize;

/// A machine, ready to be wired.
pub struct Machine {
    pub name: String,
    pub about: String,
    /// The whole file, with what it extends and every change.
    pub resolved: String,
    pub clock: Hertz,
    pub compute_units: usize,
    pub invalidate: bool,
    pub compute_unit: ComputeUnitSpec,
    pub l1: CacheFile,
    pub l1_latency: Cycles,
    pub l2: CacheFile,
    pub memory: FixedSpec,
    pub l1_l2: LinkSpec,
    pub l2_memory: LinkSpec,
    pub partitions: Partitions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    about: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuFile {
    clock: Frequency,
    compute_units: usize,
    invalidate: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputeUnitFile {
    wavefronts: usize,
    issue: u64,
    line_slots: u64,
    memory_queue: usize,
}

/// A cache of a machine file.
#[derive(Clone, Copy, Debug)]
pub struct CacheFile {
    pub shape: Shape,
    pub mshrs: usize,
    pub waiting: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct L1File {
    size: Size,
    ways: usize,
    mshrs: usize,
    waiting: usize,
    latency: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct L2File {
    size: Size,
    ways: usize,
    mshrs: usize,
    waiting: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryFile {
    latency: u64,
    interval: u64,
    outstanding: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    latency: Duration,
    capacity: usize,
    bytes_per_cycle: u64,
}

/// Which partition each part runs in; compute units run in partition 0.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    pub l2: usize,
    pub memory: usize,
}

impl Partitions {
    /// The highest number that is used.
    pub fn most(&self) -> usize {
        self.l2.max(self.memory)
    }
}

impl Machine {
    /// The machine of that name or in that file, with `changes` such as `gpu.l2.size=4MiB`.
    pub fn load(name: &str, changes: &[String]) -> Result<Self, MachineError> {
        let mut file = File::load(name, changes)?;
        let root: Root = file.section("")?;
        let gpu: GpuFile = file.section("gpu")?;
        let unit: ComputeUnitFile = file.section("gpu.compute_unit")?;
        let l1: L1File = file.section("gpu.l1")?;
        let l2: L2File = file.section("gpu.l2")?;
        let memory: MemoryFile = file.section("memory")?;
        let partitions: Partitions = file.section("partitions")?;
        let l1_l2 = wire(&mut file, "wires.l1_l2")?;
        let l2_memory = wire(&mut file, "wires.l2_memory")?;
        file.section::<Nothing>("wires")?;
        file.finish()?;
        let at_least_one = |path: &str, key: &str, value: u64| match value {
            0 => Err(file.wrong(path, Some(key), "must be at least 1")),
            _ => Ok(()),
        };
        at_least_one("gpu", "compute_units", gpu.compute_units as u64)?;
        at_least_one("gpu.compute_unit", "wavefronts", unit.wavefronts as u64)?;
        at_least_one("gpu.compute_unit", "issue", unit.issue)?;
        at_least_one("gpu.compute_unit", "line_slots", unit.line_slots)?;
        at_least_one("gpu.compute_unit", "memory_queue", unit.memory_queue as u64)?;
        for (path, mshrs, waiting) in [("gpu.l1", l1.mshrs, l1.waiting), ("gpu.l2", l2.mshrs, l2.waiting)] {
            at_least_one(path, "mshrs", mshrs as u64)?;
            at_least_one(path, "waiting", waiting as u64)?;
        }
        at_least_one("memory", "interval", memory.interval)?;
        at_least_one("memory", "outstanding", memory.outstanding as u64)?;
        if gpu.compute_units > MOST_UNITS {
            let reason = format!("this kind of machine has at most {MOST_UNITS}");
            return Err(file.wrong("gpu", Some("compute_units"), reason));
        }
        let shape = |path: &str, size: Size, ways: usize| {
            Shape::new(size.0, ways, 1).map_err(|reason| file.wrong(path, Some("size"), reason))
        };
        let (l1_shape, l2_shape) = (shape("gpu.l1", l1.size, l1.ways)?, shape("gpu.l2", l2.size, l2.ways)?);
        Ok(Self {
            name: file.name.clone(),
            about: root.about,
            resolved: file.resolved(),
            clock: gpu.clock.0,
            compute_units: gpu.compute_units,
            invalidate: gpu.invalidate,
            compute_unit: ComputeUnitSpec {
                wavefronts: unit.wavefronts,
                issue: Cycles(unit.issue),
                line_slots: unit.line_slots,
                memory_queue: unit.memory_queue,
            },
            l1: CacheFile { shape: l1_shape, mshrs: l1.mshrs, waiting: l1.waiting },
            l1_latency: Cycles(l1.latency),
            l2: CacheFile { shape: l2_shape, mshrs: l2.mshrs, waiting: l2.waiting },
            memory: FixedSpec {
                latency: Cycles(memory.latency),
                interval: Cycles(memory.interval),
                outstanding: memory.outstanding,
            },
            l1_l2,
            l2_memory,
            partitions,
        })
    }
}

/// Compute units that can be told apart in a protocol's messages, with room for everybody else.
const MOST_UNITS: usize = 64;

/// A section that has sections only.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn wire(file: &mut File, path: &str) -> Result<LinkSpec, MachineError> {
    let wire: WireFile = file.section(path)?;
    for (key, zero) in [("capacity", wire.capacity == 0), ("bytes_per_cycle", wire.bytes_per_cycle == 0)] {
        if zero {
            return Err(file.wrong(path, Some(key), "must be at least 1"));
        }
    }
    if wire.latency.0.0 == 0 {
        return Err(file.wrong(path, Some("latency"), "a wire along which a machine can be cut takes time"));
    }
    Ok(LinkSpec { latency: wire.latency.0, capacity: wire.capacity, bytes_per_cycle: Some(wire.bytes_per_cycle) })
}
