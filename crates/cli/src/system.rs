//! How a machine is chosen, changed and run, and what is told of it in the end.

use crate::{
    files::write,
    guest::{Guest, Ran},
    ui::Ui,
};
use engine::{Monitor, Region};
use machine::{Machine, Options};
use miette::{IntoDiagnostic, WrapErr};
use serde::Serialize;
use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

#[derive(clap::Args)]
#[command(next_help_heading = "Machine")]
pub struct System {
    /// Change a key of the machine: gpu.l2.size=1MiB.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Run in this many threads; the result is the same.
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZero<usize>,
    /// Compare every read, and memory in the end, with what it must hold; ends at the first that is wrong.
    #[arg(long)]
    check: bool,
    /// Write stats.json, run.json and machine.toml to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Keep a trace of so many events.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000000", requires = "out")]
    trace: Option<usize>,
}

/// `stats.json`: simulated facts only.
#[derive(Serialize)]
struct Stats<'a> {
    time_fs: u64,
    regions: Vec<&'a Region>,
}

impl System {
    /// The machine of that name, with what the user changed.
    pub fn load(&self, name: &str) -> miette::Result<Machine> {
        Machine::load(name, &self.sets).into_diagnostic()
    }

    pub fn options(&self, monitor: &Monitor) -> Options {
        Options { threads: self.threads.get(), check: self.check, trace: self.trace, monitor: monitor.clone() }
    }

    /// Tells what a run brought, and writes what was asked for.
    pub fn tell(&self, _guest: &Guest, machine: &Machine, ran: &Ran, ui: &Ui) -> miette::Result<()> {
        let Some(run) = &ran.run else { return Ok(()) };
        if let Some(folder) = &self.out {
            std::fs::create_dir_all(folder)
                .into_diagnostic()
                .wrap_err_with(|| format!("can't make the folder '{}'", folder.display()))?;
            let stats = Stats { time_fs: run.end.0, regions: run.regions.iter().collect() };
            write_json(&folder.join("stats.json"), &stats)?;
            write(&folder.join("machine.toml"), machine.resolved.as_bytes())?;
        }
        ui.print(&format!("{} on {}\n", ran.totals.time, machine.name))
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> miette::Result<()> {
    write(path, (serde_json::to_string_pretty(value).into_diagnostic()? + "\n").as_bytes())
}
