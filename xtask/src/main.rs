//! Chores of the workspace, run as `cargo xtask TASK`.

mod clang;
mod diff_kernels;
mod guests;
mod layers;
mod opencl;
mod oracle;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask TASK

Tasks:
  layers                    fail when a crate depends on one that ARCHITECTURE.md puts below it
  diff-kernels [--count N] [--seed S]
                            run generated kernels on the functional GPU and on PoCL and compare
  guests [--update]         rebuild the workloads' code objects and compare them with the committed ones
  oracle [SIZE] [NAME]...   run the workloads on PoCL: do kernels and references agree without cohesim?";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("layers") => layers::check(),
        Some("diff-kernels") => diff_kernels::run(&arguments[1..]),
        Some("guests") => guests::run(&arguments[1..]),
        Some("oracle") => oracle::run(&arguments[1..]),
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
