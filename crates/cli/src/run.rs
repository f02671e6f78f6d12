//! `cohesim run`: runs a whole program inside the simulator.

use crate::{
    checkpoints::CheckpointOptions,
    guest::{GuestOptions, On, Output, Ran},
    opencl::GpuReport,
    progress::{Progress, catch_interrupts},
    system::{Results, System},
    ui::Ui,
};
use engine::Monitor;
use machine::checkpoint::Parts;
use miette::{IntoDiagnostic, miette};
use os::{End, process::Totals};
use report::{FastForward, OutFolder, Summary};
use serde::Serialize;
use std::{io, net::SocketAddr};
use viewer::Live;

/// Run a program: a built-in workload, or an x86-64 Linux program.
///
/// On a machine with a CPU (such as apu-c-l3) the whole program is timed: host code, system calls and copies on the
/// machine's cores, kernels on its GPU. On a machine without one, kernels are timed, and host code executes an
/// instruction per nanosecond. With --functional nothing is timed; instructions are counted.
///
/// The program sees the folder it is started in and those given with --mount, read-only unless they are mounted with
/// :rw, and no other files of this computer. A dynamically linked program also needs its loader and libraries
/// (--host-libraries, --root). The command's exit code is the program's, or 128 plus the signal's number if a signal
/// ended the program.
#[derive(clap::Args)]
pub struct Run {
    #[command(flatten)]
    guest: GuestOptions,
    /// The machine: a name (see `cohesim list systems`) or a file [default: r9nano].
    #[arg(short, long, value_name = "NAME|FILE", conflicts_with = "functional")]
    system: Option<String>,
    #[command(flatten)]
    how: System,
    /// Run without a timing model: a nominal core executes one instruction per nanosecond. With --check, data races of
    /// kernels are detected and reported.
    #[arg(long, conflicts_with_all = ["sets", "threads", "out", "trace", "fast_forward"])]
    functional: bool,
    #[command(flatten)]
    checkpoints: CheckpointOptions,
    /// Show the run in the browser while it is in progress: its progress, which elements wait for which, and how full
    /// queues are. The page can pause and stop the run. It is served to this computer only; PORT 0 takes a free port.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "7879", conflicts_with = "functional")]
    live: Option<u16>,
}

/// Exit code of a run in which a check failed.
const FAILED_CHECK: u8 = 125;
/// The default machine.
const DEFAULT: &str = "r9nano";

#[derive(Serialize)]
struct RunReport {
    program: String,
    end: &'static str,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    instructions: u64,
    system_calls: u64,
    threads: u32,
    page_faults: u64,
    memory_bytes: u64,
    simulated_fs: u64,
    /// Time in the program's region of interest.
    #[serde(skip_serializing_if = "Option::is_none")]
    region_fs: Option<u64>,
    /// The functional part before the timed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    fast_forward: Option<FastForward>,
    /// The kernels before which the run drained, and where it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    drained: Option<Parts>,
    gpu: GpuReport,
    /// The activity of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    /// The program's output, up to --max-output.
    stdout: String,
    /// Length of the whole output.
    stdout_bytes: u64,
}

impl Run {
    pub fn run(self, ui: &Ui) -> miette::Result<()> {
        catch_interrupts()?;
        let output = if ui.json { Output::Kept } else { Output::Shown };
        let (mut ran, summary) = match self.functional {
            true => (self.run_without_time(output, ui)?, None),
            false => {
                let machine = self.how.load(self.system.as_deref().unwrap_or(DEFAULT))?;
                let checkpoints = self.checkpoints.read(&self.guest)?;
                let out = self.how.claim()?;
                let monitor = Monitor::default();
                if let Some(port) = self.live {
                    let title = format!("{} on {}", self.guest.name(), machine.name);
                    let live = Live { title, monitor: monitor.clone(), clock: machine.clock };
                    serving("the run", port, live.serve(port))?;
                }
                let results = Results { output, folder: out.as_ref().map(OutFolder::path), last: true };
                let ran = self.how.run(&self.guest, &machine, results, checkpoints, &monitor, ui)?;
                if let Some(out) = out.filter(|_| ran.1.is_some()) {
                    out.publish().into_diagnostic()?;
                }
                ran
            }
        };
        let name = self.guest.name();
        if !matches!(ran.end, End::Exited { .. }) {
            eprintln!("cohesim: {name}: {}", ran.end);
        }
        if !ran.output.whole {
            let (kept, bytes) = (ran.output.text.len(), ran.output.bytes);
            eprintln!("cohesim: {name} printed {bytes} bytes, of which the first {kept} are kept (--max-output)");
        }
        if ui.verbose {
            ui.note(&totals(&ran.totals));
            ui.note(&crate::opencl::summary(&ran.usage));
        }
        // For a program without kernels there is nothing to report, unless it ran on cores.
        let told = |summary: &&Summary| !summary.kernels.is_empty() || summary.cores.is_some();
        if let Some(summary) = summary.as_ref().filter(told) {
            ui.print(&format!("\n{summary}"))?;
        }
        let races = &ran.usage.races;
        races.first.iter().for_each(|race| eprintln!("cohesim: data race: {race}"));
        if races.count > races.first.len() as u64 {
            eprintln!("cohesim: {} accesses in all race with an earlier one", races.count);
        }
        let code = if races.count > 0 { FAILED_CHECK } else { ran.end.exit_code() };
        // The process ends here: there is no use in freeing the statistics one by one.
        std::mem::forget(ran.run.take());
        ui.report(&report(name, ran, summary, code))?;
        // The program's exit code is the command's.
        std::process::exit(code.into());
    }

    fn run_without_time(&self, output: Output, ui: &Ui) -> miette::Result<Ran> {
        let monitor = Monitor::default();
        let progress = Progress::start(&self.guest.name(), &monitor, None, ui);
        self.guest.run(On::Nothing { races: self.how.check }, output, &monitor, &progress)
    }
}

/// Says where the page of `what` is served, or why it is not.
pub fn serving(what: &str, port: u16, served: io::Result<SocketAddr>) -> miette::Result<()> {
    let address = served.map_err(|error| {
        let help = "another process may use it: --live 0 takes a free port";
        miette!(help = help, "port {port} of this computer can't be opened: {error}")
    })?;
    eprintln!("cohesim: {what} is shown at http://{address}/");
    Ok(())
}

fn report(program: String, ran: Ran, summary: Option<Summary>, exit_code: u8) -> RunReport {
    let Ran { end, totals, usage, output, parts, .. } = ran;
    let kind = match end {
        End::Exited { .. } => "exited",
        End::Killed { .. } => "killed",
        End::Deadlock { .. } => "deadlock",
        End::OutOfMemory { .. } => "out of memory",
        End::MachineBroken { .. } => "machine broken",
        End::Interrupted { .. } => "interrupted",
        End::InstructionLimit { .. } => "instruction limit",
        End::TimeLimit { .. } => "time limit",
    };
    RunReport {
        program,
        end: kind,
        exit_code,
        message: (!matches!(end, End::Exited { .. })).then(|| end.to_string()),
        instructions: totals.instructions,
        system_calls: totals.system_calls,
        threads: totals.threads,
        page_faults: totals.page_faults,
        memory_bytes: totals.memory.0,
        simulated_fs: totals.time.0,
        region_fs: totals.region.map(|region| region.0),
        fast_forward: totals.forwarded.map(Into::into),
        drained: Some(parts).filter(|parts| !parts.drained.is_empty()),
        gpu: (&usage).into(),
        summary,
        stdout: output.text,
        stdout_bytes: output.bytes,
    }
}

fn totals(totals: &Totals) -> String {
    format!(
        "{} instructions, {} system calls, {} threads, {} page faults, {} KiB of memory, {} of simulated time",
        totals.instructions,
        totals.system_calls,
        totals.threads,
        totals.page_faults,
        totals.memory.0 >> 10,
        totals.time
    )
}
