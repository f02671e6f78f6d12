//! `cohesim bench engine`: measures the event engine, three rivals, and the engine on several threads.
//!
//! The experiments are those of `[giles 2.6]`: contexts that do next to nothing and run again one cycle later (the cost
//! of the engine alone), contexts that wake each other, and contexts with work in parallel. All engines run in one
//! process, one after the other in each round. Ratios are taken within a round, so that a busy computer affects all
//! engines alike, and medians over the rounds are reported. Single-threaded experiments count the processor time of
//! their thread.

mod binned;
mod figures;
mod heap;
pub mod knightsim;
mod ours;
mod parallel;
mod stackful;

use crate::ui::Ui;
use clap::{Args, ValueEnum};
use miette::Result;
use serde::Serialize;

/// Contexts in the experiments of section 2.6.3.
const SIZES: [usize; 8] = [16, 32, 64, 128, 256, 512, 768, 1024];
/// Number of events that each engine executes per measurement.
const EVENTS: u64 = 2_000_000;

const EXAMPLES: &str = "\
Examples:
  cohesim bench engine                    tables for people
  cohesim bench engine --json             {pause1, wake, parallel, trace_off_percent, memory}
  cohesim bench engine --figure 2.5       one figure of the thesis
  cohesim bench engine --rounds 25        steadier medians on a busy machine";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct EngineBench {
    /// Print one figure of the KnightSim thesis instead of all tables
    #[arg(long, value_name = "FIGURE")]
    figure: Option<Figure>,
    /// Number of rounds; medians are printed
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(5..))]
    rounds: u32,
    /// Maximum number of threads to measure [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Figure {
    /// One thread, four engines
    #[value(name = "2.3")]
    SingleThreaded,
    /// Several threads, events without work
    #[value(name = "2.4")]
    WithoutWork,
    /// Several threads, events with work
    #[value(name = "2.5")]
    WithWork,
}

/// An engine under test. Each method returns the time in nanoseconds and the number of executed events.
pub trait Rival {
    /// `contexts` contexts of four kinds, each of which runs once per cycle for `cycles` cycles.
    fn pause1(&self, contexts: usize, cycles: u64) -> Measured;
    /// A token passes through all contexts `laps` times, one lap per cycle.
    fn ring(&self, contexts: usize, laps: u64) -> Measured;
    /// Pairs of contexts: one runs once per cycle and wakes the other.
    fn pairs(&self, contexts: usize, cycles: u64) -> Measured;
}

#[derive(Clone, Copy)]
pub struct Measured {
    nanoseconds: f64,
    events: u64,
}

impl Measured {
    fn per_event(self) -> f64 {
        self.nanoseconds / self.events as f64
    }
}

/// Runs `work`, which returns its number of events, and measures this thread's processor time.
pub fn measure(work: impl FnOnce() -> u64) -> Measured {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let start = now();
    let events = work();
    Measured { nanoseconds: now() - start, events }
}

/// The median of `values`.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One experiment with one number of contexts.
#[derive(Serialize)]
struct Single {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    contexts: usize,
    /// Nanoseconds per event.
    ns: f64,
    /// Time of each rival relative to this engine.
    ratio_binned: f64,
    ratio_heap: f64,
    ratio_stackful: f64,
}

#[derive(Serialize)]
struct PeakMemory {
    contexts: u64,
    /// Peak memory of the whole process.
    peak_mb: u64,
}

#[derive(Serialize)]
struct EngineReport {
    pause1: Vec<Single>,
    wake: Vec<Single>,
    parallel: Vec<parallel::Parallel>,
    /// Additional time per event of the pairs experiment with trace hooks, while no trace is recorded.
    trace_off_percent: f64,
    memory: PeakMemory,
}

impl EngineBench {
    pub fn run(&self, ui: &Ui) -> Result<()> {
        let report = self.measure(ui);
        ui.progress_done();
        let text = match self.figure {
            None => figures::tables(&report),
            Some(figure) => figures::figure(&report, figure),
        };
        ui.print(&text)?;
        ui.report(&report)
    }

    fn measure(&self, ui: &Ui) -> EngineReport {
        let all = self.figure.is_none();
        let rounds = self.rounds as usize;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.map_or(cores, |threads| threads as usize);
        let singles = |kind, experiment: Experiment| {
            SIZES.map(|contexts| self.single(ui, kind, contexts, rounds, experiment)).into()
        };
        let wanted = |figure| all || self.figure == Some(figure);
        let pause1 = if wanted(Figure::SingleThreaded) {
            singles(None, |engine, contexts, rounds| engine.pause1(contexts, rounds))
        } else {
            Vec::new()
        };
        let mut wake = Vec::new();
        if all {
            wake.append(&mut singles(Some("ring"), |engine, contexts, rounds| engine.ring(contexts, rounds)));
            wake.append(&mut singles(Some("pairs"), |engine, contexts, rounds| engine.pairs(contexts, rounds)));
        }
        let mut parallel = Vec::new();
        if wanted(Figure::WithWork) {
            let sizes: &[usize] = if all { &[16, 64, 128] } else { &SIZES };
            parallel.append(&mut parallel::measure(ui, threads, rounds, sizes, 500));
        }
        if wanted(Figure::WithoutWork) {
            let sizes: &[usize] = if all { &[128, 1024] } else { &SIZES };
            parallel.append(&mut parallel::measure(ui, threads, rounds, sizes, 0));
        }
        let trace_off_percent = if all { trace_off(ui, rounds) } else { 0.0 };
        let memory = if all { memory(ui) } else { PeakMemory { contexts: 0, peak_mb: 0 } };
        EngineReport { pause1, wake, parallel, trace_off_percent, memory }
    }

    fn single(
        &self,
        ui: &Ui,
        kind: Option<&'static str>,
        contexts: usize,
        rounds: usize,
        experiment: Experiment,
    ) -> Single {
        ui.progress(&format!("{} with {contexts} contexts", kind.unwrap_or("pause1")));
        let engines: [&dyn Rival; 4] = [&ours::Ours, &binned::Binned, &heap::Heap, &stackful::Stackful];
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            for (engine, times) in engines.iter().zip(&mut times) {
                times.push(experiment(*engine, contexts, EVENTS / contexts as u64).per_event());
            }
        }
        let [ours, binned, heap, stackful] = times;
        // Per round, because the load of the computer changes from one round to the next.
        let ratio = |rival: Vec<f64>| median(rival.iter().zip(&ours).map(|(rival, ours)| rival / ours));
        Single {
            kind,
            contexts,
            ratio_binned: ratio(binned),
            ratio_heap: ratio(heap),
            ratio_stackful: ratio(stackful),
            ns: median(ours),
        }
    }
}

type Experiment = fn(&dyn Rival, usize, u64) -> Measured;

/// Pairs with an instant event per step, relative to pairs without, both without a trace.
fn trace_off(ui: &Ui, rounds: usize) -> f64 {
    ui.progress("trace hooks that are off");
    // The difference is small: many short rounds measure it better than few long ones.
    let (contexts, cycles) = (128, EVENTS / 128 / 4);
    let mut ratios = Vec::new();
    for _ in 0..rounds * 8 {
        let without = ours::pairs_with(contexts, cycles, ours::Hooks::None).per_event();
        let with = ours::pairs_with(contexts, cycles, ours::Hooks::Off).per_event();
        ratios.push(with / without);
    }
    (median(ratios) - 1.0) * 100.0
}

/// Memory of a million contexts that run a few times.
fn memory(ui: &Ui) -> PeakMemory {
    ui.progress("a million contexts");
    let contexts = 1_000_000;
    ours::crowd(contexts as usize);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    PeakMemory { contexts, peak_mb: peak.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) / 1_000 }
}
