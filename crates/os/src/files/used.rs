//! Records the files that determine a program's behaviour: its dynamic loader, its libraries, and other files that it
//! maps.
//!
//! A run depends on them as it does on the program's own file. Each is recorded once, with the hash of its contents at
//! first use.

use super::{Kind, OpenFile, description::MappedOpenFile};
use crate::memory::MappedFile;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

/// Paths as the program knows them, with the SHA-256 hash of each file. All clones share one list.
#[derive(Clone, Debug, Default)]
pub struct UsedFiles(Arc<Mutex<BTreeMap<String, [u8; 32]>>>);

impl UsedFiles {
    /// All recorded files, by path.
    pub fn list(&self) -> Vec<(String, [u8; 32])> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().map(|(path, hash)| (path.clone(), *hash)).collect()
    }

    /// Records a file. A file that can't be read is skipped, since the program can't read it either.
    pub(crate) fn note(&self, file: &std::rc::Rc<OpenFile>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(file.kind, Kind::Host { .. } | Kind::Text(_)) || files.contains_key(&file.path) {
            return;
        }
        if let Ok(hash) = hash(&MappedOpenFile(file.clone())) {
            files.insert(file.path.clone(), hash);
        }
    }
}

fn hash(file: &dyn MappedFile) -> io::Result<[u8; 32]> {
    let (mut hash, mut bytes, mut at) = (Sha256::new(), vec![0; 1 << 16], 0);
    loop {
        match file.read_at(at, &mut bytes)? {
            0 => return Ok(hash.finalize().into()),
            count => {
                hash.update(&bytes[..count]);
                at += count as u64;
            }
        }
    }
}
