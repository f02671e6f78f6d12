//! The command `cohesim`.
#![forbid(unsafe_code)]

mod bench;
mod cc;
mod disasm;
mod files;
mod launch;
mod list_workloads;
mod show_workload;
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
    /// Measure the speed of the simulator itself.
    #[command(subcommand)]
    Bench(Bench),
    Cc(cc::Cc),
    Disasm(disasm::Disasm),
    Launch(launch::Launch),
    /// List what is built in.
    #[command(subcommand)]
    List(List),
    /// Show something that is built in.
    #[command(subcommand)]
    Show(Show),
}

#[derive(Subcommand)]
enum Bench {
    Gcn3(bench::gcn3::Gcn3),
}

#[derive(Subcommand)]
enum List {
    Workloads(list_workloads::ListWorkloads),
}

#[derive(Subcommand)]
enum Show {
    Workload(show_workload::ShowWorkload),
}

fn main() -> miette::Result<()> {
    let cli = Cli::parse();
    let ui = Ui { json: cli.json };
    match cli.command {
        Command::Bench(Bench::Gcn3(command)) => command.run(&ui),
        Command::Cc(command) => command.run(&ui),
        Command::Disasm(command) => command.run(&ui),
        Command::Launch(command) => command.run(&ui),
        Command::List(List::Workloads(command)) => command.run(&ui),
        Command::Show(Show::Workload(command)) => command.run(&ui),
    }
}
