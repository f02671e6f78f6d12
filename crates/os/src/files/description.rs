//! Open file descriptions, each shared by one or more descriptors.

use super::{
    pipe::PipeEnd,
    stat::{CHARACTER, FOLDER, FileStat, LINK, PIPE, REGULAR},
    stdio::Stream,
    walk::Step,
};
use crate::{errno::Errno, memory::MappedFile};
use rustix::fs::fstat;
use std::{cell::Cell, io, os::fd::OwnedFd, os::unix::fs::FileExt, rc::Rc};

/// The kind of an open file.
pub enum Kind {
    Stream(Stream),
    /// A file of the host.
    Host {
        file: std::fs::File,
        writable: bool,
    },
    /// An emulated file, whose text was generated when it was opened.
    Text(Rc<[u8]>),
    Null,
    Zero,
    Random,
    Pipe(PipeEnd),
    /// A folder: the steps that lead to it, and its entries once they have been read.
    Folder {
        steps: Vec<Step>,
        entries: std::cell::RefCell<Option<Rc<[super::directory::Entry]>>>,
    },
    /// A location only (O_PATH).
    Path {
        file: OwnedFd,
    },
}

/// An open file description.
pub struct OpenFile {
    pub kind: Kind,
    pub position: Cell<u64>,
    /// The flags of `open` that `fcntl(F_GETFL)` shows.
    pub flags: Cell<u32>,
    pub path: String,
}

/// Flags of `open`.
pub mod flag {
    pub const ACCESS: u32 = 3;
    pub const WRITE_ONLY: u32 = 1;
    pub const READ_WRITE: u32 = 2;
    pub const CREATE: u32 = 0o100;
    pub const EXCLUSIVE: u32 = 0o200;
    pub const TRUNCATE: u32 = 0o1000;
    pub const APPEND: u32 = 0o2000;
    pub const NON_BLOCKING: u32 = 0o4000;
    pub const DIRECTORY: u32 = 0o200_000;
    pub const NO_FOLLOW: u32 = 0o400_000;
    pub const CLOSE_ON_EXEC: u32 = 0o2_000_000;
    pub const PATH: u32 = 0o10_000_000;
    pub const TEMPORARY: u32 = 0o20_000_000;
}

impl OpenFile {
    pub fn new(kind: Kind, flags: u32, path: impl Into<String>) -> OpenFile {
        OpenFile { kind, position: Cell::new(0), flags: Cell::new(flags), path: path.into() }
    }

    pub fn has(&self, flag: u32) -> bool {
        self.flags.get() & flag != 0
    }

    pub fn readable(&self) -> bool {
        self.flags.get() & flag::ACCESS != flag::WRITE_ONLY && !matches!(self.kind, Kind::Path { .. })
    }

    pub fn writable(&self) -> bool {
        self.flags.get() & flag::ACCESS != 0 && !matches!(self.kind, Kind::Path { .. })
    }

    /// Whether the file has a position.
    pub fn seekable(&self) -> bool {
        !matches!(self.kind, Kind::Stream(_) | Kind::Pipe(_))
    }

    pub fn stat(&self) -> Result<FileStat, Errno> {
        Ok(match &self.kind {
            Kind::Host { file, .. } => fstat(file)?.into(),
            Kind::Path { file } => fstat(file)?.into(),
            Kind::Folder { steps, .. } => return folder_stat(steps),
            Kind::Stream(stream) => FileStat::made_up(CHARACTER | 0o620, 0, 3 + *stream as u64),
            Kind::Text(text) => FileStat::made_up(REGULAR | 0o444, text.len() as u64, 2),
            Kind::Null | Kind::Zero | Kind::Random => {
                FileStat { special: 0x103, ..FileStat::made_up(CHARACTER | 0o666, 0, 2) }
            }
            Kind::Pipe(_) => FileStat::made_up(PIPE | 0o600, 0, 7),
        })
    }
}

/// The result of `stat` for a folder.
pub fn folder_stat(steps: &[Step]) -> Result<FileStat, Errno> {
    match &steps.last().expect("a folder has a place").place {
        super::Place::Host(held) => Ok(fstat(held)?.into()),
        super::Place::Virtual => Ok(FileStat::made_up(FOLDER | 0o555, 0, 1)),
    }
}

/// The result of `lstat` for `/proc/self/exe`.
pub fn link_stat() -> FileStat {
    FileStat::made_up(LINK | 0o777, 0, 8)
}

/// Lets a mapping read its file even after the file has been closed.
pub struct MappedOpenFile(pub Rc<OpenFile>);

impl MappedFile for MappedOpenFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        match &self.0.kind {
            Kind::Host { file, .. } => {
                let mut done = 0;
                while done < bytes.len() {
                    match file.read_at(&mut bytes[done..], offset + done as u64)? {
                        0 => break,
                        count => done += count,
                    }
                }
                Ok(done)
            }
            Kind::Text(text) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| text.get(offset..)).unwrap_or(&[]);
                let count = rest.len().min(bytes.len());
                bytes[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn path(&self) -> &str {
        &self.0.path
    }
}
