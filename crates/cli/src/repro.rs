//! `cohesim repro`: repeats an experiment of a paper, and prints the paper's figures beside the measured ones.

use crate::{
    bench::engine::knightsim,
    progress::{Progress, about, catch_interrupts},
    ui::Ui,
};
use engine::Monitor;
use figures::{Conductor, Event, Experiment, Findings, Options, Size, State, Store};
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use report::OutFolder;
use sha2::{Digest, Sha256};
use std::{
    num::NonZero,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

/// Repeat an experiment of a paper, and print the paper's figures, the measured ones, and their ratios.
///
/// Results of runs are kept, so an experiment that was interrupted continues where it was. The exit code is 0 only if
/// every run that it needs succeeded.
#[derive(clap::Args)]
pub struct Repro {
    /// The experiment (see `cohesim list experiments`).
    experiment: String,
    /// Use small inputs and fewer settings: minutes instead of hours.
    #[arg(long, conflicts_with = "paper")]
    quick: bool,
    /// Use the paper's own sizes: hours to days.
    #[arg(long)]
    paper: bool,
    /// Also run the programs natively on this computer, if the experiment compares with real hardware.
    #[arg(long)]
    native: bool,
    /// Number of runs at a time, which changes no result [default: the number of processors].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Write findings.json and a page to look at (report.html) to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep results of runs in this folder [default: cohesim/results in the user's cache].
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

impl Repro {
    pub fn run(self, ui: &Ui) -> miette::Result<()> {
        let claim = || self.out.as_deref().map(OutFolder::claim).transpose().into_diagnostic();
        if let Some(of_engine) = knightsim::find(&self.experiment) {
            let out = claim()?;
            return show(&of_engine.run(self.quick, ui), out, ui);
        }
        let experiment = self.experiment()?;
        let out = claim()?;
        catch_interrupts()?;
        let store = self
            .store
            .or_else(Store::default_folder)
            .map(|folder| Ok::<_, miette::Report>(Store::new(folder, &simulator()?)));
        let store = store.transpose()?;
        let threads = self.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZero::<usize>::MIN);
        let monitor = Monitor::default();
        let watched = Progress::start(experiment.name, &monitor, None, ui);
        let headway = Headway::default();
        let tell = |event: Event| watched.aside(|| headway.tell(event));
        let conductor = Conductor { store: store.as_ref(), threads, monitor: &monitor, tell: &tell };
        let size = match (self.quick, self.paper) {
            (true, _) => Size::Quick,
            (_, true) => Size::Paper,
            _ => Size::Scaled,
        };
        let options = Options { size, native: self.native };
        let (findings, missing) = figures::conduct(experiment, options, &conductor).into_diagnostic()?;
        drop(watched);
        show(&findings, out, ui)?;
        if !missing.is_empty() {
            bail!(
                "{} runs of '{}' are missing; the results of completed runs are kept",
                missing.len(),
                experiment.name
            );
        }
        Ok(())
    }

    fn experiment(&self) -> miette::Result<&'static Experiment> {
        figures::find(&self.experiment).ok_or_else(|| {
            let engines = knightsim::ALL.iter().map(|experiment| experiment.name);
            let names: Vec<&str> = engines.chain(figures::ALL.iter().map(|experiment| experiment.name)).collect();
            miette!(help = format!("there are {}", names.join(", ")), "there is no experiment '{}'", self.experiment)
        })
    }
}

/// Prints findings, and writes them to a folder if one was named.
fn show(findings: &Findings, out: Option<OutFolder>, ui: &Ui) -> miette::Result<()> {
    if let Some(out) = out {
        report::write_findings(out.path(), findings).into_diagnostic()?;
        out.publish().into_diagnostic()?;
    }
    ui.print(&report::findings_text(findings))?;
    ui.report(findings)?;
    if ui.json {
        findings.notes.iter().for_each(|note| ui.note(note));
    }
    Ok(())
}

/// The part of a result's key that is common to all runs: a hash of this executable.
pub fn simulator() -> miette::Result<Vec<u8>> {
    let path = std::env::current_exe().into_diagnostic().wrap_err("can't find this program's own file")?;
    let bytes = crate::files::read(&path)?;
    Ok(Sha256::digest(bytes).to_vec())
}

/// How far the experiment is, on standard error.
struct Headway {
    begun: Instant,
    /// Runs whose results were there, and runs that are over.
    kept: AtomicUsize,
    ended: AtomicUsize,
}

impl Default for Headway {
    fn default() -> Self {
        Self { begun: Instant::now(), kept: AtomicUsize::new(0), ended: AtomicUsize::new(0) }
    }
}

impl Headway {
    fn tell(&self, Event { number, of, job, state }: Event) {
        match state {
            State::Begun => eprintln!("run {number} of {of}: {job}"),
            State::Kept => {
                self.kept.fetch_add(1, Ordering::Relaxed);
                eprintln!("run {number} of {of}: {job}: kept from before");
            }
            State::Damaged => eprintln!("run {number} of {of}: {job}: what was kept of it is damaged, it is run again"),
            State::Done(time) => {
                let left = self.left(of);
                eprintln!("run {number} of {of}: done in {:.1} s; {left} left", time.as_secs_f64());
            }
            State::Failed(error) => {
                eprintln!("run {number} of {of}: {job}: {error}; {} left", self.left(of));
            }
        }
    }

    /// Estimated time of the remaining runs, from the average of those that have ended.
    fn left(&self, of: usize) -> String {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        let open = of.saturating_sub(self.kept.load(Ordering::Relaxed) + ended);
        about(self.begun.elapsed().mul_f64(open as f64 / ended as f64))
    }
}
