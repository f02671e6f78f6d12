//! Arguments that lie in the guest's memory.

use super::LONGEST_PATH;
use crate::{
    errno::Errno,
    guest::GuestMemory,
    process::{Process, TimeSpec},
};
use mem::VirtAddr;
use x86::Memory;

impl Process {
    /// A path.
    pub(super) fn read_path(&mut self, address: u64) -> Result<Vec<u8>, Errno> {
        let path = self.space.read_c_string(VirtAddr(address), LONGEST_PATH)?;
        if path.len() >= LONGEST_PATH { Err(Errno::ENAMETOOLONG) } else { Ok(path) }
    }

    /// A `timespec`.
    pub(super) fn read_timespec(&mut self, address: u64) -> Result<TimeSpec, Errno> {
        let seconds = self.space.read_u64(VirtAddr(address))?;
        let nanoseconds = self.space.read_u64(VirtAddr(address.wrapping_add(8)))?;
        if seconds > i64::MAX as u64 || nanoseconds >= 1_000_000_000 {
            return Err(Errno::EINVAL);
        }
        Ok(TimeSpec { seconds, nanoseconds })
    }

    /// A `timeval`.
    pub(super) fn read_timeval(&mut self, address: u64) -> Result<TimeSpec, Errno> {
        let seconds = self.space.read_u64(VirtAddr(address))?;
        let microseconds = self.space.read_u64(VirtAddr(address.wrapping_add(8)))?;
        if seconds > i64::MAX as u64 || microseconds >= 1_000_000 {
            return Err(Errno::EINVAL);
        }
        Ok(TimeSpec { seconds, nanoseconds: microseconds * 1_000 })
    }

    /// Two words: seconds, and a fraction in whatever unit the caller has put there.
    pub(super) fn write_timespec(&mut self, at: u64, time: TimeSpec) -> Result<(), Errno> {
        self.space.write_u64(VirtAddr(at), time.seconds)?;
        self.space.write_u64(VirtAddr(at.wrapping_add(8)), time.nanoseconds)?;
        Ok(())
    }

    /// Whether a result could be stored, for calls that must know before they act.
    pub(super) fn check_writable(&mut self, address: u64, size: u64) -> Result<(), Errno> {
        self.space.probe_write(address, size).map_err(|_| Errno::EFAULT)
    }
}
