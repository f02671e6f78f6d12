//! `cohesim bench machine`: performance of a machine's parts, measured by microbenchmarks.

use super::cores::of_cores;
use crate::ui::Ui;
use ::machine::{LinkProbe, Machine as Description, links, migration};
use miette::{IntoDiagnostic, miette};
use serde::Serialize;
use workloads::{Probe, probe};

/// Measure a machine by microbenchmarks, and compare with the values that its file implies: latency and bandwidth of
/// each level, arithmetic, local memory and launches. If the machine has a CPU, its first core is measured. If it has a
/// fabric, a host outside and GPUs that do not keep each other coherent, its wires are measured, alone and shared, and
/// streams from near and far memories. If pages can move on faults, each part of a migration is measured.
#[derive(clap::Args)]
pub struct Machine {
    /// The machine: a name (see `cohesim list systems`) or a file.
    #[arg(long, default_value = "r9nano", value_name = "NAME|FILE")]
    system: String,
    /// Change a key of the machine: gpu.l2.size=1MiB. A key that has no effect is refused.
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
        let mut machine = Description::load(&self.system, &self.sets).into_diagnostic()?;
        if machine.levels.is_some() {
            // Only the driver of a program takes blocks of the host's memory back from these memories.
            let sets = [&self.sets[..], &["protocol=wb_fetch".to_owned()]].concat();
            machine = Description::load(&self.system, &sets).into_diagnostic()?;
            ui.print("measured with protocol=wb_fetch, without memories as levels\n")?;
        }
        let probes = if can_measure_fabric(&machine) {
            of_fabric(&machine)?
        } else if machine.cpu.is_some() {
            of_cores(&machine, ui)?
        } else {
            probe(&machine, self.single).map_err(|error| miette!("{error}"))?
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

/// Whether testers can measure the machine's fabric: beside a host outside, without logical time, and where memories are not levels.
/// Of other machines with a fabric, a core or the GPUs are measured.
fn can_measure_fabric(machine: &Description) -> bool {
    let until_synchronised = machine.protocol.protocol.sees == protocol::roles::Sees::UntilSynchronised;
    machine.fabric.is_some() && machine.cpu.is_none() && until_synchronised && machine.levels.is_none()
}

/// Measurements of a machine's fabric.
fn of_fabric(machine: &Description) -> miette::Result<Vec<Probe>> {
    let mut probes = links(machine).map_err(|outcome| miette!("{outcome}"))?;
    probes.extend(migration(machine).map_err(|outcome| miette!("{outcome}"))?);
    let probe = |LinkProbe { what, unit, implied, measured }| Probe { what, unit, implied, measured };
    Ok(probes.into_iter().map(probe).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn testers_measure_fabrics_only_where_they_can_replace_the_elements() {
        let can = |name: &str| can_measure_fabric(&Description::load(name, &[]).unwrap());
        assert!(["multi-pcie", "multi-shared", "halcone-sm-wb-nc", "umh-managed-pcie"].map(can).iter().all(|can| *can));
        let not = ["multi-pcie-cores", "halcone-sm-wt", "halcone-gtsc", "umh-nvlink", "r9nano", "apu-c-l3"];
        assert!(not.map(can).iter().all(|can| !can));
    }
}
