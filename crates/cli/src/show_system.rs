//! `cohesim show system`: a machine as a drawing, and every parameter with its source.

use crate::ui::Ui;
use machine::{File, Machine, Parameter, Remark};
use miette::IntoDiagnostic;
use report::drawing;
use serde::Serialize;

/// Show a machine: a drawing, and every parameter with its value and source.
///
/// Parameters that have no effect on the machine, such as those of a kind of memory that it does not have, are named at the end
/// with the reason.
#[derive(clap::Args)]
pub struct ShowSystem {
    /// A name from `cohesim list systems`, or the path of a file.
    name: String,
    /// Change a key: gpu.l2.size=1MiB, or a section's part: gpu.part=hd7850. A key that has no effect on the machine is refused.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Print the machine as one file: what it extends, its parts and all changes merged, without keys that have no
    /// effect.
    #[arg(long)]
    file: bool,
}

#[derive(Serialize)]
struct SystemDescription<'a> {
    name: &'a str,
    about: &'a str,
    file: &'a str,
    parameters: &'a [Parameter],
    remarks: &'a [Remark],
}

impl ShowSystem {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let mut file = File::load(&self.name, &self.sets).into_diagnostic()?;
        let machine = Machine::read(&mut file).into_diagnostic()?;
        if let Some(idle) = file.without_effect().into_iter().next() {
            return Err(idle.error).into_diagnostic();
        }
        let (parameters, remarks) = (file.parameters(), file.remarks());
        if self.file {
            ui.print(&machine.resolved)?;
        } else {
            let table = drawing::parameters(&parameters, &remarks);
            ui.print(&format!("{}\n{table}", drawing::text(&machine)))?;
        }
        let (name, about, file) = (&machine.name, &machine.about, &machine.resolved);
        ui.report(&SystemDescription { name, about, file, parameters: &parameters, remarks: &remarks })
    }
}
