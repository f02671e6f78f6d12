//! `cohesim bench machine`: performance of a machine's parts, measured by microbenchmarks.

use super::cores::of_cores;
use crate::ui::Ui;
use ::machine::{LinkProbe, Machine as Description, links, migration};
use miette::{IntoDiagnostic, miette};
use serde::Serialize;
use workloads::{Probe, probe};

/// Measure a machine by microbenchmarks, beside what its file implies: latency and bandwidth of each level, arithmetic,
/// local memory and launches. For a machine with a CPU, the first core is measured. For a machine with a fabric, its
/// wires are measured, alone and shared, and streams from near and far memories; and if pages can move on faults, each
/// part of a migration.
#[derive(clap::Args)]
pub struct Machine {
    /// The machine: a name (see `cohesim list systems`) or a file.
    #[arg(long, default_value = "r9nano", value_name = "NAME|FILE")]
    system: String,
    /// Change a key of the machine: gpu.l2.size=1MiB. One that has no effect on it is refused.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Measure single instructions only, which takes seconds.
    #[arg(long)]
    single: bool,
}

#[derive(Serialize)]
struct Row {
    what: &'static str,
    unit: &'static str,
    /// `None`: the parameters alone do not say.
    implied: Option<f64>,
    measured: f64,
}

impl Machine {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let machine = Description::load(&self.system, &self.sets).into_diagnostic()?;
        let probes = match machine.fabric {
            Some(_) => of_fabric(&machine)?,
            None if machine.cpu.is_some() => of_cores(&machine, ui)?,
            None => probe(&machine, self.single).map_err(|error| miette!("{error}"))?,
        };
        ui.print(&format!("{:36} {:>10} {:>10}\n", machine.name, "implied", "measured"))?;
        let mut rows = Vec::new();
        for probe in probes {
            let (what, unit, implied, measured) = (probe.what, probe.unit, probe.implied, probe.measured);
            let shown = if implied.is_nan() { "-".to_owned() } else { format!("{implied:.2}") };
            ui.print(&format!("{what:36} {shown:>10} {measured:10.2} {unit}\n"))?;
            rows.push(Row { what, unit, implied: Some(implied).filter(|value| !value.is_nan()), measured });
        }
        ui.report(&rows)
    }
}

/// Measurements of a machine's fabric.
fn of_fabric(machine: &Description) -> miette::Result<Vec<Probe>> {
    if machine.cpu.is_some() || machine.protocol.protocol.sees != protocol::roles::Sees::UntilSynchronised {
        return Err(miette!(
            "a fabric is measured on a machine with a host outside and a protocol without logical time: choose one without [cpu], or set \
             protocol to wb_nc"
        ));
    }
    let mut probes = links(machine).map_err(|outcome| miette!("{outcome}"))?;
    probes.extend(migration(machine).map_err(|outcome| miette!("{outcome}"))?);
    let probe = |LinkProbe { what, unit, implied, measured }| Probe { what, unit, implied, measured };
    Ok(probes.into_iter().map(probe).collect())
}
