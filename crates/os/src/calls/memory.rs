//! `mmap` and related system calls.

use super::{DONE, Flow, Outcome, only, value};
use crate::{
    errno::Errno,
    files::{Kind, MappedOpenFile},
    guest::GuestMemory,
    memory::{Access, Backing, MapRequest, Move, PAGE, Place, Rights},
    process::Process,
};
use mem::VirtAddr;
use std::rc::Rc;

mod map {
    pub const SHARED: u64 = 1;
    pub const PRIVATE: u64 = 2;
    pub const SHARED_VALIDATE: u64 = 3;
    pub const TYPE: u64 = 15;
    pub const FIXED: u64 = 0x10;
    /// MAP_32BIT.
    pub const LOW: u64 = 0x40;
    pub const ANONYMOUS: u64 = 0x20;
    pub const NO_RESERVE: u64 = 0x4000;
    pub const POPULATE: u64 = 0x8000;
    /// All flags that MAP_SHARED_VALIDATE accepts: the flags above and DENYWRITE, EXECUTABLE, LOCKED, GROWSDOWN,
    /// NONBLOCK, STACK, and the size of huge pages.
    pub const VALID: u64 = 0xfc1f_f933;
    pub const HUGE: u64 = 0x4_0000;
    pub const FIXED_NO_REPLACE: u64 = 0x10_0000;
}

impl Process {
    pub(super) fn mmap(&mut self, address: u64, size: u64, prot: u64, flags: u64, fd: u64, offset: u64) -> Outcome {
        // PROT_GROWSDOWN and PROT_GROWSUP have no effect here.
        let rights = Rights::from_prot(prot & 0xff).ok_or(Errno::EINVAL)?;
        let shared = match flags & map::TYPE {
            map::SHARED => true,
            map::SHARED_VALIDATE if flags & !map::VALID != 0 => return Err(Errno::EOPNOTSUPP),
            map::SHARED_VALIDATE => true,
            map::PRIVATE => false,
            _ => return Err(Errno::EINVAL),
        };
        if size == 0 || !offset.is_multiple_of(PAGE) {
            return Err(Errno::EINVAL);
        }
        let backing = if flags & map::ANONYMOUS != 0 {
            Backing::Zeros("")
        } else {
            self.file_backing(fd, offset, size, shared && rights.write())?
        };
        let place = match flags {
            flags if flags & map::FIXED_NO_REPLACE != 0 => Place::ExactlyIfFree(address),
            flags if flags & map::FIXED != 0 => Place::Exactly(address),
            flags if flags & map::LOW != 0 => Place::Low,
            _ => Place::Anywhere(address),
        };
        let request = MapRequest {
            place,
            size,
            rights,
            backing,
            shared,
            huge: flags & map::HUGE != 0,
            no_reserve: flags & map::NO_RESERVE != 0,
        };
        let start = self.space.map(request)?;
        if flags & map::POPULATE != 0 && rights.any() {
            self.space.bring_in_all(start, size, if rights.write() { Access::Write } else { Access::Read });
        }
        Ok(Flow::Return(start))
    }

    /// The backing of a file mapping. Stores change only the guest's private copy, never the file.
    fn file_backing(&mut self, fd: u64, offset: u64, size: u64, write_through: bool) -> Result<Backing, Errno> {
        let file = self.files.get(fd)?;
        if !file.readable() {
            return Err(Errno::EACCES);
        }
        // The end of the mapping must be a valid file offset, with room for the mapping to grow.
        offset.checked_add(size).filter(|end| *end <= i64::MAX as u64).ok_or(Errno::EINVAL)?;
        match &file.kind {
            Kind::Zero => Ok(Backing::Zeros("")),
            Kind::Host { .. } if write_through => {
                if !file.writable() {
                    return Err(Errno::EACCES);
                }
                self.explain("shared mappings that write to a file are not supported: mmap returns ENODEV");
                Err(Errno::ENODEV)
            }
            Kind::Host { .. } | Kind::Text(_) => {
                if let Some(used) = &self.files.used {
                    used.note(&file);
                }
                Ok(Backing::File { file: Rc::new(MappedOpenFile(file)), offset })
            }
            _ => Err(Errno::ENODEV),
        }
    }

    pub(super) fn mprotect(&mut self, start: u64, size: u64, prot: u64) -> Outcome {
        let rights = Rights::from_prot(prot & 0xff).ok_or(Errno::EINVAL)?;
        if size == 0 {
            return if start.is_multiple_of(PAGE) { DONE } else { Err(Errno::EINVAL) };
        }
        self.space.protect(start, size, rights)?;
        DONE
    }

    pub(super) fn munmap(&mut self, start: u64, size: u64) -> Outcome {
        self.space.unmap(start, size)?;
        DONE
    }

    pub(super) fn brk(&mut self, end: u64) -> Outcome {
        self.heap.end = self.space.set_break(self.heap.start, self.heap.end, end);
        value(Ok(self.heap.end))
    }

    pub(super) fn mremap(&mut self, start: u64, old: u64, new: u64, flags: u64, target: u64) -> Outcome {
        const MAY_MOVE: u64 = 1;
        const FIXED: u64 = 2;
        let may = match flags {
            0 => Move::Never,
            MAY_MOVE => Move::IfNeeded,
            flags if flags == MAY_MOVE | FIXED => Move::To(target),
            _ => return Err(Errno::EINVAL),
        };
        match self.space.remap(start, old, new, may) {
            Ok(place) => Ok(Flow::Return(place)),
            // Linux reports EFAULT for a range that is not mapped.
            Err(_) if self.space.areas().find(start).is_none() => Err(Errno::EFAULT),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks its arguments only: mapped pages are never written back to files.
    pub(super) fn msync(&mut self, start: u64, size: u64, flags: u64) -> Outcome {
        const ASYNC: u64 = 1;
        const INVALIDATE: u64 = 2;
        const SYNC: u64 = 4;
        only(flags, ASYNC | INVALIDATE | SYNC)?;
        if flags & (ASYNC | SYNC) == ASYNC | SYNC {
            return Err(Errno::EINVAL);
        }
        self.space.advised_range(start, size)?;
        DONE
    }

    pub(super) fn mincore(&mut self, start: u64, size: u64, vector: u64) -> Outcome {
        let end = self.space.advised_range(start, size)?;
        const CHUNK: u64 = 4096 * PAGE;
        for first in (start..end).step_by(CHUNK as usize) {
            let last = end.min(first + CHUNK);
            let mut bytes = vec![0; ((last - first) / PAGE) as usize];
            for page in self.space.resident_pages(first, last) {
                bytes[((page - first) / PAGE) as usize] = 1;
            }
            self.space.write(VirtAddr(vector.wrapping_add((first - start) / PAGE)), &bytes)?;
        }
        DONE
    }

    pub(super) fn madvise(&mut self, start: u64, size: u64, advice: u64) -> Outcome {
        const DONT_NEED: u64 = 4;
        const HUGE: u64 = 14;
        const NO_HUGE: u64 = 15;
        if size == 0 {
            return DONE;
        }
        match advice {
            DONT_NEED => self.space.discard(start, size)?,
            HUGE | NO_HUGE => self.space.advise_huge(start, size, advice == HUGE)?,
            // Advice that may be ignored: access patterns, MADV_FREE, forks, core dumps, cold and paged-out memory.
            0..=3 | 8 | 10 | 11 | 16 | 17 | 20 | 21 => {
                self.space.advised_range(start, size)?;
            }
            _ => return Err(Errno::EINVAL),
        }
        DONE
    }

    /// Prints a message on standard error, once per message.
    pub(crate) fn explain(&mut self, what: &'static str) {
        if self.explained.insert(what) {
            eprintln!("cohesim: {what}");
        }
    }
}
