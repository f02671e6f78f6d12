//! The command `cohesim`.
#![forbid(unsafe_code)]

mod bench;
mod cc;
mod check;
mod checkpoints;
mod compare;
mod disasm;
mod files;
mod guest;
mod launch;
mod list_experiments;
mod list_parts;
mod list_protocols;
mod list_systems;
mod list_workloads;
mod opencl;
mod progress;
mod repro;
mod run;
mod sdk;
mod show_protocol;
mod show_system;
mod show_workload;
mod stress;
mod sweep;
mod system;
mod ui;
mod unfinished;
mod view;
#[cfg(test)]
mod written;

use clap::{Parser, Subcommand};
use ui::Ui;

const EXAMPLES: &str = "\
Examples:
  cohesim compare matmul                 a program on several machines, side by side
  cohesim run matmul --system r9nano     one program on one machine, timed: where the time went
  cohesim run edge --system apu-c-l3 -- --cpu-share 50 --threads 4
                                         cores and GPU of one machine share the work; both are timed
  cohesim run ./program --functional     an x86-64 Linux program, without a timing model
  cohesim list workloads                 the programs that are built in
  cohesim run matmul --functional -- --size 128
                                         a built-in program without a timing model, with its own option
  cohesim repro giles-study2 --quick     an experiment of a paper: what it reports, and what is measured here
  cohesim sweep sizes.toml               programs x machines x keys x arguments; can be interrupted and continued
  cohesim view results                   show results of --out in the browser
  cohesim cc vecadd.cl -o vecadd.hsaco   compile an OpenCL kernel for the simulated GPU
  cohesim disasm vecadd.hsaco            its machine code, registers and arguments
  cohesim launch vecadd.hsaco --kernel vecadd --grid 1024 --group 64 \\
      --arg rand-f32:1024:1 --arg rand-f32:1024:2 --arg zero:4096 --dump 2:f32:0..8
                                         run it, and look at its results
  cohesim launch ... --system skeleton --check
                                         run it on a machine, timed, every read checked
  cohesim show protocol vi               a coherence protocol, as tables (--diagram: as state diagrams)
  cohesim check vi                       every interleaving of its messages on a small system
  cohesim stress --system r9nano         random accesses of all requesters, every read checked
  cohesim bench gcn3                     how fast kernels run
  cohesim bench x86                      how fast host code runs
  cohesim bench engine                   how fast the event engine is, and three others

Every command takes --json and prints one JSON document; everything but results goes to standard error.
The exit code is 0 only if the command did everything it was asked for and no check failed.";

/// Simulates computers in which CPUs and GPUs share memory
#[derive(Parser)]
#[command(name = "cohesim", version, after_help = EXAMPLES, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Print results as one JSON document instead of text for people
    #[arg(long, global = true)]
    json: bool,
    /// Print more about the command's progress to standard error
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Compare(compare::Compare),
    Repro(repro::Repro),
    Sweep(sweep::Sweep),
    View(view::ViewCommand),
    Sdk(sdk::Sdk),
    Launch(launch::Launch),
    Cc(cc::Cc),
    Disasm(disasm::Disasm),
    Check(check::Check),
    Stress(stress::Stress),
    /// List built-in workloads, protocols, machines, parts or experiments
    #[command(subcommand)]
    List(List),
    /// Show a built-in workload, protocol or machine
    #[command(subcommand)]
    Show(Show),
    /// Measure how fast cohesim is on this computer
    #[command(subcommand)]
    Bench(bench::Bench),
}

#[derive(Subcommand)]
enum List {
    Workloads(list_workloads::ListWorkloads),
    Protocols(list_protocols::ListProtocols),
    Systems(list_systems::ListSystems),
    Parts(list_parts::ListParts),
    Experiments(list_experiments::ListExperiments),
}

#[derive(Subcommand)]
enum Show {
    Workload(show_workload::ShowWorkload),
    Protocol(show_protocol::ShowProtocol),
    System(show_system::ShowSystem),
}

fn main() -> miette::Result<()> {
    let cli = Cli::parse();
    let ui = Ui { json: cli.json, verbose: cli.verbose };
    match cli.command {
        Command::Run(command) => command.run(&ui),
        Command::Compare(command) => command.run(&ui),
        Command::Repro(command) => command.run(&ui),
        Command::Sweep(command) => command.run(&ui),
        Command::View(command) => command.run(&ui),
        Command::Sdk(command) => command.run(&ui),
        Command::Launch(command) => command.run(&ui),
        Command::Cc(command) => command.run(&ui),
        Command::Disasm(command) => command.run(&ui),
        Command::Check(command) => command.run(&ui),
        Command::Stress(command) => command.run(&ui),
        Command::List(List::Workloads(command)) => command.run(&ui),
        Command::List(List::Protocols(command)) => command.run(&ui),
        Command::List(List::Systems(command)) => command.run(&ui),
        Command::List(List::Parts(command)) => command.run(&ui),
        Command::List(List::Experiments(command)) => command.run(&ui),
        Command::Show(Show::Workload(command)) => command.run(&ui),
        Command::Show(Show::Protocol(command)) => command.run(&ui),
        Command::Show(Show::System(command)) => command.run(&ui),
        Command::Bench(command) => command.run(&ui),
    }
}
