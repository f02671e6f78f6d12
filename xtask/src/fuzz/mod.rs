//! Random inputs of every class that comes from outside: the simulator must answer each with a result or a clear error.
//!
//! A case is determined by its target and its seed. Cases run one after another in worker processes (this program
//! again), so that an abort, a stack overflow or an endless loop costs one case and is identified by its seed. The
//! [`supervisor`] starts workers, limits their time and memory, shrinks a failing case by leaving out steps, and prints
//! the command that repeats it. [`case`] defines targets; each target has a file.

mod case;
mod code_object;
mod elf;
mod guest;
mod image;
mod kernels;
mod machine_keys;
mod random;
mod sequences;
mod supervisor;
mod system_calls;
mod trap_records;
mod worker;
mod x86;

use case::Target;
use std::time::Duration;

pub use supervisor::run;
pub use worker::run as work;

const USAGE: &str = "\
usage: cargo xtask fuzz [--minutes N | --cases N | --quick] [--target NAME]... [--seed S] [--jobs N] [--keep STEPS]

  --minutes N     run for N minutes in total, divided among the targets
  --cases N       N cases of each target
  --quick         a fixed number of cases of each target, about a minute in total, as in continuous integration
  --target NAME   this class of inputs only; can be given several times
  --seed S        the first seed [default: 1]; the summary prints the next one, from which to continue
  --jobs N        worker processes at a time [default: 1]
  --keep STEPS    run these steps of one case only, such as 0,3, or `none`; printed for shrunk failures

Targets:";

/// Every target.
const TARGETS: &[Target] = &[
    machine_keys::TARGET,
    elf::TARGET,
    code_object::TARGET,
    system_calls::TARGET,
    trap_records::TARGET,
    kernels::TARGET,
    x86::TARGET,
];

/// A case that exceeds one of these limits counts as hung: processor time, and wall time for a case that waits.
const CPU_LIMIT: Duration = Duration::from_secs(30);
const WALL_LIMIT: Duration = Duration::from_secs(240);
/// Memory limit of a case.
const MEMORY_LIMIT: u64 = 2 << 30;

fn find(name: &str) -> Result<&'static Target, String> {
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    TARGETS.iter().find(|target| target.name == name).ok_or_else(|| format!("no target '{name}': {}", names()))
}

fn usage() -> String {
    let targets = TARGETS.iter().map(|target| format!("\n  {:13} {}", target.name, target.about));
    USAGE.to_owned() + &targets.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::{case::Case, *};

    #[test]
    fn a_case_of_each_target_runs_without_a_supervisor() {
        for target in TARGETS.iter().filter(|target| target.name != "kernels") {
            (target.run)(&mut Case::new(1, None, false)).unwrap_or_else(|error| panic!("{}: {error}", target.name));
        }
    }

    #[test]
    fn a_case_without_steps_is_sound() {
        for target in TARGETS.iter().filter(|target| target.name != "kernels") {
            (target.run)(&mut Case::new(1, Some(Vec::new()), false))
                .unwrap_or_else(|error| panic!("{}: {error}", target.name));
        }
    }
}
