//! `cohesim compare`: one program on several machines, or under every memory design of the papers, side by side.

use crate::{
    guest::{GuestOptions, Output},
    progress::{about, catch_interrupts, interrupted},
    system::{Results, System, effective},
    ui::Ui,
    unfinished::Unfinished,
};
use engine::Monitor;
use figures::designs::{DESIGNS, Design};
use machine::{Machine, checkpoint::Checkpoints};
use miette::{IntoDiagnostic, bail};
use os::End;
use report::{Comparison, Summary};
use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

/// Run a program on several machines and compare them: time, speedup, bytes moved, and where the cycles of cores and
/// compute units went.
///
/// `--designs` takes every memory design of the papers on comparable hardware: copies, zero-copy, unified memory by
/// software, ADSM, UMH, RDMA, HMG, HALCONE, G-TSC, virtual caches, CPU and GPU on one chip. Each has one GPU, or N with
/// `--set gpus=N`; designs that can't have N GPUs are left out, and a note says why.
///
/// `--set` changes a key of every machine that has it. A key that has an effect on none of them is refused.
///
/// With `--out`, an interrupted comparison can be continued: the same command runs only the machines that are missing.
///
/// The exit code is 0 only if the program's own exit code was 0 on every machine.
#[derive(clap::Args)]
pub struct Compare {
    #[command(flatten)]
    guest: GuestOptions,
    /// The machines: names (see `cohesim list systems`) or files. Speedups are relative to the first.
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', default_values = DEFAULT)]
    systems: Vec<String>,
    /// Number of machines to simulate at the same time, which changes no result [default: as many as this computer has
    /// processors for]. A program that may write to a folder of this computer runs on one machine at a time.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Compare every memory design of the papers, on one GPU unless --set gpus=N says more.
    #[arg(long, conflicts_with = "systems")]
    designs: bool,
    #[command(flatten)]
    how: System,
}

/// How a program ended on a machine, and the values that are compared.
struct Compared {
    end: End,
    printed: String,
    summary: Option<Summary>,
}

/// The GPUs of the papers, and the one that others simulate.
const DEFAULT: [&str; 5] = ["r9nano", "r9nano-hbm", "halcone-gpu", "hd7850", "virtual-cache-gpu"];

impl Compare {
    pub fn run(self, ui: &Ui) -> miette::Result<()> {
        // Errors in a machine are reported before any run starts.
        let machines = if self.designs { self.designs(ui)? } else { self.how.load_all(&self.systems)? };
        let mut unfinished = Unfinished::new(&self.guest, &machines)?;
        if let Some(folder) = self.how.out() {
            unfinished.go_on(folder);
        }
        let out = self.how.claim()?;
        if let Some((folder, out)) = self.how.out().zip(out.as_ref()) {
            unfinished.keep_files(folder, out.path()).into_diagnostic()?;
        }
        catch_interrupts()?;
        let arguments: Vec<String> = self.guest.arguments.iter().map(|word| word.to_string_lossy().into()).collect();
        let mut comparison = Comparison::new(self.guest.name(), &arguments);
        let mut wrong = Vec::new();
        let folder = |machine: &Machine| out.as_ref().map(|out| out.path().join(&machine.name));
        let run = |machine: &Machine| -> miette::Result<Compared> {
            if let Some(summary) = unfinished.of(&machine.name) {
                eprintln!("{}: kept from before", machine.name);
                let (end, printed) = (End::Exited { code: 0 }, String::new());
                return Ok(Compared { end, printed, summary: Some(summary.clone()) });
            }
            let (ran, summary) = self.how.run(
                &self.guest,
                machine,
                Results { output: Output::Kept, folder: folder(machine).as_deref(), last: false },
                Checkpoints::default(),
                &Monitor::default(),
                ui,
            )?;
            Ok(Compared { end: ran.end, printed: ran.output.text, summary })
        };
        let ran = self.run_all(&machines, run);
        for (machine, ran) in machines.iter().zip(ran) {
            let Some(Compared { end, printed, summary }) = ran.transpose()? else { continue };
            match (end, summary) {
                (End::Exited { code: 0 }, Some(summary)) => comparison.add(summary),
                (end, _) => {
                    let printed = printed.trim_end();
                    comparison
                        .failed(&machine.name, format!("{end}{}{printed}", if printed.is_empty() { "" } else { ": " }));
                    wrong.push(machine.name.as_str());
                }
            }
        }
        let done = comparison.runs.iter().filter_map(|run| run.summary.as_ref());
        let (done, all) = (done.cloned().collect::<Vec<_>>(), machines.len());
        let (number, kept) = (done.len(), out.is_some());
        if let Some(out) = out {
            comparison.write(out.path()).into_diagnostic()?;
            if interrupted() {
                _ = unfinished.write(out.path(), done).inspect_err(|error| ui.note(&format!("{error:#}")));
            }
            out.publish().into_diagnostic()?;
        }
        ui.print(&comparison.to_string())?;
        if self.designs {
            ui.print(&legend(&machines))?;
        }
        ui.report(&comparison)?;
        if interrupted() {
            let how =
                if kept { "the same command continues" } else { "with --out DIR, the same command could continue" };
            bail!("interrupted after {number} of {all} machines: {how}");
        }
        if !wrong.is_empty() {
            bail!("'{}' failed on {}", self.guest.name(), wrong.join(", "));
        }
        Ok(())
    }

    /// Runs the machines, several at a time, in their order. A job has no result if the user interrupted the command
    /// before it, or if its run could not be set up.
    fn run_all<T: Send>(
        &self,
        machines: &[Machine],
        run: impl Fn(&Machine) -> miette::Result<T> + Sync,
    ) -> Vec<Option<miette::Result<T>>> {
        let processors = || thread::available_parallelism().map_or(1, NonZero::get);
        let jobs = self.jobs.map_or_else(|| (processors() / self.how.threads.get()).max(1), NonZero::get);
        // Runs that write to folders of this computer must not do so at the same time.
        let jobs = if self.guest.writes() { 1 } else { jobs.min(machines.len()) };
        let (begun, next, stop) = (Instant::now(), AtomicUsize::new(0), AtomicBool::new(false));
        let results = Mutex::new(machines.iter().map(|_| None).collect::<Vec<_>>());
        let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            while !interrupted() && !stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(machine) = machines.get(number) else { return };
                let ran = run(machine);
                stop.fetch_or(ran.is_err(), Ordering::Relaxed);
                let mut results = lock();
                results[number] = Some(ran);
                let ended = results.iter().flatten().count();
                drop(results);
                let open = machines.len() - ended;
                if open > 0 {
                    let left = about(begun.elapsed().mul_f64(open as f64 / ended as f64));
                    eprintln!("{ended} of {} machines are done; {left} left", machines.len());
                }
            }
        };
        thread::scope(|scope| {
            (1..jobs).for_each(|_| _ = scope.spawn(work));
            work();
        });
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machines of the designs that support the requested number of GPUs, named for the designs.
    fn designs(&self, ui: &Ui) -> miette::Result<Vec<Machine>> {
        let mut examined = Vec::new();
        for design in DESIGNS {
            match self.how.examine(design.system, &[&["gpus=1"], design.changes].concat()) {
                Ok((mut machine, idle)) => {
                    machine.name = design.name.into();
                    examined.push((machine, idle));
                }
                // The first design has all that a change of the user's can be about.
                Err(error) if examined.is_empty() => return Err(error),
                Err(error) => ui.note(&format!("{} is left out: {error}", design.name)),
            }
        }
        effective(examined)
    }
}

/// Describes the designs that were compared.
fn legend(machines: &[Machine]) -> String {
    let compared = DESIGNS.iter().filter(|design| machines.iter().any(|machine| machine.name == design.name));
    let lines =
        compared.map(|Design { name, paper, about, .. }| format!("  {name:14}  {:9}  {about}\n", format!("[{paper}]")));
    format!("\n  the designs (papers: docs/papers.md):\n{}", lines.collect::<String>())
}
