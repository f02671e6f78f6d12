//! `cohesim list workloads`: the names of the built-in workloads.

use serde::Serialize;
use workloads::{ALL, CPU_PROGRAMS};

use crate::ui::Ui;

/// List the built-in workloads.
#[derive(clap::Args)]
pub struct ListWorkloads {}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    /// Whether it uses no GPU.
    cpu_only: bool,
}

#[derive(Serialize)]
struct Workloads {
    workloads: Vec<Listed>,
}

impl ListWorkloads {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let gpu = ALL.iter().map(|w| Listed { name: w.name, about: w.about, cpu_only: false });
        let cpu = CPU_PROGRAMS.iter().map(|p| Listed { name: p.name, about: p.about, cpu_only: true });
        let workloads: Vec<_> = gpu.chain(cpu).collect();
        ui.print(&workloads.iter().map(Listed::text).collect::<String>())?;
        ui.report(&Workloads { workloads })
    }
}

impl Listed {
    fn text(&self) -> String {
        let only = if self.cpu_only { "CPU only: " } else { "" };
        format!("{:21} {only}{}\n", self.name, self.about)
    }
}
