//! Files that the kernel emulates: standard devices, the few files of `/proc` and `/sys` that programs read, and the
//! OpenCL library of dynamically linked programs.
//!
//! `/proc/self/root`, `cwd` and `fd` are left out, since they would lead out of the guest's namespace.

use super::{namespace::Virtual, stdio::Stream};
use crate::process::PID;

/// An emulated file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emulated {
    Null,
    Zero,
    Random,
    Standard(Stream),
    /// The program's executable.
    Program,
    Maps,
    Status,
    CommandLine,
    Statistics,
    CpuInfo,
    MemInfo,
    CpuRange,
    Overcommit,
    /// The OpenCL library of dynamically linked programs.
    OpenCl,
}

/// The contents of [`Emulated::OpenCl`]: the library that `cohesim sdk` writes.
pub const OPENCL: &[u8] = include_bytes!("../../../../sdk/libOpenCL.so.1");

/// The folder of the OpenCL library, for `LD_LIBRARY_PATH`.
pub const LIBRARIES: &str = "/cohesim/lib";

const FILES: [(&str, Emulated); 19] = [
    ("cohesim/lib/libOpenCL.so.1", Emulated::OpenCl),
    ("dev/null", Emulated::Null),
    ("dev/zero", Emulated::Zero),
    ("dev/random", Emulated::Random),
    ("dev/urandom", Emulated::Random),
    ("dev/stdin", Emulated::Standard(Stream::Input)),
    ("dev/stdout", Emulated::Standard(Stream::Output)),
    ("dev/stderr", Emulated::Standard(Stream::Error)),
    ("proc/self/exe", Emulated::Program),
    ("proc/self/maps", Emulated::Maps),
    ("proc/self/status", Emulated::Status),
    ("proc/self/cmdline", Emulated::CommandLine),
    ("proc/self/stat", Emulated::Statistics),
    ("proc/cpuinfo", Emulated::CpuInfo),
    ("proc/meminfo", Emulated::MemInfo),
    ("proc/sys/vm/overcommit_memory", Emulated::Overcommit),
    ("sys/devices/system/cpu/online", Emulated::CpuRange),
    ("sys/devices/system/cpu/possible", Emulated::CpuRange),
    ("sys/devices/system/cpu/present", Emulated::CpuRange),
];

/// A path as text, with the process's number replaced by `self`.
fn text(path: &[Vec<u8>]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for name in path {
        names.push(String::from_utf8(name.clone()).ok()?);
    }
    if names.len() > 1 && names[0] == "proc" && names[1] == PID.to_string() {
        names[1] = "self".into();
    }
    Some(names.join("/"))
}

pub fn lookup(path: &[Vec<u8>]) -> Option<Virtual> {
    let path = text(path)?;
    if let Some((_, file)) = FILES.iter().find(|(name, _)| *name == path) {
        return Some(Virtual::File(*file));
    }
    let inside = |name: &str| path.is_empty() || name.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'));
    FILES.iter().any(|(name, _)| inside(name)).then_some(Virtual::Folder)
}

/// The emulated entries of a folder, and whether each is a folder.
pub fn list(path: &[Vec<u8>]) -> Vec<(Vec<u8>, bool)> {
    let Some(path) = text(path) else { return Vec::new() };
    let below = |name: &&str| -> Option<String> {
        let rest = if path.is_empty() { *name } else { name.strip_prefix(&path)?.strip_prefix('/')? };
        Some(rest.to_string())
    };
    let names = FILES.iter().filter_map(|(name, _)| below(name));
    names
        .map(|rest| match rest.split_once('/') {
            Some((folder, _)) => (folder.as_bytes().to_vec(), true),
            None => (rest.into_bytes(), false),
        })
        .collect()
}
