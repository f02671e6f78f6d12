//! The paths that exist for a guest: mounts, the folders above them, and emulated files.

use super::{
    emulated::{self, Emulated},
    mount::{Mount, MountError},
    walk::{Place, Step},
};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{
    collections::BTreeMap,
    io,
    os::fd::OwnedFd,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    rc::Rc,
};

/// A path as a list of its components.
pub type Names = Vec<Vec<u8>>;

/// A folder of the host that the guest sees.
pub struct Mounted {
    /// Its path on the host, for messages.
    host: PathBuf,
    pub root: Rc<OwnedFd>,
    pub writable: bool,
}

/// What a path outside every mount stands for.
pub enum Virtual {
    Folder,
    File(Emulated),
}

/// Everything that a guest can see.
pub struct Namespace {
    mounts: BTreeMap<Names, Mounted>,
}

impl Namespace {
    /// Opens the mounted folders. If two mounts have the same path, the later one counts.
    pub fn new(mounts: &[Mount]) -> Result<Namespace, MountError> {
        let mut opened = BTreeMap::new();
        for mount in mounts {
            let unusable = |error: io::Error| MountError::Unusable { path: mount.host.display().to_string(), error };
            let host = mount.host.canonicalize().map_err(unusable)?;
            let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
            let root = openat(CWD, &host, flags, Mode::empty()).map_err(|error| unusable(error.into()))?;
            let guest = mount.guest.as_deref().unwrap_or(&host);
            let names = names(guest);
            opened.insert(names, Mounted { host, root: Rc::new(root), writable: mount.writable });
        }
        Ok(Namespace { mounts: opened })
    }

    pub fn root(&self) -> Step {
        self.step(&[]).unwrap_or(Step { name: Vec::new(), place: Place::Virtual, writable: false })
    }

    /// The mount at exactly this path.
    pub fn step(&self, path: &[Vec<u8>]) -> Option<Step> {
        let mounted = self.mounts.get(path)?;
        let name = path.last().cloned().unwrap_or_default();
        Some(Step { name, place: Place::Host(mounted.root.clone()), writable: mounted.writable })
    }

    /// Whether a path or anything below it is a mount point.
    pub fn holds_mount(&self, path: &[Vec<u8>]) -> bool {
        self.mounts.keys().any(|mount| mount.starts_with(path))
    }

    /// Whether a path is emulated regardless of the host: `/proc`, `/dev`, `/sys` and `/cohesim`, unless they are
    /// mounted.
    pub fn is_kernels(&self, path: &[Vec<u8>]) -> bool {
        let first = path.first().is_some_and(|name| [&b"proc"[..], b"dev", b"sys", b"cohesim"].contains(&&name[..]));
        first && !(1..=path.len()).any(|count| self.mounts.contains_key(&path[..count]))
    }

    /// The `--mount` argument that would make a folder writable; none if a mount would not help. `exists` says whether
    /// the program can see the folder.
    pub fn mount_to_write(&self, folder: &[Vec<u8>], exists: bool) -> Option<String> {
        if self.is_kernels(folder) {
            return None;
        }
        let guest = path_from(Path::new("/"), folder);
        let above = (0..=folder.len()).rev().find_map(|count| Some((count, self.mounts.get(&folder[..count])?)));
        let host = match above {
            Some((_, mounted)) if mounted.writable || !exists => return None,
            Some((count, mounted)) => path_from(&mounted.host, &folder[count..]),
            None if guest.is_dir() => guest.clone(),
            // Only the user knows which folder of the host was meant.
            None => "FOLDER".into(),
        };
        let place = if host == guest { String::new() } else { format!(":{}", guest.display()) };
        Some(format!("{}{place}:rw", host.display()))
    }

    /// Looks up a path outside every mount.
    pub fn lookup(&self, path: &[Vec<u8>]) -> Option<Virtual> {
        if self.mounts.keys().any(|mount| mount.len() > path.len() && mount.starts_with(path)) {
            return Some(Virtual::Folder);
        }
        emulated::lookup(path)
    }

    /// The entries of a folder outside every mount.
    pub fn list(&self, path: &[Vec<u8>]) -> Vec<(Vec<u8>, bool)> {
        let mut names: BTreeMap<Vec<u8>, bool> = emulated::list(path).into_iter().collect();
        for mount in self.mounts.keys().filter(|mount| mount.len() > path.len() && mount.starts_with(path)) {
            names.insert(mount[path.len()].clone(), true);
        }
        names.into_iter().collect()
    }

    /// Mounts directly inside a folder of the host: they are listed even if the host has no entry of that name.
    pub fn mounts_in(&self, path: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let inside = self.mounts.keys().filter(|mount| mount.len() == path.len() + 1 && mount.starts_with(path));
        inside.map(|mount| mount[path.len()].clone()).collect()
    }
}

fn path_from(start: &Path, names: &[Vec<u8>]) -> PathBuf {
    let mut path = start.to_owned();
    path.extend(names.iter().map(|name| std::ffi::OsString::from_vec(name.clone())));
    path
}

/// The components of a path, with `.` and `..` resolved.
pub fn names(path: &Path) -> Names {
    let mut names = Names::new();
    for name in path.as_os_str().as_bytes().split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            name => names.push(name.to_vec()),
        }
    }
    names
}
