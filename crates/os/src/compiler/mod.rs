//! The compiler behind `clBuildProgram`: the host's clang, confined.
//!
//! The source comes from an untrusted program, and a compiler can be made to read any file (`#include`, `.incbin`) and
//! to run code (`-fplugin`). Therefore only listed options are allowed (`options`). Included files are read on clang's
//! behalf, as the program itself would read them (`headers`). clang runs confined (`wall`): it can read its own files
//! (`toolchain`) and those of this build (`workspace`), and nothing else. Results are cached by content (`cache`).

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

/// Where the compiler is, and the limits it runs under.
#[derive(Clone, Debug)]
pub struct Settings {
    pub clang: PathBuf,
    /// AMD's device libraries.
    pub device_libs: PathBuf,
    /// The folder of the cache; without one, nothing is cached.
    pub cache: Option<PathBuf>,
    /// The maximum size of the cache in bytes; the least recently used entries are evicted first.
    pub cache_limit: u64,
    /// Whether clang may run where the host can't confine it.
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

/// What to build.
#[derive(Clone, Debug)]
pub enum Job<'a> {
    /// Builds a code object from a source.
    Build { source: &'a [u8] },
    /// Compiles a source to bitcode, with the headers that come with it (names and texts).
    Compile { source: &'a [u8], headers: &'a [(String, Vec<u8>)] },
    /// Links bitcode into a code object or, for a library, into bitcode.
    Link { inputs: &'a [Vec<u8>], library: bool },
}

/// The result of a successful build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub bytes: Vec<u8>,
    /// The compiler's messages.
    pub log: String,
}

/// Why a build failed.
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

/// The compiler as used by one program.
pub struct Compiler {
    settings: Settings,
    /// Located at first use.
    toolchain: OnceCell<Toolchain>,
    /// The files that the program can read.
    view: Option<View>,
    monitor: Monitor,
}

impl Compiler {
    /// Builds are aborted when `monitor` is stopped.
    pub fn new(settings: Settings, monitor: &Monitor) -> Self {
        Self { settings, toolchain: OnceCell::new(), view: None, monitor: monitor.clone() }
    }

    /// Sets which files the program can read from now on.
    pub fn see(&mut self, view: View) {
        self.view = Some(view);
    }

    /// Builds what `job` asks for, or finds it in the cache.
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
                        // A cache that can't be written does not fail the build.
                        let _ = cache::keep(folder, &key, &built, self.settings.cache_limit);
                    }
                    return Ok(built);
                }
                // Clang's log now names a header whose name is built by macros: supply it and try again.
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
