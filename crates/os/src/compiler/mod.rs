//! The compiler behind `clBuildProgram`: the host's clang, kept behind the wall.
//!
//! The source comes from a program that is not trusted, and a compiler can be made to read any file (`#include`, `.incbin`)
//! and to run code (`-fplugin`). So options go through a list of those that are allowed (`options`); what a source includes
//! is read for it, as the program itself would read it (`headers`); and clang runs confined (`wall`): it can read its own
//! files (`toolchain`) and those of this build (`workspace`), and nothing else. What it makes is kept by content (`cache`).

mod cache;
mod child;
pub mod flags;
mod headers;
mod invoke;
mod options;
mod toolchain;
mod wall;
mod workspace;

#[cfg(test)]
mod tests;

use std::{cell::OnceCell, path::PathBuf};

use engine::Monitor;
use thiserror::Error;

use crate::files::View;
use headers::Headers;
use invoke::Invocation;
pub use options::{OptionError, Options, Purpose};
use toolchain::Toolchain;
pub use workspace::abandon;

/// How the compiler is found and held.
#[derive(Clone, Debug)]
pub struct Settings {
    pub clang: PathBuf,
    /// AMD's device libraries.
    pub device_libs: PathBuf,
    /// Where what was compiled is kept; nowhere if none.
    pub cache: Option<PathBuf>,
    /// How large that may become, in bytes: what was used least recently goes first.
    pub cache_limit: u64,
    /// Whether clang may run where nothing can confine it.
    pub allow_unconfined: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            clang: flags::CLANG.into(),
            device_libs: flags::DEVICE_LIBS.into(),
            cache: cache::default_folder(),
            cache_limit: 512 << 20,
            allow_unconfined: false,
        }
    }
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
        "nothing on this computer can confine the compiler (the kernel has no Landlock; Linux 5.13 brought it), and the \
         program's source could make it read any file; --unconfined-compiler runs it nevertheless"
    )]
    Unconfined,
    #[error("the compiler took more than {seconds} s and was stopped")]
    TooLong { seconds: u64 },
    #[error("the compiler was stopped, as the simulation was")]
    Interrupted,
    #[error("{what}: {detail}")]
    System { what: String, detail: String },
}

/// The compiler, as one program uses it.
pub struct Compiler {
    settings: Settings,
    /// Found when it is first needed.
    toolchain: OnceCell<Toolchain>,
    /// What the program can read.
    view: Option<View>,
    monitor: Monitor,
}

impl Compiler {
    /// Builds end when `monitor` is stopped.
    pub fn new(settings: Settings, monitor: &Monitor) -> Self {
        Self { settings, toolchain: OnceCell::new(), view: None, monitor: monitor.clone() }
    }

    /// What the program can read from now on.
    pub fn see(&mut self, view: View) {
        self.view = Some(view);
    }

    /// Makes what is asked for, or finds it in the cache.
    pub fn make(&self, job: &Job<'_>, options: &Options) -> Result<Built, CompileError> {
        let toolchain = self.toolchain()?;
        let (source, given) = match job {
            Job::Build { source } => (*source, &[][..]),
            Job::Compile { source, headers } => (*source, *headers),
            Job::Link { .. } => (&[][..], &[][..]),
        };
        let mut headers = Headers::new(self.view.as_ref(), &options.include, given);
        headers.gather(source)?;
        loop {
            let (allow_unconfined, monitor) = (self.settings.allow_unconfined, &self.monitor);
            let build = Invocation { toolchain, job, options, headers: &headers, allow_unconfined, monitor };
            let kept = self.settings.cache.as_ref().map(|folder| (folder, build.key()));
            if let Some(built) = kept.as_ref().and_then(|(folder, key)| cache::find(folder, key)) {
                return Ok(built);
            }
            match build.make() {
                Ok(built) => {
                    if let Some((folder, key)) = kept {
                        // A cache that can't be written is no reason to fail.
                        let _ = cache::keep(folder, &key, &built, self.settings.cache_limit);
                    }
                    return Ok(built);
                }
                // A name that only macros make is known now.
                Err(CompileError::Refused { log }) if headers.supply(&log)? => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn toolchain(&self) -> Result<&Toolchain, CompileError> {
        if let Some(found) = self.toolchain.get() {
            return Ok(found);
        }
        let found = Toolchain::find(&self.settings)?;
        Ok(self.toolchain.get_or_init(|| found))
    }
}
