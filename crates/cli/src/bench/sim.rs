//! `cohesim bench sim`: simulation speed.
//!
//! Every workload's result is checked. Only the processor time of the simulation itself counts, not that of the inputs,
//! the reference and the comparison. On a machine with a CPU or with GPUs on a fabric, whole programs run, and all of
//! their time counts.

use crate::{
    guest::{GuestOptions, On, Output},
    progress::Progress,
    ui::Ui,
};
use clap::{Args, FromArgMatches};
use engine::{Run, Statistics};
use machine::{Machine, Options};
use miette::{IntoDiagnostic, WrapErr, miette};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::{fs, num::NonZero, thread, time::Instant};
use workloads::{Size, Timed, Workload};

/// Measure how fast a machine is simulated, on built-in workloads.
#[derive(clap::Args)]
pub struct Sim {
    /// These workloads (see `cohesim list workloads`) [default: fir aes matmul bfs fft transpose relu]; on a machine with a CPU
    /// or with GPUs on a fabric, programs with their arguments, each in quotes.
    workloads: Vec<String>,
    /// The machine: a name (see `cohesim list systems`) or a file.
    #[arg(long, default_value = "r9nano", value_name = "NAME|FILE")]
    system: String,
    /// Change a key of the machine: gpu.l2.size=1MiB. A key that has no effect is refused.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Number of threads.
    #[arg(long, default_value = "1")]
    threads: NonZero<usize>,
    /// Size of the inputs: tiny, default, or usual (the sizes with which other simulators were measured).
    #[arg(long, default_value = "usual")]
    size: Size,
    /// Print speedups by number of threads: the upper bound that the distribution of work over partitions and windows
    /// implies and, up to this computer's number of processors, the measured speedup (median of seven alternating pairs
    /// of runs with one thread and with several).
    #[arg(long, conflicts_with = "threads")]
    scaling: bool,
}

/// Thread counts for which bounds are reported.
const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Pairs of runs: one thread against several.
const PAIRS: usize = 7;

#[derive(Serialize)]
struct Scaled {
    workload: String,
    machine: String,
    threads: usize,
    /// Upper bound of the speed-up over one thread.
    bound: f64,
    /// The measured speed-up; `None` if this computer has too few processors.
    measured: Option<f64>,
    /// Minimum and maximum of the pairs.
    spread: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct ScalingResults {
    results: Vec<Scaled>,
}

/// Programs for a machine with a CPU: one busy core, four busy cores, and cores and GPU sharing work, with most of it
/// on either side.
const PROGRAMS: [&str; 4] = [
    "hotspot-omp --threads 1",
    "kmeans-omp --threads 4",
    "edge --size small --cpu-share 50 --threads 4 --copies none",
    "edge --size usual --cpu-share 10 --threads 4 --copies none --no-check",
];

/// Programs for a machine whose GPUs have memories of their own: compute-bound, with much reuse, and streaming.
const MULTI_GPU_PROGRAMS: [&str; 4] =
    ["n-body --size 4096x2 --no-check", "matmul --size usual", "aes --size usual", "relu --size usual"];

/// Workloads for which the speeds of other simulators are known.
const USUAL: [&str; 7] = ["fir", "aes", "matmul", "bfs", "fft", "transpose", "relu"];

#[derive(Serialize)]
struct Measured {
    workload: String,
    machine: String,
    threads: usize,
    wave_instructions: u64,
    x86_instructions: u64,
    cycles: u64,
    cpu_seconds: f64,
    wave_per_second: f64,
    x86_per_second: f64,
    peak_mb: f64,
    /// `None`: the program was started without its check.
    right: Option<bool>,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Measured>,
}

/// The subject of a measurement.
enum Subject {
    /// A workload whose host is outside the machine and takes no simulated time.
    Workload(&'static Workload),
    /// A whole program with its arguments, including host code.
    Program(Vec<String>),
}

impl Subject {
    fn name(&self) -> String {
        match self {
            Self::Workload(workload) => workload.name.to_owned(),
            Self::Program(words) => words.join(" "),
        }
    }
}

/// A completed simulation.
struct Simulated {
    machine: Machine,
    run: Run,
    x86_instructions: u64,
    cycles: u64,
    /// Processor time, and wall time.
    cpu_seconds: f64,
    wall_seconds: f64,
}

impl Sim {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        if self.scaling {
            return self.scale(ui);
        }
        ui.print(&format!(
            "{:>11} {:>12} {:>9} {:>10} {:>10} {:>8}  {}\n",
            "cycles", "instructions", "cpu s", "waves' a s", "x86 a s", "peak MB", "workload"
        ))?;
        let mut results = Vec::new();
        for subject in self.subjects()? {
            let measured = self.measure(&subject, ui)?;
            ui.print(&format!(
                "{:11} {:12} {:9.2} {:10.0} {:10.0} {:8.0}  {}\n",
                measured.cycles,
                measured.wave_instructions + measured.x86_instructions,
                measured.cpu_seconds,
                measured.wave_per_second,
                measured.x86_per_second,
                measured.peak_mb,
                measured.workload,
            ))?;
            results.push(measured);
        }
        ui.report(&Results { results })
    }

    fn scale(&self, ui: &Ui) -> miette::Result<()> {
        ui.print(&format!("{:>7} {:>6} {:>9} {:>13}  {}\n", "threads", "bound", "measured", "spread", "workload"))?;
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let mut results = Vec::new();
        for subject in self.subjects()? {
            let Simulated { machine, run, .. } = self.simulate(&subject, 1, &THREADS, ui)?;
            for scaling in run.scaling {
                let (threads, bound) = (scaling.threads, scaling.bound());
                let measured =
                    (threads > 1 && threads <= processors).then(|| self.pairs(&subject, threads, ui)).transpose()?;
                let (measured, spread) = measured.unzip();
                let shown = measured.map_or("-".to_owned(), |times| format!("{times:.2}"));
                let between = spread.map_or("-".to_owned(), |[least, most]| format!("{least:.2} to {most:.2}"));
                ui.print(&format!("{threads:7} {bound:6.2} {shown:>9} {between:>13}  {}\n", subject.name()))?;
                let (workload, machine) = (subject.name(), machine.name.clone());
                results.push(Scaled { workload, machine, threads, bound, measured, spread });
            }
        }
        ui.report(&ScalingResults { results })
    }

    /// Speed-up of `threads` threads over one: the median of several pairs, and the minimum and maximum.
    fn pairs(&self, subject: &Subject, threads: usize, ui: &Ui) -> miette::Result<(f64, [f64; 2])> {
        let mut ratios = Vec::new();
        for _ in 0..PAIRS {
            let [one, several] = [1, threads].map(|threads| self.simulate(subject, threads, &[], ui));
            ratios.push(one?.wall_seconds / several?.wall_seconds.max(f64::MIN_POSITIVE));
        }
        ratios.sort_by(f64::total_cmp);
        Ok((ratios[PAIRS / 2], [ratios[0], ratios[PAIRS - 1]]))
    }

    /// The subjects: whole programs if the host is part of the machine or GPUs have memories of their own.
    fn subjects(&self) -> miette::Result<Vec<Subject>> {
        let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
        let named = |names: &[&str]| -> Vec<String> {
            match self.workloads.is_empty() {
                true => names.iter().map(|name| (*name).to_owned()).collect(),
                false => self.workloads.clone(),
            }
        };
        let usual = match (&machine.cpu, &machine.fabric) {
            (Some(_), None) => &PROGRAMS[..],
            (_, Some(_)) => &MULTI_GPU_PROGRAMS,
            (None, None) => {
                let unknown = |name| miette!("there is no workload '{name}': `cohesim list workloads` lists them");
                let find = |name: String| workloads::find(&name).map(Subject::Workload).ok_or_else(|| unknown(name));
                return named(&USUAL).into_iter().map(find).collect();
            }
        };
        let words = |line: String| Subject::Program(line.split_whitespace().map(str::to_owned).collect());
        Ok(named(usual).into_iter().map(words).collect())
    }

    /// Simulates the subject, with bounds for these thread counts. A wrong result is an error.
    fn simulate(&self, subject: &Subject, threads: usize, scaling: &[usize], ui: &Ui) -> miette::Result<Simulated> {
        let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
        let options = Options { threads, scaling: scaling.to_vec(), ..Options::default() };
        match subject {
            Subject::Workload(workload) => {
                let mut gpu = Timed::new(workload.object, &machine, &options).map_err(|error| miette!("{error}"))?;
                let ran = (workload.run)(self.size, &mut gpu).into_diagnostic();
                ran.wrap_err_with(|| format!("workload {}", workload.name))?;
                let (cpu_seconds, wall_seconds) = (gpu.cpu_time().as_secs_f64(), gpu.wall_time().as_secs_f64());
                let run = gpu.finish().map_err(|error| miette!("{error}"))?;
                let cycles = kernel_cycles(&run.total());
                Ok(Simulated { machine, run, x86_instructions: 0, cycles, cpu_seconds, wall_seconds })
            }
            Subject::Program(words) => {
                let line = ["guest", &words[0], "--"].into_iter().chain(words[1..].iter().map(String::as_str));
                let matches = GuestOptions::augment_args(clap::Command::new("guest")).try_get_matches_from(line);
                let guest = GuestOptions::from_arg_matches(&matches.into_diagnostic()?).into_diagnostic()?;
                let progress = Progress::start(&words[0], &options.monitor, None, ui);
                let (start, wall) = (cpu_seconds(), Instant::now());
                let ran = guest.run(On::Machine(&machine, &options), Output::Kept, &options.monitor, &progress)?;
                let (cpu_seconds, wall_seconds) = (cpu_seconds() - start, wall.elapsed().as_secs_f64());
                if ran.end.exit_code() != 0 {
                    return Err(miette!("{} was not right: {}", words.join(" "), ran.end));
                }
                let clock = machine.cpu.as_ref().map_or(machine.clock, |complex| complex.clock);
                let cycles = (u128::from(ran.totals.time.0) * u128::from(clock.0) / 1_000_000_000_000_000) as u64;
                let (run, x86_instructions) = (ran.run.expect("a machine was simulated"), ran.totals.instructions);
                Ok(Simulated { machine, run, x86_instructions, cycles, cpu_seconds, wall_seconds })
            }
        }
    }

    fn measure(&self, subject: &Subject, ui: &Ui) -> miette::Result<Measured> {
        // Resets the peak memory of earlier runs; if that fails, it is included.
        _ = fs::write("/proc/self/clear_refs", "5");
        let threads = self.threads.get();
        let Simulated { machine, run, x86_instructions, cycles, cpu_seconds, .. } =
            self.simulate(subject, threads, &[], ui)?;
        let total = run.total();
        let waves = total.0.keys().filter(|path| path.ends_with(".wave_instructions"));
        let wave_instructions = waves.map(|path| total.count(path)).sum::<u64>();
        let per_second = |count: u64| count as f64 / cpu_seconds.max(f64::MIN_POSITIVE);
        let unchecked = matches!(subject, Subject::Program(words) if words.iter().any(|word| word == "--no-check"));
        Ok(Measured {
            workload: subject.name(),
            machine: machine.name,
            threads,
            wave_instructions,
            x86_instructions,
            cycles,
            cpu_seconds,
            wave_per_second: per_second(wave_instructions),
            x86_per_second: per_second(x86_instructions),
            peak_mb: peak_mb(),
            // A wrong result would have ended the command.
            right: (!unchecked).then_some(true),
        })
    }
}

/// Processor time of this process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Cycles from the command to the end of each kernel, summed over all GPUs.
fn kernel_cycles(total: &Statistics) -> u64 {
    total.0.keys().filter(|path| path.ends_with(".dispatcher.kernel_cycles")).map(|path| total.sum(path)).sum()
}

/// Peak memory of this process in MB; 0 if unknown.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or(0.0, |kib| kib * 1024.0 / 1e6)
}
