//! System calls that name files by path.

use super::{DONE, Flow, Outcome, only, value};
use crate::{
    errno::Errno,
    files::{FileStat, Kind, OpenFile, Opened, Rename, flag, path_of},
    guest::GuestMemory,
    process::Process,
};
use mem::VirtAddr;
use std::rc::Rc;

pub const NO_FOLLOW: u64 = 0x100;
pub const REMOVE_FOLDER: u64 = 0x200;
pub const FOLLOW: u64 = 0x400;
pub const EMPTY_PATH: u64 = 0x1000;
const NO_AUTOMOUNT: u64 = 0x800;
const EFFECTIVE_IDS: u64 = 0x200;
/// Flags of `statx` that ask how fresh the attributes must be. Here attributes are always fresh.
const SYNC_TYPE: u64 = 0x6000;

/// Flags of `renameat2`.
pub const NO_REPLACE: u64 = 1;
pub const EXCHANGE: u64 = 2;

/// The flags of `creat`.
pub const CREATE: u32 = flag::CREATE | flag::WRITE_ONLY | flag::TRUNCATE;

impl Process {
    pub(super) fn open(&mut self, fd: u64, path: u64, flags: u32, mode: u32) -> Outcome {
        let path = self.read_path(path)?;
        let opened = self.files.open(fd, &path, flags, mode);
        if flags & flag::CREATE != 0 && matches!(opened, Err(Errno::ENOENT)) {
            self.note_refusal(fd, &path, Errno::ENOENT);
        }
        let file = match self.noted(fd, &path, opened)? {
            Opened::File(file) => file,
            Opened::Emulated { path, file } => self.open_emulated(path, file, flags)?,
        };
        value(self.files.add(Rc::new(file), flags & flag::CLOSE_ON_EXEC != 0, 0))
    }

    pub(super) fn stat(&mut self, fd: u64, path: u64, at: u64, flags: u64) -> Outcome {
        only(flags, NO_FOLLOW | NO_AUTOMOUNT | EMPTY_PATH | SYNC_TYPE)?;
        let stat = self.find_stat(fd, path, flags)?;
        self.space.write(VirtAddr(at), &stat.stat_bytes())?;
        DONE
    }

    pub(super) fn statx(&mut self, fd: u64, path: u64, flags: u64, mask: u64, at: u64) -> Outcome {
        const RESERVED: u64 = 0x8000_0000;
        only(flags, NO_FOLLOW | NO_AUTOMOUNT | EMPTY_PATH | SYNC_TYPE)?;
        if mask & RESERVED != 0 || flags & SYNC_TYPE == SYNC_TYPE {
            return Err(Errno::EINVAL);
        }
        let stat = self.find_stat(fd, path, flags)?;
        self.space.write(VirtAddr(at), &stat.statx_bytes())?;
        DONE
    }

    fn find_stat(&mut self, fd: u64, path: u64, flags: u64) -> Result<FileStat, Errno> {
        let path = self.read_path(path)?;
        if path.is_empty() && flags & EMPTY_PATH != 0 {
            return match self.files.get(fd) {
                Ok(file) => file.stat(),
                Err(_) => self.files.stat(fd, b".", true),
            };
        }
        self.files.stat(fd, &path, flags & NO_FOLLOW == 0)
    }

    pub(super) fn fstat(&mut self, fd: u64, at: u64) -> Outcome {
        let stat = self.files.get(fd)?.stat()?;
        self.space.write(VirtAddr(at), &stat.stat_bytes())?;
        DONE
    }

    pub(super) fn access(&mut self, fd: u64, path: u64, mode: u64, flags: u64) -> Outcome {
        only(flags, NO_FOLLOW | EFFECTIVE_IDS | EMPTY_PATH)?;
        let path = self.read_path(path)?;
        if mode > 7 {
            return Err(Errno::EINVAL);
        }
        if path.is_empty() && flags & EMPTY_PATH != 0 && self.files.get(fd).is_ok() {
            // An open file counts as accessible.
            return DONE;
        }
        let checked = self.files.check_access(fd, &path, mode as u32, flags & NO_FOLLOW == 0);
        self.noted(fd, &path, checked)?;
        DONE
    }

    pub(super) fn readlink(&mut self, fd: u64, path: u64, at: u64, size: u64) -> Outcome {
        if size as i32 <= 0 {
            return Err(Errno::EINVAL);
        }
        let path = self.read_path(path)?;
        let target = self.files.read_link(fd, &path)?;
        let count = target.len().min(size as usize);
        self.space.write(VirtAddr(at), &target[..count])?;
        value(Ok(count as u64))
    }

    pub(super) fn getcwd(&mut self, at: u64, size: u64) -> Outcome {
        let mut path = path_of(&self.files.folder);
        path.push(0);
        if path.len() as u64 > size {
            return Err(Errno::ERANGE);
        }
        self.space.write(VirtAddr(at), &path)?;
        value(Ok(path.len() as u64))
    }

    pub(super) fn chdir(&mut self, path: u64) -> Outcome {
        let path = self.read_path(path)?;
        self.files.change_folder(super::AT_FDCWD, &path)?;
        self.driver.see(self.files.view());
        DONE
    }

    pub(super) fn fchdir(&mut self, fd: u64) -> Outcome {
        self.files.get(fd)?;
        self.files.folder = self.files.base(fd)?;
        self.driver.see(self.files.view());
        DONE
    }

    pub(super) fn mkdir(&mut self, fd: u64, path: u64, mode: u64) -> Outcome {
        let path = self.read_path(path)?;
        let made = self.files.make_folder(fd, &path, mode as u32);
        if made == Err(Errno::ENOENT) {
            self.note_refusal(fd, &path, Errno::ENOENT);
        }
        self.noted(fd, &path, made)?;
        DONE
    }

    pub(super) fn unlink(&mut self, fd: u64, path: u64, flags: u64) -> Outcome {
        only(flags, REMOVE_FOLDER)?;
        let path = self.read_path(path)?;
        let done = self.files.unlink(fd, &path, flags & REMOVE_FOLDER != 0);
        self.noted(fd, &path, done)?;
        DONE
    }

    /// `renameat2`. RENAME_WHITEOUT is not supported: it serves overlay file systems of the kernel.
    pub(super) fn rename(&mut self, old: (u64, u64), new: (u64, u64), flags: u64) -> Outcome {
        only(flags, NO_REPLACE | EXCHANGE)?;
        let how = match flags & (NO_REPLACE | EXCHANGE) {
            0 => Rename::Replace,
            NO_REPLACE => Rename::NoReplace,
            EXCHANGE => Rename::Exchange,
            _ => return Err(Errno::EINVAL),
        };
        let (from, to) = (self.read_path(old.1)?, self.read_path(new.1)?);
        let done = self.files.rename((old.0, &from), (new.0, &to), how);
        self.noted(new.0, &to, done)?;
        DONE
    }

    /// Checks that the file exists and changes nothing: file times are managed by the host.
    pub(super) fn utimensat(&mut self, fd: u64, path: u64, flags: u64) -> Outcome {
        only(flags, NO_FOLLOW | EMPTY_PATH)?;
        if path == 0 {
            self.files.get(fd)?;
        } else {
            self.find_stat(fd, path, flags)?;
        }
        DONE
    }

    pub(super) fn truncate(&mut self, path: u64, size: u64) -> Outcome {
        let path = self.read_path(path)?;
        if size > i64::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        let opened = self.files.open(super::AT_FDCWD, &path, flag::WRITE_ONLY, 0);
        match self.noted(super::AT_FDCWD, &path, opened)? {
            Opened::File(file) => self.files.truncate(&file, size)?,
            Opened::Emulated { .. } => return Err(Errno::EINVAL),
        }
        DONE
    }

    pub(super) fn umask(&mut self, mask: u64) -> Outcome {
        let before = self.files.mask;
        self.files.mask = mask as u32 & 0o777;
        value(Ok(before.into()))
    }

    /// `getdents64`, and the older `getdents`, which stores the type at the end of each entry.
    pub(super) fn getdents(&mut self, fd: u64, at: u64, size: u64, old: bool) -> Outcome {
        let file: Rc<OpenFile> = self.files.get(fd)?;
        let Kind::Folder { steps, entries } = &file.kind else { return Err(Errno::ENOTDIR) };
        let first = file.position.get();
        if first == 0 || entries.borrow().is_none() {
            *entries.borrow_mut() = Some(self.files.namespace.entries(steps)?);
        }
        let list = entries.borrow().clone().expect("it was filled just now");
        let mut bytes: Vec<u8> = Vec::new();
        let mut position = first;
        for entry in list.iter().skip(usize::try_from(first).unwrap_or(usize::MAX)) {
            let length = (19 + entry.name.len() + 2).next_multiple_of(8);
            if (bytes.len() + length) as u64 > size {
                if bytes.is_empty() {
                    return Err(Errno::EINVAL);
                }
                break;
            }
            position += 1;
            let start = bytes.len();
            bytes.extend(entry.inode.to_le_bytes());
            bytes.extend(position.to_le_bytes());
            bytes.extend((length as u16).to_le_bytes());
            if !old {
                bytes.push(entry.kind);
            }
            bytes.extend(&entry.name);
            bytes.resize(start + length, 0);
            if old {
                bytes[start + length - 1] = entry.kind;
            }
        }
        self.space.write(VirtAddr(at), &bytes)?;
        file.position.set(position);
        Ok(Flow::Return(bytes.len() as u64))
    }
}
