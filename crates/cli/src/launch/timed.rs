//! A timed launch on a machine.

use super::gpu::Gpu;
use crate::{
    progress::{Progress, catch_interrupts},
    ui::Ui,
};
use engine::Outcome;
use gcn3::dispatch::Dispatch;
use machine::{Machine, Options, RustHost};
use miette::{IntoDiagnostic, bail, miette};
use report::{HostFacts, OutFolder, Program, Subject, Summary};
use std::{path::PathBuf, time::Instant};

/// Options of a timed launch.
#[derive(clap::Args)]
pub struct Timed {
    /// Simulate the launch on this machine: a name (see `cohesim list systems`) or a file. Without this option,
    /// the launch is functional.
    #[arg(short, long, value_name = "NAME|FILE")]
    pub system: Option<String>,
    /// Change a key of the machine: gpu.l2.size=1MiB. A key that has no effect is refused.
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "system")]
    sets: Vec<String>,
    /// Check every read, and memory at the end, against the golden image; stop at the first wrong value.
    #[arg(long, requires = "system")]
    check: bool,
    /// Write statistics, the machine and a page to look at (report.html) to this folder.
    #[arg(long, value_name = "DIR", requires = "system")]
    out: Option<PathBuf>,
}

/// The result of a timed launch.
pub struct Simulated {
    pub summary: Summary,
    checked: bool,
}

impl Simulated {
    pub fn text(&self) -> String {
        let checked = "\nevery read, and memory in the end, compared with the golden image: right\n";
        format!("\n{}{}\n", self.summary, if self.checked { checked } else { "" })
    }
}

impl Timed {
    /// Runs the kernel `repeat` times on the machine; its results are then in the memory of `gpu`.
    pub fn run(
        &self,
        system: &str,
        (program, arguments): (&Program, &[String]),
        gpu: &mut Gpu,
        (dispatch, repeat): (&Dispatch, u32),
        (threads, limit): (usize, Option<u64>),
        ui: &Ui,
    ) -> miette::Result<Simulated> {
        let mut machine = Machine::load(system, &self.sets).into_diagnostic()?;
        machine.compute_unit.limit = limit;
        if machine.cpu.is_some() {
            bail!("'{}' has a CPU, which launches kernels from a program: `cohesim run`", machine.name);
        }
        let out = self.out.as_deref().map(OutFolder::claim).transpose().into_diagnostic()?;
        catch_interrupts()?;
        let options = Options { threads, check: self.check, ..Options::default() };
        let start = Instant::now();
        let what = format!("a launch on {}", machine.name);
        let progress = Progress::start(&what, &options.monitor, Some(machine.clock), ui);
        let mut staged = RustHost::new(&machine, &options);
        let ended = (0..repeat).try_for_each(|_| gpu.launch_on(&mut staged, dispatch).map(|_| ()));
        let run = &staged.finish();
        drop(progress);
        let host = HostFacts {
            seconds: start.elapsed().as_secs_f64(),
            threads,
            memory_bytes: HostFacts::peak_memory(),
            checked: self.check,
        };
        let subject = Subject {
            program,
            arguments,
            machine: &machine,
            run,
            total: run.end,
            forwarded: None,
            parts: None,
            paged: None,
            host,
        };
        if let Some(out) = out {
            report::write(out.path(), &subject).into_diagnostic()?;
            out.publish().into_diagnostic()?;
        }
        match &run.outcome {
            Outcome::Finished => {}
            other => return Err(miette!("the launch on '{}' did not complete: {other}", machine.name)),
        }
        ended.into_diagnostic()?;
        Ok(Simulated { summary: Summary::of(&subject), checked: self.check })
    }
}
