//! The on-disk cache of compiled kernels, addressed by content.
//!
//! An entry is a file named by a hash of everything that went into the build: source, options, compiler, libraries. It
//! is written under a temporary name and then renamed. A reader checks its contents against a stored hash. The total
//! size is bounded, because programs decide how many kernels there are and how large; the least recently used entries
//! are evicted first.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use super::Built;

const MAGIC: &[u8; 16] = b"cohesim kernel 1";

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// Hashes a list of parts; lengths are included, so that different lists with equal concatenations differ.
pub fn hash(parts: &[&[u8]]) -> Hash {
    let mut state = Sha256::new();
    for part in parts {
        state.update((part.len() as u64).to_le_bytes());
        state.update(part);
    }
    state.finalize().into()
}

/// The default cache folder of the user.
pub fn default_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(base.join("cohesim").join("kernels"))
}

fn path(folder: &Path, key: &Hash) -> PathBuf {
    let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    folder.join(name)
}

/// Returns an entry if it exists and is intact.
pub fn find(folder: &Path, key: &Hash) -> Option<Built> {
    let file = fs::read(path(folder, key)).ok()?;
    let (head, body) = file.split_at_checked(MAGIC.len() + 32)?;
    if head[..MAGIC.len()] != *MAGIC || head[MAGIC.len()..] != hash(&[key, body]) {
        return None;
    }
    let (size, rest) = body.split_at_checked(8)?;
    let size = usize::try_from(u64::from_le_bytes(size.try_into().ok()?)).ok()?;
    let (log, bytes) = rest.split_at_checked(size)?;
    let built = Built { bytes: bytes.to_vec(), log: String::from_utf8(log.to_vec()).ok()? };
    // Record the use in the modification time. Where that fails, the entry is only evicted earlier.
    let _ =
        fs::File::options().append(true).open(path(folder, key)).and_then(|file| file.set_modified(SystemTime::now()));
    Some(built)
}

/// Adds an entry, and evicts others so that all entries together take at most `limit` bytes.
pub fn keep(folder: &Path, key: &Hash, built: &Built, limit: u64) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let log = built.log.as_bytes();
    let body = [&(log.len() as u64).to_le_bytes(), log, &built.bytes].concat();
    let target = path(folder, key);
    let size = (MAGIC.len() + 32 + body.len()) as u64;
    evict(folder, limit.checked_sub(size).ok_or(io::ErrorKind::FileTooLarge)?)?;
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

/// Removes the least recently used entries, including partial files of killed runs, until at most `limit` bytes are
/// left.
fn evict(folder: &Path, limit: u64) -> io::Result<()> {
    /// The disk space charged for each file name, so that many small entries can't fill the disk.
    const NAME_COST: u64 = 4096;
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Skip an entry that another run has just removed.
        if let Ok(meta) = entry.metadata().and_then(|meta| Ok((meta.modified()?, meta.len() + NAME_COST))) {
            entries.push((meta, entry.path()));
        }
    }
    entries.sort();
    let mut total: u64 = entries.iter().map(|((_, size), _)| size).sum();
    for ((_, size), path) in entries {
        if total <= limit {
            break;
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => total -= size,
        }
    }
    Ok(())
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
        keep(&folder, &key, &built, 1 << 20).unwrap();
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
    fn the_least_recently_used_entry_is_evicted() {
        let folder = std::env::temp_dir().join(format!("cohesim-cache-room-{}", std::process::id()));
        let built = Built { bytes: vec![7; 10_000], log: String::new() };
        let keys: Vec<Hash> = (0..4_u8).map(|n| hash(&[&[n]])).collect();
        let used = |key: &Hash, seconds: u64| {
            let file = fs::File::options().append(true).open(path(&folder, key)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        };
        let limit = 3 * 15_000;
        for (n, key) in keys[..3].iter().enumerate() {
            keep(&folder, key, &built, limit).unwrap();
            used(key, 100 + n as u64);
        }
        // Entry 0 is used again, so entry 1 is now the oldest.
        assert!(find(&folder, &keys[0]).is_some());
        keep(&folder, &keys[3], &built, limit).unwrap();
        let there: Vec<bool> = keys.iter().map(|key| find(&folder, key).is_some()).collect();
        assert_eq!(there, [true, false, true, true]);
        assert!(keep(&folder, &keys[1], &built, 9_000).is_err(), "one that is larger than all may be");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn lists_of_parts_do_not_run_together() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
