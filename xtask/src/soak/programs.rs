//! The programs of the soak test: the built-in ones, and those built here with gcc.

use std::{fs, path::Path, process::Command};

pub type Words = Vec<String>;

/// A program, how it is started, and its expected end.
pub struct Program {
    pub name: String,
    /// The argument of `cohesim run`.
    pub path: String,
    pub arguments: Words,
    /// The expected exit code; `None`: that of the functional run.
    pub code: Option<i32>,
    /// Whether it gets a writable folder, `/out`.
    pub writes: bool,
    /// Whether its output depends on the order of accesses; then its exit code says whether the output is right.
    pub varies: bool,
    /// Whether it needs fine-grained sharing of memory between host and GPU.
    pub shares: bool,
}

/// Source, further compiler flags, arguments, exit code.
const GUESTS: &[(&str, &[&str], &[&str], i32)] = &[
    ("xtask/src/soak/programs/sleeps.c", &["-pthread"], &[], 0),
    ("xtask/src/soak/programs/alarm_left.c", &["-pthread"], &[], 3),
    ("xtask/src/soak/programs/interval_timer.c", &[], &[], 0),
    ("xtask/src/soak/programs/mutexes.c", &["-pthread"], &[], 0),
    ("xtask/src/soak/programs/barriers.c", &["-pthread"], &[], 0),
    ("xtask/src/soak/programs/thread_waves.c", &["-pthread"], &[], 0),
    ("xtask/src/soak/programs/mappings.c", &[], &[], 0),
    ("xtask/src/soak/programs/threads_map.c", &["-pthread"], &[], 0),
    ("xtask/src/soak/programs/heap.c", &[], &[], 0),
    ("xtask/src/soak/programs/read_files.c", &[], &["input"], 0),
    ("xtask/src/soak/programs/write_files.c", &[], &["/out"], 0),
    ("xtask/src/soak/programs/pipe_threads.c", &["-pthread"], &[], 0),
    ("xtask/src/soak/programs/signal_mix.c", &["-pthread"], &[], 143),
    ("xtask/src/soak/programs/cl_spills.c", OPENCL, &[], 0),
    ("xtask/src/soak/programs/cl_transfers.c", OPENCL, &[], 0),
    ("xtask/src/soak/programs/cl_queues.c", OPENCL, &[], 0),
    ("xtask/src/soak/programs/cl_svm.c", OPENCL, &[], 0),
    ("tests/guests/average.c", OPENCL, &[], 0),
    ("tests/guests/saxpy_macros.c", OPENCL, &[], 0),
    ("tests/guests/life_classes.cpp", OPENCL, &[], 0),
    ("tests/guests/pipeline_events.c", OPENCL, &[], 0),
    ("tests/guests/svm_list.c", OPENCL, &[], 0),
    ("tests/guests/image_blur.c", OPENCL, &[], 0),
    ("tests/guests/openmp_threads.c", &["-fopenmp", "-lm"], &[], 0),
    ("tests/guests/streams_exceptions.cpp", &["-pthread"], &[], 0),
    ("tests/guests/unprotect_handler.c", &[], &[], 0),
];

const OPENCL: &[&str] = &["-Lsdk", "-lOpenCL", "-pthread", "-lm"];

/// Every program; those of `GUESTS` are built in `folder`.
pub fn all(root: &Path, folder: &Path) -> Result<Vec<Program>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let input: Vec<u8> = (0..20_000_u32).map(|n| ((n * n) >> 3) as u8).collect();
    fs::write(folder.join("input"), input).map_err(failed)?;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Words>();
    let built_in = |name: &str, arguments: &[&str]| Program {
        name: name.to_owned(),
        path: name.to_owned(),
        arguments: words(arguments),
        code: Some(0),
        writes: false,
        varies: name == "litmus",
        shares: false,
    };
    let mut all = Vec::new();
    for &(source, flags, arguments, code) in GUESTS {
        let name = Path::new(source).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        build(root, source, flags, &folder.join(&name))?;
        let (writes, shares) = (name == "write_files", name == "svm_list");
        let (path, arguments) = (format!("./{name}"), words(arguments));
        all.push(Program { name, path, arguments, code: Some(code), writes, varies: false, shares });
    }
    all.extend(workloads::ALL.iter().map(|workload| built_in(workload.name, &["--size", "tiny"])));
    // Microbenchmarks print times, which differ from those of a functional run.
    for program in workloads::CPU_PROGRAMS.iter().filter(|program| program.name != "core-probes") {
        let arguments: &[&str] =
            if program.name == "litmus" { &["all", "--runs", "5"] } else { &["--size", "tiny", "--threads", "4"] };
        all.push(built_in(program.name, arguments));
    }
    for name in ["backprop", "matmul", "edge", "knn", "write"] {
        let mut shared = built_in(name, &["--size", "tiny", "--cpu-share", "50", "--threads", "4"]);
        shared.name = format!("{name}-shared");
        all.push(shared);
    }
    Ok(all)
}

fn build(root: &Path, source: &str, flags: &[&str], program: &Path) -> Result<(), String> {
    let (compiler, standard) = if source.ends_with(".cpp") { ("g++", "-std=c++17") } else { ("gcc", "-std=gnu11") };
    let mut command = Command::new(compiler);
    command.current_dir(root).args([standard, "-O2", "-w", "-static", "-o"]).arg(program).arg(source).args(flags);
    let output = command.output().map_err(|error| format!("{compiler} can't be started: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{source} can't be built:\n{errors}")) }
}
