//! Options that choose, change and run a machine, and the reports of a run on it.

use crate::{
    guest::{self, GuestOptions, On, Output, Ran},
    progress::Progress,
    ui::Ui,
};
use engine::{Monitor, Sample, Time, TraceSpec};
use machine::{Idle, Machine, Options, checkpoint::Checkpoints};
use miette::{IntoDiagnostic, miette};
use os::forward::{FastForward, Forwarded, Point, WarmUp};
use report::{HostFacts, Input, OutFolder, Program, Subject, Summary};
use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
#[command(next_help_heading = "Machine")]
pub struct System {
    /// Change a key of the machine: gpu.l2.size=1MiB. A key that has no effect is refused.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Number of threads; results do not depend on it.
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZero<usize>,
    /// Run functionally up to a point, and timed from there on: kernel:N (the start of the N-th kernel), roi (the start
    /// of the program's region of interest) or instructions:N. Caches are cold at that point, unless --warm-up is
    /// given.
    #[arg(long, value_name = "POINT")]
    fast_forward: Option<Point>,
    /// What to time before the point, unmeasured, to warm the caches: cold (nothing), kernels:N or instructions:N.
    #[arg(long, value_name = "HOW", default_value = "cold", requires = "fast_forward")]
    warm_up: WarmUp,
    /// Check every read, and memory at the end, against the golden image; stop at the first wrong value.
    #[arg(long)]
    pub check: bool,
    /// Write statistics, the machine and a page to look at (report.html) to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write a trace of at most this many events, for ui.perfetto.dev; an event takes about 100 bytes. Kernels are
    /// spans of their GPU's dispatcher.
    #[arg(long, value_name = "EVENTS", num_args = 0..=1, default_missing_value = "1000000", requires = "out")]
    trace: Option<usize>,
    /// Trace only the first LENGTH of every PERIOD of simulated time, such as 1us/50us: samples of a long run.
    #[arg(long, value_name = "LENGTH/PERIOD", value_parser = sample, requires = "trace")]
    trace_sample: Option<Sample>,
}

/// Destinations of a run's results.
pub struct Results<'a> {
    /// Destination of the program's output.
    pub output: Output,
    /// The folder that the files of the run are written to.
    pub folder: Option<&'a Path>,
    /// Whether the process ends after this run.
    pub last: bool,
}

impl System {
    /// The machine of this name, with the user's changes.
    pub fn load(&self, name: &str) -> miette::Result<Machine> {
        Machine::load(name, &self.sets).into_diagnostic()
    }

    /// Several machines with the user's changes; each change must have an effect on at least one of them.
    pub fn load_all(&self, names: &[String]) -> miette::Result<Vec<Machine>> {
        effective(names.iter().map(|name| self.examine(name, &[])).collect::<miette::Result<_>>()?)
    }

    /// Loads the machine of this name, with these changes and then the user's. Also returns the changes that have no
    /// effect on it.
    pub fn examine(&self, name: &str, changes: &[&str]) -> miette::Result<(Machine, Vec<Idle>)> {
        let changes = changes.iter().map(|change| (*change).to_owned()).chain(self.sets.iter().cloned());
        Machine::examine(name, &changes.collect::<Vec<_>>()).into_diagnostic()
    }

    /// The fast-forward of the run.
    fn forward(&self) -> miette::Result<Option<FastForward>> {
        let plan = self.fast_forward.map(|to| FastForward::new(to, self.warm_up));
        plan.transpose().map_err(|why| miette!("--warm-up {}: {why}", self.warm_up))
    }

    /// The folder for results, if one was given.
    pub fn out(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    /// Claims the folder for results, if one was given.
    pub fn claim(&self) -> miette::Result<Option<OutFolder>> {
        self.out.as_deref().map(OutFolder::claim).transpose().into_diagnostic()
    }

    /// Runs a program on a machine.
    pub fn run(
        &self,
        guest: &GuestOptions,
        machine: &Machine,
        results: Results<'_>,
        checkpoints: Checkpoints,
        monitor: &Monitor,
        ui: &Ui,
    ) -> miette::Result<(Ran, Option<Summary>)> {
        let (threads, check, Results { output, folder, last }) = (self.threads.get(), self.check, results);
        let trace = self.trace.map(|events| TraceSpec { events, sample: self.trace_sample });
        let (forward, until) = (self.forward()?, guest.max_time);
        let options = Options {
            threads,
            check,
            until,
            trace,
            forward,
            monitor: monitor.clone(),
            scaling: Vec::new(),
            // The next part of a run starts when the model of this part has gone.
            last: last && checkpoints.before.is_empty(),
            checkpoints,
        };
        let what = format!("{} on {}", guest.name(), machine.name);
        let progress = Progress::start(&what, monitor, Some(machine.clock), ui);
        let mut ran = guest.run(On::Machine(machine, &options), output, monitor, &progress)?;
        drop(progress);
        let forwarded = ran.totals.forwarded;
        if let Some(Forwarded { plan, reached: false, instructions, kernels }) = forwarded {
            let to = plan.to();
            ui.note(&format!(
                "{}: nothing was measured: it ended before {to}, after {instructions} instructions and {kernels} kernels \
                 without a timing model",
                guest.name()
            ));
        }
        let missed = options.checkpoints.before.iter().filter(|(kernel, _)| !ran.parts.drained.contains(kernel));
        for (kernel, path) in missed {
            ui.note(&format!("'{}' was not written: the program ended before kernel {kernel}", path.display()));
        }
        let Some(run) = &ran.run else { return Ok((ran, None)) };
        let mut program = Program::new(guest.name(), guest.image()?.0);
        // The loader and libraries of a dynamically linked program belong to its identity.
        let files = ran.files_used.iter();
        program.inputs = files.map(|(name, sha256)| Input { name: name.clone(), sha256: (*sha256).into() }).collect();
        let arguments: Vec<String> = guest.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let host = HostFacts { seconds: ran.seconds, threads, memory_bytes: HostFacts::peak_memory(), checked: check };
        // Only the region of interest counts, without the creation of inputs and the check of results.
        let total = ran.totals.region.unwrap_or(ran.totals.time);
        let (program, arguments, paged) = (&program, &arguments[..], Some(&ran.usage.paged));
        let subject =
            Subject { program, arguments, machine, run, total, forwarded, parts: Some(&ran.parts), paged, host };
        if let Some(folder) = folder {
            report::write(folder, &subject).into_diagnostic()?;
        }
        let summary = Summary::of(&subject);
        ran.usage.instructions = summary.wave_instructions;
        Ok((ran, Some(summary)))
    }
}

/// The machines, if each change has an effect on at least one of them.
pub fn effective(examined: Vec<(Machine, Vec<Idle>)>) -> miette::Result<Vec<Machine>> {
    let (machines, idle): (Vec<Machine>, Vec<Vec<Idle>>) = examined.into_iter().unzip();
    let Some((first, others)) = idle.split_first() else { return Ok(machines) };
    let everywhere = |one: &&Idle| others.iter().all(|idle| idle.iter().any(|other| other.key == one.key));
    match first.iter().find(everywhere) {
        None => Ok(machines),
        Some(Idle { error, .. }) if others.is_empty() => Err(miette!("{error}")),
        Some(Idle { error, .. }) => {
            let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
            Err(miette!("{error} (it has an effect on none of {})", names.join(", ")))
        }
    }
}

fn sample(text: &str) -> Result<Sample, String> {
    let (length, period) = text.split_once('/').ok_or("write LENGTH/PERIOD, such as 1us/50us")?;
    let (length, period) = (guest::time(length)?, guest::time(period)?);
    let sound = length > Time::ZERO && length <= period;
    sound.then_some(Sample { length, period }).ok_or_else(|| format!("{text}: the length is from 1ns up to the period"))
}
