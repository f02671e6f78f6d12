//! Programs of `tests/guests`, built with gcc, run on this computer and inside cohesim, and compared.
//!
//! Needs gcc and, for OpenCL programs, the headers. If PoCL is installed, its output is the expected one. Without these
//! the tests print that nothing was run, or fail if `COHESIM_REQUIRE_POCL` is set, as in continuous integration.

use std::{path::Path, process::Command};

use crate::{inside, ran, support::Folder};

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Builds a program; `None`, with a message, if something is not installed.
pub fn build(name: &str, folder: &Folder, target: &str, flags: &[&str]) -> Option<String> {
    let (compiler, standard) = if name.ends_with(".cpp") { ("g++", "-std=c++17") } else { ("gcc", "-std=gnu11") };
    let (source, target) = (Path::new(ROOT).join("tests/guests").join(name), folder.file(target));
    let mut command = Command::new(compiler);
    let output = command.args([standard, "-O2", "-w"]).arg(source).args(flags).args(["-o", &target]).output();
    let trouble = match output {
        Ok(output) if output.status.success() => return Some(target),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("{compiler}: {error}"),
    };
    let said = format!("{name} can't be built with {flags:?}: {trouble}");
    assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{said}");
    eprintln!("{said}");
    None
}

/// Checks that a program that needs only the C or C++ library prints the same natively and inside.
fn prints_the_same_inside(name: &str, flags: &[&str]) {
    let folder = Folder::new(name);
    let Some(program) = build(name, &folder, "static", &[&["-static"], flags].concat()) else { return };
    let expected = ran(&mut Command::new(&program));
    assert_eq!(expected.code, Some(0), "{}", expected.out);
    assert_eq!(inside(&program, &[]), expected);
}

/// Checks that an OpenCL program prints the same on PoCL and inside, under several placements of buffers.
fn prints_the_same_as_on_pocl(name: &str) {
    let folder = Folder::new(name);
    let sdk = format!("-L{ROOT}/sdk");
    let Some(program) = build(name, &folder, "static", &["-static", &sdk, "-lOpenCL", "-lpthread", "-lm"]) else {
        return;
    };
    let Some(native) = build(name, &folder, "native", &["-l:libOpenCL.so.1", "-lm"]) else { return };
    let expected = ran(&mut Command::new(&native));
    assert_eq!(expected.code, Some(0), "{}", expected.out);
    for policy in ["memcpy", "shared"] {
        assert_eq!(inside(&program, &["--memory-policy", policy]), expected, "with the policy {policy}");
    }
}

#[test]
fn the_program_of_the_tutorial() {
    prints_the_same_as_on_pocl("average.c");
}

#[test]
fn a_procedural_opencl_program_with_macros() {
    prints_the_same_as_on_pocl("saxpy_macros.c");
}

#[test]
fn an_opencl_program_whose_kernel_has_arrays_in_scratch_memory() {
    prints_the_same_as_on_pocl("scratch_launches.c");
}

#[test]
fn a_kernel_with_scratch_memory_can_be_launched_over_and_over_on_machines_of_each_kind() {
    let folder = Folder::new("scratch-in-time");
    let sdk = format!("-L{ROOT}/sdk");
    let flags = ["-static", &sdk, "-lOpenCL", "-lpthread", "-lm"];
    let Some(program) = build("scratch_launches.c", &folder, "static", &flags) else { return };
    for (system, launches) in [("r9nano", "2"), ("apu-c-l3", "50"), ("apu-nc-mc", "2"), ("apu4-c-l3", "2")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        let ran = ran(command.args(["run", &program, "--system", system, "--", launches]));
        assert_eq!(ran.code, Some(0), "{system}: {}", ran.out);
        assert!(ran.out.contains(&format!("{launches} launches are right")), "{system}: {}", ran.out);
    }
}

#[test]
fn an_opencl_program_with_classes_and_vectors() {
    prints_the_same_as_on_pocl("life_classes.cpp");
}

#[test]
fn an_opencl_program_around_events_and_sub_buffers() {
    prints_the_same_as_on_pocl("pipeline_events.c");
}

#[test]
fn every_function_that_moves_bytes() {
    prints_the_same_as_on_pocl("every_move.c");
}

#[test]
fn openmp_with_four_threads() {
    prints_the_same_inside("openmp_threads.c", &["-fopenmp", "-lm"]);
}

/// Runs programs with bound threads, atomic accesses and line flushes on machines with cores, both coherent with the
/// GPU and not.
#[test]
fn threads_are_bound_to_cores_and_lose_nothing_when_they_flush_lines() {
    prints_the_same_inside("flush_and_bind.c", &["-pthread"]);
    let folder = Folder::new("flush-in-time");
    let Some(program) = build("flush_and_bind.c", &folder, "static", &["-static", "-pthread"]) else { return };
    for (system, cores) in [("apu-c-l3", "4"), ("apu-nc-mc", "4"), ("apu-c-l3", "1")] {
        let set = format!("cpu.cores={cores}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        let ran = ran(command.args(["run", &program, "--system", system, "--check", "--set", &set]));
        assert_eq!(ran.code, Some(0), "{system}: {}", ran.out);
        assert!(ran.out.contains("1600 stores, 1600 atomic accesses"), "{system}: {}", ran.out);
    }
}

/// Each move finds the newest bytes where a core has to flush them out of the GPU's caches first.
#[test]
fn every_function_that_moves_bytes_is_right_where_cores_flush_buffers() {
    let folder = Folder::new("moves-flushed");
    let sdk = format!("-L{ROOT}/sdk");
    let Some(program) = build("every_move.c", &folder, "static", &["-static", &sdk, "-lOpenCL", "-lpthread", "-lm"])
    else {
        return;
    };
    for system in ["apu-nc-mc", "apu-nc-l3", "apu-c-mc"] {
        for width in ["4 B", "8 B"] {
            let set = format!("system.copy_width={width}");
            let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
            let ran = ran(command.args(["run", &program, "--system", system, "--check", "--set", &set]));
            assert!(ran.code == Some(0) && ran.out.contains("0 moves were wrong"), "{system}, {width}: {}", ran.out);
        }
    }
}

#[test]
fn cpp_with_streams_and_exceptions() {
    prints_the_same_inside("streams_exceptions.cpp", &["-pthread"]);
}

#[test]
fn a_handler_of_page_faults_that_gives_rights_back() {
    prints_the_same_inside("unprotect_handler.c", &[]);
}

#[test]
fn a_program_that_waits_takes_its_time_on_cores_and_is_no_deadlock() {
    let folder = Folder::new("sleepers");
    let Some(program) = build("sleepers.c", &folder, "static", &["-static", "-pthread"]) else { return };
    let run = |arguments: &[&str]| {
        let command = ["run", &program, "--system", "apu-c-l3", "--set", "cpu.cores=2"];
        ran(Command::new(env!("CARGO_BIN_EXE_cohesim")).args(command).args(arguments))
    };
    let waits = run(&[]);
    assert_eq!(waits.code, Some(0), "{}", waits.out);
    assert!(waits.out.starts_with("rung 1, timed out 1, slept 18 ms, now it is 12 s\n"), "{}", waits.out);
    assert!(waits.out.contains("total time   12.0"), "the timer that was armed takes no time: {}", waits.out);
    // A limit ends it in the middle of a sleep.
    assert_eq!(run(&["--max-time", "1ms"]).code, Some(128 + 24));
}

#[test]
fn the_report_on_a_program_that_waits_forever_on_cores_locates_its_threads() {
    let folder = Folder::new("waits-for-ever");
    let Some(program) = build("sleepers.c", &folder, "static", &["-static", "-pthread"]) else { return };
    let command = ["run", &program, "--system", "apu-c-l3", "--set", "cpu.cores=2", "--", "ever"];
    let output = Command::new(env!("CARGO_BIN_EXE_cohesim")).args(command).output().expect("the command was built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("deadlock: every thread waits, and nothing can wake one"), "{said}");
    assert!(said.contains("thread 1000 waits for the futex at "), "{said}");
}

#[test]
fn a_thread_that_works_for_the_driver_wakes_those_that_wait_for_it() {
    // In a timed run, the thread that serves the driver executes the last copy of a read while the program's own thread
    // waits for it.
    let folder = Folder::new("pipeline_in_time");
    let sdk = format!("-L{ROOT}/sdk");
    let flags = ["-static", &sdk, "-lOpenCL", "-lpthread", "-lm"];
    let Some(program) = build("pipeline_events.c", &folder, "static", &flags) else { return };
    let expected = inside(&program, &[]);
    assert_eq!(expected.code, Some(0), "{}", expected.out);
    for system in ["r9nano", "apu-nc-mc"] {
        let ran = ran(Command::new(env!("CARGO_BIN_EXE_cohesim")).args(["run", &program, "--system", system]));
        assert_eq!(ran.code, Some(0), "{system}: {}", ran.out);
        assert!(ran.out.starts_with(&expected.out), "{system}: {}", ran.out);
    }
}
