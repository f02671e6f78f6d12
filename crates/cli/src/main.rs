//! The command `cohesim`.
#![forbid(unsafe_code)]

mod cc;
mod disasm;
mod files;
mod launch;
mod ui;

use clap::{Parser, Subcommand};
use ui::Ui;

/// Simulates computers in which CPUs and GPUs share memory.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    /// Print results as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Cc(cc::Cc),
    Disasm(disasm::Disasm),
    Launch(launch::Launch),
}

fn main() -> miette::Result<()> {
    let cli = Cli::parse();
    let ui = Ui { json: cli.json };
    match cli.command {
        Command::Cc(command) => command.run(&ui),
        Command::Disasm(command) => command.run(&ui),
        Command::Launch(command) => command.run(&ui),
    }
}
