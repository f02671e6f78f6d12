//! A device driver's interface to a guest: the guest's memory, and the system call by which its library reaches the
//! driver.
//!
//! The driver runs on the kernel's side. It reads and writes the guest's memory at the guest's virtual addresses, with
//! the guest's own rights, and it may map memory into the guest.

use crate::files::View;
use crate::state::{Read, Reader, state};
use engine::Time;
use mem::{Bytes, Frames, PhysAddr, VirtAddr};
use std::fmt;
use thiserror::Error;

/// The number of the system call that reaches the driver. Linux does not assign this number, so a program that runs
/// natively gets ENOSYS.
pub const TRAP_CALL: u64 = 0x4353_494d;

/// A guest thread, by the number that `gettid` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u32);

state!(tuple Tid);

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.0)
    }
}

/// An access to guest memory that its page tables do not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the guest can't {} address {address}", if *.write { "write" } else { "read" })]
pub struct Fault {
    /// The first byte that could not be accessed.
    pub address: VirtAddr,
    pub write: bool,
}

/// The guest's memory can't grow: its limit or its address space is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{size} more do not fit into the guest's memory")]
pub struct NoRoom {
    pub size: Bytes,
}

/// The memory of one process, at the process's own virtual addresses.
pub trait GuestMemory {
    /// Copies bytes out. On a fault, bytes before the faulting one may have been copied.
    fn read(&mut self, address: VirtAddr, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Copies bytes in. On a fault, bytes before the faulting one may have been written.
    fn write(&mut self, address: VirtAddr, bytes: &[u8]) -> Result<(), Fault>;

    /// Maps zeroed pages, readable and writable, at any free address.
    fn map_anonymous(&mut self, size: Bytes) -> Result<VirtAddr, NoRoom>;

    /// Brings in the pages of a mapping that devices will use, as far as memory suffices. A timed run pays for it at
    /// allocation, like drivers of GPUs that can't take page faults.
    fn populate(&mut self, address: VirtAddr, size: Bytes) {
        let _ = (address, size);
    }

    /// Removes a mapping; pages that are not mapped are skipped.
    fn unmap(&mut self, address: VirtAddr, size: Bytes);

    /// The physical address of a page, after the effects of a first access (zero fill, copy on write). For devices that
    /// make many accesses. Valid until the guest's mappings change. None if there is no direct access to the frames.
    fn physical(&mut self, address: VirtAddr, write: bool) -> Option<Result<PhysAddr, Fault>> {
        let _ = (address, write);
        None
    }

    /// Makes the host's accesses to whole pages fault to the driver first ([`Trap::host_fault`]).
    fn guard(&mut self, address: VirtAddr, size: Bytes, guard: Guard) {
        let _ = (address, size, guard);
    }

    /// The physical address of a page, regardless of its guard. From then on the page does not share its frame.
    fn beneath(&mut self, address: VirtAddr) -> Option<Result<PhysAddr, Fault>> {
        self.physical(address, true)
    }

    /// Whether an access failed only because its bytes are still in flight from a device, or because a driver guards
    /// them. The operation must then be repeated.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Notes that a device may write this physical page until the page is freed.
    fn share(&mut self, page: PhysAddr) {
        let _ = page;
    }

    /// Notes that a device uses this physical page. Until [`GuestMemory::unpin`] the page is not allocated again, even
    /// if the program frees it.
    fn pin(&mut self, page: PhysAddr) {
        let _ = page;
    }

    fn unpin(&mut self, page: PhysAddr) {
        let _ = page;
    }

    /// The physical memory that [`GuestMemory::physical`] refers to.
    fn frames(&mut self) -> Option<&mut Frames> {
        None
    }

    fn read_u32(&mut self, address: VirtAddr) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn read_u64(&mut self, address: VirtAddr) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn write_u32(&mut self, address: VirtAddr, value: u32) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }

    fn write_u64(&mut self, address: VirtAddr, value: u64) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }

    /// Reads a C string without its terminator, at most `longest` bytes.
    fn read_c_string(&mut self, address: VirtAddr, longest: usize) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        let mut byte = [0];
        while text.len() < longest {
            self.read(address + Bytes(text.len() as u64), &mut byte)?;
            if byte[0] == 0 {
                break;
            }
            text.push(byte[0]);
        }
        Ok(text)
    }
}

/// Which accesses to a page fault to the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    #[default]
    None,
    /// Writes fault.
    Writes,
    /// Every access faults.
    All,
}

state!(enum Guard { 0 None, 1 Writes, 2 All });

/// The driver's answer to a page fault of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFault {
    /// The access can be repeated at once.
    Repaired,
    /// The thread waits and repeats the access when devices have done something, or at `until`.
    Wait { until: Time },
    /// The page does not belong to the driver: the access raises a signal.
    NotMine,
}

/// The driver's answer to a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The system call returns this value (in rax).
    Return(u64),
    /// The thread waits. The call is repeated with the same arguments after another thread's trap has returned, or at
    /// `until` ([`Time::NEVER`]: without a timeout).
    Wait {
        until: Time,
        /// Whether this call nevertheless advanced commands, so that other waiting threads must check again.
        moved: bool,
    },
    /// Nothing has been done, because bytes that the call reads are still in flight from a device
    /// ([`GuestMemory::is_waiting`]). The call is repeated when they have arrived.
    Away,
}

/// A driver, which answers the system call [`TRAP_CALL`].
pub trait Trap {
    /// Handles one call. Arguments are in the order of the system-call convention: rdi, rsi, rdx, r10, r8, r9.
    fn trap(&mut self, args: [u64; 6], thread: Tid, guest: &mut dyn GuestMemory, now: Time) -> Answer;

    /// Handles an access of a thread, or of the kernel on its behalf, to a page that the driver guards.
    fn host_fault(
        &mut self,
        address: VirtAddr,
        write: bool,
        thread: Tid,
        guest: &mut dyn GuestMemory,
        now: Time,
    ) -> HostFault {
        let _ = (address, write, thread, guest, now);
        HostFault::NotMine
    }

    /// Sets which files the program can read: called at its start, and when its working folder changes.
    fn see(&mut self, files: View) {
        let _ = files;
    }

    /// Lets the driver's devices execute about `budget` instructions. Called between the turns of threads, and
    /// repeatedly while all threads wait. Returns the number of instructions executed. If it is not zero, threads that
    /// wait for the driver should repeat their calls; zero means that the devices have nothing to do.
    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> u64 {
        let _ = (guest, now, budget);
        0
    }

    /// The time of the next event that threads may wait for and whose time is known, such as the end of a kernel.
    fn next_event(&self) -> Time {
        Time::NEVER
    }

    /// Whether devices are doing work whose end is not known in advance.
    fn is_busy(&self) -> bool {
        false
    }

    /// Has the driver hold back calls from the one on that enqueues this kernel, counted from 1.
    fn drain_before(&mut self, kernel: u64) {
        let _ = kernel;
    }

    /// Whether the driver holds calls back and nothing is in flight.
    fn is_drained(&self) -> bool {
        false
    }

    /// Saves the driver's state while it is drained. Fails if a part of it can't be saved; the text says which.
    fn save(&self, to: &mut Vec<u8>) -> Result<(), String> {
        let _ = to;
        Ok(())
    }

    /// Takes over a saved state.
    fn load(&mut self, from: &mut Reader) -> Read<()> {
        let _ = from;
        Ok(())
    }

    /// Why the driver's devices, and so the simulation, can't continue.
    fn broken(&self) -> Option<String> {
        None
    }

    /// What a waiting thread waits for, for deadlock reports: `event 3 of queue 1`.
    fn waits_for(&self, thread: Tid) -> String {
        let _ = thread;
        "the driver".into()
    }
}

/// The absence of a driver: every call fails like a system call that does not exist.
pub struct NoDriver;

impl Trap for NoDriver {
    fn trap(&mut self, _: [u64; 6], _: Tid, _: &mut dyn GuestMemory, _: Time) -> Answer {
        const ENOSYS: i64 = 38;
        Answer::Return(-ENOSYS as u64)
    }
}
