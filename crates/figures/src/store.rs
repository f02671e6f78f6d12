//! Results of runs, kept by what they depend on.
//!
//! An entry is a file named by a hash of the simulator, the resolved machine, the program, its arguments and what is counted: a line with the
//! hash of the rest, which is JSON. It is written beside its place and then moved there; one that was changed since is damaged
//! and is not used.

use crate::{Job, Measured, run::Prepared};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Where results are kept.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// What else a result depends on: the version of the simulator.
    simulator: Vec<u8>,
}

/// A result can't be kept.
#[derive(Debug, Error)]
#[error("can't keep a result in '{}': {source}", path.display())]
pub struct StoreError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// What is there of a run.
pub(crate) enum Kept {
    Nothing,
    Whole(Measured),
    /// A file that is not as it was written.
    Damaged,
}

/// The file of an entry: what it is of, and what came out.
#[derive(Serialize, Deserialize)]
struct Entry {
    key: String,
    job: Job,
    measured: Measured,
}

impl Store {
    /// A store in a folder, which is made when there is something to keep. Results of a `simulator` are found by the same
    /// one only: its version, or a hash of its executable.
    pub fn new(folder: impl Into<PathBuf>, simulator: &[u8]) -> Self {
        Self { folder: folder.into(), simulator: simulator.to_vec() }
    }

    /// The user's folder for results.
    pub fn default_folder() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
        Some(base.join("cohesim").join("results"))
    }

    pub(crate) fn key(&self, job: &Job, prepared: &Prepared) -> String {
        let mut hash = Sha256::new();
        // Each part with its length, so that no two lists run together to the same bytes.
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(env!("CARGO_PKG_VERSION").as_bytes());
        part(&self.simulator);
        part(prepared.machine.resolved.as_bytes());
        part(prepared.image);
        part(&(job.arguments.len() as u64).to_le_bytes());
        let words = std::iter::once(&job.program).chain(&job.arguments).chain(&job.counts);
        words.for_each(|word| part(word.as_bytes()));
        hex(&hash.finalize())
    }

    /// Finds out whether results can be kept, before a run takes hours.
    pub fn check(&self) -> Result<(), StoreError> {
        let probe = self.folder.join(format!(".probe.{}.partial", std::process::id()));
        let made = fs::create_dir_all(&self.folder).and_then(|()| fs::write(&probe, b"it can be written"));
        _ = fs::remove_file(&probe);
        made.map_err(|source| StoreError { path: self.folder.clone(), source })
    }

    pub(crate) fn find(&self, key: &str) -> Kept {
        let file = match fs::read(self.path(key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Kept::Nothing,
            file => file.unwrap_or_default(),
        };
        whole(&file).filter(|entry| entry.key == key).map_or(Kept::Damaged, |entry| Kept::Whole(entry.measured))
    }

    pub(crate) fn keep(&self, key: &str, job: &Job, measured: &Measured) -> Result<(), StoreError> {
        let path = self.path(key);
        let entry = Entry { key: key.into(), job: job.clone(), measured: measured.clone() };
        let partial = self.folder.join(format!(".{key}.{}.partial", std::process::id()));
        write(&self.folder, &partial, &path, &entry).map_err(|source| {
            // Whatever is left of it is of no use; that it can't be removed either changes nothing.
            _ = fs::remove_file(&partial);
            StoreError { path, source }
        })
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.result"))
    }
}

fn write(folder: &Path, partial: &Path, path: &Path, entry: &Entry) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let text = serde_json::to_vec_pretty(entry)?;
    fs::write(partial, [digest(&text).as_bytes(), b"\n", &text].concat())?;
    fs::rename(partial, path)
}

/// The entry of a file, if that is as it was written.
fn whole(file: &[u8]) -> Option<Entry> {
    let end = file.iter().position(|byte| *byte == b'\n')?;
    let (noted, text) = (&file[..end], &file[end + 1..]);
    if noted == digest(text).as_bytes() { serde_json::from_slice(text).ok() } else { None }
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
