//! `cohesim bench`: measurements of cohesim itself.

mod cores;
pub mod engine;
mod gcn3;
mod machine;
mod sim;
mod x86;

use crate::ui::Ui;
use clap::Subcommand;

#[derive(Subcommand)]
pub enum Bench {
    /// Measure the event engine, and three other ways to build one
    Engine(engine::EngineBench),
    Gcn3(gcn3::Gcn3),
    X86(x86::X86),
    Sim(sim::Sim),
    Machine(machine::Machine),
}

impl Bench {
    pub fn run(&self, ui: &Ui) -> miette::Result<()> {
        match self {
            Bench::Engine(bench) => bench.run(ui),
            Bench::Gcn3(bench) => bench.run(ui),
            Bench::X86(bench) => bench.run(ui),
            Bench::Sim(bench) => bench.run(ui),
            Bench::Machine(bench) => bench.run(ui),
        }
    }
}
