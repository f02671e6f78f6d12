//! The compiler behind `clBuildProgram`: the host's clang, kept behind the wall.
//!
//! The source comes from a program that nobody trusts, and a compiler can be made to read any file (`#include`,
//! `.incbin`) and to run code (`-fplugin`). So options go through a list of those that are allowed (`options`), and
//! clang runs confined (`wall`): it sees its own files, a folder of its own, and what the program itself may read. What
//! it makes is kept by content (`cache`).

mod cache;
pub mod flags;
mod invoke;
mod options;
mod wall;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use thiserror::Error;

pub use options::{OptionError, Options, Purpose};

/// How the compiler is found and held.
#[derive(Clone, Debug)]
pub struct Settings {
    pub clang: PathBuf,
    /// AMD's device libraries.
    pub device_libs: PathBuf,
    /// Where what was compiled is kept; nowhere if none.
    pub cache: Option<PathBuf>,
    /// Whether clang may run where nothing can confine it.
    pub allow_unconfined: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            clang: flags::CLANG.into(),
            device_libs: flags::DEVICE_LIBS.into(),
            cache: cache::default_folder(),
            allow_unconfined: false,
        }
    }
}

/// A folder that the program may read, and what it calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub host: PathBuf,
    pub guest: String,
}

/// What is to be made.
#[derive(Clone, Debug)]
pub enum Job<'a> {
    /// A code object of a source.
    Build { source: &'a [u8] },
    /// Bitcode of a source, with the headers that come with it: their names and texts.
    Compile { source: &'a [u8], headers: &'a [(String, Vec<u8>)] },
    /// A code object (or, for a library, bitcode) of bitcode.
    Link { inputs: &'a [Vec<u8>], library: bool },
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub bytes: Vec<u8>,
    /// The compiler's messages.
    pub log: String,
}

/// Why nothing came out.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CompileError {
    /// The source is wrong; the log says where.
    #[error("{log}")]
    Refused { log: String },
    #[error(
        "the compiler '{}' is not installed; on Debian: apt install clang-19 lld-19 rocm-device-libs. Programs built \
         beforehand (clCreateProgramWithBinary with what `cohesim cc` writes) run without it", .clang.display()
    )]
    NoCompiler { clang: PathBuf },
    #[error(
        "AMD's device libraries are not in '{}'; on Debian: apt install rocm-device-libs", .folder.display()
    )]
    NoLibraries { folder: PathBuf },
    #[error("the linker of clang is not installed; on Debian: apt install lld-19")]
    NoLinker,
    #[error(
        "nothing on this computer can confine the compiler (no Landlock in the kernel, no bubblewrap installed), and \
         the program's source could make it read any file; --unconfined-compiler runs it nevertheless"
    )]
    Unconfined,
    #[error("the compiler took more than {seconds} s and was stopped")]
    TooLong { seconds: u64 },
    #[error("{what}: {detail}")]
    System { what: String, detail: String },
}

/// The compiler.
#[derive(Clone, Debug)]
pub struct Compiler {
    settings: Settings,
}

impl Compiler {
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Makes what is asked for, or finds it in the cache. `folders`: what the program may read; the last one is searched
    /// for headers when those of the options have been.
    pub fn make(&self, job: &Job<'_>, options: &Options, folders: &[Folder]) -> Result<Built, CompileError> {
        let run = invoke::Invocation::new(&self.settings, job, options, folders)?;
        let Some(cache) = &self.settings.cache else { return run.make() };
        let Some(key) = run.key()? else { return run.make() };
        if let Some(built) = cache::find(cache, &key) {
            return Ok(built);
        }
        let built = run.make()?;
        // A cache that can't be written is no reason to fail.
        let _ = cache::keep(cache, &key, &built);
        Ok(built)
    }
}
