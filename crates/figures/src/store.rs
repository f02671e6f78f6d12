//! Results of runs, stored under the inputs that determine them.
//!
//! An entry is a file named by a hash of the simulator, the resolved machine, the program, its arguments and the
//! counted statistics. Its first line is the hash of the rest, which is JSON. The file is written under a temporary
//! name and then renamed. An entry that was changed later is recognised as damaged and not used.

use crate::{Job, Measured, run::Prepared};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// The simulator's version, on which results depend.
    simulator: Vec<u8>,
}

/// A result can't be stored.
#[derive(Debug, Error)]
#[error("can't keep a result in '{}': {source}", path.display())]
pub struct StoreError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// The stored state of a run.
pub(crate) enum Kept {
    Nothing,
    Whole(Measured),
    /// The file is not as it was written.
    Damaged,
}

/// The contents of an entry: the run, and its result.
#[derive(Serialize, Deserialize)]
struct Entry {
    key: String,
    job: Job,
    measured: Measured,
}

impl Store {
    /// A store in a folder, which is created with the first result. `simulator` is its version or a hash of its
    /// executable: results are found only by the same simulator.
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
        // Each part is preceded by its length, so that different lists never give the same bytes.
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

    /// Checks that results can be stored, before a run takes hours.
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
            // The partial file is useless; failing to remove it changes nothing.
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

/// The entry of a file, if the file is as it was written.
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
