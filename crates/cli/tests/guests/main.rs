//! Whole programs inside cohesim: the built-in workloads, and ordinary user programs.

mod checkpoints;
mod cpu_programs;
mod dynamic;
mod halcone;
mod moves;
mod programs;
#[path = "../commands/support.rs"]
#[allow(dead_code, reason = "the other tests of the command need more of it")]
mod support;
mod timed;
mod workloads;

use std::process::Command;

/// A program's output and exit code.
#[derive(Debug, PartialEq)]
struct Ran {
    code: Option<i32>,
    out: String,
}

/// Runs a command; its standard error goes to the test's.
fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("the program is there");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ran { code: output.status.code(), out: String::from_utf8(output.stdout).expect("programs write UTF-8") }
}

/// `cohesim run PROGRAM --functional` with more options.
fn inside(program: &str, options: &[&str]) -> Ran {
    ran(Command::new(env!("CARGO_BIN_EXE_cohesim")).args(["run", program, "--functional"]).args(options))
}
