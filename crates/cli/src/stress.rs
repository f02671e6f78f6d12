//! `cohesim stress`: random accesses of all requesters to few lines, on a machine with small caches and short queues.

use crate::{progress::Progress, ui::Ui};
use engine::{Outcome, Time};
use machine::{Forgotten, Machine, Options, Stress as Accesses, moves_pages, stress, stress_pages};
use miette::{IntoDiagnostic, miette};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{
    num::NonZero,
    time::{Duration, Instant},
};

/// Test a machine's memory system. All compute units and cores load, store and access atomically a few lines at random,
/// and each read is compared with the value it must return.
///
/// Caches and queues are as small as possible, so that lines are evicted and wires are full all the time; `--as-is`
/// keeps the sizes of the machine's file.
///
/// If the GPUs' driver keeps page tables (multi-pcie, multi-nvlink, multi-shared), it moves pages between memories
/// during the test: TLBs and caches drop them, a DMA engine copies them, and accesses to absent pages wait for the
/// driver's answer.
#[derive(clap::Args)]
pub struct Stress {
    /// The machine: a name (see `cohesim list systems`) or a file.
    #[arg(short, long, default_value = "r9nano", value_name = "NAME|FILE")]
    system: String,
    /// Change a key of the machine: gpus=2. A key that has no effect is refused.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Keep the sizes of caches and queues of the machine's file.
    #[arg(long)]
    as_is: bool,
    /// Number of accesses of all compute units and cores together: 50000, 100k, 10M.
    #[arg(short, long, default_value = "1M", value_parser = count)]
    operations: u64,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not move pages, on a machine whose driver can: all testers then race for the bytes of a few physical lines.
    #[arg(long)]
    fixed_pages: bool,
    /// Leave out flushes, invalidations or shootdowns when pages are moved, to test that checks detect it.
    #[arg(long, hide = true, value_name = "flush|invalidation|shootdown", value_parser = forgotten)]
    forget: Option<Forgotten>,
    /// Number of lines of memory that the testers access.
    #[arg(long, default_value_t = 96, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    lines: u64,
    /// Continue with the next seeds, one run each, until this much real time has passed: 90s, 10m, 1h.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,
    /// Number of threads; results do not depend on it.
    #[arg(long, default_value = "1")]
    threads: NonZero<usize>,
}

/// Sizes so small that lines are evicted and queues are full all the time.
const SMALL: &[&str] = &[
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=3",
    "gpu.l1v.waiting=2",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=3",
    "gpu.l2.waiting=2",
    "memory.fixed.outstanding=2",
    "memory.dram.read_queue=2",
    "memory.dram.write_queue=2",
    "memory.dram.drain_from=2",
    "memory.dram.drain_to=1",
    "wires.dispatcher.capacity=1",
    "wires.l1_l2.capacity=2",
    "wires.l2_memory.capacity=1",
];

/// Small sizes for a fabric, and for GPU memories beside the host's.
const SMALL_FABRIC: &[&str] = &["fabric.credits=1"];
const SMALL_GPU_MEMORY: &[&str] = &[
    "gpu.memory.fixed.outstanding=2",
    "gpu.memory.dram.read_queue=2",
    "gpu.memory.dram.write_queue=2",
    "gpu.memory.dram.drain_from=2",
    "gpu.memory.dram.drain_to=1",
];

/// Small blocks for memories of GPUs that are caches of the host's. A block of 4 KiB takes 64 round trips over a wire with
/// one credit, and every atomic access moves one.
const SMALL_BLOCKS: &[&str] = &["gpu.memory.block=256", "gpu.l2.interleave=256"];
/// The same size in the host's memory, where `[system]` states it.
const SMALL_BLOCKS_OF_HOST: &[&str] = &["system.interleave=256"];

/// Small sizes for a CPU; its last-level cache is smaller than the caches above it together.
const SMALL_CPU: &[&str] = &[
    "cpu.l1d.size=512",
    "cpu.l1d.mshrs=2",
    "cpu.l1d.waiting=2",
    "cpu.l1i.size=256",
    "cpu.l1i.mshrs=2",
    "cpu.l1i.waiting=2",
    "cpu.l2.size=1KiB",
    "cpu.l2.mshrs=2",
    "cpu.l2.waiting=2",
    "cpu.l3.size=512",
    "cpu.l3.ways=4",
    "cpu.l3.mshrs=2",
    "cpu.l3.waiting=2",
    "system.network.capacity=2",
    "system.hub.capacity=1",
];

/// Small sizes for a DMA engine.
const SMALL_DMA: &[&str] = &["system.dma.outstanding=2", "system.dma.size=512"];

/// Small sizes for the MMUs of cores and of compute units.
const SMALL_MMU: &[&str] =
    &["cpu.mmu.entries=1", "cpu.mmu.ways=1", "cpu.mmu.lookups=1", "cpu.mmu.misses=1", "cpu.mmu.waiting=2"];
const SMALL_GPU_MMU: &[&str] =
    &["gpu.mmu.entries=1", "gpu.mmu.ways=1", "gpu.mmu.lookups=1", "gpu.mmu.misses=1", "gpu.mmu.waiting=2"];
/// A forward-backward table so small that entries are evicted all the time.
const SMALL_FBT: &[&str] = &["gpu.fbt.entries=4", "gpu.fbt.ways=2", "system.iommu.entries=2", "system.iommu.ways=1"];

#[derive(Serialize)]
struct StressReport {
    system: String,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    seed: u64,
    loads: u64,
    stores: u64,
    atomics: u64,
    evictions: u64,
    /// Pages that were moved, and faults that were served.
    migrations: u64,
    faults: u64,
    simulated_fs: u64,
    seconds: f64,
    /// Digest of all statistics, independent of the number of threads.
    statistics_sha256: String,
}

impl Stress {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let machine = self.machine()?;
        if self.forget.is_some() && !self.moves_pages(&machine) {
            return Err(miette!("--forget leaves out steps of moving pages, and '{}' moves none", machine.name));
        }
        let start = Instant::now();
        let mut runs = Vec::new();
        for seed in self.seed.. {
            let run = self.run_with(&machine, seed, ui)?;
            ui.print(&format!(
                "{} ({}), seed {seed}: {} loads, {} stores and {} atomic accesses to {} lines, {} evictions{}: every read was right, \
                 every access ended\n  {} simulated in {:.1} s; statistics sha256 {}\n",
                machine.name,
                machine.protocol.name,
                run.loads,
                run.stores,
                run.atomics,
                self.lines,
                run.evictions,
                match self.moves_pages(&machine) {
                    true => format!(", {} pages moved, {} faults", run.migrations, run.faults),
                    false => String::new(),
                },
                Time(run.simulated_fs),
                run.seconds,
                &run.statistics_sha256[..16]
            ))?;
            runs.push(run);
            if self.duration.is_none_or(|duration| start.elapsed() >= duration) {
                break;
            }
        }
        if self.duration.is_some() {
            let accesses: u64 = runs.iter().map(|run| run.loads + run.stores + run.atomics).sum();
            let (count, seconds) = (runs.len(), start.elapsed().as_secs());
            ui.print(&format!("{count} runs in {seconds} s: {accesses} accesses, all of them right\n"))?;
        }
        ui.report(&StressReport { system: machine.name, runs })
    }

    fn moves_pages(&self, machine: &Machine) -> bool {
        moves_pages(machine) && !self.fixed_pages
    }

    /// The machine, reduced to small sizes unless `--as-is`.
    fn machine(&self) -> miette::Result<Machine> {
        let mut sets: Vec<String> = Vec::new();
        // The user's changes must have an effect; the changes that reduce the machine need not.
        let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
        if !self.as_is {
            let cpu = machine.cpu.as_ref();
            let parts = [
                (SMALL, true),
                (SMALL_FABRIC, machine.fabric.is_some()),
                (SMALL_GPU_MEMORY, machine.zones.len() > 1),
                (SMALL_BLOCKS, machine.levels.is_some()),
                (SMALL_BLOCKS_OF_HOST, machine.levels.is_some() && (machine.fabric.is_some() || cpu.is_some())),
                (SMALL_CPU, cpu.is_some()),
                (SMALL_DMA, cpu.is_some_and(|cpu| cpu.dma.is_some())),
                (SMALL_MMU, cpu.is_some_and(|cpu| cpu.core_mmu.is_some())),
                (SMALL_GPU_MMU, machine.gpu_mmu.is_some()),
                (SMALL_FBT, machine.fbt.is_some()),
            ];
            let keys = parts.into_iter().filter(|(_, is_there)| *is_there).flat_map(|(keys, _)| keys);
            sets.extend(keys.map(|&key| key.to_owned()));
            // Eight lines in each bank.
            sets.push(format!("gpu.l2.size={}", machine.banks.count * 8 * mem::LINE));
        }
        sets.extend(self.sets.iter().cloned());
        Machine::examine(&self.system, &sets).map(|(machine, _)| machine).into_diagnostic()
    }

    fn run_with(&self, machine: &Machine, seed: u64, ui: &Ui) -> miette::Result<Run> {
        let accesses = Accesses { operations: self.operations, seed, lines: self.lines, round: 500, outstanding: 12 };
        let options = Options { threads: self.threads.get(), check: true, ..Options::default() };
        let start = Instant::now();
        let what = format!("random accesses on {}, seed {seed}", machine.name);
        let progress = Progress::start(&what, &options.monitor, Some(machine.clock), ui);
        let run = match self.moves_pages(machine) {
            true => stress_pages(machine, accesses, self.forget, &options),
            false => stress(machine, accesses, &options),
        };
        drop(progress);
        if run.outcome != Outcome::Finished {
            return Err(miette!("on '{}' with --seed {seed}: {}", machine.name, run.outcome));
        }
        let total = run.total();
        let sum = |end: &str| total.0.keys().filter(|path| path.ends_with(end)).map(|path| total.count(path)).sum();
        let statistics = serde_json::to_vec(&run.regions).into_diagnostic()?;
        Ok(Run {
            seed,
            loads: sum(".loads"),
            stores: sum(".stores"),
            atomics: sum(".atomics"),
            evictions: sum(".evictions"),
            migrations: sum(".driver.migrations"),
            faults: sum(".driver.faults"),
            simulated_fs: run.end.0,
            seconds: start.elapsed().as_secs_f64(),
            statistics_sha256: Sha256::digest(&statistics).iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

/// Parses the order that is omitted.
fn forgotten(text: &str) -> Result<Forgotten, String> {
    match text {
        "flush" => Ok(Forgotten::Flush),
        "invalidation" => Ok(Forgotten::Invalidation),
        "shootdown" => Ok(Forgotten::Shootdown),
        _ => Err(format!("'{text}' can't be forgotten: write flush, invalidation or shootdown")),
    }
}

/// A duration on this computer.
fn duration(text: &str) -> Result<Duration, String> {
    let scale = match text.chars().next_back() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => return Err(format!("'{text}' does not end with a unit: write 90s, 10m or 1h")),
    };
    let number = text[..text.len() - 1].parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    number.map(Duration::from_secs).ok_or_else(|| format!("'{text}' does not begin with a whole number"))
}

/// A number, with `k` for thousands or `M` for millions.
fn count(text: &str) -> Result<u64, String> {
    let (digits, times) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    number.ok_or_else(|| format!("'{text}' is not a count such as 50000, 100k or 10M"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        stress: Stress,
    }

    #[test]
    fn counts_and_times_have_units() {
        assert_eq!((count("50000"), count("100k"), count("10M")), (Ok(50_000), Ok(100_000), Ok(10_000_000)));
        let minutes = |number: u64| Ok(Duration::from_secs(60 * number));
        assert_eq!((duration("60s"), duration("10m"), duration("1h")), (minutes(1), minutes(10), minutes(60)));
        assert!(duration("10").unwrap_err().contains("does not end with a unit"));
        assert!(duration("h").unwrap_err().contains("whole number") && duration("").is_err());
    }

    #[test]
    fn every_machine_can_be_made_small() {
        for name in machine::shipped() {
            let Command { stress } = Command::parse_from(["stress", "--system", name]);
            assert!(stress.machine().is_ok(), "{name}");
        }
    }
}
