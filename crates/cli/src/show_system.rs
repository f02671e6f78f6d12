//! `cohesim show system`: a machine with everything it extends and every change.

use crate::ui::Ui;
use machine::Machine;
use miette::IntoDiagnostic;
use serde::Serialize;

/// Show a machine: its file, with everything it extends and every change.
#[derive(clap::Args)]
pub struct ShowSystem {
    /// A name from `cohesim list systems`, or the path of a file.
    name: String,
    /// Change a key: gpu.l2.size=1MiB.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    name: &'a str,
    about: &'a str,
    file: &'a str,
}

impl ShowSystem {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let machine = Machine::load(&self.name, &self.sets).into_diagnostic()?;
        ui.print(&machine.resolved)?;
        ui.report(&Report { name: &machine.name, about: &machine.about, file: &machine.resolved })
    }
}
