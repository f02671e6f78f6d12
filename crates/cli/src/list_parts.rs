//! `cohesim list parts`: the parts that sections of machine files can start from.

use crate::ui::Ui;
use machine::{about_part, shipped_parts};
use serde::Serialize;
use std::fmt::Write;

/// List the parts that a section of a machine file can start from.
///
/// `gpu.part = "r9nano"` in a machine file, or `--set gpu.part=r9nano`, takes the keys of gpu/r9nano as defaults of
/// [gpu].
#[derive(clap::Args)]
pub struct ListParts {}

#[derive(Serialize)]
struct Row {
    section: &'static str,
    name: &'static str,
    about: String,
}

impl ListParts {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let rows = shipped_parts().map(|(section, name)| Row { section, name, about: about_part(section, name) });
        let rows: Vec<Row> = rows.collect();
        let widest = rows.iter().map(|row| row.section.len() + row.name.len() + 1).max().unwrap_or(0);
        let mut text = String::new();
        for Row { section, name, about } in &rows {
            let part = format!("{section}/{name}");
            writeln!(text, "{part:widest$}  {about}").expect("writing to a string can't fail");
        }
        ui.print(&text)?;
        ui.report(&rows)
    }
}
