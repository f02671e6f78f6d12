//! `cohesim cc`: with the compiler if it is installed, and the error messages if not.

use crate::support::{Folder, cohesim};
use std::{fs, path::Path, process::Command};

const DEVICE_LIBS: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

/// Whether the optional compiler is installed; without it only the messages can be tested.
fn compiler_is_there() -> bool {
    let there = Command::new("clang-19").arg("--version").output().is_ok() && Path::new(DEVICE_LIBS).is_dir();
    if !there {
        eprintln!("clang-19 or rocm-device-libs is not installed: nothing is compiled");
    }
    there
}

const SOURCE: &str = "#include \"step.h\"\n\
                      __kernel void count(__global int *out) { out[get_global_id(0)] = get_global_id(0) * STEP + MORE; }\n";

#[test]
fn what_is_compiled_can_be_launched() {
    if !compiler_is_there() {
        return;
    }
    let folder = Folder::new("cc");
    let (source, target) = (folder.file("count.cl"), folder.file("count.hsaco"));
    fs::write(&source, SOURCE).unwrap();
    fs::create_dir(folder.file("include")).unwrap();
    fs::write(folder.file("include/step.h"), "#define STEP 3\n").unwrap();
    let include = folder.file("include");
    let text = cohesim(&["cc", &source, "-o", &target, "-DMORE=100", "-I", &include]).result();
    assert_eq!(text, format!("{target}: count\n"));
    let text =
        cohesim(&["launch", &target, "--grid", "4", "--group", "4", "--arg", "zero:16", "--dump", "0:i32"]).result();
    assert!(text.ends_with("argument 0 (int* out), i32 0..4: 100 103 106 109\n"), "{text}");
    assert_eq!(folder.names(), ["count.cl", "count.hsaco", "include"], "nothing else is left behind");
}

#[test]
fn the_compilers_messages_are_passed_on_and_nothing_is_left_behind() {
    if !compiler_is_there() {
        return;
    }
    let folder = Folder::new("cc-error");
    let (source, target) = (folder.file("wrong.cl"), folder.file("wrong.hsaco"));
    fs::write(&source, "__kernel void f(__global int *out) { out[0] = nothing; }\n").unwrap();
    fs::write(&target, "an older object").unwrap();
    let outcome = cohesim(&["cc", &source, "-o", &target]);
    assert!(outcome.err.contains("wrong.cl:1:47: error: use of undeclared identifier 'nothing'"), "{}", outcome.err);
    let error = outcome.error();
    assert!(
        error.contains("wrong.cl' was not compiled (exit status: 1) help: the compiler's messages are above"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&target).unwrap(), "an older object", "what was there stays");
    assert_eq!(folder.names(), ["wrong.cl", "wrong.hsaco"]);
}

#[test]
fn a_missing_compiler_is_named_with_its_package() {
    let folder = Folder::new("cc-missing");
    let source = folder.file("f.cl");
    fs::write(&source, "__kernel void f() {}\n").unwrap();
    let libs = folder.file("libs");
    fs::create_dir(&libs).unwrap();
    fs::write(folder.file("libs/ocml.bc"), "").unwrap();
    let error = cohesim(&["cc", &source, "--clang", "/nowhere/clang-19", "--device-libs", &libs]).error();
    assert!(error.contains("the compiler '/nowhere/clang-19' is not installed"), "{error}");
    assert!(error.contains("help: on Debian: apt install clang-19 lld-19 rocm-device-libs"), "{error}");
    let error = cohesim(&["cc", &source, "--device-libs", "/nowhere"]).error();
    assert!(error.contains("AMD's device libraries are not in '/nowhere'"), "{error}");
    assert!(error.contains("help: on Debian: apt install rocm-device-libs"), "{error}");
    let error = cohesim(&["cc", &folder.file("g.cl")]).error();
    assert!(error.contains("there is no file '"), "{error}");
    let error = cohesim(&["cc", &source, "-o", &source]).error();
    assert!(error.contains("the output would overwrite the source"), "{error}");
    assert_eq!(folder.names(), ["f.cl", "libs"]);
}

#[test]
fn a_missing_linker_is_named_with_its_package() {
    if !compiler_is_there() {
        return;
    }
    let folder = Folder::new("cc-linker");
    let source = folder.file("f.cl");
    fs::write(&source, "__kernel void f() {}\n").unwrap();
    // A clang that fails as the real one does without its linker.
    let clang = folder.file("clang");
    fs::write(&clang, "#!/bin/sh\necho 'clang: error: unable to execute command: Executable \"ld.lld\" does not exist!' >&2\nexit 1\n").unwrap();
    Command::new("chmod").args(["+x", &clang]).status().unwrap();
    let error = cohesim(&["cc", &source, "--clang", &clang]).error();
    assert!(error.contains("the linker is not installed help: on Debian: apt install lld-19"), "{error}");
}

#[test]
fn a_kernel_that_prints_runs_and_says_that_nothing_is_shown() {
    if !compiler_is_there() {
        return;
    }
    let folder = Folder::new("cc-printf");
    let (source, target) = (folder.file("p.cl"), folder.file("p.hsaco"));
    fs::write(&source, "__kernel void p(__global int *out) { printf(\"%d\\n\", 1); out[get_global_id(0)] = 7; }\n")
        .unwrap();
    for version in ["4", "5"] {
        cohesim(&["cc", &source, "-o", &target, "--code-object-version", version]).result();
        let run = cohesim(&["launch", &target, "--grid", "4", "--group", "4", "--arg", "zero:16", "--dump", "0:i32"]);
        assert!(run.err.contains("note: the code calls printf; what it prints is not shown"), "{}", run.err);
        assert!(run.result().ends_with("i32 0..4: 7 7 7 7\n"));
    }
}
