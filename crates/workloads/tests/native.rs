//! The host programs, built for this computer and run on PoCL: are they right without anything of cohesim's?
//!
//! Needs gcc, the OpenCL headers and PoCL; without them the tests say that nothing was run, or fail where
//! `COHESIM_REQUIRE_POCL` is set, as in continuous integration.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use workloads::ALL;

/// The program file, built once for all tests of this process.
fn program() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workloads-native-{}", std::process::id()));
        match build(&target) {
            Ok(()) => Some(target),
            Err(why) if std::env::var_os("COHESIM_REQUIRE_POCL").is_some() => panic!("{why}"),
            Err(why) => {
                eprintln!("the host programs are not run on PoCL: {why}");
                None
            }
        }
    });
    built.as_deref()
}

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
    let Some(program) = program() else { return };
    for workload in ALL {
        let (code, said, trouble) = run(program, &[workload.name, "--size", "tiny"]);
        assert_eq!(code, 0, "{}: {said}{trouble}", workload.name);
        assert!(said.starts_with(&format!("{} size ", workload.name)) && said.contains(": right"), "{said}");
    }
}

#[test]
fn every_host_program_notices_one_wrong_bit() {
    let Some(program) = program() else { return };
    for workload in ALL {
        let (code, said, trouble) = run(program, &[workload.name, "--size", "tiny", "--break"]);
        assert_eq!(code, 1, "{}: {said}{trouble}", workload.name);
        assert!(said.contains(": wrong: ") && said.contains("; 1 of "), "{said}");
    }
}

#[test]
fn any_share_of_the_work_can_be_the_cpus() {
    let Some(program) = program() else { return };
    for name in ["matmul", "edge", "knn", "backprop", "write"] {
        for share in ["1", "50", "100"] {
            let (code, said, trouble) = run(program, &[name, "--size", "tiny", "--cpu-share", share, "--threads", "3"]);
            assert_eq!(code, 0, "{name} with {share}%: {said}{trouble}");
        }
    }
}

#[test]
fn a_wrong_argument_is_refused_with_what_would_be_right() {
    let Some(program) = program() else { return };
    for (arguments, message) in [
        (&["bogosort"][..], "there is no program 'bogosort'"),
        (&["matmul", "--size", "50"], "matmul: --size 50: the side must be a multiple of 16"),
        (&["matmul", "--size", "64x64"], "matmul: --size 64x64: too many numbers"),
        (&["matmul", "--size", "0"], "it must not be 0"),
        (&["matmul", "--size", "-3"], "a number is needed"),
        (&["matmul", "--size", "2000000000"], "are more than 2^30"),
        (&["matmul", "--cpu-share", "101"], "a number up to 100 is needed"),
        (&["vecadd", "--cpu-share", "10"], "there is no option '--cpu-share'"),
        (&["vecadd", "--threads", "0"], "a number from 1 to 64 is needed"),
        (&["vecadd", "--size"], "--size needs a value"),
    ] {
        let (code, _, said) = run(program, arguments);
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}
