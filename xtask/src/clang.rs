//! Compiles OpenCL C for gfx803, with the flags of `cohesim cc`.

use std::{fs, path::Path, process::Command};

const CLANG: &str = "clang-19";
const OBJCOPY: &str = "llvm-objcopy-19";
const DEVICE_LIBS: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

/// What an error says when the compiler did not refuse a program but broke down on it.
pub const CRASHED: &str = "crashed";

/// Builds `source` (a path) to a code object of version 5 at `object`, without the parts that name the tools.
pub fn compile(source: &Path, object: &Path, more_flags: &[&str]) -> Result<(), String> {
    // The folder of a source must not matter: compile by its bare name, from there.
    let folder = source.parent().ok_or_else(|| format!("{} has no folder", source.display()))?;
    let name = source.file_name().ok_or_else(|| format!("{} is no file", source.display()))?;
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

/// What the bytes of a code object depend on, as (tool, version).
pub fn tools() -> Result<Vec<(&'static str, String)>, String> {
    let mut tools = vec![
        ("clang", first_line(CLANG, "clang-19")?),
        ("lld", first_line("ld.lld-19", "lld-19")?),
        ("objcopy", first_line(OBJCOPY, "llvm-19")?),
    ];
    for library in ["opencl", "ocml", "ockl"] {
        let path = format!("{DEVICE_LIBS}/{library}.bc");
        let bytes = fs::read(&path).map_err(|e| format!("{path}: {e} (install the package rocm-device-libs)"))?;
        tools.push((library, format!("{:016x}", fingerprint(&bytes))));
    }
    Ok(tools)
}

/// A line of a tool's answer to `--version` that holds the number.
fn first_line(tool: &str, package: &str) -> Result<String, String> {
    let output = Command::new(tool).arg("--version").output().map_err(|e| missing(tool, &e, package))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.chars().any(|c| c.is_ascii_digit()));
    line.map(|line| line.trim().to_owned()).ok_or_else(|| format!("{tool} --version says no number"))
}

/// FNV-1a: the device libraries carry no version of their own.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn run(command: &mut Command, packages: &str) -> Result<(), String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| missing(&tool, &e, packages))?;
    if output.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        let how = if said.contains("PLEASE submit a bug report") { CRASHED } else { "failed" };
        Err(format!("{tool} {how}:\n{said}"))
    }
}

fn missing(tool: &str, error: &std::io::Error, packages: &str) -> String {
    format!("{tool}: {error} (Debian packages: {packages})")
}
