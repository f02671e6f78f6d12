//! System calls about the process's identity, the machine it runs on, and its resource limits.

use super::{DONE, Outcome, only, value};
use crate::{errno::Errno, guest::GuestMemory, process::Process, program::STACK_SIZE};
use mem::VirtAddr;

pub const UID: u64 = 1000;
pub const GID: u64 = 1000;

const NO_LIMIT: u64 = u64::MAX;

impl Process {
    pub(super) fn three_ids(&mut self, real: u64, effective: u64, saved: u64) -> Outcome {
        for at in [real, effective, saved] {
            self.space.write_u32(VirtAddr(at), UID as u32)?;
        }
        DONE
    }

    pub(super) fn uname(&mut self, at: u64) -> Outcome {
        let fields = ["Linux", "cohesim", "6.1.0", "#1 cohesim", "x86_64", "(none)"];
        let mut bytes = [0; 6 * 65];
        for (place, field) in fields.iter().enumerate() {
            bytes[place * 65..place * 65 + field.len()].copy_from_slice(field.as_bytes());
        }
        self.space.write(VirtAddr(at), &bytes)?;
        DONE
    }

    pub(super) fn sysinfo(&mut self, at: u64) -> Outcome {
        let mut bytes = [0; 112];
        let total = self.space.limit().0;
        let free = total - self.space.used().0;
        for (place, word) in [self.clock.monotonic().seconds, 0, 0, 0, total, free].into_iter().enumerate() {
            bytes[place * 8..place * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes[80..82].copy_from_slice(&1_u16.to_le_bytes());
        // The unit of memory is a byte.
        bytes[104..108].copy_from_slice(&1_u32.to_le_bytes());
        self.space.write(VirtAddr(at), &bytes)?;
        DONE
    }

    /// The soft and the hard limit of a resource.
    fn resource_limit(&self, resource: u64) -> Result<(u64, u64), Errno> {
        const FILE_SIZE: u64 = 1;
        const STACK: u64 = 3;
        const CORE: u64 = 4;
        const FILES: u64 = 7;
        Ok(match resource {
            FILE_SIZE => (self.files.longest_file, self.files.longest_file),
            STACK => (STACK_SIZE, NO_LIMIT),
            CORE => (0, 0),
            FILES => (1024, 1024),
            0..16 => (NO_LIMIT, NO_LIMIT),
            _ => return Err(Errno::EINVAL),
        })
    }

    pub(super) fn getrlimit(&mut self, resource: u64, at: u64) -> Outcome {
        let (soft, hard) = self.resource_limit(resource)?;
        self.space.write_u64(VirtAddr(at), soft)?;
        self.space.write_u64(VirtAddr(at.wrapping_add(8)), hard)?;
        DONE
    }

    /// Accepts a new limit that does not exceed the hard limit, and ignores it: limits are set by the user of the
    /// simulator.
    pub(super) fn setrlimit(&mut self, resource: u64, at: u64) -> Outcome {
        let (_, hard) = self.resource_limit(resource)?;
        let soft_wish = self.space.read_u64(VirtAddr(at))?;
        let hard_wish = self.space.read_u64(VirtAddr(at.wrapping_add(8)))?;
        if soft_wish > hard_wish {
            return Err(Errno::EINVAL);
        }
        if hard_wish > hard { Err(Errno::EPERM) } else { DONE }
    }

    pub(super) fn prlimit(&mut self, resource: u64, new: u64, old: u64) -> Outcome {
        self.resource_limit(resource)?;
        if old != 0 {
            self.getrlimit(resource, old)?;
        }
        if new != 0 { self.setrlimit(resource, new) } else { DONE }
    }

    pub(super) fn prctl(&mut self, index: usize, option: u64, argument: u64) -> Outcome {
        const SET_DEATH_SIGNAL: u64 = 1;
        const GET_DUMPABLE: u64 = 3;
        const SET_DUMPABLE: u64 = 4;
        const SET_NAME: u64 = 15;
        const GET_NAME: u64 = 16;
        const SET_NO_NEW_PRIVILEGES: u64 = 38;
        const SET_VMA: u64 = 0x5356_4d41;
        match option {
            SET_NAME => {
                let name = self.space.read_c_string(VirtAddr(argument), 15)?;
                let thread = &mut self.threads[index];
                thread.name = [0; 16];
                thread.name[..name.len()].copy_from_slice(&name);
                DONE
            }
            GET_NAME => {
                let name = self.threads[index].name;
                self.space.write(VirtAddr(argument), &name)?;
                DONE
            }
            GET_DUMPABLE => value(Ok(1)),
            SET_DEATH_SIGNAL | SET_DUMPABLE | SET_NO_NEW_PRIVILEGES => DONE,
            // Naming of anonymous memory: glibc works without it.
            SET_VMA => Err(Errno::EINVAL),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn getrandom(&mut self, at: u64, size: u64, flags: u64) -> Outcome {
        const NON_BLOCKING: u64 = 1;
        const RANDOM: u64 = 2;
        const INSECURE: u64 = 4;
        only(flags, NON_BLOCKING | RANDOM | INSECURE)?;
        if flags & (RANDOM | INSECURE) == RANDOM | INSECURE {
            return Err(Errno::EINVAL);
        }
        const MOST: u64 = 32 << 20;
        let size = size.min(MOST);
        let mut bytes = [0; 4096];
        let mut done = 0;
        while done < size {
            let count = (size - done).min(bytes.len() as u64) as usize;
            self.random.fill_bytes(&mut bytes[..count]);
            self.space.write(VirtAddr(at.wrapping_add(done)), &bytes[..count])?;
            done += count as u64;
        }
        value(Ok(size))
    }
}
