//! `cohesim bench gcn3`: wavefront instructions per second of the functional GPU.
//!
//! Every workload runs at its default size, and its result is checked: a fast wrong answer does not count. Only the
//! launches are timed, not the inputs, the reference and the comparison.

use std::{num::NonZero, time::Duration};

use miette::{IntoDiagnostic, WrapErr, miette};
use serde::Serialize;
use workloads::{ALL, Functional, Size, Workload};

use crate::ui::Ui;

/// Measure the functional GPU on the built-in workloads.
#[derive(clap::Args)]
pub struct Gcn3 {
    /// Only these workloads (see `cohesim list workloads`).
    workloads: Vec<String>,
    /// Run workgroups on this many threads.
    #[arg(long, default_value = "1")]
    threads: NonZero<usize>,
    /// Size of the inputs: tiny or default.
    #[arg(long, default_value_t)]
    size: Size,
}

/// The speed on one workload.
#[derive(Serialize)]
struct Measured {
    workload: &'static str,
    wave_instructions: u64,
    seconds: f64,
    per_second: f64,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Measured>,
}

impl Gcn3 {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let chosen = self.chosen()?;
        ui.print(&format!("{:17} {:>17} {:>9} {:>14}\n", "workload", "instructions", "seconds", "million/s"))?;
        let mut results = Vec::new();
        for workload in chosen {
            let measured = self.measure(workload).wrap_err_with(|| format!("workload {}", workload.name))?;
            let Measured { workload, wave_instructions, seconds, per_second } = &measured;
            let millions = per_second / 1e6;
            ui.print(&format!("{workload:17} {wave_instructions:17} {seconds:9.3} {millions:14.1}\n"))?;
            results.push(measured);
        }
        ui.report(&Results { results })
    }

    fn chosen(&self) -> miette::Result<Vec<&'static Workload>> {
        if self.workloads.is_empty() {
            return Ok(ALL.iter().collect());
        }
        let unknown = |name| miette!("there is no workload '{name}': `cohesim list workloads` lists them");
        self.workloads.iter().map(|name| workloads::find(name).ok_or_else(|| unknown(name))).collect()
    }

    fn measure(&self, workload: &'static Workload) -> miette::Result<Measured> {
        let mut gpu = Functional::new(workload.object, self.threads).map_err(|e| miette!("{e}"))?;
        (workload.run)(self.size, &mut gpu).into_diagnostic()?;
        let (wave_instructions, time): (u64, Duration) = (gpu.wave_instructions(), gpu.time());
        let seconds = time.as_secs_f64();
        let per_second = wave_instructions as f64 / seconds.max(f64::MIN_POSITIVE);
        Ok(Measured { workload: workload.name, wave_instructions, seconds, per_second })
    }
}
