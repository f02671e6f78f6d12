//! External programs: runs them, and identifies their versions.

use std::{fs, process::Command};

/// Marks the error of a compiler that crashed instead of rejecting a program.
pub const CRASHED: &str = "crashed";

/// The line of a tool's `--version` output that contains the version.
pub fn first_line(tool: &str, package: &str) -> Result<String, String> {
    let output = Command::new(tool).arg("--version").output().map_err(|e| missing(tool, &e, package))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.chars().any(|c| c.is_ascii_digit()));
    line.map(|line| line.trim().to_owned()).ok_or_else(|| format!("{tool} --version says no number"))
}

/// A hash that identifies a file without a version number (FNV-1a of its bytes).
pub fn fingerprint(path: &str, package: &str) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|e| format!("{path}: {e} (install the package {package})"))?;
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    Ok(format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)))
}

/// Runs a tool to its end; an error has the tool's output, or the Debian packages that provide it.
pub fn run(command: &mut Command, packages: &str) -> Result<(), String> {
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
