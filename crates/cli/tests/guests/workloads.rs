//! The built-in workloads as whole programs: host code on the emulated CPU, kernels on the emulated GPU.

use std::process::Command;

use ::workloads::ALL;

use crate::{Ran, inside};

/// A workload at its tiny size.
fn tiny(name: &str, options: &[&str], arguments: &[&str]) -> Ran {
    inside(name, &[options, &["--", "--size", "tiny"], arguments].concat())
}

#[test]
fn every_workload_is_right_with_every_memory_policy() {
    for workload in ALL {
        for policy in ["memcpy", "shared"] {
            let Ran { code, out } = tiny(workload.name, &["--memory-policy", policy], &[]);
            assert_eq!(code, Some(0), "{} with {policy}: {out}", workload.name);
            assert!(out.starts_with(&format!("{} size ", workload.name)) && out.contains(": right"), "{out}");
        }
    }
}

#[test]
fn every_workload_is_right_on_four_gpus() {
    for workload in ALL {
        let Ran { code, out } = tiny(workload.name, &["--gpus", "4"], &[]);
        assert_eq!(code, Some(0), "{}: {out}", workload.name);
    }
}

#[test]
fn every_workload_notices_one_wrong_bit() {
    for workload in ALL {
        let Ran { code, out } = tiny(workload.name, &[], &["--break"]);
        assert_eq!(code, Some(1), "{}: {out}", workload.name);
        assert!(out.contains(": wrong: ") && out.contains("; 1 of "), "{out}");
    }
}

#[test]
fn any_share_of_the_work_can_be_the_cpus() {
    for name in ["matmul", "edge", "knn", "backprop", "write"] {
        for share in ["1", "50", "100"] {
            let Ran { code, out } = tiny(name, &[], &["--cpu-share", share, "--threads", "3"]);
            assert_eq!(code, Some(0), "{name} with {share}%: {out}");
        }
    }
}

#[test]
fn two_runs_are_the_same_to_the_last_instruction() {
    for name in ["backprop", "kmeans"] {
        let run = || tiny(name, &["--json"], &["--threads", "4"]);
        assert_eq!(run(), run());
    }
}

#[test]
fn a_workloads_name_goes_before_a_files_and_either_spelling_will_do() {
    assert!(tiny("bitonic_sort", &[], &[]).out.starts_with("bitonic-sort size 2048: right"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
    let output = command.args(["run", "bogosort", "--functional"]).output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there is neither a file nor a workload 'bogosort'"), "{said}");
    assert!(said.contains("cohesim list workloads"), "{said}");
}

#[test]
fn a_wrong_argument_is_refused_with_what_would_be_right() {
    for (arguments, message) in [
        (&["matmul", "--size", "50"][..], "matmul: --size 50: the side must be a multiple of 16"),
        (&["matmul", "--size", "64x64"], "matmul: --size 64x64: too many numbers"),
        (&["matmul", "--size", "0"], "it must not be 0"),
        (&["matmul", "--size", "-3"], "a number is needed"),
        (&["matmul", "--size", "2000000000"], "are more than 2^30"),
        (&["matmul", "--cpu-share", "101"], "a number up to 100 is needed"),
        (&["vecadd", "--cpu-share", "10"], "there is no option '--cpu-share'"),
        (&["vecadd", "--threads", "0"], "a number from 1 to 64 is needed"),
        (&["vecadd", "--size"], "--size needs a value"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        command.args(["run", arguments[0], "--functional", "--"]).args(&arguments[1..]);
        let output = command.output().expect("the command was built");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}
