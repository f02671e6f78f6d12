//! Builds the committed program files from C: the host programs of the workloads, the OpenMP versions of some, and the
//! litmus tests. Each is one static file that holds several programs.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use os::{
    End, Options, Process,
    files::Stdio,
    opencl::{Driver, Settings},
};
use workloads::{ALL, CPU_PROGRAMS};

use crate::tool::{fingerprint, first_line, run};

/// Flags of every program file. The references must round like the kernels, so fused operations are disabled.
const FLAGS: &str =
    "-std=gnu11 -Wall -Wextra -Werror -ffp-contract=off -fno-ident -static -Wl,--build-id=none -pthread";

/// A program file.
pub struct ProgramFile {
    /// Its name for people.
    pub what: &'static str,
    /// Path of the committed file, from the root of the workspace.
    pub committed: &'static str,
    compiler: &'static str,
    /// Flags in addition to [`FLAGS`].
    flags: &'static str,
    /// Selects the C files of `crates/workloads` that it is built from.
    holds: fn(&str) -> bool,
    /// Linked after the sources.
    libraries: &'static [&'static str],
    /// Debian packages needed to build it.
    packages: &'static str,
    /// Arguments with which its programs check themselves.
    checks: fn() -> Vec<Vec<&'static str>>,
}

/// All committed program files.
pub static FILES: &[ProgramFile] = &[
    // Loops are vectorised, because every instruction is emulated.
    ProgramFile {
        what: "the host programs",
        committed: "crates/workloads/guest/workloads.elf",
        compiler: "musl-gcc",
        flags: "-O3 -fno-math-errno -Iguest -idirafter /usr/include",
        holds: |source| {
            let (folder, name) = source.rsplit_once('/').expect("sources lie in folders");
            folder == "guest" || (folder.starts_with("src/") && !name.ends_with("_omp.c"))
        },
        libraries: &["../../sdk/libOpenCL.a"],
        packages: "musl-tools opencl-c-headers",
        checks: || ALL.iter().map(|workload| vec![workload.name, "--size", "tiny"]).collect(),
    },
    // Built with usual options, because these programs are compared with native runs.
    ProgramFile {
        what: "the OpenMP programs",
        committed: "crates/workloads/guest/openmp.elf",
        compiler: "gcc",
        flags: "-O2 -fopenmp -Iguest",
        holds: |source| {
            const SHARED: [&str; 5] =
                ["guest/check.c", "guest/main.c", "guest/memory.c", "guest/random.c", "guest/region.c"];
            SHARED.contains(&source) || source.starts_with("guest/openmp/") || source.ends_with("_omp.c")
        },
        libraries: &["-lm"],
        packages: "gcc libc6-dev",
        checks: || {
            let openmp = CPU_PROGRAMS.iter().filter(|program| program.name.ends_with("-omp"));
            openmp.map(|program| vec![program.name, "--size", "tiny", "--threads", "3"]).collect()
        },
    },
    ProgramFile {
        what: "the litmus tests",
        committed: "crates/workloads/guest/litmus.elf",
        compiler: "musl-gcc",
        flags: "-O2",
        holds: |source| source.starts_with("guest/litmus/"),
        libraries: &[],
        packages: "musl-tools",
        checks: || vec![vec!["litmus", "all", "--runs", "20"]],
    },
    ProgramFile {
        what: "the microbenchmarks of cores",
        committed: "crates/workloads/guest/probes.elf",
        compiler: "musl-gcc",
        flags: "-O2",
        holds: |source| source.starts_with("guest/probes/"),
        libraries: &[],
        packages: "musl-tools",
        checks: || vec![vec!["core-probes", "l1"]],
    },
];

impl ProgramFile {
    /// Builds the program file at `target`.
    pub fn build(&self, root: &Path, target: &Path) -> Result<(), String> {
        // The result must not depend on the folder: sources and included kernels are named relative to this one.
        let folder = root.join("crates/workloads");
        let sources = sources(&folder)?.into_iter().filter(|source| (self.holds)(source));
        run(
            Command::new(self.compiler)
                .current_dir(&folder)
                .args(FLAGS.split_whitespace())
                .args(self.flags.split_whitespace())
                .args(sources)
                .args(self.libraries)
                .arg("-o")
                .arg(target),
            self.packages,
        )?;
        run(Command::new("objcopy").args(["--strip-all", "--remove-section=.comment"]).arg(target), "binutils")
    }

    /// Runs every program of a file inside cohesim; returns the failures.
    pub fn self_check(&self, image: &[u8]) -> Vec<String> {
        (self.checks)().iter().filter_map(|call| run_inside(image, call).err()).collect()
    }
}

fn run_inside(image: &[u8], call: &[&str]) -> Result<(), String> {
    let name = call[0];
    let mut options = Options::new(format!("/workloads/{name}"));
    options.arguments.extend(call[1..].iter().map(|&argument| argument.into()));
    options.stdio = Stdio::new(io::empty(), io::sink(), io::stderr());
    options.driver = Box::new(Driver::new(Settings::default()));
    let mut process = Process::start(image, options).map_err(|e| format!("{name}: {e}"))?;
    match process.run() {
        End::Exited { code: 0 } => Ok(()),
        end => Err(format!("{name} {end}")),
    }
}

/// Tools and libraries that determine the bytes of the program files, besides the sources, as (tool, version).
pub fn tools() -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("gcc", first_line("gcc", "gcc")?),
        ("binutils", first_line("ld", "binutils")?),
        ("musl", fingerprint("/usr/lib/x86_64-linux-musl/libc.a", "musl-tools")?),
        ("glibc", fingerprint("/usr/lib/x86_64-linux-gnu/libc.a", "libc6-dev")?),
        ("libgomp", fingerprint(&library("libgomp.a")?, "gcc")?),
    ])
}

/// The path at which gcc finds one of its libraries.
fn library(name: &str) -> Result<String, String> {
    let output = Command::new("gcc").arg(format!("-print-file-name={name}")).output();
    let output = output.map_err(|e| format!("gcc: {e} (Debian packages: gcc)"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The C files of the shared parts and of every workload, in a fixed order.
fn sources(folder: &Path) -> Result<Vec<String>, String> {
    let mut folders = vec![folder.join("guest")];
    for parent in ["guest", "src"] {
        folders.extend(list(&folder.join(parent))?.into_iter().filter(|path| path.is_dir()));
    }
    let mut found = Vec::new();
    for each in folders {
        let files = list(&each)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "c"));
        let name = |path: PathBuf| path.strip_prefix(folder).expect("lies in the folder").display().to_string();
        found.extend(files.map(name));
    }
    found.sort();
    Ok(found)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    entries.map(|entry| entry.map(|e| e.path()).map_err(|e| format!("{}: {e}", folder.display()))).collect()
}
