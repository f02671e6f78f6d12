//! Reads files of results, which may come from an untrusted source.
//!
//! Links are not followed, so that nothing outside the named folders is shown, and anything but a regular file is not
//! opened: reading a pipe would wait for its writer.

use std::{fs, io, path::Path};

/// Files that the list reads of every run are not longer than this.
pub(crate) const SHORT: u64 = 64 << 20;

/// The bytes of a regular file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link, or no file"));
    }
    if meta.len() > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has {} bytes", meta.len())));
    }
    fs::read(path)
}
