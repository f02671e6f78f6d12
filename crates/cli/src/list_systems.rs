//! `cohesim list systems`: the shipped machines.

use crate::ui::Ui;
use machine::{Machine, shipped};
use miette::IntoDiagnostic;
use serde::Serialize;
use std::fmt::Write;

/// List the machines that come with cohesim.
#[derive(clap::Args)]
pub struct ListSystems {}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    about: String,
}

impl ListSystems {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let mut rows = Vec::new();
        for name in shipped() {
            rows.push(Row { name, about: Machine::load(name, &[]).into_diagnostic()?.about });
        }
        let widest = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for Row { name, about } in &rows {
            writeln!(text, "{name:widest$}  {about}").expect("writing to a string can't fail");
        }
        ui.print(&text)?;
        ui.report(&rows)
    }
}
