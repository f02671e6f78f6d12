//! What was compiled, kept by what it was made of.
//!
//! An entry is a file named by a hash of everything that went in: source, options, compiler, libraries. It is written
//! beside its place and then moved there, and what is read is checked against the hash it was written with.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::Built;

const MAGIC: &[u8; 16] = b"cohesim kernel 1";

/// The hash of something.
pub type Hash = [u8; 32];

/// Hashes parts so that no two lists of parts look alike.
pub fn hash(parts: &[&[u8]]) -> Hash {
    let mut state = Sha256::new();
    for part in parts {
        state.update((part.len() as u64).to_le_bytes());
        state.update(part);
    }
    state.finalize().into()
}

/// The user's folder for things that can be made anew.
pub fn default_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(base.join("cohesim").join("kernels"))
}

fn path(folder: &Path, key: &Hash) -> PathBuf {
    let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    folder.join(name)
}

/// An entry, if it is there and whole.
pub fn find(folder: &Path, key: &Hash) -> Option<Built> {
    let file = fs::read(path(folder, key)).ok()?;
    let (head, body) = file.split_at_checked(MAGIC.len() + 32)?;
    if head[..MAGIC.len()] != *MAGIC || head[MAGIC.len()..] != hash(&[key, body]) {
        return None;
    }
    let (size, rest) = body.split_at_checked(8)?;
    let size = usize::try_from(u64::from_le_bytes(size.try_into().ok()?)).ok()?;
    let (log, bytes) = rest.split_at_checked(size)?;
    Some(Built { bytes: bytes.to_vec(), log: String::from_utf8(log.to_vec()).ok()? })
}

/// Adds an entry.
pub fn keep(folder: &Path, key: &Hash, built: &Built) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let log = built.log.as_bytes();
    let body = [&(log.len() as u64).to_le_bytes(), log, &built.bytes].concat();
    let target = path(folder, key);
    let unique = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    let partial = target.with_extension(unique.replace(['(', ')'], ""));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(MAGIC)?;
        file.write_all(&hash(&[key, &body]))?;
        file.write_all(&body)?;
        file.sync_data()?;
        fs::rename(&partial, &target)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("cohesim-cache-test-{}", std::process::id()));
        let key = hash(&[b"source", b"options"]);
        let built = Built { bytes: vec![1, 2, 3], log: "fine".into() };
        assert_eq!(find(&folder, &key), None);
        keep(&folder, &key, &built).unwrap();
        assert_eq!(find(&folder, &key), Some(built));
        let mut file = fs::read(path(&folder, &key)).unwrap();
        *file.last_mut().unwrap() ^= 1;
        fs::write(path(&folder, &key), &file).unwrap();
        assert_eq!(find(&folder, &key), None, "a damaged entry");
        fs::write(path(&folder, &key), b"short").unwrap();
        assert_eq!(find(&folder, &key), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn lists_of_parts_do_not_run_together() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
