//! `cohesim list protocols`: the names of the coherence protocols.

use protocol::catalogue::ALL;
use serde::Serialize;

use crate::ui::Ui;

/// List the coherence protocols.
#[derive(clap::Args)]
pub struct ListProtocols {}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct Protocols {
    protocols: Vec<Listed>,
}

impl ListProtocols {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        let protocols: Vec<_> = ALL.iter().map(|p| Listed { name: p.name, about: p.about }).collect();
        ui.print(&protocols.iter().map(|p| format!("{:13} {}\n", p.name, p.about)).collect::<String>())?;
        ui.report(&Protocols { protocols })
    }
}
