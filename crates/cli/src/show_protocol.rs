//! `cohesim show protocol NAME`: a coherence protocol's tables, as tables or as state diagrams.

use clap::ValueEnum;
use miette::miette;
use protocol::{
    Table,
    catalogue::{self, Protocol},
    diagram,
};
use serde::Serialize;

use crate::ui::Ui;

/// Show a coherence protocol: states down, events across; `z` stalls, `x` can't happen.
#[derive(clap::Args)]
pub struct ShowProtocol {
    /// The protocol (see `cohesim list protocols`).
    name: String,
    /// Format of the tables.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print state diagrams as one SVG image instead of tables.
    #[arg(long, conflicts_with_all = ["format", "storage"])]
    diagram: bool,
    /// Show this table only, such as `l2` of `mesi`: one role of the protocol.
    #[arg(long, value_name = "TABLE", conflicts_with = "storage")]
    role: Option<String>,
    /// Show the protocol's storage cost, in bits besides tags and data, instead of its tables.
    #[arg(long)]
    storage: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Html,
}

#[derive(Serialize)]
struct Shown {
    name: &'static str,
    about: &'static str,
    tables: Vec<ShownTable>,
}

#[derive(Serialize)]
struct ShownTable {
    name: &'static str,
    states: &'static [&'static str],
    events: &'static [&'static str],
    /// By state, then by event.
    cells: Vec<Vec<String>>,
}

impl ShowProtocol {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let protocol = catalogue::find(&self.name)
            .ok_or_else(|| miette!("there is no protocol '{}': `cohesim list protocols` lists them", self.name))?;
        if self.storage {
            return show_storage(protocol, ui);
        }
        let chosen = self.chosen(protocol)?;
        if self.diagram {
            let svg = diagram::svg(&chosen);
            ui.print(&svg)?;
            return ui.report(&ShownDiagram { name: protocol.name, svg });
        }
        let tables: Vec<_> = chosen.iter().map(|table| self.format.write(table)).collect();
        ui.print(&match self.format {
            Format::Text => format!("{}: {}\n\n{}", protocol.name, protocol.about, tables.join("\n")),
            Format::Markdown => format!("## {}\n\n{}\n\n{}", protocol.name, protocol.about, tables.join("\n")),
            Format::Html => tables.concat(),
        })?;
        let tables = chosen.into_iter().map(ShownTable::new).collect();
        ui.report(&Shown { name: protocol.name, about: protocol.about, tables })
    }

    /// The tables that the options select.
    fn chosen(&self, protocol: &Protocol) -> miette::Result<Vec<&'static Table>> {
        let Some(role) = &self.role else { return Ok(protocol.tables.to_vec()) };
        let table = protocol.tables.iter().find(|table| table.name == role).ok_or_else(|| {
            let names: Vec<_> = protocol.tables.iter().map(|table| table.name).collect();
            miette!("protocol {} has no table '{role}': it has {}", protocol.name, names.join(", "))
        })?;
        Ok(vec![table])
    }
}

#[derive(Serialize)]
struct ShownDiagram {
    name: &'static str,
    svg: String,
}

#[derive(Serialize)]
struct ShownStorage {
    name: &'static str,
    storage: Vec<Stored>,
}

#[derive(Serialize)]
struct Stored {
    what: &'static str,
    bytes: u64,
}

fn show_storage(protocol: &Protocol, ui: &Ui) -> miette::Result<()> {
    let storage = protocol.storage.ok_or_else(|| miette!("no paper says what {} costs in bits", protocol.name))?;
    let storage = storage();
    ui.print(&format!("{}, for each GPU:\n", protocol.name))?;
    ui.print(&storage.iter().map(|s| format!("{:>8}  {}\n", s.bytes.to_string(), s.what)).collect::<String>())?;
    let storage = storage.iter().map(|s| Stored { what: s.what, bytes: s.bytes.0 }).collect();
    ui.report(&ShownStorage { name: protocol.name, storage })
}

impl Format {
    fn write(self, table: &Table) -> String {
        match self {
            Format::Text => table.text(),
            Format::Markdown => table.markdown(),
            Format::Html => table.html(),
        }
    }
}

impl ShownTable {
    fn new(table: &Table) -> Self {
        let cells: Vec<_> = table.cells().map(|(_, _, cell)| table.cell_text(cell)).collect();
        let cells = cells.chunks(table.events.len()).map(<[String]>::to_vec).collect();
        Self { name: table.name, states: table.states, events: table.events, cells }
    }
}
