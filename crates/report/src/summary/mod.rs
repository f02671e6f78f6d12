//! Where the time went, in numbers and in words.
//!
//! Elements are found by what they count: whoever has `cycles.issue` is a compute unit, whoever has `accesses` a cache. Figures
//! of GPUs are of kernel time, from the command that starts a kernel until everything it wrote has arrived, and of all kernels of the
//! run together. Figures of a CPU are of the whole run, and so are those of what it shares with a GPU: memory, network and wires.

mod bottleneck;
mod caches;
mod cores;
mod elements;
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
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run comes down to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub program: String,
    pub arguments: Vec<String>,
    pub system: String,
    /// How the run ended: `finished`, or why not.
    pub outcome: String,
    /// What ran without time before, if the run was fast-forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_forward: Option<FastForward>,
    /// Until the program had ended, simulated.
    pub total_fs: u64,
    /// While kernels ran.
    pub kernel_fs: u64,
    pub kernel_cycles: u64,
    pub clock_hz: u64,
    /// By name, in the order in which they first ran.
    pub kernels: Vec<KernelTime>,
    pub wave_instructions: u64,
    /// The CPU's, if the machine has one; these figures are of all of the run.
    pub cores: Option<Cores>,
    pub units: Option<Units>,
    /// By level, from the units downwards.
    pub caches: Vec<CacheLevel>,
    pub memory: Option<MemoryTraffic>,
    /// Between caches, if there is more than wires.
    pub network: Option<Network>,
    /// Bytes that went from one memory to another, or to and from caches far away, by cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub moved: BTreeMap<String, u64>,
    /// Bytes on each wire of the fabric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, u64>,
    /// What each GPU spent the run on, where a fabric joins them with the host and with each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuTime>,
    /// What the driver did with pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// Alike ones together, those that hold up others first.
    pub wires: Vec<Wires>,
    /// At most three, the worst first.
    pub bottlenecks: Vec<Bottleneck>,
}

/// A kernel, all its launches together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelTime {
    pub name: String,
    pub launches: u64,
    pub time_fs: u64,
}

/// A figure of several elements: on average, and the smallest and largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
        let (cpu, total) = run.total().0.into_iter().partition(|(path, _)| path.starts_with("cpu."));
        let (cpu, total) = (Statistics(cpu), Statistics(total));
        let elements = Elements::of(&total);
        let has_cpu = subject.machine.cpu.is_some();
        let kernels = if has_cpu { named_kernels(&total, facts) } else { kernels(run, facts) };
        let kernel_fs = kernels.iter().map(|kernel| kernel.time_fs).sum();
        let kernel_cycles = facts.to_cycles(kernel_fs);
        let cycles = facts.to_cycles(length);
        // What a CPU shares with the GPU works all the time.
        let shared = if has_cpu { cycles } else { kernel_cycles };
        let of_network = cycles_of(facts.network_clock, if has_cpu { length } else { kernel_fs });
        let units = Units::of(&elements, &total, facts, cycles, kernel_cycles);
        let mut summary = Self {
            program: subject.program.name.clone(),
            arguments: subject.arguments.to_vec(),
            system: subject.machine.name.clone(),
            outcome: subject.run.outcome.to_string(),
            fast_forward: subject.forwarded.map(Into::into),
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
            links: machine::moved_by_link(&total),
            gpus: GpuTime::of(&total),
            pages: subject.paged.and_then(Pages::of),
            wires: wires::alike(&total, (!has_cpu).then_some(kernel_cycles)),
            bottlenecks: Vec::new(),
        };
        summary.bottlenecks = bottleneck::worst(&summary);
        summary
    }

    /// What memory, network and wires are measured over.
    pub(crate) fn span(&self) -> &'static str {
        if self.cores.is_some() { "the run" } else { "kernel time" }
    }

    /// Wavefront instructions a cycle, of all units together.
    pub fn instructions_per_cycle(&self) -> f64 {
        ratio(self.wave_instructions as f64, self.kernel_cycles as f64)
    }
}

/// Kernels by name. Each region of a run but the first is a launch; several GPUs that share one work side by side.
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

/// Kernels by name, where a program on the machine's own CPU starts them: regions are the program's there.
fn named_kernels(total: &Statistics, facts: Facts) -> Vec<KernelTime> {
    let named = total.0.iter().filter_map(|(path, value)| {
        let name = path.strip_prefix("front_end.kernels.")?.strip_suffix(".cycles")?;
        let Value::Histogram { count, sum, .. } = value else { return None };
        Some(KernelTime { name: name.to_owned(), launches: *count, time_fs: facts.to_femtoseconds(*sum) })
    });
    named.filter(|kernel| kernel.launches > 0).collect()
}

/// Cycles for which the dispatcher that worked longest had a kernel.
pub(crate) fn busiest(statistics: &Statistics) -> u64 {
    let dispatchers = statistics.0.keys().filter(|path| path.ends_with(".kernel_cycles"));
    dispatchers.map(|path| statistics.sum(path)).max().unwrap_or(0)
}
