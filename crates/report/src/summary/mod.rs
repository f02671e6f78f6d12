//! Where the time went, in numbers and in words.
//!
//! Elements are found by the statistics that they count: an element with `cycles.issue` is a compute unit, one with
//! `accesses` is a cache. Figures of GPUs cover kernel time, from the command that starts a kernel until all its writes
//! have arrived, summed over all kernels of the run. Figures of a CPU cover the whole run, and so do those of resources
//! that it shares with a GPU: memory, network and wires.

mod bottleneck;
mod caches;
mod cores;
mod elements;
mod energy;
mod gpus;
mod memory;
mod network;
mod text;
mod units;
mod wires;

pub use bottleneck::Bottleneck;
pub use caches::{Accesses, CacheLevel};
pub(crate) use cores::PHASES;
pub use cores::{Core, Cores};
pub use energy::Spent;
pub(crate) use gpus::GPU_PHASES;
pub use gpus::{GpuTime, Pages};
pub use memory::{MemoryTraffic, Rows};
pub use network::Network;
pub(crate) use units::REASONS;
pub use units::{Share, Units};
pub use wires::Wires;

use crate::{
    facts::{Facts, cycles_of},
    figures::ratio,
    subject::{FastForward, Subject, length},
};
use elements::Elements;
pub(crate) use elements::{by_number, own_cycles};
use engine::{Run, Statistics, Value};
use machine::checkpoint::Parts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The summary of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub program: String,
    pub arguments: Vec<String>,
    pub system: String,
    /// How the run ended: `finished`, or why not.
    pub outcome: String,
    /// The functional part before the timed one, if the run was fast-forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_forward: Option<FastForward>,
    /// The kernels before which the run drained.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub drained: Option<Parts>,
    /// Simulated time until the program ended.
    pub total_fs: u64,
    /// Time in which kernels ran.
    pub kernel_fs: u64,
    pub kernel_cycles: u64,
    pub clock_hz: u64,
    /// By name, in the order of their first launches.
    pub kernels: Vec<KernelTime>,
    pub wave_instructions: u64,
    /// The CPU's cores, if the machine has a CPU; these figures cover the whole run.
    pub cores: Option<Cores>,
    pub units: Option<Units>,
    /// By level, starting at the compute units.
    pub caches: Vec<CacheLevel>,
    pub memory: Option<MemoryTraffic>,
    /// The network between caches, if they are not connected by wires alone.
    pub network: Option<Network>,
    /// Bytes moved between memories, or between caches and remote memories, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub moved: BTreeMap<String, u64>,
    /// Calls of the program that copy, fill, map, unmap or migrate memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movement_calls: Option<u64>,
    /// Bytes on each link of the fabric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, u64>,
    /// What each GPU spent the run on, if a fabric connects the GPUs and the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuTime>,
    /// The driver's activity on pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// Simulated time of the machine: the program's, and the host's before and after it. Elements leak during all of
    /// it.
    pub simulated_fs: u64,
    /// Energy of each kind of element in that time, if the machine has `[energy]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub energy: Vec<Spent>,
    /// Grouped by equal names; groups with the most back-pressure first.
    pub wires: Vec<Wires>,
    /// At most three, the worst first.
    pub bottlenecks: Vec<Bottleneck>,
}

/// A kernel, all its launches together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTime {
    pub name: String,
    pub launches: u64,
    pub time_fs: u64,
}

/// A figure of several elements: mean, minimum and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        let (min, max) =
            (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max));
        let mean = ratio(values.iter().sum(), values.len() as f64);
        Self { mean, min: if values.is_empty() { 0.0 } else { min }, max }
    }
}

impl Summary {
    pub fn of(subject: &Subject) -> Self {
        let facts = Facts::of(subject.machine);
        let run = &*subject.measured();
        let length = length(run).0;
        let (mut cpu, mut total) = (Statistics::default(), run.total());
        let energy = energy::by_element(&total);
        if total.0.keys().any(|path| path.starts_with("cpu.")) {
            (cpu.0, total.0) = total.0.into_iter().partition(|(path, _)| path.starts_with("cpu."));
        }
        let elements = Elements::of(&total);
        let has_cpu = subject.machine.cpu.is_some();
        let kernels = if has_cpu { named_kernels(&total, facts) } else { kernels(run, facts) };
        let kernel_fs = kernels.iter().map(|kernel| kernel.time_fs).sum();
        let kernel_cycles = facts.to_cycles(kernel_fs);
        let cycles = facts.to_cycles(length);
        // Resources that a CPU shares with the GPU are used during the whole run.
        let shared = if has_cpu { cycles } else { kernel_cycles };
        let of_network = cycles_of(facts.network_clock, if has_cpu { length } else { kernel_fs });
        let units = Units::of(&elements, &total, facts, cycles, kernel_cycles);
        let mut summary = Self {
            program: subject.program.name.clone(),
            arguments: subject.arguments.to_vec(),
            system: subject.machine.name.clone(),
            outcome: subject.run.outcome.to_string(),
            fast_forward: subject.forwarded.map(Into::into),
            drained: subject.drained().cloned(),
            total_fs: subject.total.0,
            kernel_fs,
            kernel_cycles,
            clock_hz: facts.clock.0,
            kernels,
            wave_instructions: elements
                .units
                .iter()
                .map(|unit| total.count(&format!("{unit}.wave_instructions")))
                .sum(),
            cores: Cores::of(&cpu, cycles_of(facts.cpu_clock, length)),
            units,
            caches: caches::levels(&elements, &total, kernel_cycles),
            memory: MemoryTraffic::of(&elements, &total, facts, cycles, shared),
            network: Network::of(&total, of_network),
            moved: machine::moved_by_cause(&total),
            movement_calls: subject.paged.map(|paged| paged.calls),
            links: machine::moved_by_link(&total),
            gpus: GpuTime::of(&total),
            pages: subject.paged.and_then(Pages::of),
            simulated_fs: length,
            energy,
            wires: wires::alike(&total, (!has_cpu).then_some(kernel_cycles)),
            bottlenecks: Vec::new(),
        };
        summary.bottlenecks = bottleneck::worst(&summary);
        summary
    }

    /// The time over which memory, network and wires are measured.
    pub(crate) fn span(&self) -> &'static str {
        if self.cores.is_some() { "the run" } else { "kernel time" }
    }

    /// Wavefront instructions per cycle, of all compute units together.
    pub fn instructions_per_cycle(&self) -> f64 {
        ratio(self.wave_instructions as f64, self.kernel_cycles as f64)
    }
}

/// Kernels by name. Every region of a run except the first is a launch; GPUs that share a launch run in parallel.
fn kernels(run: &Run, facts: Facts) -> Vec<KernelTime> {
    let mut kernels: Vec<KernelTime> = Vec::new();
    for region in &run.regions {
        let cycles = busiest(&region.statistics);
        if cycles == 0 {
            continue;
        }
        let time_fs = facts.to_femtoseconds(cycles);
        match kernels.iter_mut().find(|kernel| kernel.name == region.name) {
            Some(kernel) => (kernel.launches, kernel.time_fs) = (kernel.launches + 1, kernel.time_fs + time_fs),
            None => kernels.push(KernelTime { name: region.name.clone(), launches: 1, time_fs }),
        }
    }
    kernels
}

/// Kernels by name, for a program on the machine's own CPU: there the regions are the program's.
fn named_kernels(total: &Statistics, facts: Facts) -> Vec<KernelTime> {
    let named = total.0.iter().filter_map(|(path, value)| {
        let name = path.strip_prefix("front_end.kernels.")?.strip_suffix(".cycles")?;
        let Value::Histogram { count, sum, .. } = value else { return None };
        Some(KernelTime { name: name.to_owned(), launches: *count, time_fs: facts.to_femtoseconds(*sum) })
    });
    named.filter(|kernel| kernel.launches > 0).collect()
}

/// Cycles in which the longest-running dispatcher had a kernel.
pub(crate) fn busiest(statistics: &Statistics) -> u64 {
    let dispatchers = statistics.0.keys().filter(|path| path.ends_with(".kernel_cycles"));
    dispatchers.map(|path| statistics.sum(path)).max().unwrap_or(0)
}
