//! `cohesim bench sim`: how fast machines are simulated.
//!
//! Every workload's result is checked as always. What counts is the processor time of the simulation itself, not that of the
//! inputs, the reference and the comparison.

use crate::ui::Ui;
use engine::Statistics;
use machine::{Machine, Options};
use miette::{IntoDiagnostic, WrapErr, miette};
use serde::Serialize;
use std::{fs, num::NonZero};
use workloads::{Size, Timed, Workload};

/// Measure how fast a machine is simulated, on built-in workloads.
#[derive(clap::Args)]
pub struct Sim {
    /// These workloads (see `cohesim list workloads`) [default: fir aes matmul bfs fft transpose relu].
    workloads: Vec<String>,
    /// The machine: a name (see `cohesim list systems`) or a file.
    #[arg(long, default_value = "r9nano", value_name = "NAME|FILE")]
    system: String,
    /// Change a key of the machine: gpu.l2.size=1MiB.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Run in this many threads.
    #[arg(long, default_value = "1")]
    threads: NonZero<usize>,
    /// How much to compute: tiny, default, or usual: what other simulators were measured with.
    #[arg(long, default_value = "usual")]
    size: Size,
}

/// The workloads for which speeds of other simulators are known.
const USUAL: [&str; 7] = ["fir", "aes", "matmul", "bfs", "fft", "transpose", "relu"];

#[derive(Serialize)]
struct Measured {
    workload: &'static str,
    machine: String,
    threads: usize,
    wave_instructions: u64,
    x86_instructions: u64,
    cycles: u64,
    cpu_seconds: f64,
    wave_per_second: f64,
    x86_per_second: f64,
    peak_mb: f64,
    right: bool,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Measured>,
}

impl Sim {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        ui.print(&format!(
            "{:17} {:>13} {:>11} {:>9} {:>14} {:>8}\n",
            "workload", "instructions", "cycles", "cpu s", "instructions/s", "peak MB"
        ))?;
        let mut results = Vec::new();
        for workload in self.chosen()? {
            let measured = self.measure(workload).wrap_err_with(|| format!("workload {}", workload.name))?;
            ui.print(&format!(
                "{:17} {:13} {:11} {:9.2} {:14.0} {:8.0}\n",
                measured.workload,
                measured.wave_instructions,
                measured.cycles,
                measured.cpu_seconds,
                measured.wave_per_second,
                measured.peak_mb
            ))?;
            results.push(measured);
        }
        ui.report(&Results { results })
    }

    fn chosen(&self) -> miette::Result<Vec<&'static Workload>> {
        let names: Vec<&str> = match self.workloads.is_empty() {
            true => USUAL.to_vec(),
            false => self.workloads.iter().map(String::as_str).collect(),
        };
        let unknown = |name| miette!("there is no workload '{name}': `cohesim list workloads` names them all");
        names.into_iter().map(|name| workloads::find(name).ok_or_else(|| unknown(name))).collect()
    }

    fn measure(&self, workload: &'static Workload) -> miette::Result<Measured> {
        let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
        let (name, threads) = (machine.name.clone(), self.threads.get());
        // The highest use of memory so far is of no interest; where that can't be forgotten it counts.
        _ = fs::write("/proc/self/clear_refs", "5");
        let options = Options { threads, ..Options::default() };
        let mut gpu = Timed::new(workload.object, &machine, &options).map_err(|error| miette!("{error}"))?;
        (workload.run)(self.size, &mut gpu).into_diagnostic()?;
        let cpu_seconds = gpu.cpu_time().as_secs_f64();
        let total = gpu.finish().map_err(|error| miette!("{error}"))?.total();
        let waves = total.0.keys().filter(|path| path.ends_with(".wave_instructions"));
        let wave_instructions = waves.map(|path| total.count(path)).sum::<u64>();
        let cycles = kernel_cycles(&total);
        let per_second = |count: u64| count as f64 / cpu_seconds.max(f64::MIN_POSITIVE);
        Ok(Measured {
            workload: workload.name,
            machine: name,
            threads,
            wave_instructions,
            x86_instructions: 0,
            cycles,
            cpu_seconds,
            wave_per_second: per_second(wave_instructions),
            x86_per_second: 0.0,
            peak_mb: peak_mb(),
            // A wrong result has ended the command.
            right: true,
        })
    }
}

/// From the command to the end of each kernel, those of all GPUs together.
fn kernel_cycles(total: &Statistics) -> u64 {
    total.0.keys().filter(|path| path.ends_with(".dispatcher.kernel_cycles")).map(|path| total.sum(path)).sum()
}

/// The highest use of memory of this process, in MB; 0 where that is not known.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or(0.0, |kib| kib * 1024.0 / 1e6)
}
