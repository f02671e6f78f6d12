//! Chores of the workspace, run as `cargo xtask TASK`.

mod gcn3_corpus;
mod layers;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask TASK

Tasks:
  gcn3-corpus    write crates/gcn3/tests/data with LLVM 19: texts of all GCN3 instructions and of some kernels
                 (--check: compare instead)
  layers         fail when a crate depends on one that ARCHITECTURE.md puts below it";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("gcn3-corpus") => gcn3_corpus::run(&arguments[1..]),
        Some("layers") => layers::check(),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some(other) => Err(format!("there is no task '{other}'\n\n{USAGE}")),
        None => Err(USAGE.to_owned()),
    };
    match done {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
