//! Reading and writing open files.

use super::{Flow, Outcome};
use crate::{
    errno::Errno,
    files::{Kind, OpenFile, flag},
    guest::GuestMemory,
    process::{Process, Wait, What},
    signal::{SigInfo, Signal},
};
use engine::Time;
use mem::VirtAddr;
use x86::Access;

/// The maximum number of bytes of one call, as in Linux.
const MOST: u64 = 0x7fff_f000;
const CHUNK: usize = 64 << 10;
const MOST_PARTS: u64 = 1024;

/// A range of guest memory.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u64,
    size: u64,
}

/// Transfers one part, at most the given number of bytes; returns the number of bytes and whether the next part
/// follows.
type TransferPart = fn(&mut Process, &OpenFile, Option<u64>, Part, u64) -> Result<(u64, bool), Errno>;

impl Process {
    pub(super) fn read(&mut self, index: usize, fd: u64, start: u64, size: u64) -> Outcome {
        self.read_parts(index, fd, None, &[Part { start, size }])
    }

    pub(super) fn pread(&mut self, index: usize, fd: u64, start: u64, size: u64, at: u64) -> Outcome {
        self.read_parts(index, fd, Some(position(at)?), &[Part { start, size }])
    }

    pub(super) fn readv(&mut self, index: usize, fd: u64, parts: u64, count: u64) -> Outcome {
        let parts = self.parts(parts, count)?;
        self.read_parts(index, fd, None, &parts)
    }

    pub(super) fn preadv(&mut self, index: usize, fd: u64, parts: u64, count: u64, at: u64) -> Outcome {
        let parts = self.parts(parts, count)?;
        self.read_parts(index, fd, Some(position(at)?), &parts)
    }

    pub(super) fn write(&mut self, index: usize, fd: u64, start: u64, size: u64) -> Outcome {
        self.write_parts(index, fd, None, &[Part { start, size }])
    }

    pub(super) fn pwrite(&mut self, index: usize, fd: u64, start: u64, size: u64, at: u64) -> Outcome {
        self.write_parts(index, fd, Some(position(at)?), &[Part { start, size }])
    }

    pub(super) fn writev(&mut self, index: usize, fd: u64, parts: u64, count: u64) -> Outcome {
        let parts = self.parts(parts, count)?;
        self.write_parts(index, fd, None, &parts)
    }

    pub(super) fn pwritev(&mut self, index: usize, fd: u64, parts: u64, count: u64, at: u64) -> Outcome {
        let parts = self.parts(parts, count)?;
        self.write_parts(index, fd, Some(position(at)?), &parts)
    }

    pub(super) fn preadv2(&mut self, index: usize, fd: u64, parts: u64, count: u64, at: u64, flags: u64) -> Outcome {
        check_flags(flags)?;
        if at == HERE { self.readv(index, fd, parts, count) } else { self.preadv(index, fd, parts, count, at) }
    }

    pub(super) fn pwritev2(&mut self, index: usize, fd: u64, parts: u64, count: u64, at: u64, flags: u64) -> Outcome {
        check_flags(flags)?;
        if at == HERE { self.writev(index, fd, parts, count) } else { self.pwritev(index, fd, parts, count, at) }
    }

    fn parts(&mut self, list: u64, count: u64) -> Result<Vec<Part>, Errno> {
        if count > MOST_PARTS {
            return Err(Errno::EINVAL);
        }
        let mut parts = Vec::new();
        for place in 0..count {
            let at = list.wrapping_add(place * 16);
            let start = self.space.read_u64(VirtAddr(at))?;
            let size = self.space.read_u64(VirtAddr(at.wrapping_add(8)))?;
            if size > i64::MAX as u64 {
                return Err(Errno::EINVAL);
            }
            parts.push(Part { start, size });
        }
        Ok(parts)
    }

    fn read_parts(&mut self, index: usize, fd: u64, at: Option<u64>, parts: &[Part]) -> Outcome {
        self.transfer_by_page(index, fd, at, parts, Access::Write)
    }

    fn write_parts(&mut self, index: usize, fd: u64, at: Option<u64>, parts: &[Part]) -> Outcome {
        let outcome = self.transfer_by_page(index, fd, at, parts, Access::Read);
        if matches!(outcome, Err(Errno::EPIPE)) {
            self.send_to_thread(index, SigInfo::from_kernel(Signal::PIPE))?;
        }
        outcome
    }

    /// Reads or writes parts in order up to the first page that a driver guards. The call then fails with EFAULT and
    /// continues from there when the driver has provided the page. `access` is the access to guest memory.
    fn transfer_by_page(&mut self, index: usize, fd: u64, at: Option<u64>, parts: &[Part], access: Access) -> Outcome {
        let transfer = if access == Access::Write { Self::read_part } else { Self::write_part };
        let before = self.threads[index].call.done;
        if before == 0 && !self.space.has_guards() {
            return self.transfer_parts(fd, at, parts, transfer);
        }
        let (mut skip, mut open, mut guarded) = (before, Vec::new(), None);
        for part in parts {
            let over = skip.min(part.size);
            skip -= over;
            let (start, size) = (part.start.wrapping_add(over), part.size - over);
            let count = self.space.unguarded(start, size, access);
            open.push(Part { start, size: count });
            if count < size {
                guarded = Some(start.wrapping_add(count));
                break;
            }
        }
        let wanted = open.iter().fold(0, |sum: u64, part| sum.saturating_add(part.size));
        if wanted == 0 && guarded.is_some() {
            self.space.note_guarded(guarded.unwrap_or_default(), access == Access::Write);
            return Err(Errno::EFAULT);
        }
        let outcome = self.transfer_parts(fd, at.map(|at| at.saturating_add(before)), &open, transfer);
        match (outcome, guarded) {
            (Ok(Flow::Return(count)), Some(next)) if count == wanted => {
                self.threads[index].call.done = before + count;
                self.space.note_guarded(next, access == Access::Write);
                Err(Errno::EFAULT)
            }
            (Ok(Flow::Return(count)), _) => Ok(Flow::Return(before + count)),
            (_, _) if before > 0 => Ok(Flow::Return(before)),
            (outcome, _) => outcome,
        }
    }

    /// Reads or writes parts in order. An error after some bytes have been transferred is not reported; the byte count
    /// is.
    fn transfer_parts(&mut self, fd: u64, at: Option<u64>, parts: &[Part], transfer: TransferPart) -> Outcome {
        let file = self.files.get(fd)?;
        let mut done = 0;
        for part in parts {
            match transfer(self, &file, at.map(|at| at + done), *part, MOST - done) {
                Ok((count, more)) => {
                    done += count;
                    if !more {
                        break;
                    }
                }
                Err(Errno::EAGAIN) if done == 0 => return would_wait(&file),
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(Flow::Return(done))
    }

    /// Reads from the file into one part; returns the number of bytes and whether more can be read.
    fn read_part(&mut self, file: &OpenFile, at: Option<u64>, part: Part, most: u64) -> Result<(u64, bool), Errno> {
        let size = part.size.min(most);
        let mut bytes = vec![0; CHUNK.min(size as usize)];
        let mut done = 0;
        loop {
            let wanted = (size - done).min(CHUNK as u64) as usize;
            // Bytes from a pipe or terminal can't be put back: check that they can be delivered before they are taken.
            let start = part.start.wrapping_add(done);
            if wanted > 0 && !file.seekable() {
                self.check_writable(start, wanted as u64)?;
            }
            let result = match &file.kind {
                Kind::Random if file.readable() => {
                    self.random.fill_bytes(&mut bytes[..wanted]);
                    Ok(wanted)
                }
                _ => self.files.read(file, at.map(|at| at + done), &mut bytes[..wanted]),
            };
            let count = match result {
                Ok(count) => count,
                Err(_) if done > 0 => return Ok((done, false)),
                Err(error) => return Err(error),
            };
            if self.space.write(VirtAddr(start), &bytes[..count]).is_err() {
                if at.is_none() && file.seekable() {
                    file.position.set(file.position.get().saturating_sub(count as u64));
                }
                return if done > 0 { Ok((done, false)) } else { Err(Errno::EFAULT) };
            }
            done += count as u64;
            // A terminal or pipe returns the bytes it has, without waiting for more.
            if count < wanted || done >= size || !file.seekable() {
                return Ok((done, count == wanted && count > 0));
            }
        }
    }

    fn write_part(&mut self, file: &OpenFile, at: Option<u64>, part: Part, most: u64) -> Result<(u64, bool), Errno> {
        let size = part.size.min(most);
        let mut bytes = vec![0; CHUNK.min(size as usize)];
        let mut done = 0;
        loop {
            let wanted = (size - done).min(CHUNK as u64) as usize;
            let start = part.start.wrapping_add(done);
            let result = match self.space.read(VirtAddr(start), &mut bytes[..wanted]) {
                Ok(()) => self.files.write(file, at.map(|at| at + done), &bytes[..wanted]),
                Err(fault) => Err(fault.into()),
            };
            match result {
                Ok(count) => {
                    done += count as u64;
                    if count < wanted || done >= size {
                        return Ok((done, count == wanted));
                    }
                }
                Err(_) if done > 0 => return Ok((done, false)),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A pipe is empty or full: the thread waits, unless the file is non-blocking.
fn would_wait(file: &OpenFile) -> Outcome {
    if file.has(flag::NON_BLOCKING) {
        return Err(Errno::EAGAIN);
    }
    Ok(Flow::Wait(Wait { what: What::Files { restart: true }, deadline: Time::NEVER }))
}

/// The offset of `preadv2` and `pwritev2` that stands for the file's current position.
const HERE: u64 = u64::MAX;

/// RWF_HIPRI, RWF_DSYNC and RWF_SYNC have no effect here; other flags are not supported.
fn check_flags(flags: u64) -> Result<(), Errno> {
    if flags & 0xffff_ffff & !7 != 0 { Err(Errno::EOPNOTSUPP) } else { Ok(()) }
}

/// Checks a file offset, which must not be negative.
fn position(at: u64) -> Result<u64, Errno> {
    // Offsets up to i64::MAX leave room to add a size without overflow.
    if at > i64::MAX as u64 { Err(Errno::EINVAL) } else { Ok(at) }
}
