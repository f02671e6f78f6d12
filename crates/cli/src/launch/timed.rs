//! A launch on a machine, in time.

use super::gpu::Gpu;
use crate::{files::write, ui::Ui};
use engine::{Monitor, Outcome, Region, Run};
use gcn3::dispatch::Dispatch;
use machine::{Machine, Options, Staged};
use miette::{IntoDiagnostic, WrapErr, miette};
use serde::Serialize;
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// What is asked of a launch in time.
#[derive(clap::Args)]
pub struct Timed {
    /// Run it in time on this machine: a name (`cohesim list systems`) or a file. Without it, results come without time.
    #[arg(short, long, value_name = "NAME|FILE")]
    pub system: Option<String>,
    /// Change a key of the machine: gpu.l2.size=1MiB.
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "system")]
    sets: Vec<String>,
    /// Compare every read, and memory in the end, with what it must hold; ends at the first that is wrong.
    #[arg(long, requires = "system")]
    check: bool,
    /// Write stats.json, run.json and machine.toml to this folder.
    #[arg(long, value_name = "DIR", requires = "system")]
    out: Option<PathBuf>,
}

/// What is told of a run.
#[derive(Serialize)]
pub struct Told {
    pub system: String,
    /// Simulated, in femtoseconds.
    pub time_fs: u64,
    pub checked: bool,
    /// Of all launches together, counts only.
    counts: std::collections::BTreeMap<String, u64>,
    #[serde(skip)]
    text: String,
}

/// `stats.json`: simulated facts only.
#[derive(Serialize)]
struct Stats<'a> {
    time_fs: u64,
    regions: Vec<&'a Region>,
}

/// `run.json`: how it was on the computer that simulated.
#[derive(Serialize)]
struct HostRun<'a> {
    version: &'a str,
    system: &'a str,
    threads: usize,
    seconds: f64,
    events: u64,
    checked: bool,
}

impl Timed {
    /// Runs the kernel `repeat` times on the machine; memory then holds what the machine left there. Answers with what is
    /// told of it and the wavefront instructions executed.
    pub fn run(
        &self,
        system: &str,
        gpu: &mut Gpu,
        dispatch: &Dispatch,
        repeat: u32,
        threads: usize,
        ui: &Ui,
    ) -> miette::Result<(Told, u64)> {
        let machine = Machine::load(system, &self.sets).into_diagnostic()?;
        let options = Options { threads, check: self.check, ..Options::default() };
        let start = Instant::now();
        let (ended, mut run) = watched(&options.monitor.clone(), ui, || {
            let mut staged = Staged::new(&machine, &options);
            let ended = (0..repeat).try_for_each(|_| gpu.launch_on(&mut staged, dispatch).map(|_| ()));
            (ended, staged.finish())
        });
        let seconds = start.elapsed().as_secs_f64();
        // Who checks is not part of the machine.
        for region in &mut run.regions {
            region.statistics.0.retain(|path, _| !path.starts_with("check"));
        }
        if let Some(folder) = &self.out {
            self.write_out(folder, &machine, &run, seconds, threads)?;
        }
        match &run.outcome {
            Outcome::Finished => {}
            other => return Err(miette!("the launch on '{}' did not come to its end: {other}", machine.name)),
        }
        ended.into_diagnostic()?;
        let told = told(&machine, &run, self.check);
        let instructions = told.counts.iter().filter(|(path, _)| path.ends_with(".wave_instructions"));
        let instructions = instructions.map(|(_, count)| count).sum();
        Ok((told, instructions))
    }

    fn write_out(
        &self,
        folder: &Path,
        machine: &Machine,
        run: &Run,
        seconds: f64,
        threads: usize,
    ) -> miette::Result<()> {
        std::fs::create_dir_all(folder)
            .into_diagnostic()
            .wrap_err_with(|| format!("can't make the folder '{}'", folder.display()))?;
        let stats = Stats { time_fs: run.end.0, regions: run.regions.iter().collect() };
        write(&folder.join("stats.json"), json(&stats)?.as_bytes())?;
        let version = env!("CARGO_PKG_VERSION");
        let host =
            HostRun { version, system: &machine.name, threads, seconds, events: run.events, checked: self.check };
        write(&folder.join("run.json"), json(&host)?.as_bytes())?;
        write(&folder.join("machine.toml"), machine.resolved.as_bytes())
    }
}

fn json(value: &impl Serialize) -> miette::Result<String> {
    Ok(serde_json::to_string_pretty(value).into_diagnostic()? + "\n")
}

/// Does something long, telling now and then how far it is.
fn watched<T: Send>(monitor: &Monitor, ui: &Ui, long: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(long);
        let start = Instant::now();
        let mut told = Duration::ZERO;
        while !worker.is_finished() {
            std::thread::sleep(Duration::from_millis(2));
            let elapsed = start.elapsed();
            if elapsed >= told + Duration::from_millis(500) {
                told = elapsed;
                ui.progress(&format!("{} simulated in {:.0} s", monitor.time(), elapsed.as_secs_f64()));
            }
        }
        ui.progress_done();
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn told(machine: &Machine, run: &Run, checked: bool) -> Told {
    let total = run.total();
    let mut text = String::new();
    let cycles = run.end.0 as u128 * u128::from(machine.clock.0) / 1_000_000_000_000_000;
    writeln!(text, "on '{}' in {}: {cycles} cycles at {}", machine.name, run.end, machine.clock).expect(STRING);
    for region in run.regions.iter().filter(|region| region.name != "start") {
        writeln!(text, "  {}: {} to {}", region.name, region.start, region.end).expect(STRING);
    }
    let sum = |end: &str| -> u64 {
        let ends = total.0.keys().filter(|path| path.ends_with(end));
        ends.map(|path| total.count(path)).sum()
    };
    let lines = sum(".lines_requested");
    let accesses = sum(".instructions.vector_memory");
    writeln!(text, "  {accesses} vector accesses to memory, {lines} lines requested").expect(STRING);
    let memory = |what: &str| -> u64 {
        let channels = total.0.keys().filter(|path| path.starts_with("memory") && path.ends_with(what));
        channels.map(|path| total.count(path)).sum()
    };
    writeln!(text, "  memory: {} lines read, {} written", memory(".reads"), memory(".writes")).expect(STRING);
    if checked {
        writeln!(text, "  every read, and memory in the end, compared with the golden image: right").expect(STRING);
    }
    let counts = total.0.keys().filter_map(|path| Some((path.clone(), total.count(path))).filter(|(_, n)| *n > 0));
    Told { system: machine.name.clone(), time_fs: run.end.0, checked, counts: counts.collect(), text }
}

const STRING: &str = "writing to a string can't fail";

impl Told {
    pub fn text(&self) -> &str {
        &self.text
    }
}
