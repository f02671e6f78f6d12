//! Operations on file names: looking them up, and creating, renaming and removing them.

use super::{
    Found, Kind, OpenFile, Step,
    description::{folder_stat, link_stat},
    emulated::{Emulated, OPENCL},
    namespace::names,
    stat::{FileStat, FileType, REGULAR},
    table::{Files, NAME_COST, check_writable, host_folder},
    walk::{names_of, path_of},
};
use crate::errno::Errno;
use rustix::fs::{AtFlags, Mode, RenameFlags, mkdirat, readlinkat, renameat_with, unlinkat};
use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// What `renameat2` does if the new name already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    Replace,
    NoReplace,
    /// The two names are exchanged.
    Exchange,
}

impl Files {
    /// The result of `stat` for a path.
    pub fn stat(&self, fd: u64, path: &[u8], follow: bool) -> Result<FileStat, Errno> {
        match self.walk(fd, path, follow)? {
            Found::Folder(steps) => folder_stat(&steps),
            Found::File { stat, .. } => Ok(stat),
            Found::Emulated { file: Emulated::Program, .. } if !follow => Ok(link_stat()),
            Found::Emulated { file: Emulated::Program, .. } => {
                Ok(FileStat::made_up(REGULAR | 0o555, self.program.1.len() as u64, 9))
            }
            Found::Emulated { file: Emulated::OpenCl, .. } => {
                Ok(FileStat::made_up(REGULAR | 0o555, OPENCL.len() as u64, 2))
            }
            Found::Emulated { file: Emulated::Null | Emulated::Zero | Emulated::Random, .. } => {
                OpenFile::new(Kind::Null, 0, "").stat()
            }
            Found::Emulated { file: Emulated::Standard(stream), .. } => {
                OpenFile::new(Kind::Stream(stream), 0, "").stat()
            }
            Found::Emulated { .. } => Ok(FileStat::made_up(REGULAR | 0o444, 0, 2)),
            Found::Missing { .. } => Err(Errno::ENOENT),
        }
    }

    pub fn read_link(&self, fd: u64, path: &[u8]) -> Result<Vec<u8>, Errno> {
        match self.walk(fd, path, false)? {
            Found::Emulated { file: Emulated::Program, .. } => Ok(self.program.0.clone()),
            Found::File { file, stat, .. } if stat.file_type() == FileType::Link => {
                Ok(readlinkat(&file, "", Vec::new())?.into_bytes())
            }
            Found::Missing { .. } => Err(Errno::ENOENT),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Checks whether a path can be read, written or executed, for `access`.
    pub fn check_access(&self, fd: u64, path: &[u8], wanted: u32, follow: bool) -> Result<(), Errno> {
        const EXECUTE: u32 = 1;
        const WRITE: u32 = 2;
        let stat = self.stat(fd, path, follow)?;
        let found = self.walk(fd, path, follow)?;
        let place = match &found {
            Found::Folder(steps) => steps.last(),
            Found::File { parent, .. } => parent.last(),
            _ => None,
        };
        if wanted & WRITE != 0 && place.is_some_and(|step| !step.writable) {
            return Err(Errno::EROFS);
        }
        let executable = stat.mode & 0o111 != 0;
        if wanted & EXECUTE != 0 && !executable { Err(Errno::EACCES) } else { Ok(()) }
    }

    pub fn make_folder(&mut self, fd: u64, path: &[u8], mode: u32) -> Result<(), Errno> {
        let trimmed = trim_slashes(path);
        match self.walk(fd, trimmed, false)? {
            Found::Missing { parent, name } => {
                check_writable(&parent)?;
                self.charge(NAME_COST)?;
                let mode = Mode::from_raw_mode(mode & 0o777 & !self.mask);
                Ok(mkdirat(host_folder(&parent)?.0, &name[..], mode)?)
            }
            _ => Err(Errno::EEXIST),
        }
    }

    /// Removes a name; `folder` says whether it must be a folder.
    pub fn unlink(&mut self, fd: u64, path: &[u8], folder: bool) -> Result<(), Errno> {
        let (parent, name) = self.entry(fd, trim_slashes(path))?;
        let flags = if folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(unlinkat(host_folder(&parent)?.0, &name[..], flags)?)
    }

    pub fn rename(&mut self, from: (u64, &[u8]), to: (u64, &[u8]), how: Rename) -> Result<(), Errno> {
        let (old_parent, old_name) = self.entry(from.0, trim_slashes(from.1))?;
        let (new_parent, new_name) = match self.walk(to.0, trim_slashes(to.1), false)? {
            Found::Missing { .. } if how == Rename::Exchange => return Err(Errno::ENOENT),
            Found::Missing { parent, name } => (parent, name),
            _ if how == Rename::NoReplace => return Err(Errno::EEXIST),
            _ => self.entry(to.0, trim_slashes(to.1))?,
        };
        check_writable(&new_parent)?;
        let (old, new) = (host_folder(&old_parent)?.0, host_folder(&new_parent)?.0);
        let flags = match how {
            Rename::Replace => RenameFlags::empty(),
            // The host checks again, since another process may have created the name meanwhile.
            Rename::NoReplace => RenameFlags::NOREPLACE,
            Rename::Exchange => RenameFlags::EXCHANGE,
        };
        Ok(renameat_with(old, &old_name[..], new, &new_name[..], flags)?)
    }

    /// An existing name, in a writable folder.
    fn entry(&self, fd: u64, path: &[u8]) -> Result<(Vec<Step>, Vec<u8>), Errno> {
        let (parent, name) = match self.walk(fd, path, false)? {
            Found::Folder(mut steps) => {
                let step = steps.pop().filter(|_| !steps.is_empty()).ok_or(Errno::EBUSY)?;
                let mut names = names_of(&steps);
                names.push(step.name.clone());
                // Moving a folder that contains a mount would show the mounted files under another path.
                if self.namespace.holds_mount(&names) {
                    return Err(Errno::EBUSY);
                }
                (steps, step.name)
            }
            Found::File { parent, name, .. } => (parent, name),
            Found::Emulated { .. } => return Err(Errno::EROFS),
            Found::Missing { .. } => return Err(Errno::ENOENT),
        };
        check_writable(&parent)?;
        Ok((parent, name))
    }

    pub fn change_folder(&mut self, fd: u64, path: &[u8]) -> Result<(), Errno> {
        match self.walk(fd, path, true)? {
            Found::Folder(steps) => {
                self.folder = steps;
                Ok(())
            }
            Found::Missing { .. } => Err(Errno::ENOENT),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// For a path that a program was not allowed to write: the absolute path, and the `--mount` argument that would
    /// allow it.
    pub fn mount_to_write(&self, fd: u64, path: &[u8], error: Errno) -> Option<(String, String)> {
        let (folder, name) = match self.walk(fd, trim_slashes(path), true) {
            Ok(Found::Missing { parent, name } | Found::File { parent, name, .. }) => (names_of(&parent), Some(name)),
            Ok(Found::Folder(steps)) => (names_of(&steps), None),
            Ok(Found::Emulated { .. }) => return None,
            Err(_) => {
                let base = if path.starts_with(b"/") { Vec::new() } else { path_of(&self.base(fd).ok()?) };
                let whole = [&base[..], b"/", path].concat();
                let mut names = names(Path::new(OsStr::from_bytes(&whole)));
                let name = names.pop();
                (names, name)
            }
        };
        let mount = self.namespace.mount_to_write(&folder, error == Errno::EROFS)?;
        let path = folder.iter().chain(&name).map(|name| format!("/{}", String::from_utf8_lossy(name)));
        Some((path.collect(), mount))
    }
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(path.len().min(1), |last| last + 1);
    &path[..end]
}
