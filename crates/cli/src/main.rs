//! The command `cohesim`.

mod bench;
mod list_workloads;
mod show_workload;
mod ui;

use clap::{Parser, Subcommand};

use ui::Ui;

#[derive(Parser)]
#[command(version, about = "Simulates computers in which CPUs and GPUs share memory.")]
struct Cohesim {
    /// Print JSON instead of text for people.
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
    let cohesim = Cohesim::parse();
    let ui = Ui { json: cohesim.json };
    match cohesim.command {
        Command::Bench(Bench::Gcn3(command)) => command.run(&ui),
        Command::List(List::Workloads(command)) => command.run(&ui),
        Command::Show(Show::Workload(command)) => command.run(&ui),
    }
}
