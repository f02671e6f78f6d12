//! The temporary folder of one build.
//!
//! The folder is held open, and all files in it are accessed through that descriptor. So a program that can write the
//! system's temporary folder can't substitute another one.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::fs::DirBuilderExt},
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

/// The workspaces that currently exist.
static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub struct Workspace {
    path: PathBuf,
    folder: OwnedFd,
}

impl Workspace {
    pub fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir().canonicalize()?;
        // An existing name is never reused: the next one is tried.
        for _ in 0..1000 {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("cohesim-cc-{}-{n}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    all().push(path.clone());
                    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let folder = openat(CWD, &path, flags, Mode::empty())?;
                    return Ok(Self { path, folder });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no name was free"))
    }

    pub fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.create(name)?.write_all(bytes)
    }

    /// Reads the beginning of a file, at most `longest` bytes.
    pub fn read(&self, name: &str, longest: u64) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        File::from(file).take(longest).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // A temporary folder that can't be removed is harmless.
        let _ = fs::remove_dir_all(&self.path);
        all().retain(|path| *path != self.path);
    }
}

/// Removes the folders of builds in progress, before this process ends.
pub fn abandon() {
    for path in all().drain(..) {
        let _ = fs::remove_dir_all(path);
    }
}

fn all() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}
