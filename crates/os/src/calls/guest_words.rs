//! Reads and writes system-call arguments that are stored in guest memory.

use super::LONGEST_PATH;
use crate::{
    errno::Errno,
    guest::GuestMemory,
    process::{Process, TimeSpec},
};
use mem::VirtAddr;
use x86::Memory;

impl Process {
    /// Reads a null-terminated path.
    pub(super) fn read_path(&mut self, address: u64) -> Result<Vec<u8>, Errno> {
        let path = self.space.read_c_string(VirtAddr(address), LONGEST_PATH)?;
        if path.len() >= LONGEST_PATH { Err(Errno::ENAMETOOLONG) } else { Ok(path) }
    }

    /// Reads a `timespec`.
    pub(super) fn read_timespec(&mut self, address: u64) -> Result<TimeSpec, Errno> {
        let seconds = self.space.read_u64(VirtAddr(address))?;
        let nanoseconds = self.space.read_u64(VirtAddr(address.wrapping_add(8)))?;
        if seconds > i64::MAX as u64 || nanoseconds >= 1_000_000_000 {
            return Err(Errno::EINVAL);
        }
        Ok(TimeSpec { seconds, nanoseconds })
    }

    /// Reads a `timeval`.
    pub(super) fn read_timeval(&mut self, address: u64) -> Result<TimeSpec, Errno> {
        let seconds = self.space.read_u64(VirtAddr(address))?;
        let microseconds = self.space.read_u64(VirtAddr(address.wrapping_add(8)))?;
        if seconds > i64::MAX as u64 || microseconds >= 1_000_000 {
            return Err(Errno::EINVAL);
        }
        Ok(TimeSpec { seconds, nanoseconds: microseconds * 1_000 })
    }

    /// Writes two words: the seconds, and the fraction in the unit that the caller stored in `nanoseconds`.
    pub(super) fn write_timespec(&mut self, at: u64, time: TimeSpec) -> Result<(), Errno> {
        self.space.write_u64(VirtAddr(at), time.seconds)?;
        self.space.write_u64(VirtAddr(at.wrapping_add(8)), time.nanoseconds)?;
        Ok(())
    }

    /// Checks that a result could be stored, for calls that must know before they have side effects.
    pub(super) fn check_writable(&mut self, address: u64, size: u64) -> Result<(), Errno> {
        self.space.probe_write(address, size).map_err(|_| Errno::EFAULT)
    }
}
