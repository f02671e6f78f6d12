//! `cohesim list workloads`: the names of the built-in workloads.

use serde::Serialize;
use workloads::ALL;

use crate::ui::Ui;

/// List the built-in workloads.
#[derive(clap::Args)]
pub struct ListWorkloads {}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct Workloads {
    workloads: Vec<Listed>,
}

impl ListWorkloads {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let workloads: Vec<_> = ALL.iter().map(|w| Listed { name: w.name, about: w.about }).collect();
        ui.print(&workloads.iter().map(|w| format!("{:17} {}\n", w.name, w.about)).collect::<String>())?;
        ui.report(&Workloads { workloads })
    }
}
