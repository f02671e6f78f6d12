//! `cohesim bench sim`: how fast machines are simulated.
//!
//! Every workload's result is checked as always. What counts is the processor time of the simulation itself, not that of the
//! inputs, the reference and the comparison. On a machine with a CPU whole programs run, and all of their time counts.

use crate::{
    guest::{GuestOptions, On, Output},
    progress::Progress,
    ui::Ui,
};
use clap::{Args, FromArgMatches};
use engine::Statistics;
use machine::{Machine, Options};
use miette::{IntoDiagnostic, WrapErr, miette};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::{fs, num::NonZero, thread};
use workloads::{Size, Timed, Workload};

/// Measure how fast a machine is simulated, on built-in workloads.
#[derive(clap::Args)]
pub struct Sim {
    /// These workloads (see `cohesim list workloads`) [default: fir aes matmul bfs fft transpose relu]; on a machine with a CPU,
    /// programs with their arguments, each in quotes.
    workloads: Vec<String>,
    /// The machine: a name (see `cohesim list systems`) or a file.
    #[arg(long, default_value = "r9nano", value_name = "NAME|FILE")]
    system: String,
    /// Change a key of the machine: gpu.l2.size=1MiB. One that has no effect on it is refused.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Run in this many threads.
    #[arg(long, default_value = "1")]
    threads: NonZero<usize>,
    /// How much to compute: tiny, default, or usual: what other simulators were measured with.
    #[arg(long, default_value = "usual")]
    size: Size,
    /// How much faster more threads are: the bound that work in each partition and window sets, and, as far as this computer has
    /// processors, what is measured: the median of seven pairs of runs with one thread and with several, in turn.
    #[arg(long, conflicts_with = "threads")]
    scaling: bool,
}

/// Numbers of threads for which bounds are told.
const THREADS: [usize; 5] = [1, 2, 4, 8, 16];
/// Pairs of runs, one thread against several.
const PAIRS: usize = 7;

#[derive(Serialize)]
struct Scaled {
    workload: String,
    machine: String,
    threads: usize,
    /// How many times as fast as one thread so many could be at most.
    bound: f64,
    /// How many times as fast they were; none where this computer has too few processors.
    measured: Option<f64>,
    /// The least and the most of the pairs.
    spread: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct ScalingResults {
    results: Vec<Scaled>,
}

/// Programs for a machine with a CPU: one busy core, four, and cores and GPU at the same work, with much for one or for the other.
const PROGRAMS: [&[&str]; 4] = [
    &["hotspot-omp", "--threads", "1"],
    &["kmeans-omp", "--threads", "4"],
    &["edge", "--size", "small", "--cpu-share", "50", "--threads", "4", "--copies", "none"],
    &["edge", "--size", "usual", "--cpu-share", "10", "--threads", "4", "--copies", "none", "--no-check"],
];

/// The workloads for which speeds of other simulators are known.
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
    /// `None`: the program was told not to check its result.
    right: Option<bool>,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Measured>,
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
        let measured: Vec<Box<dyn FnOnce() -> miette::Result<Measured> + '_>> = match self.has_cpu()? {
            true => {
                self.programs().into_iter().map(|words| Box::new(move || self.run_program(words, ui)) as _).collect()
            }
            false => self.chosen()?.into_iter().map(|workload| Box::new(move || self.measure(workload)) as _).collect(),
        };
        for measure in measured {
            let measured = measure()?;
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
        for workload in self.chosen()? {
            let scaling = self.wall(workload, 1, &THREADS)?.1;
            for scaling in scaling {
                let threads = scaling.threads;
                let measured =
                    (threads > 1 && threads <= processors).then(|| self.pairs(workload, threads)).transpose()?;
                let (measured, spread) = measured.unzip();
                let shown = measured.map_or("-".to_owned(), |times| format!("{times:.2}"));
                let between = spread.map_or("-".to_owned(), |[least, most]| format!("{least:.2} to {most:.2}"));
                ui.print(&format!(
                    "{threads:7} {:6.2} {shown:>9} {between:>13}  {}\n",
                    scaling.bound(),
                    workload.name
                ))?;
                let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?.name;
                let (workload, bound) = (workload.name.to_owned(), scaling.bound());
                results.push(Scaled { workload, machine, threads, bound, measured, spread });
            }
        }
        ui.report(&ScalingResults { results })
    }

    /// How many times as fast so many threads are as one: the median of several pairs, and the least and the most.
    fn pairs(&self, workload: &'static Workload, threads: usize) -> miette::Result<(f64, [f64; 2])> {
        let mut ratios = Vec::new();
        for _ in 0..PAIRS {
            let (one, several) = (self.wall(workload, 1, &[])?.0, self.wall(workload, threads, &[])?.0);
            ratios.push(one / several.max(f64::MIN_POSITIVE));
        }
        ratios.sort_by(f64::total_cmp);
        Ok((ratios[PAIRS / 2], [ratios[0], ratios[PAIRS - 1]]))
    }

    /// How long the simulation of a workload takes, in seconds on the wall, and bounds for these numbers of threads.
    fn wall(
        &self,
        workload: &'static Workload,
        threads: usize,
        scaling: &[usize],
    ) -> miette::Result<(f64, Vec<engine::Scaling>)> {
        let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
        let options = Options { threads, scaling: scaling.to_vec(), ..Options::default() };
        let mut gpu = Timed::new(workload.object, &machine, &options).map_err(|error| miette!("{error}"))?;
        (workload.run)(self.size, &mut gpu)
            .into_diagnostic()
            .wrap_err_with(|| format!("workload {}", workload.name))?;
        let wall = gpu.wall_time().as_secs_f64();
        Ok((wall, gpu.finish().map_err(|error| miette!("{error}"))?.scaling))
    }

    fn chosen(&self) -> miette::Result<Vec<&'static Workload>> {
        let names: Vec<&str> = match self.workloads.is_empty() {
            true => USUAL.to_vec(),
            false => self.workloads.iter().map(String::as_str).collect(),
        };
        let unknown = |name| miette!("there is no workload '{name}': `cohesim list workloads` names them all");
        names.into_iter().map(|name| workloads::find(name).ok_or_else(|| unknown(name))).collect()
    }

    fn has_cpu(&self) -> miette::Result<bool> {
        Ok(Machine::load(&self.system, &self.sets).into_diagnostic()?.cpu.is_some())
    }

    /// The words of each program's command line.
    fn programs(&self) -> Vec<Vec<&str>> {
        match self.workloads.is_empty() {
            true => PROGRAMS.iter().map(|words| words.to_vec()).collect(),
            false => self.workloads.iter().map(|words| words.split_whitespace().collect()).collect(),
        }
    }

    /// Runs a whole program on a machine with a CPU.
    fn run_program(&self, words: Vec<&str>, ui: &Ui) -> miette::Result<Measured> {
        let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
        let line = ["guest", words[0], "--"].into_iter().chain(words[1..].iter().copied());
        let matches = GuestOptions::augment_args(clap::Command::new("guest")).try_get_matches_from(line);
        let guest = GuestOptions::from_arg_matches(&matches.into_diagnostic()?).into_diagnostic()?;
        _ = fs::write("/proc/self/clear_refs", "5");
        let threads = self.threads.get();
        let options = Options { threads, ..Options::default() };
        let progress = Progress::start(words[0], &options.monitor, None, ui);
        let start = cpu_seconds();
        let ran = guest.run(On::Machine(&machine, &options), Output::Kept, &options.monitor, &progress)?;
        let cpu_seconds = cpu_seconds() - start;
        if ran.end.exit_code() != 0 {
            return Err(miette!("{} was not right: {}", words.join(" "), ran.end));
        }
        let total = ran.run.as_ref().map(engine::Run::total).unwrap_or_default();
        let sum =
            |end: &str| total.0.keys().filter(|path| path.ends_with(end)).map(|path| total.count(path)).sum::<u64>();
        let (wave_instructions, x86_instructions) = (sum(".wave_instructions"), ran.totals.instructions);
        let per_second = |count: u64| count as f64 / cpu_seconds.max(f64::MIN_POSITIVE);
        let clock = machine.cpu.as_ref().map_or(machine.clock, |complex| complex.clock);
        let cycles = (u128::from(ran.totals.time.0) * u128::from(clock.0) / 1_000_000_000_000_000) as u64;
        Ok(Measured {
            workload: words.join(" "),
            machine: machine.name.clone(),
            threads,
            wave_instructions,
            x86_instructions,
            cycles,
            cpu_seconds,
            wave_per_second: per_second(wave_instructions),
            x86_per_second: per_second(x86_instructions),
            peak_mb: peak_mb(),
            // A wrong result has ended the command.
            right: (!words.contains(&"--no-check")).then_some(true),
        })
    }

    fn measure(&self, workload: &'static Workload) -> miette::Result<Measured> {
        let machine = Machine::load(&self.system, &self.sets).into_diagnostic()?;
        let (name, threads) = (machine.name.clone(), self.threads.get());
        // The highest use of memory so far is of no interest; where that can't be forgotten it counts.
        _ = fs::write("/proc/self/clear_refs", "5");
        let options = Options { threads, ..Options::default() };
        let mut gpu = Timed::new(workload.object, &machine, &options).map_err(|error| miette!("{error}"))?;
        let ran = (workload.run)(self.size, &mut gpu).into_diagnostic();
        ran.wrap_err_with(|| format!("workload {}", workload.name))?;
        let cpu_seconds = gpu.cpu_time().as_secs_f64();
        let total = gpu.finish().map_err(|error| miette!("{error}"))?.total();
        let waves = total.0.keys().filter(|path| path.ends_with(".wave_instructions"));
        let wave_instructions = waves.map(|path| total.count(path)).sum::<u64>();
        let cycles = kernel_cycles(&total);
        let per_second = |count: u64| count as f64 / cpu_seconds.max(f64::MIN_POSITIVE);
        Ok(Measured {
            workload: workload.name.to_owned(),
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
            right: Some(true),
        })
    }
}

/// Processor time of this process so far.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
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
