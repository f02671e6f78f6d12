//! `cohesim stress`: random accesses of everybody to few lines, on a machine with small caches and short queues.

use crate::{progress::Progress, ui::Ui};
use engine::Outcome;
use machine::{Machine, Options, Stress as Accesses, stress};
use miette::{IntoDiagnostic, miette};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{num::NonZero, time::Instant};

/// Test a machine's memory system: random loads, stores and atomic accesses to few lines by all compute units at once, every
/// read compared with what it must return.
///
/// Caches and queues are made as small as they can be, so that lines are evicted and wires are full all the time; `--as-is`
/// leaves the machine as its file says.
#[derive(clap::Args)]
pub struct Stress {
    /// The machine: a name (see `cohesim list systems`) or a file.
    #[arg(short, long, default_value = "r9nano", value_name = "NAME|FILE")]
    system: String,
    /// Change a key of the machine: gpus=2.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Leave caches and queues as large as they are.
    #[arg(long)]
    as_is: bool,
    /// How many accesses, of all compute units together: 50000, 100k, 10M.
    #[arg(short, long, default_value = "1M", value_parser = count)]
    operations: u64,
    /// Which random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many lines of memory are accessed.
    #[arg(long, default_value_t = 96, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    lines: u64,
    /// Run in this many threads; the result is the same.
    #[arg(long, default_value = "1")]
    threads: NonZero<usize>,
}

/// Small enough that lines have to go and queues are full all the time.
const SMALL: [&str; 11] = [
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=3",
    "gpu.l1v.waiting=2",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=3",
    "gpu.l2.waiting=2",
    "memory.fixed.outstanding=2",
    "wires.dispatcher.capacity=1",
    "wires.l1_l2.capacity=2",
    "wires.l2_memory.capacity=1",
];

#[derive(Serialize)]
struct Report {
    system: String,
    loads: u64,
    stores: u64,
    atomics: u64,
    evictions: u64,
    simulated_fs: u64,
    seconds: f64,
    /// Of all statistics: the same for any number of threads.
    statistics_sha256: String,
}

impl Stress {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let mut sets: Vec<String> = Vec::new();
        if !self.as_is {
            let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
            sets.extend(SMALL.map(str::to_owned));
            // Eight lines in each bank.
            sets.push(format!("gpu.l2.size={}", machine.banks.count * 8 * mem::LINE));
        }
        sets.extend(self.sets.iter().cloned());
        let machine = Machine::load(&self.system, &sets).into_diagnostic()?;
        let accesses =
            Accesses { operations: self.operations, seed: self.seed, lines: self.lines, round: 500, outstanding: 12 };
        let options = Options { threads: self.threads.get(), check: true, ..Options::default() };
        let start = Instant::now();
        let what = format!("random accesses on {}", machine.name);
        let progress = Progress::start(&what, &options.monitor, Some(machine.clock), ui);
        let run = stress(&machine, accesses, &options);
        drop(progress);
        let seconds = start.elapsed().as_secs_f64();
        if run.outcome != Outcome::Finished {
            return Err(miette!("on '{}' with --seed {}: {}", machine.name, self.seed, run.outcome));
        }
        let total = run.total();
        let sum = |end: &str| total.0.keys().filter(|path| path.ends_with(end)).map(|path| total.count(path)).sum();
        let statistics = serde_json::to_vec(&run.regions).into_diagnostic()?;
        let digest = Sha256::digest(&statistics).iter().map(|byte| format!("{byte:02x}")).collect();
        let report = Report {
            system: machine.name.clone(),
            loads: sum(".loads"),
            stores: sum(".stores"),
            atomics: sum(".atomics"),
            evictions: sum(".evictions"),
            simulated_fs: run.end.0,
            seconds,
            statistics_sha256: digest,
        };
        ui.print(&format!(
            "{} ({}): {} loads, {} stores and {} atomic accesses to {} lines, {} evictions: every read was right, nobody got \
             stuck\n  {} simulated in {seconds:.1} s; statistics sha256 {}\n",
            report.system,
            machine.protocol.name,
            report.loads,
            report.stores,
            report.atomics,
            self.lines,
            report.evictions,
            run.end,
            &report.statistics_sha256[..16]
        ))?;
        ui.report(&report)
    }
}

/// A number, in thousands or millions if it ends so.
fn count(text: &str) -> Result<u64, String> {
    let (digits, times) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    number.ok_or_else(|| format!("'{text}' is not a count such as 50000, 100k or 10M"))
}
