//! C programs that use the C interface: the example, misuse, I/O with and without the interposer, a trace.
//!
//! They need a C compiler. Without one the tests report that they were skipped, unless `COHESIM_REQUIRE_POCL` states
//! that all tools are present.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The folder where cargo puts libraries: beside this test.
fn libraries() -> PathBuf {
    let test = env::current_exe().expect("a test knows itself");
    test.parent().expect("a test lies in a folder").to_owned()
}

/// Compiles a C program against `libadsm.so`; `None` without a compiler.
fn compile(source: &str, name: &str) -> Option<PathBuf> {
    let compiler = ["cc", "clang-19", "gcc", "clang"]
        .into_iter()
        .find(|compiler| Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success()));
    let Some(compiler) = compiler else {
        assert!(env::var_os("COHESIM_REQUIRE_POCL").is_none(), "no C compiler");
        eprintln!("skipped: no C compiler");
        return None;
    };
    let program = libraries().join(format!("adsm-c-{name}"));
    let built = Command::new(compiler)
        .args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-fno-builtin"])
        .arg("-I")
        .arg(here("include"))
        .arg(here(source))
        .arg(libraries().join("libadsm.so"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler was found");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(program)
}

fn run(program: &Path, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries()).env("ADSM_DEVICE", "sim").envs(variables.iter().copied());
    command.output().expect("the program was built")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_example_is_right_with_every_protocol_and_engine() {
    let Some(program) = compile("examples/vecadd.c", "vecadd") else { return };
    for protocol in ["batch", "lazy", "rolling"] {
        for faults in ["mprotect", "userfaultfd", "userfaultfd-user"] {
            let output = run(&program, &[("ADSM_PROTOCOL", protocol), ("ADSM_FAULTS", faults), ("ADSM_BLOCK", "16K")]);
            assert_eq!(text(&output), "right\n", "{protocol} {faults}");
        }
    }
}

#[test]
fn the_example_is_right_on_opencl_s_shared_memory() {
    let Some(program) = compile("examples/vecadd.c", "vecadd-opencl") else { return };
    let output = run(&program, &[("ADSM_DEVICE", "opencl")]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if told.contains("OpenCL can't be used") || told.contains("no platform has one") {
        assert!(env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{told}");
        eprintln!("skipped: {told}");
        return;
    }
    assert_eq!(text(&output), "right\n");
}

#[test]
fn misuse_is_refused_with_words_for_it() {
    let Some(program) = compile("tests/c/misuse.c", "misuse") else { return };
    assert_eq!(text(&run(&program, &[("ADSM_BLOCK", "64K")])), "right\n");
}

#[test]
fn objects_follow_kernels_to_other_devices() {
    let Some(program) = compile("tests/c/devices.c", "devices") else { return };
    for protocol in ["batch", "lazy", "rolling"] {
        let output = run(&program, &[("ADSM_DEVICE", "sim:3"), ("ADSM_PROTOCOL", protocol), ("ADSM_BLOCK", "16K")]);
        assert_eq!(text(&output), "right\n", "{protocol}");
    }
}

#[test]
fn a_setting_that_makes_no_sense_is_reported_by_the_first_call() {
    let Some(program) = compile("examples/vecadd.c", "vecadd-setting") else { return };
    let output = run(&program, &[("ADSM_BLOCK", "12")]);
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("ADSM_BLOCK=12 is not valid: a block is a multiple of the page size"), "{told}");
}

fn io(variables: &[(&str, &str)], file: &str) -> Option<String> {
    let program = compile("tests/c/io.c", &format!("io-{file}"))?;
    let path = env::temp_dir().join(format!("adsm-io-{}-{file}", std::process::id()));
    let mut command = Command::new(&program);
    command.arg(&path).env("LD_LIBRARY_PATH", libraries()).env("ADSM_DEVICE", "sim").env("ADSM_BLOCK", "64K");
    let output = command.envs(variables.iter().copied()).output().expect("the program was built");
    Some(text(&output))
}

/// Builds the interposer. No test may be linked with a library that defines `memcpy`, so cargo does not build it
/// automatically.
fn interposer() -> Option<PathBuf> {
    let folder = libraries().join("adsm-io");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "adsm-io", "--target-dir"])
        .arg(&folder)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs tests, so it is there");
    if !built.status.success() {
        let told = String::from_utf8_lossy(&built.stderr);
        assert!(env::var_os("COHESIM_REQUIRE_POCL").is_none(), "{told}");
        eprintln!("skipped: {told}");
        return None;
    }
    Some(folder.join("debug/libadsm_io.so"))
}

const ALL_RIGHT: &str = "write all\nread all\ncontents right\nfread right\nmemcpy right\n";

#[test]
fn userfaultfd_serves_system_calls() {
    let Some(told) = io(&[("ADSM_FAULTS", "userfaultfd")], "uffd") else { return };
    // An unprivileged user has only the other kind.
    if told.starts_with("write EFAULT") {
        eprintln!("skipped: faults inside the kernel are not served for this user");
        return;
    }
    assert_eq!(told, ALL_RIGHT);
}

#[test]
fn without_an_interposer_other_engines_leave_system_calls_with_efault() {
    for faults in ["mprotect", "userfaultfd-user"] {
        let Some(told) = io(&[("ADSM_FAULTS", faults)], faults) else { return };
        assert!(told.starts_with("write EFAULT\nread EFAULT\n"), "{faults}: {told}");
        assert!(told.ends_with("memcpy right\n"), "{faults}: {told}");
    }
}

#[test]
fn the_interposer_serves_system_calls_with_every_engine() {
    let Some(interposer) = interposer() else { return };
    let preload = interposer.to_str().expect("a plain path");
    for faults in ["mprotect", "userfaultfd", "userfaultfd-user"] {
        let name = format!("preload-{faults}");
        let Some(told) = io(&[("ADSM_FAULTS", faults), ("LD_PRELOAD", preload)], &name) else { return };
        assert_eq!(told, ALL_RIGHT, "{faults}");
    }
}

#[test]
fn a_trace_for_perfetto_names_faults_transfers_and_kernels() {
    let Some(program) = compile("examples/vecadd.c", "vecadd-trace") else { return };
    let file = env::temp_dir().join(format!("adsm-trace-{}.json", std::process::id()));
    text(&run(&program, &[("ADSM_TRACE", file.to_str().expect("a plain path"))]));
    let trace: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::remove_file(&file).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for name in ["fault", "upload", "download", "call", "kernel"] {
        assert!(events.iter().any(|event| event["name"] == name && event["dur"].is_number()), "{name}");
    }
}

#[test]
fn valgrind_finds_neither_bad_accesses_nor_leaks() {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no valgrind");
        return;
    }
    for (source, name, device) in [
        ("examples/vecadd.c", "vecadd-valgrind", "sim"),
        ("tests/c/misuse.c", "misuse-valgrind", "sim"),
        ("tests/c/devices.c", "devices-valgrind", "sim:3"),
    ] {
        let Some(program) = compile(source, name) else { return };
        let mut valgrind = Command::new("valgrind");
        // The thread of the simulated device runs until the end of the process, so its memory is possibly lost, not
        // definitely lost. And registers must be exact at every access, because any access may fault and be served.
        valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
        valgrind
            .args(["--show-leak-kinds=definite", "--vex-iropt-register-updates=allregs-at-mem-access"])
            .arg(&program);
        valgrind.env("LD_LIBRARY_PATH", libraries()).env("ADSM_DEVICE", device).env("ADSM_BLOCK", "64K");
        assert_eq!(text(&valgrind.output().expect("valgrind was found")), "right\n", "{source}");
    }
}
