//! The host programs, built for this computer and run on PoCL: are they right without anything of cohesim's?
//!
//! Needs gcc, the OpenCL headers and PoCL; without them the test says that nothing was run, or fails
//! where `COHESIM_REQUIRE_POCL` is set, as in continuous integration.

use std::{
    path::Path,
    process::{Command, Output},
};

use workloads::ALL;

fn build(target: &Path) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = vec![];
    for part in ["check", "gpu", "main", "random", "threads"] {
        sources.push(format!("guest/{part}.c"));
    }
    for workload in ALL {
        let module = workload.name.replace('-', "_");
        sources.push(format!("src/{module}/{module}.c"));
    }
    let output = Command::new("gcc")
        .current_dir(folder)
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-Iguest"])
        .args(sources)
        .args(["-lOpenCL", "-lpthread", "-lm", "-o"])
        .arg(target)
        .output()
        .map_err(|e| format!("gcc: {e}"))?;
    if !output.status.success() {
        return Err(format!("gcc failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    match run(target, &["write", "--size", "1"]) {
        (0, ..) => Ok(()),
        (_, _, said) => Err(format!("no OpenCL device: {said}")),
    }
}

/// Exit code, standard output and standard error.
fn run(program: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = Command::new(program).args(arguments).output().expect("was just built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("programs write UTF-8");
    (status.code().expect("no signal ended it"), text(stdout), text(stderr))
}

#[test]
fn every_host_program_is_right_on_pocl() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("workloads-native");
    if let Err(why) = build(&program) {
        assert!(std::env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{why}");
        eprintln!("the host programs are not run on PoCL: {why}");
        return;
    }
    let program = program.as_path();
    for workload in ALL {
        let (code, said, trouble) = run(program, &[workload.name, "--size", "tiny"]);
        assert_eq!(code, 0, "{}: {said}{trouble}", workload.name);
        assert!(said.starts_with(&format!("{} size ", workload.name)) && said.contains(": right"), "{said}");
    }
    for name in ["matmul", "edge", "knn", "backprop", "write"] {
        let (code, said, trouble) = run(program, &[name, "--size", "tiny", "--cpu-share", "40", "--threads", "3"]);
        assert_eq!(code, 0, "{name}, shared with the CPU: {said}{trouble}");
    }
}
