//! OpenCL programs as their users build and run them: linked with what `cohesim sdk` writes, run by `cohesim run`.
//!
//! Needs gcc, the OpenCL headers and clang-19 with AMD's device libraries; without them the tests say that nothing was run,
//! or fail where `COHESIM_REQUIRE_POCL` is set, as in continuous integration.

use crate::support::{Folder, cohesim};
use std::{path::Path, process::Command};

/// A program of `tests/guests`, linked with the library; none if the tools are not installed.
fn build(folder: &Folder, source: &str) -> Option<String> {
    let sdk = folder.file("sdk");
    cohesim(&["sdk", &sdk]).result();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests").join(source);
    let target = folder.file("program");
    let compiler = if source.extension().is_some_and(|ending| ending == "cpp") { "g++" } else { "gcc" };
    let output = Command::new(compiler)
        .args(["-O1", "-static", "-o", &target])
        .arg(&source)
        .args(["-L", &sdk, "-lOpenCL", "-lm", "-pthread"])
        .output();
    let why = match output {
        Ok(output) if output.status.success() => return Some(target),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("{compiler}: {error}"),
    };
    assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{why}");
    eprintln!("{} is not run: {why}", source.display());
    None
}

/// Runs a program under both memory policies; its last line must be what is expected.
fn passes(source: &str, expected: &str) {
    let folder = Folder::new(&source.replace('.', "-"));
    let Some(program) = build(&folder, source) else { return };
    for policy in ["memcpy", "shared"] {
        let out = cohesim(&["run", &program, "--functional", "--memory-policy", policy]).result();
        assert!(out.contains(expected), "{policy}: {out}");
    }
}

#[test]
fn a_program_in_c_with_macros_for_errors() {
    passes("saxpy_macros.c", "");
}

#[test]
fn a_program_in_cpp_with_classes_and_exceptions() {
    passes("life_classes.cpp", "");
}

#[test]
fn a_program_with_events_callbacks_and_an_out_of_order_queue() {
    passes("pipeline_events.c", "");
}

#[test]
fn a_program_with_shared_virtual_memory_and_a_kernel_that_plays_with_the_host() {
    passes("svm_list.c", "PASS");
}

#[test]
fn a_program_with_images_and_a_kernel_that_prints() {
    passes("image_blur.c", "blurring 60 x 34\nPASS\n");
}

#[test]
fn the_sdk_says_how_to_link() {
    let folder = Folder::new("sdk");
    let sdk = folder.file("made/here");
    let report = cohesim(&["sdk", &sdk, "--json"]).json();
    assert!(report["link"].as_str().unwrap().contains("-lOpenCL"));
    let text = std::fs::read_to_string(format!("{sdk}/OpenCL.pc")).unwrap();
    assert!(text.contains("made/here\n"), "{text}");
    assert!(std::fs::read(format!("{sdk}/libOpenCL.a")).unwrap().starts_with(b"!<arch>\n"));
    assert!(std::fs::read_to_string(format!("{sdk}/README.md")).unwrap().contains("made/here -lOpenCL"));
}
