//! Compiles OpenCL C for gfx803, with the flags of `cohesim cc`.

use std::{path::Path, process::Command};

use crate::tool::{fingerprint, first_line, run};

const CLANG: &str = "clang-19";
const OBJCOPY: &str = "llvm-objcopy-19";
const DEVICE_LIBS: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

/// Compiles `source` (a path) to a code object of version 5 at `object`, without the sections that name the tools.
pub fn compile(source: &Path, object: &Path, more_flags: &[&str]) -> Result<(), String> {
    // The result must not depend on the folder: compile from the source's own folder, by its bare name.
    let folder = source.parent().ok_or_else(|| format!("{} has no folder", source.display()))?;
    let name = source.file_name().ok_or_else(|| format!("{} is not a file", source.display()))?;
    run(
        Command::new(CLANG)
            .current_dir(folder)
            .args(["-w", "-x", "cl", "-cl-std=CL1.2", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803", "-O2"])
            .args(["-mcode-object-version=5", &format!("--rocm-device-lib-path={DEVICE_LIBS}")])
            .args(more_flags)
            .arg(name)
            .arg("-o")
            .arg(object),
        "clang-19 lld-19 rocm-device-libs",
    )?;
    run(Command::new(OBJCOPY).args(["--strip-all", "--remove-section=.comment"]).arg(object), "llvm-19")
}

/// The tools that determine the bytes of a code object, as (tool, version).
pub fn tools() -> Result<Vec<(&'static str, String)>, String> {
    let mut tools = vec![
        ("clang", first_line(CLANG, "clang-19")?),
        ("lld", first_line("ld.lld-19", "lld-19")?),
        ("objcopy", first_line(OBJCOPY, "llvm-19")?),
    ];
    for library in ["opencl", "ocml", "ockl"] {
        tools.push((library, fingerprint(&format!("{DEVICE_LIBS}/{library}.bc"), "rocm-device-libs")?));
    }
    Ok(tools)
}
