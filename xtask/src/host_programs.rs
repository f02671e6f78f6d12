//! Builds the host programs of the workloads: one static program file of musl, from C.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::tool::{fingerprint, first_line, run};

/// Where the program file lies that is committed, from the root of the workspace.
pub const COMMITTED: &str = "crates/workloads/guest/workloads.elf";

/// The OpenCL library that it is linked with.
const LIBRARY: &str = "sdk/libOpenCL.a";

/// Whatever the kernels' arithmetic rounds, the references must round alike: no fused operations. Loops are vectorised,
/// since every instruction is an emulated one.
const FLAGS: &str =
    "-std=gnu11 -O3 -Wall -Wextra -Werror -ffp-contract=off -fno-ident -static -Wl,--build-id=none -pthread";

/// Builds the program file at `target`.
pub fn build(root: &Path, target: &Path) -> Result<(), String> {
    // The folder must not matter: sources and the kernels they include are named from here on.
    let folder = root.join("crates/workloads");
    run(
        Command::new("musl-gcc")
            .current_dir(&folder)
            .args(FLAGS.split_whitespace())
            .args(["-Iguest", "-idirafter", "/usr/include"])
            .args(sources(&folder)?)
            .arg(Path::new("../..").join(LIBRARY))
            .arg("-o")
            .arg(target),
        "musl-tools opencl-c-headers",
    )?;
    run(Command::new("objcopy").args(["--strip-all", "--remove-section=.comment"]).arg(target), "binutils")
}

/// What the bytes of the program file depend on beside the sources, as (tool, version).
pub fn tools() -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("gcc", first_line("gcc", "gcc")?),
        ("binutils", first_line("ld", "binutils")?),
        ("musl", fingerprint("/usr/lib/x86_64-linux-musl/libc.a", "musl-tools")?),
    ])
}

/// The C files of the shared part and of every workload, in an order that is always the same.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.join("guest")];
    folders.extend(list(&folder.join("src"))?.into_iter().filter(|path| path.is_dir()));
    for each in folders {
        let files = list(&each)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "c"));
        found.extend(files.map(|path| path.strip_prefix(folder).expect("lies in the folder").to_owned()));
    }
    found.sort();
    Ok(found)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    entries.map(|entry| entry.map(|e| e.path()).map_err(|e| format!("{}: {e}", folder.display()))).collect()
}
