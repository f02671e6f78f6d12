//! System calls on file descriptors that transfer no data.

use super::{DONE, Flow, Outcome, only, value};
use crate::{
    errno::Errno,
    files::{Descriptor, Kind, OpenFile, Stream, flag},
    guest::GuestMemory,
    process::Process,
};
use mem::VirtAddr;
use std::rc::Rc;

impl Process {
    pub(super) fn close(&mut self, fd: u64) -> Outcome {
        self.files.close(fd)?;
        DONE
    }

    pub(super) fn close_range(&mut self, first: u64, last: u64, flags: u64) -> Outcome {
        // CLOSE_RANGE_UNSHARE: the descriptor table is never shared with another process, so nothing needs copying.
        const UNSHARE: u64 = 2;
        const CLOSE_ON_EXEC: u64 = 4;
        only(flags, UNSHARE | CLOSE_ON_EXEC)?;
        let (first, last) = (first & 0xffff_ffff, last & 0xffff_ffff);
        if first > last {
            return Err(Errno::EINVAL);
        }
        for fd in first..=last.min(1 << 16) {
            // Descriptors in the range that are not open are skipped.
            match self.files.descriptor_mut(fd) {
                Ok(descriptor) if flags & CLOSE_ON_EXEC != 0 => descriptor.close_on_exec = true,
                _ => drop(self.files.close(fd)),
            }
        }
        DONE
    }

    pub(super) fn dup(&mut self, fd: u64) -> Outcome {
        let file = self.files.get(fd)?;
        value(self.files.add(file, false, 0))
    }

    pub(super) fn dup2(&mut self, from: u64, to: u64) -> Outcome {
        let file = self.files.get(from)?;
        if from as u32 != to as u32 {
            self.files.put(to, Descriptor { file, close_on_exec: false })?;
        }
        value(Ok(to))
    }

    pub(super) fn dup3(&mut self, from: u64, to: u64, flags: u64) -> Outcome {
        if from as u32 == to as u32 || flags & !u64::from(flag::CLOSE_ON_EXEC) != 0 {
            return Err(Errno::EINVAL);
        }
        let file = self.files.get(from)?;
        self.files.put(to, Descriptor { file, close_on_exec: flags != 0 })?;
        value(Ok(to))
    }

    pub(super) fn pipe(&mut self, at: u64, flags: u32) -> Outcome {
        if flags & !(flag::CLOSE_ON_EXEC | flag::NON_BLOCKING) != 0 {
            return Err(Errno::EINVAL);
        }
        self.check_writable(at, 8)?;
        let (reader, writer) = self.files.pipe(flags)?;
        self.space.write_u64(VirtAddr(at), reader | writer << 32)?;
        DONE
    }

    pub(super) fn fcntl(&mut self, fd: u64, command: u64, argument: u64) -> Outcome {
        const DUP: u64 = 0;
        const GET_FD: u64 = 1;
        const SET_FD: u64 = 2;
        const GET_FLAGS: u64 = 3;
        const SET_FLAGS: u64 = 4;
        const GET_LOCK: u64 = 5;
        const SET_LOCK: u64 = 6;
        const SET_LOCK_WAIT: u64 = 7;
        const DUP_CLOSE_ON_EXEC: u64 = 1030;
        const GET_PIPE_SIZE: u64 = 1032;
        let file = self.files.get(fd)?;
        match command {
            DUP | DUP_CLOSE_ON_EXEC => value(self.files.add(file, command == DUP_CLOSE_ON_EXEC, argument)),
            GET_FD => value(Ok(self.files.descriptor(fd)?.close_on_exec.into())),
            SET_FD => {
                self.files.descriptor_mut(fd)?.close_on_exec = argument & 1 != 0;
                DONE
            }
            GET_FLAGS => value(Ok(file.flags.get().into())),
            SET_FLAGS => {
                let may = flag::APPEND | flag::NON_BLOCKING;
                file.flags.set(file.flags.get() & !may | argument as u32 & may);
                DONE
            }
            // The guest is a single process: every lock request succeeds, and no other process holds a lock.
            SET_LOCK | SET_LOCK_WAIT => DONE,
            GET_LOCK => {
                const UNLOCKED: u16 = 2;
                self.space.write(VirtAddr(argument), &UNLOCKED.to_le_bytes())?;
                DONE
            }
            GET_PIPE_SIZE if matches!(file.kind, Kind::Pipe(_)) => value(Ok(crate::files::PIPE_SIZE as u64)),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn ioctl(&mut self, fd: u64, request: u64, argument: u64) -> Outcome {
        const TCGETS: u64 = 0x5401;
        const TCSETS: u64 = 0x5402;
        const TCSETSF: u64 = 0x5404;
        const TIOCGPGRP: u64 = 0x540f;
        const TIOCGWINSZ: u64 = 0x5413;
        const FIONREAD: u64 = 0x541b;
        const FIONBIO: u64 = 0x5421;
        const FIOCLEX: u64 = 0x5451;
        let file = self.files.get(fd)?;
        match request {
            FIONBIO => {
                let on = self.space.read_u32(VirtAddr(argument))? != 0;
                let flags = file.flags.get() & !flag::NON_BLOCKING;
                file.flags.set(if on { flags | flag::NON_BLOCKING } else { flags });
                DONE
            }
            FIOCLEX => {
                self.files.descriptor_mut(fd)?.close_on_exec = true;
                DONE
            }
            FIONREAD if matches!(file.kind, Kind::Pipe(_)) => {
                let Kind::Pipe(pipe) = &file.kind else { return Err(Errno::ENOTTY) };
                self.space.write_u32(VirtAddr(argument), pipe.waiting() as u32)?;
                DONE
            }
            _ => {
                let terminal = matches!(&file.kind, Kind::Stream(stream) if self.is_terminal(*stream));
                if !terminal {
                    return Err(Errno::ENOTTY);
                }
                match request {
                    // The default settings of a terminal, in the kernel's `struct termios` layout.
                    TCGETS => {
                        let mut bytes = [0; 36];
                        for (place, word) in [0x500_u32, 0x5, 0xbf, 0x8a3b].into_iter().enumerate() {
                            bytes[place * 4..place * 4 + 4].copy_from_slice(&word.to_le_bytes());
                        }
                        self.space.write(VirtAddr(argument), &bytes)?;
                        DONE
                    }
                    TCSETS..=TCSETSF => DONE,
                    TIOCGWINSZ => {
                        let bytes: Vec<u8> = [24_u16, 80, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
                        self.space.write(VirtAddr(argument), &bytes)?;
                        DONE
                    }
                    TIOCGPGRP => {
                        self.space.write_u32(VirtAddr(argument), crate::process::PID)?;
                        DONE
                    }
                    _ => Err(Errno::ENOTTY),
                }
            }
        }
    }

    fn is_terminal(&self, stream: Stream) -> bool {
        self.files.stdio.is_terminal(stream)
    }

    pub(super) fn lseek(&mut self, fd: u64, offset: i64, whence: u64) -> Outcome {
        let file = self.files.get(fd)?;
        if !file.seekable() {
            return Err(Errno::ESPIPE);
        }
        let size = file.stat()?.size as i64;
        let from = match whence {
            0 => 0,
            1 => file.position.get() as i64,
            2 => size,
            // SEEK_DATA and SEEK_HOLE: the whole file counts as data, with one hole at its end.
            3 if (0..size).contains(&offset) => return self.seek_to(&file, offset),
            4 if (0..size).contains(&offset) => return self.seek_to(&file, size),
            3 | 4 => return Err(Errno::ENXIO),
            _ => return Err(Errno::EINVAL),
        };
        let to = from.checked_add(offset).ok_or(Errno::EINVAL)?;
        self.seek_to(&file, to)
    }

    fn seek_to(&mut self, file: &Rc<OpenFile>, to: i64) -> Outcome {
        let to = u64::try_from(to).map_err(|_| Errno::EINVAL)?;
        file.position.set(to);
        Ok(Flow::Return(to))
    }

    pub(super) fn ftruncate(&mut self, fd: u64, size: u64) -> Outcome {
        if size > i64::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        let file = self.files.get(fd)?;
        self.files.truncate(&file, size)?;
        DONE
    }

    pub(super) fn fallocate(&mut self, fd: u64, mode: u64, offset: u64, size: u64) -> Outcome {
        let file = self.files.get(fd)?;
        if mode != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let end = offset.checked_add(size).filter(|end| *end <= i64::MAX as u64 && size > 0).ok_or(Errno::EINVAL)?;
        if end > file.stat()?.size {
            self.files.truncate(&file, end)?;
        }
        DONE
    }

    /// `flock`, `fsync` and `fdatasync` do nothing: no other process exists, and the host writes files back on its own.
    pub(super) fn sync(&mut self, fd: u64) -> Outcome {
        self.files.get(fd)?;
        DONE
    }
}
