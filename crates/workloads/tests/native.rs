//! The built-in programs run natively on this computer, without the simulator, and must compute right results.
//!
//! Programs for the CPU alone run as committed. The host programs of the workloads are rebuilt and run on PoCL. That
//! needs gcc, the OpenCL headers and PoCL; without them the test reports that nothing was run, or fails where
//! `COHESIM_REQUIRE_POCL` is set, as in continuous integration.

use std::{
    path::Path,
    process::{Command, Output},
};

use workloads::{ALL, CPU_PROGRAMS};

fn build(target: &Path) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = vec![];
    for part in ["arrays", "check", "gpu", "graph", "main", "memory", "random", "region", "threads"] {
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
        .args(["-l:libOpenCL.so.1", "-lpthread", "-lm", "-o"])
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
    // PoCL runs one workgroup after another.
    for workload in ALL.iter().filter(|workload| !workload.waits_across_workgroups()) {
        let (code, said, trouble) = run(program, &[workload.name, "--size", "tiny"]);
        assert_eq!(code, 0, "{}: {said}{trouble}", workload.name);
        assert!(said.starts_with(&format!("{} size ", workload.name)) && said.contains(": right"), "{said}");
    }
    for name in ["matmul", "edge", "knn", "backprop", "write"] {
        let (code, said, trouble) = run(program, &[name, "--size", "tiny", "--cpu-share", "40", "--threads", "3"]);
        assert_eq!(code, 0, "{name}, shared with the CPU: {said}{trouble}");
        let (code, said, trouble) = run(program, &[name, "--size", "tiny", "--copies", "explicit"]);
        assert_eq!(code, 0, "{name}, with explicit copies: {said}{trouble}");
    }
    let ways = [
        "floyd-warshall --size 64x2 --variant columns",
        "floyd-warshall --size tiny --iterations 3",
        "floyd-warshall-blocked --size tiny --iterations 2",
    ];
    for way in ways {
        let (code, said, trouble) = run(program, &way.split(' ').collect::<Vec<_>>());
        assert_eq!(code, 0, "{way}: {said}{trouble}");
        let (code, said, _) = run(program, &way.split(' ').chain(["--break"]).collect::<Vec<_>>());
        assert_eq!(code, 1, "{way}, spoiled: {said}");
    }
    let (code, _, trouble) = run(program, &["floyd-warshall-blocked", "--size", "tiny", "--iterations", "5"]);
    assert_eq!((code, trouble.trim()), (2, "floyd-warshall-blocked: --iterations 5: 64 nodes take 4 steps"));
}

/// A program file that is committed.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn committed(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guest").join(file)
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn every_openmp_program_is_right_natively_and_prints_how_long_it_took() {
    let programs: Vec<_> = CPU_PROGRAMS.iter().filter(|program| program.name.ends_with("-omp")).collect();
    assert!(programs.len() >= 6, "{} programs", programs.len());
    for program in programs {
        for threads in ["1", "2", "8"] {
            let name = program.name.trim_end_matches("-omp");
            let (code, said, trouble) = run(&committed("openmp.elf"), &[name, "--threads", threads, "--time"]);
            assert_eq!(code, 0, "{name} on {threads} threads: {said}{trouble}");
            let region = said.lines().next().and_then(|line| line.strip_prefix(&format!("{} region: ", program.name)));
            let seconds = region.and_then(|text| text.strip_suffix(" s")?.parse().ok());
            assert!(seconds.is_some_and(|seconds: f64| seconds > 0.0), "{said}");
        }
    }
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn this_processor_keeps_total_store_order() {
    let (code, said, trouble) = run(&committed("litmus.elf"), &["all", "--runs", "100"]);
    assert_eq!(code, 0, "{said}{trouble}");
    assert_eq!(said.matches(": right: ").count(), 10, "{said}");
}
