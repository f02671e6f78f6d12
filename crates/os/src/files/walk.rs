//! Path resolution, one component at a time.
//!
//! Each folder on the way is held open, and the next component is looked up in it without following links. So a process
//! that moves or replaces folders during the walk can't redirect it. `..` returns to the previously held folder, never
//! to the host's parent folder. The target of a symbolic link is resolved like any other path; an absolute target
//! starts at the guest's root.

use super::{
    Emulated, Namespace,
    namespace::Virtual,
    stat::{FileStat, FileType},
};
use crate::errno::Errno;
use rustix::fs::{Mode, OFlags, fstat, openat, readlinkat};
use std::{os::fd::OwnedFd, rc::Rc};

const MOST_LINKS: usize = 40;
const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;
const DEEPEST: usize = 2048;

/// A folder on a path.
#[derive(Clone)]
pub enum Place {
    /// A folder of the host, held open.
    Host(Rc<OwnedFd>),
    /// A folder that exists only in the namespace.
    Virtual,
}

/// A folder, and its name in its parent.
#[derive(Clone)]
pub struct Step {
    pub name: Vec<u8>,
    pub place: Place,
    pub writable: bool,
}

/// What a path leads to.
pub enum Found {
    /// A folder: the steps that lead to it from the root.
    Folder(Vec<Step>),
    /// A file, link or other thing in a folder of the host.
    File { parent: Vec<Step>, name: Vec<u8>, file: OwnedFd, stat: FileStat },
    /// An emulated file.
    Emulated { path: Vec<u8>, file: Emulated },
    /// Nothing, but the parent folder exists.
    Missing { parent: Vec<Step>, name: Vec<u8> },
}

/// The path of a list of steps.
pub fn path_of(steps: &[Step]) -> Vec<u8> {
    let mut path: Vec<u8> = Vec::new();
    for step in steps.iter().skip(1) {
        path.push(b'/');
        path.extend(&step.name);
    }
    if path.is_empty() { b"/".to_vec() } else { path }
}

/// The components of a list of steps.
pub fn names_of(steps: &[Step]) -> Vec<Vec<u8>> {
    steps.iter().skip(1).map(|step| step.name.clone()).collect()
}

impl Namespace {
    /// Resolves a path relative to a folder. A link in the last component is followed only if `follow`.
    pub fn walk(&self, from: &[Step], path: &[u8], follow: bool) -> Result<Found, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        if path.len() >= LONGEST_PATH {
            return Err(Errno::ENAMETOOLONG);
        }
        let mut steps = if path[0] == b'/' { vec![self.root()] } else { from.to_vec() };
        let must_be_folder = path.ends_with(b"/") || path.ends_with(b"/.");
        // The remaining components, the next one last.
        let mut ahead: Vec<Vec<u8>> = names_reversed(path);
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            if name == b".." {
                if steps.len() > 1 {
                    steps.pop();
                }
                continue;
            }
            if name.len() > LONGEST_NAME || name.contains(&0) {
                return Err(Errno::ENAMETOOLONG);
            }
            if steps.len() >= DEEPEST {
                return Err(Errno::ELOOP);
            }
            let last = ahead.is_empty();
            match self.look_up(&steps, &name)? {
                Looked::Folder(step) => steps.push(step),
                Looked::Link(link, stat) => {
                    if last && !follow && !must_be_folder {
                        return Ok(Found::File { parent: steps, name, file: link, stat });
                    }
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::ELOOP);
                    }
                    let target = readlinkat(&link, "", Vec::new())?.into_bytes();
                    if target.starts_with(b"/") {
                        steps = vec![self.root()];
                    }
                    ahead.extend(names_reversed(&target));
                    if ahead.len() > LONGEST_PATH {
                        return Err(Errno::ENAMETOOLONG);
                    }
                }
                Looked::File(..) | Looked::Emulated(_) if !last || must_be_folder => return Err(Errno::ENOTDIR),
                Looked::File(file, stat) => return Ok(Found::File { parent: steps, name, file, stat }),
                Looked::Emulated(file) => {
                    let mut path = path_of(&steps);
                    if path.len() > 1 {
                        path.push(b'/');
                    }
                    path.extend(&name);
                    return Ok(Found::Emulated { path, file });
                }
                Looked::Nothing if last => return Ok(Found::Missing { parent: steps, name }),
                Looked::Nothing => return Err(Errno::ENOENT),
            }
        }
        Ok(Found::Folder(steps))
    }

    fn look_up(&self, steps: &[Step], name: &[u8]) -> Result<Looked, Errno> {
        let mut path = names_of(steps);
        path.push(name.to_vec());
        if let Some(step) = self.step(&path) {
            return Ok(Looked::Folder(step));
        }
        let folder = steps.last().expect("a walk begins at a folder");
        let held = match &folder.place {
            Place::Host(held) if !self.is_kernels(&path) => held,
            _ => {
                return Ok(match self.lookup(&path) {
                    Some(Virtual::Folder) => {
                        Looked::Folder(Step { name: name.to_vec(), place: Place::Virtual, writable: false })
                    }
                    Some(Virtual::File(file)) => Looked::Emulated(file),
                    None => Looked::Nothing,
                });
            }
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(held, name, flags, Mode::empty()) {
            Ok(file) => file,
            // A mount point may lie in a folder that does not exist on the host.
            Err(rustix::io::Errno::NOENT) if matches!(self.lookup(&path), Some(Virtual::Folder)) => {
                return Ok(Looked::Folder(Step { name: name.to_vec(), place: Place::Virtual, writable: false }));
            }
            Err(rustix::io::Errno::NOENT) => return Ok(Looked::Nothing),
            Err(error) => return Err(error.into()),
        };
        let stat = FileStat::from(fstat(&file)?);
        Ok(match stat.file_type() {
            FileType::Folder => Looked::Folder(Step {
                name: name.to_vec(),
                place: Place::Host(Rc::new(file)),
                writable: folder.writable,
            }),
            FileType::Link => Looked::Link(file, stat),
            _ => Looked::File(file, stat),
        })
    }
}

enum Looked {
    Folder(Step),
    Link(OwnedFd, FileStat),
    File(OwnedFd, FileStat),
    Emulated(Emulated),
    Nothing,
}

fn names_reversed(path: &[u8]) -> Vec<Vec<u8>> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    names.rev().map(<[u8]>::to_vec).collect()
}
