//! The installed compiler: clang, its linker, and exactly those files of the host that the two need.
//!
//! A kernel's source can read whatever these programs can read (`.incbin`). So this lists single files rather than
//! system folders, all of them installed from public packages: the programs, the shared libraries they are linked with
//! (as the dynamic loader reports them), the compiler's own headers, and AMD's device libraries.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{CompileError, Settings};

#[derive(Clone, Debug)]
pub struct Toolchain {
    pub clang: PathBuf,
    /// None if it is not installed.
    linker: Option<PathBuf>,
    /// clang's own folder; its headers are in `include`.
    pub resources: PathBuf,
    pub device_libs: PathBuf,
    /// Shared libraries and the dynamic loader, at the paths that the loader reports.
    libraries: Vec<PathBuf>,
}

impl Toolchain {
    pub fn find(settings: &Settings) -> Result<Self, CompileError> {
        let missing = || CompileError::NoCompiler { clang: settings.clang.clone() };
        let clang = locate(&settings.clang).ok_or_else(missing)?;
        if !settings.device_libs.join("ocml.bc").is_file() {
            return Err(CompileError::NoLibraries { folder: settings.device_libs.clone() });
        }
        let device_libs = settings.device_libs.canonicalize().unwrap_or_else(|_| settings.device_libs.clone());
        let resources = resources(&clang).ok_or_else(missing)?;
        let beside = clang.parent().map(|folder| folder.join("ld.lld")).filter(|path| path.is_file());
        let linker = beside.or_else(|| ["ld.lld-19", "ld.lld"].iter().find_map(|name| locate(Path::new(name))));
        let mut libraries = loaded(&clang);
        for library in linker.iter().flat_map(|linker| loaded(linker)) {
            if !libraries.contains(&library) {
                libraries.push(library);
            }
        }
        Ok(Self { clang, linker, resources, device_libs, libraries })
    }

    pub fn linker(&self) -> Result<&Path, CompileError> {
        self.linker.as_deref().ok_or(CompileError::NoLinker)
    }

    pub fn headers(&self) -> PathBuf {
        self.resources.join("include")
    }

    /// Files that are executed, or mapped executable.
    pub fn programs(&self) -> impl Iterator<Item = &Path> {
        [&self.clang].into_iter().chain(&self.linker).chain(&self.libraries).map(PathBuf::as_path)
    }

    /// Folders that are only read.
    pub fn folders(&self) -> [PathBuf; 2] {
        [self.headers(), self.device_libs.clone()]
    }

    /// Where the loader looks for libraries, so that it does not need the host's library cache file.
    pub fn library_path(&self) -> OsString {
        let mut folders: Vec<&Path> = Vec::new();
        for folder in self.libraries.iter().filter_map(|library| library.parent()) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        std::env::join_paths(folders).unwrap_or_default()
    }

    /// Everything besides its input that a result can depend on: path, size and modification time of each file.
    pub fn identity(&self) -> Vec<u8> {
        let mut files: Vec<PathBuf> = self.programs().map(Path::to_owned).collect();
        for folder in self.folders() {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            inside.sort();
            files.extend(inside);
        }
        let described = files.iter().map(|path| {
            let meta = fs::metadata(path).ok();
            let modified = meta.as_ref().and_then(|meta| meta.modified().ok());
            format!("{path:?} {:?} {modified:?}\n", meta.map(|meta| meta.len()))
        });
        described.collect::<String>().into_bytes()
    }
}

/// Finds a program that is given by name.
fn locate(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.canonicalize().ok();
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())?.canonicalize().ok()
}

/// The folder of clang's own files: next to clang, named by its version. The newest, if there are several.
fn resources(clang: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(clang.parent()?.parent()?.join("lib/clang")).ok()?.flatten();
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path()).collect();
    found.retain(|path| path.join("include/opencl-c-base.h").is_file());
    found.sort();
    found.pop()
}

/// The shared libraries of a program, as the dynamic loader reports them. The program itself is not executed.
fn loaded(program: &Path) -> Vec<PathBuf> {
    let mut command = Command::new(program);
    command.env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null()).stderr(Stdio::null());
    let Ok(output) = command.output() else { return Vec::new() };
    // `libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x7f..)`; for the loader itself, `/lib64/ld-linux-x86-64.so.2
    // (0x7f..)`.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from))
        .collect()
}
