//! `cohesim bench`: measurements of cohesim itself.

mod engine;

use crate::ui::Ui;
use clap::Subcommand;
use miette::Result;

#[derive(Subcommand)]
pub enum Bench {
    /// The event engine, beside three other ways to build one
    Engine(engine::EngineBench),
}

impl Bench {
    pub fn run(&self, ui: &Ui) -> Result<()> {
        match self {
            Bench::Engine(bench) => bench.run(ui),
        }
    }
}
