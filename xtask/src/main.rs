//! Chores of the workspace, run as `cargo xtask TASK`.

mod baseline;
mod check_systems;
mod clang;
mod compose;
mod cover;
mod diff_kernels;
mod diff_programs;
mod diff_x86;
mod fuzz;
mod gcn3_corpus;
mod guests;
mod host_programs;
mod layers;
mod limited;
mod opencl;
mod oracle;
mod sdk;
mod slurm;
mod soak;
mod tool;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask TASK

Tasks:
  baseline [--update] [--cohesim PATH] [--only TEXT]
                            compare the statistics of every shipped machine with the digests in tests/baseline.txt
  check-systems [--quick] [--cohesim PATH] [--state FILE] [--only TEXT]
                            run all workloads on machines of 1, 2 and 4 GPUs under every memory policy, and the programs of M2S-CGM
                            on its four systems, every read checked, in one thread and in two
  compose [--all] [--update] [--cohesim PATH] [--only TEXT]
                            check that every combination of host, GPUs, memory, fabric, protocol and translation is refused with a
                            clear error, or is right under random accesses and a program; without --all, every pair of choices
  diff-kernels [--count N] [--seed S]
                            run generated kernels on the functional GPU and on PoCL and compare
  diff-programs [--cohesim PATH]
                            run whole programs in cohesim and in qemu-x86_64 and compare
  diff-x86 [--sequences N] [--seed S] [--families integer,sse,x87,mmx]
                            run generated instructions in the x86 emulator and on this processor and compare
  fuzz [--minutes N | --cases N | --quick] [--target NAME]... [--seed S]
                            random machines, program files, code objects, system calls, OpenCL calls, kernels and
                            instructions: does each give a result or a clear error? (fuzz --help)
  gcn3-corpus [--check]     write crates/gcn3/tests/data with LLVM 19: texts of all GCN3 instructions and of some
                            kernels (--check: compare instead)
  guests [--update]         rebuild the workloads' code objects and host programs and compare them with the committed ones
  layers                    fail if a crate depends on one that is below it in ARCHITECTURE.md
  oracle [SIZE] [NAME]...   run the workloads on PoCL: do kernels and references agree without cohesim?
  slurm [--cohesim PATH]    a sweep of 60 runs on a Slurm of two nodes on this computer (Debian: slurmctld slurmd slurm-client munge; as
                            root): a task and the controller are killed, the sweep is cancelled and resumed; does its table equal
                            that of a sweep without Slurm?
  soak --minutes N [--cohesim PATH] [--jobs N] [--only PROGRAM]... [--system NAME]...
                            run all built-in programs and programs that sleep, fork, map, read and signal on machines,
                            every read checked: does each end as in a functional run?";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("baseline") => baseline::run(&arguments[1..]),
        Some("check-systems") => check_systems::run(&arguments[1..]),
        Some("compose") => compose::run(&arguments[1..]),
        Some("diff-kernels") => diff_kernels::run(&arguments[1..]),
        Some("diff-programs") => diff_programs::run(&arguments[1..]),
        Some("diff-x86") => diff_x86::run(&arguments[1..]),
        Some("fuzz") => fuzz::run(&arguments[1..]),
        Some("fuzz-worker") => fuzz::work(&arguments[1..]),
        Some("gcn3-corpus") => gcn3_corpus::run(&arguments[1..]),
        Some("guests") => guests::run(&arguments[1..]),
        Some("layers") => layers::check(),
        Some("oracle") => oracle::run(&arguments[1..]),
        Some("slurm") => slurm::run(&arguments[1..]),
        Some("soak") => soak::run(&arguments[1..]),
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
