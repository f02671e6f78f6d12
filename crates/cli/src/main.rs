//! The command `cohesim`.

mod bench;
mod ui;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use ui::Ui;

const EXAMPLES: &str = "\
Examples:
  cohesim bench engine                 how fast the event engine is, beside three others
  cohesim bench engine --figure 2.3    the same as a figure of the KnightSim thesis
  cohesim --json bench engine          for another program to read

Every command takes --json and prints one JSON object; errors go to standard error.
The exit code is 0 only if everything asked for was done and found right.";

/// Simulates computers in which CPUs and GPUs share memory
#[derive(Parser)]
#[command(name = "cohesim", version, after_help = EXAMPLES, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Print one JSON object instead of text for people
    #[arg(long, global = true)]
    json: bool,
    /// Say more about what is going on, on standard error
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure how fast cohesim is on this computer
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ui = Ui::new(cli.json, cli.verbose);
    let done = match &cli.command {
        Command::Bench(bench) => bench.run(&ui),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
