//! Runs whole programs in cohesim and in `qemu-x86_64`, and compares their output and exit codes.
//!
//! The programs next to this file are compiled by the host's compilers, each in several ways, and linked statically
//! with the C library. So start-up code, `printf`, `malloc`, `memcpy`, exceptions and unwinding are tested as well.
//! QEMU models a processor without AVX and FMA, so that the C library picks the same variants of its functions.

use crate::guests::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A source, its compiler, and the libraries to link.
const PROGRAMS: [(&str, &str, &[&str]); 4] =
    [("numbers.c", "gcc", &["-lm"]), ("memory.c", "gcc", &[]), ("integers.c", "gcc", &[]), ("objects.cpp", "g++", &[])];

const WAYS: [&[&str]; 5] = [&["-O0"], &["-O2"], &["-O3"], &["-O2", "-msse4.2"], &["-Os", "-mfpmath=387"]];

/// `diff-programs [--cohesim PATH]`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let cohesim = match arguments {
        [] => build(root)?,
        [flag, path] if flag == "--cohesim" => PathBuf::from(path),
        _ => return Err("usage: cargo xtask diff-programs [--cohesim PATH]".to_owned()),
    };
    let scratch = Scratch::new("programs")?;
    let mut different = Vec::new();
    let mut count = 0;
    for (source, compiler, libraries) in PROGRAMS {
        for way in WAYS {
            let name = format!("{source} {}", way.join(" "));
            let program = scratch.0.join(format!("{source}{}", way.concat()));
            let path = root.join("xtask/src/diff_programs").join(source);
            let mut compile = Command::new(compiler);
            compile.args(way).arg("-static").arg("-o").arg(&program).arg(path).args(libraries);
            succeed(&mut compile).map_err(|error| format!("{name}: {error}"))?;
            let qemu = output(Command::new("qemu-x86_64").args(["-cpu", "Nehalem"]).arg(&program))?;
            let ours = output(Command::new(&cohesim).args(["run", "--functional"]).arg(&program))?;
            count += 1;
            match difference(&qemu, &ours) {
                None => println!("{name}: {} bytes, the same", ours.stdout.len()),
                Some(text) => different.push(format!("{name}:\n{text}")),
            }
        }
    }
    if different.is_empty() {
        Ok(format!("programs: {count} behave in cohesim as in qemu-x86_64"))
    } else {
        Err(format!("{} of {count} programs differ:\n{}", different.len(), different.join("\n")))
    }
}

/// Builds `cohesim` and returns its path.
pub fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    succeed(Command::new(cargo).args(["build", "--release", "--package", "cohesim"]).current_dir(root))?;
    Ok(root.join("target/release/cohesim"))
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| format!("{:?} could not be started: {error}", command.get_program()))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let output = output(command)?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{:?} failed:\n{error}", command.get_program())) }
}

/// The first line that differs, or the exit codes.
fn difference(qemu: &Output, ours: &Output) -> Option<String> {
    let (theirs, own) = (String::from_utf8_lossy(&qemu.stdout), String::from_utf8_lossy(&ours.stdout));
    if let Some((number, (theirs, own))) =
        theirs.lines().zip(own.lines()).enumerate().find(|(_, (theirs, own))| theirs != own)
    {
        return Some(format!("  line {}:\n    qemu    {theirs}\n    cohesim {own}", number + 1));
    }
    let ends = (qemu.status.code(), ours.status.code(), theirs.lines().count(), own.lines().count());
    let error = String::from_utf8_lossy(&ours.stderr);
    (ends.0 != ends.1 || ends.2 != ends.3).then(|| {
        format!("  qemu exit code {:?}, {} lines; cohesim {:?}, {} lines\n{error}", ends.0, ends.2, ends.1, ends.3)
    })
}
