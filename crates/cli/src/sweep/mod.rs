//! `cohesim sweep`: many runs from one file, stored under the inputs that determine them.

mod collect;
mod estimate;
mod file;
mod live;
mod slurm;
mod store;
mod task;
mod work;

use crate::{
    progress::{catch_interrupts, interrupted},
    repro::simulator,
    run::serving,
    ui::Ui,
};
use file::SweepFile;
use live::Live;
use miette::{IntoDiagnostic, WrapErr, bail, miette};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::{
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};
use store::{State, Store};
use task::Task;
use work::{LOOK, Work};

/// Run programs on machines with keys and arguments, in all combinations that a file lists.
///
/// Results are stored under a hash of what they depend on. An interrupted sweep therefore continues where it was, an
/// extended one runs only the new combinations, and several processes on several computers may work on one sweep
/// (docs/sweeps.md). `cohesim view` shows the results.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Sweep {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    of: Option<Of>,
    #[command(flatten)]
    how: How,
}

#[derive(clap::Args)]
struct Of {
    /// The file of the sweep.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Keep results of runs in this folder [default: cohesim/sweeps in the user's cache].
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

#[derive(clap::Args)]
struct How {
    /// Number of runs at a time on this computer [default: the number of processors].
    #[arg(long, value_name = "N", conflicts_with = "slurm")]
    jobs: Option<NonZero<usize>>,
    /// Submit the runs to Slurm, as a job array, and return. If the file gives no time or memory, they are estimated
    /// from earlier runs of these programs and arguments in the store.
    #[arg(long)]
    slurm: bool,
    /// Show the sweep in the browser while it is in progress: how far it is, and a page for each run. It can be paused and
    /// stopped there. The pages are for this computer only; PORT 0 takes a free port.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "7879", conflicts_with = "slurm")]
    live: Option<u16>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Print the numbers of runs that are done, in progress, waiting and failed
    Status(Of),
    /// Continue a sweep that was cancelled or interrupted, and repeat the runs that failed
    Resume {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        how: How,
    },
    /// Stop all processes that work on the sweep
    Cancel(Of),
    /// Write one table of all runs (runs.csv) and one of all their statistics (stats.parquet)
    Collect {
        #[command(flatten)]
        of: Of,
        /// The folder to write.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Leave out runs that are not done.
        #[arg(long)]
        partial: bool,
    },
    /// Do one run of the sweep, as a task of a job array
    #[command(hide = true)]
    Task {
        #[command(flatten)]
        of: Of,
        #[arg(long)]
        number: usize,
    },
}

/// A sweep with the keys of its runs.
struct Loaded {
    file: SweepFile,
    tasks: Vec<(String, Task)>,
    store: Store,
    /// Digest of the file's contents.
    id: String,
}

#[derive(Default, Serialize)]
struct Count {
    runs: usize,
    done: usize,
    running: usize,
    waiting: usize,
    failed: usize,
    store: String,
    failures: Vec<String>,
}

impl Sweep {
    pub fn run(self, ui: &Ui) -> miette::Result<()> {
        match (self.what, self.of) {
            (None, Some(of)) => of.load()?.work(&of.file, &self.how, ui),
            (Some(What::Resume { of, how }), _) => {
                let sweep = of.load()?;
                sweep.tasks.iter().for_each(|(key, _)| sweep.store.forget_failure(key));
                sweep.work(&of.file, &how, ui)
            }
            (Some(What::Status(of)), _) => of.load()?.status(ui),
            (Some(What::Cancel(of)), _) => {
                let sweep = of.load()?;
                sweep.store.cancel(&sweep.id, true).into_diagnostic()?;
                slurm::cancel(&sweep.store, &sweep.id)?;
                ui.print("all processes that work on the sweep stop; `sweep resume` continues it\n")?;
                ui.report(&sweep.count())
            }
            (Some(What::Collect { of, out, partial }), _) => of.load()?.collect(&out, partial, ui),
            (Some(What::Task { of, number }), _) => of.load()?.one(number),
            (None, None) => bail!("name the file of a sweep (docs/sweeps.md), or say what to do: cohesim sweep --help"),
        }
    }
}

impl Of {
    fn load(&self) -> miette::Result<Loaded> {
        let file = SweepFile::read(&self.file)?;
        let simulator = simulator()?;
        let tasks = file.tasks()?.into_iter().map(|task| Ok((task.key(&simulator)?, task)));
        let tasks = tasks.collect::<miette::Result<Vec<_>>>()?;
        let none = || miette!("there is no folder for results here: name one with --store");
        let root = self.store.clone().or_else(Store::default_folder).ok_or_else(none)?;
        let made = std::fs::create_dir_all(&root).and_then(|()| root.canonicalize()).and_then(Store::new);
        let store = made.into_diagnostic().wrap_err_with(|| format!("can't write to '{}'", root.display()))?;
        let text = crate::files::read(&self.file)?;
        let hash = Sha256::digest(&text);
        let id: String = hash[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        // Tasks of a batch system read the file as it was at submission.
        let folder = store.sweep(&id);
        if !folder.join("sweep.toml").is_file() {
            std::fs::create_dir_all(&folder).into_diagnostic()?;
            crate::files::write(&folder.join("sweep.toml"), &text)?;
        }
        Ok(Loaded { file, tasks, store, id })
    }
}

impl Loaded {
    fn at_work<'a>(&'a self, live: Option<&'a Live>) -> Work<'a> {
        Work { store: &self.store, id: &self.id, tasks: &self.tasks, retries: self.file.retries, live }
    }

    fn work(&self, file: &Path, how: &How, ui: &Ui) -> miette::Result<()> {
        self.store.cancel(&self.id, false).into_diagnostic()?;
        if how.slurm {
            return self.submit(ui);
        }
        catch_interrupts()?;
        let jobs = how.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
        let live = how.live.map(|port| self.show(file, port)).transpose()?;
        let left = self.at_work(live.as_deref()).run(jobs)?;
        self.status(ui)?;
        match left {
            0 => Ok(()),
            left => bail!("{left} of {} runs are not done; the results of completed runs are kept", self.tasks.len()),
        }
    }

    /// Serves a page about the sweep, and says where.
    fn show(&self, file: &Path, port: u16) -> miette::Result<Arc<Live>> {
        let live = Arc::new(Live::new(file.display().to_string(), &self.store, &self.tasks));
        serving("the sweep", port, viewer::serve_sweep(live.clone(), port))?;
        Ok(live)
    }

    fn submit(&self, ui: &Ui) -> miette::Result<()> {
        let open = |(key, _): &&(String, Task)| !matches!(self.store.state(key), State::Done | State::Claimed);
        let numbers: Vec<usize> =
            self.tasks.iter().enumerate().filter(|(_, task)| open(task)).map(|(number, _)| number).collect();
        if numbers.is_empty() {
            ui.print("nothing is left to do\n")?;
            return ui.report(&self.count());
        }
        let (how, told) = self.resources(&numbers);
        let job = slurm::submit(&self.store, &self.id, &numbers, &how);
        let own = &self.file.slurm;
        let job = match (own.time == how.time, own.memory == how.memory) {
            (true, true) => job,
            _ => job.wrap_err_with(|| {
                format!("sbatch may refuse what was estimated{told}: set time and memory in [slurm]")
            }),
        }?;
        ui.print(&format!("job {job} has {} runs{told}; `sweep status` shows its progress\n", numbers.len()))?;
        let (time, memory) = (&how.time, &how.memory);
        ui.report(&serde_json::json!({ "job": job, "runs": numbers.len(), "time": time, "memory": memory }))
    }

    /// The resources that each task requests: those given in the file, otherwise estimates from earlier runs. The text
    /// describes the estimates.
    fn resources(&self, numbers: &[usize]) -> (file::Slurm, String) {
        let mut how = self.file.slurm.clone();
        if how.time.is_some() && how.memory.is_some() {
            return (how, String::new());
        }
        let tasks = numbers.iter().map(|number| &self.tasks[*number].1);
        let Some((cost, from)) = estimate::of(tasks, &estimate::earlier(&self.store)) else {
            return (how, "; time and memory are the partition's, for not all of them have run before".to_owned());
        };
        let mut estimated = Vec::new();
        if how.time.is_none() {
            estimated.push(format!("time {}", how.time.insert(estimate::time(cost.time))));
        }
        if how.memory.is_none() && cost.memory > 0 {
            estimated.push(format!("memory {}", how.memory.insert(estimate::memory(cost.memory))));
        }
        let told = match estimated.is_empty() {
            true => String::new(),
            false => format!("; {} estimated from {from} earlier runs", estimated.join(" and ")),
        };
        (how, told)
    }

    fn count(&self) -> Count {
        let store = self.store.path().display().to_string();
        let mut count = Count { runs: self.tasks.len(), store, ..Count::default() };
        for (key, task) in &self.tasks {
            match self.store.state(key) {
                State::Done => count.done += 1,
                State::Claimed => count.running += 1,
                State::Waiting => count.waiting += 1,
                State::Failed(failure) => {
                    count.failed += 1;
                    count.failures.push(format!("{task}: {}", failure.why.lines().next_back().unwrap_or_default()));
                }
            }
        }
        count
    }

    fn status(&self, ui: &Ui) -> miette::Result<()> {
        let count = self.count();
        let Count { runs, done, running, waiting, failed, store, failures } = &count;
        ui.print(&format!(
            "{runs} runs: {done} done, {running} under way, {waiting} waiting, {failed} failed; results are in {store}\n"
        ))?;
        for failure in failures {
            ui.print(&format!("  failed: {failure}\n"))?;
        }
        ui.report(&count)
    }

    fn collect(&self, out: &Path, partial: bool, ui: &Ui) -> miette::Result<()> {
        let count = self.count();
        if count.done < count.runs && !partial {
            bail!(
                "{} of {} runs are not done: continue with `sweep resume`, or leave them out with --partial",
                count.runs - count.done,
                count.runs
            );
        }
        let table = collect::table(&self.store, &self.tasks, &self.file.columns())?;
        table.write(&self.store, out)?;
        ui.print(&format!("{} runs: {}, stats.parquet\n", table.rows.len(), out.join("runs.csv").display()))?;
        ui.report(&count)
    }

    /// Executes one run, unless it is done or another process works on it.
    fn one(&self, number: usize) -> miette::Result<()> {
        catch_interrupts()?;
        let none = || miette!("the sweep has {} runs, numbered from 0; there is no number {number}", self.tasks.len());
        let (key, task) = self.tasks.get(number).ok_or_else(none)?;
        if self.store.is_cancelled(&self.id) {
            return Ok(());
        }
        // A task that was killed is started again by the batch system; its own claim may still be there.
        let claimed = self.store.claimed_at(key);
        let claim = loop {
            if let Some(claim) = self.store.claim(key).into_diagnostic()? {
                break claim;
            }
            let is_renewed = self.store.claimed_at(key).is_some_and(|now| Some(now) != claimed);
            if is_renewed || self.store.state(key) == State::Done || interrupted() || self.store.is_cancelled(&self.id)
            {
                return Ok(());
            }
            thread::sleep(LOOK);
        };
        let told = |task: &Task, what: &str| eprintln!("{task}: {what}");
        match self.at_work(None).one(key, task, claim, &told)? {
            true => Ok(()),
            false => bail!("'{task}' is not done"),
        }
    }
}
