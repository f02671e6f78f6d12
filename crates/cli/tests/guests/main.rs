//! Whole programs, written as people write them: built with gcc, run on this computer and inside cohesim, compared.
//!
//! Their sources are in `tests/guests` of the workspace. gcc is needed, and for OpenCL programs the headers; where PoCL is
//! there too, what they print on it is what they must print here. Without these the tests say that nothing was run, or
//! fail where `COHESIM_REQUIRE_POCL` is set, as in continuous integration.

#[path = "../commands/support.rs"]
#[allow(dead_code)]
mod support;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use support::{Folder, cohesim};

/// What a program printed, and its exit code.
#[derive(Debug, PartialEq)]
struct Ran {
    code: Option<i32>,
    out: String,
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests").join(name)
}

/// Builds a program; `None`, said loudly, where something is not installed.
fn build(name: &str, folder: &Folder, target: &str, flags: &[&str]) -> Option<String> {
    let (compiler, standard) = if name.ends_with(".cpp") { ("g++", "-std=c++17") } else { ("gcc", "-std=gnu11") };
    let target = folder.file(target);
    let built = Command::new(compiler).args([standard, "-O2", "-w"]).arg(source(name)).args(flags).args(["-o", &target]);
    let trouble = match built.output() {
        Ok(output) if output.status.success() => return Some(target),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("{compiler}: {error}"),
    };
    missing(&format!("{name} can't be built with {flags:?}: {trouble}"))
}

fn missing<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{what}");
    eprintln!("{what}");
    None
}

fn natively(program: &str) -> Ran {
    let output = Command::new(program).output().expect("was just built");
    Ran { code: output.status.code(), out: String::from_utf8(output.stdout).expect("programs write UTF-8") }
}

fn inside(program: &str, options: &[&str]) -> Ran {
    let outcome = cohesim(&[&["run", program, "--functional"], options].concat());
    eprint!("{}", outcome.err);
    Ran { code: outcome.code, out: outcome.out }
}

/// A program that needs nothing but the C or C++ library: prints the same here and there.
fn prints_the_same_inside(name: &str, flags: &[&str]) {
    let folder = Folder::new(name);
    let Some(program) = build(name, &folder, "static", &[&["-static"], flags].concat()) else { return };
    let expected = natively(&program);
    assert_eq!(expected.code, Some(0), "{}", expected.out);
    assert_eq!(inside(&program, &[]), expected);
}

/// A program that uses OpenCL: prints the same on PoCL and inside, whoever owns the buffers' memory.
fn prints_the_same_as_on_pocl(name: &str) {
    let folder = Folder::new(name);
    let sdk = folder.file("sdk");
    cohesim(&["sdk", &sdk]).result();
    let library = format!("-L{sdk}");
    let flags = ["-static", &library, "-lOpenCL", "-lpthread", "-lm"];
    let Some(program) = build(name, &folder, "static", &flags) else { return };
    let Some(native) = build(name, &folder, "native", &["-lOpenCL", "-lm"]) else { return };
    let expected = natively(&native);
    assert_eq!(expected.code, Some(0), "{}", expected.out);
    for policy in ["memcpy", "shared"] {
        assert_eq!(inside(&program, &["--memory-policy", policy]), expected, "with the policy {policy}");
    }
}

#[test]
fn a_procedural_opencl_program_with_macros() {
    prints_the_same_as_on_pocl("saxpy_macros.c");
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
fn openmp_with_four_threads() {
    prints_the_same_inside("openmp_threads.c", &["-fopenmp", "-lm"]);
}

#[test]
fn cpp_with_streams_and_exceptions() {
    prints_the_same_inside("streams_exceptions.cpp", &["-pthread"]);
}

#[test]
fn a_handler_of_page_faults_that_gives_rights_back() {
    prints_the_same_inside("unprotect_handler.c", &[]);
}
