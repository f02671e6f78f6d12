//! Which paths exist for a guest: mounts, the folders above them, and what is emulated.

use super::{
    emulated::{self, Emulated},
    mount::{Mount, MountError},
    walk::{Place, Step},
};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{collections::BTreeMap, io, os::fd::OwnedFd, os::unix::ffi::OsStrExt, path::Path, rc::Rc};

/// A path as its names.
pub type Names = Vec<Vec<u8>>;

/// A folder of the host that the guest sees.
pub struct Mounted {
    pub root: Rc<OwnedFd>,
    pub writable: bool,
}

/// What a name is where no mount is.
pub enum Virtual {
    Folder,
    File(Emulated),
}

/// All that a guest can see.
pub struct Namespace {
    mounts: BTreeMap<Names, Mounted>,
}

impl Namespace {
    /// Opens what is to be shown. Of two mounts at one place, the later counts.
    pub fn new(mounts: &[Mount]) -> Result<Namespace, MountError> {
        let mut opened = BTreeMap::new();
        for mount in mounts {
            let unusable = |error: io::Error| MountError::Unusable { path: mount.host.display().to_string(), error };
            let host = mount.host.canonicalize().map_err(unusable)?;
            let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
            let root = openat(CWD, &host, flags, Mode::empty()).map_err(|error| unusable(error.into()))?;
            let guest = mount.guest.as_deref().unwrap_or(&host);
            opened.insert(names(guest), Mounted { root: Rc::new(root), writable: mount.writable });
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

    /// Whether a path is the kernel's, whatever the host has there: `/proc`, `/dev` and `/sys`, unless they are mounted.
    pub fn is_kernels(&self, path: &[Vec<u8>]) -> bool {
        let first = path.first().is_some_and(|name| [&b"proc"[..], b"dev", b"sys"].contains(&&name[..]));
        first && !(1..=path.len()).any(|count| self.mounts.contains_key(&path[..count]))
    }

    /// What lies at a path outside every mount.
    pub fn lookup(&self, path: &[Vec<u8>]) -> Option<Virtual> {
        if self.mounts.keys().any(|mount| mount.len() > path.len() && mount.starts_with(path)) {
            return Some(Virtual::Folder);
        }
        emulated::lookup(path)
    }

    /// The names in a folder outside every mount.
    pub fn list(&self, path: &[Vec<u8>]) -> Vec<(Vec<u8>, bool)> {
        let mut names: BTreeMap<Vec<u8>, bool> = emulated::list(path).into_iter().collect();
        for mount in self.mounts.keys().filter(|mount| mount.len() > path.len() && mount.starts_with(path)) {
            names.insert(mount[path.len()].clone(), true);
        }
        names.into_iter().collect()
    }

    /// Mounts that lie directly in a folder of the host: they are seen there even if the host has no such name.
    pub fn mounts_in(&self, path: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let inside = self.mounts.keys().filter(|mount| mount.len() == path.len() + 1 && mount.starts_with(path));
        inside.map(|mount| mount[path.len()].clone()).collect()
    }
}

/// The names of a path, `.` and `..` taken away.
fn names(path: &Path) -> Names {
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
