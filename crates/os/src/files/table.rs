//! The descriptor table of a process: opening, reading and writing files.

use super::{
    Found, Kind, Namespace, OpenFile, Place, Stdio, Step, Stream, View,
    description::flag,
    emulated::Emulated,
    pipe::PipeEnd,
    stat::{FileStat, FileType},
    used::UsedFiles,
    walk::path_of,
};
use crate::errno::Errno;
use rustix::fs::{Mode, OFlags, fstat, fstatfs, openat};
use std::{
    cell::Cell,
    io::{self, Read},
    os::{fd::OwnedFd, unix::fs::FileExt},
    rc::Rc,
};

/// The limit on descriptors that is Linux's default.
pub const MOST_FILES: usize = 1024;

/// The disk space charged for each new file name, so that empty files can't fill the host's disk.
pub(super) const NAME_COST: u64 = 4096;

/// The working folder, as the descriptor argument of an `...at` call.
const AT_FDCWD: i32 = -100;

#[derive(Clone)]
pub struct Descriptor {
    pub file: Rc<OpenFile>,
    pub close_on_exec: bool,
}

/// The files of a process.
pub struct Files {
    pub namespace: Rc<Namespace>,
    pub stdio: Stdio,
    /// The working folder.
    pub folder: Vec<Step>,
    pub mask: u32,
    /// The path and contents of the program's executable.
    pub program: (Vec<u8>, Rc<[u8]>),
    /// Set when something has happened on a pipe.
    pub stirred: Rc<Cell<bool>>,
    pub(super) table: Vec<Option<Descriptor>>,
    /// The maximum size of a file.
    pub longest_file: u64,
    /// The number of bytes that may still be written to the host's disk.
    pub left_to_write: u64,
    /// Records the files that the program executes or maps.
    pub used: Option<UsedFiles>,
}

/// The result of opening a path: an open file, or an emulated file whose contents must still be generated.
pub enum Opened {
    File(OpenFile),
    Emulated { path: String, file: Emulated },
}

impl Files {
    pub fn new(namespace: Namespace, stdio: Stdio, folder: Vec<Step>, program: (Vec<u8>, Rc<[u8]>)) -> Files {
        let mut files = Files {
            namespace: Rc::new(namespace),
            stdio,
            folder,
            mask: 0o022,
            program,
            stirred: Rc::default(),
            table: Vec::new(),
            longest_file: u64::MAX,
            left_to_write: u64::MAX,
            used: None,
        };
        for (stream, flags) in
            [(Stream::Input, 0), (Stream::Output, flag::WRITE_ONLY), (Stream::Error, flag::READ_WRITE)]
        {
            let file = OpenFile::new(Kind::Stream(stream), flags, "");
            files.add(Rc::new(file), false, 0).expect("there is room for the first three");
        }
        files
    }

    /// The files that the program can currently read.
    pub fn view(&self) -> View {
        View::new(self.namespace.clone(), self.folder.clone())
    }

    /// The open file of a descriptor.
    pub fn get(&self, fd: u64) -> Result<Rc<OpenFile>, Errno> {
        self.descriptor(fd).map(|descriptor| descriptor.file.clone())
    }

    pub fn descriptor(&self, fd: u64) -> Result<&Descriptor, Errno> {
        let fd = usize::try_from(fd as u32).map_err(|_| Errno::EBADF)?;
        self.table.get(fd).and_then(|entry| entry.as_ref()).ok_or(Errno::EBADF)
    }

    pub fn descriptor_mut(&mut self, fd: u64) -> Result<&mut Descriptor, Errno> {
        let fd = usize::try_from(fd as u32).map_err(|_| Errno::EBADF)?;
        self.table.get_mut(fd).and_then(|entry| entry.as_mut()).ok_or(Errno::EBADF)
    }

    /// Assigns a file the lowest free descriptor that is at least `lowest`.
    pub fn add(&mut self, file: Rc<OpenFile>, close_on_exec: bool, lowest: u64) -> Result<u64, Errno> {
        let lowest = usize::try_from(lowest).unwrap_or(usize::MAX);
        let free = (lowest..MOST_FILES).find(|fd| self.table.get(*fd).is_none_or(Option::is_none));
        let fd = free.ok_or(if lowest >= MOST_FILES { Errno::EINVAL } else { Errno::EMFILE })?;
        self.put(fd as u64, Descriptor { file, close_on_exec })?;
        Ok(fd as u64)
    }

    /// Makes a descriptor refer to a file; what it referred to before is closed.
    pub fn put(&mut self, fd: u64, descriptor: Descriptor) -> Result<(), Errno> {
        let fd = usize::try_from(fd).ok().filter(|fd| *fd < MOST_FILES).ok_or(Errno::EBADF)?;
        if self.table.len() <= fd {
            self.table.resize_with(fd + 1, || None);
        }
        self.table[fd] = Some(descriptor);
        Ok(())
    }

    pub fn close(&mut self, fd: u64) -> Result<(), Errno> {
        self.descriptor(fd)?;
        self.table[fd as u32 as usize] = None;
        Ok(())
    }

    /// The folder that the path of an `...at` call is relative to.
    pub fn base(&self, fd: u64) -> Result<Vec<Step>, Errno> {
        if fd as i32 == AT_FDCWD {
            return Ok(self.folder.clone());
        }
        match &self.get(fd)?.kind {
            Kind::Folder { steps, .. } => Ok(steps.clone()),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Resolves a path. An absolute path ignores `fd`.
    pub fn walk(&self, fd: u64, path: &[u8], follow: bool) -> Result<Found, Errno> {
        let base = if path.starts_with(b"/") { Vec::new() } else { self.base(fd)? };
        self.namespace.walk(&base, path, follow)
    }

    pub fn open(&mut self, fd: u64, path: &[u8], flags: u32, mode: u32) -> Result<Opened, Errno> {
        // O_PATH does not open the file, so most other flags have no effect.
        let flags = match flags & flag::PATH {
            0 => flags,
            _ => flags & (flag::PATH | flag::DIRECTORY | flag::NO_FOLLOW | flag::CLOSE_ON_EXEC),
        };
        let writes = flags & flag::ACCESS != 0 || flags & flag::TRUNCATE != 0;
        if flags & flag::CREATE != 0 && flags & flag::DIRECTORY != 0 {
            return Err(Errno::EINVAL);
        }
        if flags & flag::TEMPORARY == flag::TEMPORARY {
            return Err(Errno::EOPNOTSUPP);
        }
        let exclusive = flags & flag::CREATE != 0 && flags & flag::EXCLUSIVE != 0;
        let follow = flags & flag::NO_FOLLOW == 0 && !exclusive;
        let found = self.walk(fd, path, follow)?;
        if exclusive && !matches!(found, Found::Missing { .. }) {
            return Err(Errno::EEXIST);
        }
        match found {
            Found::Folder(steps) => {
                if writes || flags & flag::CREATE != 0 {
                    return Err(Errno::EISDIR);
                }
                let path = String::from_utf8_lossy(&path_of(&steps)).into_owned();
                let kind = Kind::Folder { steps, entries: Default::default() };
                Ok(Opened::File(OpenFile::new(kind, flags, path)))
            }
            _ if flags & flag::DIRECTORY != 0 && flags & flag::CREATE == 0 => Err(match found {
                Found::Missing { .. } => Errno::ENOENT,
                _ => Errno::ENOTDIR,
            }),
            Found::Emulated { path, file } => {
                Ok(Opened::Emulated { path: String::from_utf8_lossy(&path).into_owned(), file })
            }
            Found::File { parent, name, file, stat } => {
                if flags & flag::PATH != 0 {
                    return Ok(Opened::File(OpenFile::new(Kind::Path { file }, flags, whole(&parent, &name))));
                }
                match stat.file_type() {
                    FileType::Regular => self.open_host(&parent, &name, flags, 0).map(Opened::File),
                    FileType::Link => Err(Errno::ELOOP),
                    // Guests may not use devices, pipes and sockets of the host.
                    _ => Err(Errno::EACCES),
                }
            }
            Found::Missing { parent, name } => {
                if flags & flag::CREATE == 0 || path.ends_with(b"/") {
                    return Err(if flags & flag::CREATE == 0 { Errno::ENOENT } else { Errno::EISDIR });
                }
                check_writable(&parent)?;
                self.charge(NAME_COST)?;
                let mode = mode & 0o777 & !self.mask;
                self.open_host(&parent, &name, flags | flag::EXCLUSIVE, mode).map(Opened::File)
            }
        }
    }

    /// Reads the dynamic loader that a program names; none if the program can't see such a file.
    pub fn read_loader(&mut self, path: &[u8]) -> Option<io::Result<Rc<[u8]>>> {
        const LARGEST: u64 = 64 << 20;
        let file = match self.open(AT_FDCWD as u64, path, 0, 0) {
            Ok(Opened::File(file)) => Rc::new(file),
            Ok(Opened::Emulated { .. }) | Err(Errno::ENOENT) => return None,
            Err(error) => return Some(Err(io::Error::from_raw_os_error(error.0.into()))),
        };
        let Kind::Host { file: host, .. } = &file.kind else { return Some(Err(io::ErrorKind::IsADirectory.into())) };
        let mut bytes = Vec::new();
        if let Err(error) = host.take(LARGEST + 1).read_to_end(&mut bytes) {
            return Some(Err(error));
        }
        if bytes.len() as u64 > LARGEST {
            return Some(Err(io::ErrorKind::FileTooLarge.into()));
        }
        if let Some(used) = &self.used {
            used.note(&file);
        }
        Some(Ok(bytes.into()))
    }

    /// Opens or creates a file of the host in a folder that is held open.
    fn open_host(&self, parent: &[Step], name: &[u8], flags: u32, mode: u32) -> Result<OpenFile, Errno> {
        let (held, writable) = host_folder(parent)?;
        let writes = flags & flag::ACCESS != 0 || flags & flag::TRUNCATE != 0;
        if writes && !writable {
            return Err(Errno::EROFS);
        }
        let mut host = match flags & flag::ACCESS {
            flag::WRITE_ONLY => OFlags::WRONLY,
            flag::READ_WRITE => OFlags::RDWR,
            _ => OFlags::RDONLY,
        };
        if flags & flag::TRUNCATE != 0 {
            host |= OFlags::TRUNC;
        }
        if flags & flag::CREATE != 0 && flags & flag::EXCLUSIVE != 0 {
            host |= OFlags::CREATE | OFlags::EXCL;
        }
        let file = open_regular(held, name, host, Mode::from_raw_mode(mode))?;
        let kind = Kind::Host { file: file.into(), writable };
        let kept = flags & !(flag::CREATE | flag::EXCLUSIVE | flag::TRUNCATE | flag::CLOSE_ON_EXEC);
        Ok(OpenFile::new(kind, kept, whole(parent, name)))
    }

    /// Reads from an open file at its position or at a given offset. EAGAIN: a pipe is empty.
    pub fn read(&self, file: &OpenFile, at: Option<u64>, bytes: &mut [u8]) -> Result<usize, Errno> {
        if !file.readable() {
            return Err(Errno::EBADF);
        }
        if at.is_some() && !file.seekable() {
            return Err(Errno::ESPIPE);
        }
        let position = at.unwrap_or(file.position.get());
        let count = match &file.kind {
            Kind::Stream(Stream::Input) => self.stdio.read(bytes)?,
            Kind::Stream(_) => return Err(Errno::EBADF),
            Kind::Host { file, .. } => file.read_at(bytes, position)?,
            Kind::Text(text) => {
                let rest = usize::try_from(position).ok().and_then(|position| text.get(position..)).unwrap_or(&[]);
                let count = rest.len().min(bytes.len());
                bytes[..count].copy_from_slice(&rest[..count]);
                count
            }
            Kind::Null => 0,
            Kind::Zero => {
                bytes.fill(0);
                bytes.len()
            }
            Kind::Pipe(pipe) if pipe.writes() => return Err(Errno::EBADF),
            Kind::Pipe(pipe) => pipe.read(bytes)?,
            Kind::Folder { .. } => return Err(Errno::EISDIR),
            Kind::Path { .. } | Kind::Random => return Err(Errno::EBADF),
        };
        if at.is_none() {
            file.position.set(position + count as u64);
        }
        Ok(count)
    }

    /// Writes to an open file at its position or at a given offset. EAGAIN: a pipe is full.
    pub fn write(&mut self, file: &OpenFile, at: Option<u64>, bytes: &[u8]) -> Result<usize, Errno> {
        if !file.writable() {
            return Err(Errno::EBADF);
        }
        if at.is_some() && !file.seekable() {
            return Err(Errno::ESPIPE);
        }
        match &file.kind {
            Kind::Stream(Stream::Input) => Err(Errno::EBADF),
            Kind::Stream(stream) => {
                self.stdio.write(*stream, bytes)?;
                Ok(bytes.len())
            }
            Kind::Host { file: host, writable: true } => {
                let end = || Ok::<u64, Errno>(fstat(host)?.st_size as u64);
                let position = if file.has(flag::APPEND) { end()? } else { at.unwrap_or(file.position.get()) };
                if bytes.is_empty() {
                    return Ok(0);
                }
                let room = self.longest_file.checked_sub(position).filter(|room| *room > 0).ok_or(Errno::EFBIG)?;
                let count = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
                self.charge(count as u64)?;
                let count = host.write_at(&bytes[..count], position)?;
                if at.is_none() {
                    file.position.set(position + count as u64);
                }
                Ok(count)
            }
            Kind::Null | Kind::Zero | Kind::Random => Ok(bytes.len()),
            Kind::Pipe(pipe) if pipe.writes() => pipe.write(bytes),
            _ => Err(Errno::EBADF),
        }
    }

    pub fn truncate(&mut self, file: &OpenFile, size: u64) -> Result<(), Errno> {
        match &file.kind {
            Kind::Host { file: host, writable: true } if file.writable() => {
                if size > self.longest_file {
                    return Err(Errno::EFBIG);
                }
                let now = fstat(host)?.st_size as u64;
                self.charge(size.saturating_sub(now))?;
                Ok(host.set_len(size)?)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    pub fn pipe(&mut self, flags: u32) -> Result<(u64, u64), Errno> {
        let (reader, writer) = PipeEnd::pair(&self.stirred);
        let close_on_exec = flags & flag::CLOSE_ON_EXEC != 0;
        let flags = flags & flag::NON_BLOCKING;
        let reader = OpenFile::new(Kind::Pipe(reader), flags, "pipe");
        let writer = OpenFile::new(Kind::Pipe(writer), flags | flag::WRITE_ONLY, "pipe");
        let first = self.add(Rc::new(reader), close_on_exec, 0)?;
        match self.add(Rc::new(writer), close_on_exec, 0) {
            Ok(second) => Ok((first, second)),
            Err(error) => {
                self.close(first)?;
                Err(error)
            }
        }
    }

    /// Deducts bytes from the amount that may still be written.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), Errno> {
        self.left_to_write = self.left_to_write.checked_sub(bytes).ok_or(Errno::ENOSPC)?;
        Ok(())
    }
}

/// Opens or creates a regular file of the host in a folder that is held open.
pub(super) fn open_regular(held: &OwnedFd, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let always = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = openat(held, name, flags | always, mode)?;
    // Another process may have replaced the file since it was checked.
    if FileStat::from(fstat(&file)?).file_type() != FileType::Regular || is_kernels(&file)? {
        return Err(Errno::EACCES);
    }
    Ok(file)
}

/// Whether a regular file is an interface to the host's kernel, such as `/proc/self/mem`, rather than a file on a disk.
fn is_kernels(file: &OwnedFd) -> Result<bool, Errno> {
    const PROC: u64 = 0x9fa0;
    const SYSFS: u64 = 0x6265_6572;
    const DEBUGFS: u64 = 0x6462_6720;
    const TRACEFS: u64 = 0x7472_6163;
    const SECURITYFS: u64 = 0x7363_6673;
    const CGROUP: u64 = 0x27_e0eb;
    const CGROUP2: u64 = 0x6367_7270;
    const BPF: u64 = 0xcafe_4a11;
    let kind = fstatfs(file)?.f_type as u64 & 0xffff_ffff;
    Ok([PROC, SYSFS, DEBUGFS, TRACEFS, SECURITYFS, CGROUP, CGROUP2, BPF].contains(&kind))
}

pub(super) fn host_folder(steps: &[Step]) -> Result<(&OwnedFd, bool), Errno> {
    let step = steps.last().expect("a folder has a place");
    match &step.place {
        Place::Host(held) => Ok((held, step.writable)),
        Place::Virtual => Err(Errno::EROFS),
    }
}

pub(super) fn check_writable(steps: &[Step]) -> Result<(), Errno> {
    if host_folder(steps)?.1 { Ok(()) } else { Err(Errno::EROFS) }
}

fn whole(parent: &[Step], name: &[u8]) -> String {
    let parent = path_of(parent);
    let folder = String::from_utf8_lossy(if parent == b"/" { b"" } else { &parent[..] }).into_owned();
    format!("{folder}/{}", String::from_utf8_lossy(name))
}
