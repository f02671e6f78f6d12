//! `cohesim list experiments`: the experiments of the papers that can be repeated.

use crate::{bench::engine::knightsim, ui::Ui};
use serde::Serialize;
use std::fmt::Write;

/// List the experiments of the papers that `cohesim repro` repeats.
#[derive(clap::Args)]
pub struct ListExperiments {}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    about: &'static str,
    source: &'static str,
}

impl ListExperiments {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let rows =
            figures::ALL.iter().map(|&figures::Experiment { name, about, source, .. }| Row { name, about, source });
        let engines = knightsim::ALL.iter().map(|of| Row { name: of.name, about: of.about, source: of.source });
        let rows: Vec<Row> = engines.chain(rows).collect();
        let widest = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for Row { name, about, source } in &rows {
            writeln!(text, "{name:widest$}  {about} ({source})").expect("writing to a string can't fail");
        }
        ui.print(&text)?;
        ui.report(&rows)
    }
}
