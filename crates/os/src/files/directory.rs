//! Folder listings.

use super::{
    Namespace,
    walk::{Place, Step, names_of},
};
use crate::errno::Errno;
use rustix::fs::{Dir, Mode, OFlags, openat};
use std::rc::Rc;

/// Listings are truncated to this many entries, so that a guest can't exhaust the host's memory.
const MOST_ENTRIES: usize = 1 << 20;

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: Vec<u8>,
    pub inode: u64,
    /// As in `struct dirent`: 4 for folders, 8 for files, 10 for links.
    pub kind: u8,
}

const FOLDER: u8 = 4;
const FILE: u8 = 8;

impl Namespace {
    /// The entries of a folder, sorted, since the host's order could differ from run to run.
    pub fn entries(&self, steps: &[Step]) -> Result<Rc<[Entry]>, Errno> {
        let path = names_of(steps);
        let mut entries = Vec::new();
        match &steps.last().expect("a folder has a place").place {
            Place::Virtual => {
                for (place, (name, folder)) in self.list(&path).into_iter().enumerate() {
                    entries.push(Entry { name, inode: 100 + place as u64, kind: if folder { FOLDER } else { FILE } });
                }
            }
            Place::Host(held) => {
                let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
                let folder = openat(held, ".", flags, Mode::empty())?;
                for entry in Dir::read_from(folder)?.take(MOST_ENTRIES) {
                    let entry = entry?;
                    let name = entry.file_name().to_bytes().to_vec();
                    entries.push(Entry { name, inode: entry.ino(), kind: kind(entry.file_type()) });
                }
                for name in self.mounts_in(&path) {
                    if !entries.iter().any(|entry| entry.name == name) {
                        entries.push(Entry { name, inode: 99, kind: FOLDER });
                    }
                }
            }
        }
        entries.retain(|entry| entry.name != b"." && entry.name != b"..");
        for name in [&b"."[..], b".."] {
            entries.push(Entry { name: name.to_vec(), inode: 98, kind: FOLDER });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries.into())
    }
}

fn kind(file_type: rustix::fs::FileType) -> u8 {
    match file_type {
        rustix::fs::FileType::Directory => FOLDER,
        rustix::fs::FileType::RegularFile => FILE,
        rustix::fs::FileType::Symlink => 10,
        rustix::fs::FileType::Fifo => 1,
        rustix::fs::FileType::Socket => 12,
        rustix::fs::FileType::CharacterDevice => 2,
        rustix::fs::FileType::BlockDevice => 6,
        _ => 0,
    }
}
