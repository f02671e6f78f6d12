//! What a device driver sees of a guest: its memory, and the system call by which its library asks for something.
//!
//! The driver runs on the kernel's side of the wall. It reads and writes the guest's memory at the guest's own virtual
//! addresses, with the rights the guest itself would have, and it may map memory into the guest.

use crate::files::View;
use engine::Time;
use mem::{Bytes, Frames, PhysAddr, VirtAddr};
use std::fmt;
use thiserror::Error;

/// The number of the system call that reaches the driver. Linux has no call by this number and never will: a program that
/// runs natively gets ENOSYS.
pub const TRAP_CALL: u64 = 0x4353_494d;

/// A thread of a guest, by the number it gets from `gettid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u32);

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

/// The guest's memory can't grow: its limit or its address space is used up.
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

    /// Maps zeros, readable and writable, page-aligned, where there is room.
    fn map_anonymous(&mut self, size: Bytes) -> Result<VirtAddr, NoRoom>;

    /// Brings in the pages of a mapping that devices will use, as many as there is memory for: where that takes time, it is when
    /// they are allocated, as with drivers of GPUs that can't wait for a page.
    fn populate(&mut self, address: VirtAddr, size: Bytes) {
        let _ = (address, size);
    }

    /// Takes a mapping away; pages that are not mapped are passed over.
    fn unmap(&mut self, address: VirtAddr, size: Bytes);

    /// Where a page lies in physical memory, after whatever a first access does (pages of zeros, copies on write), and that
    /// memory: for devices that access many places in a row. Good until the guest's mappings change.
    fn physical(&mut self, address: VirtAddr, write: bool) -> Option<Result<PhysAddr, Fault>> {
        let _ = (address, write);
        None
    }

    /// Has accesses of the host to whole pages go to the driver ([`Trap::host_fault`]) before anything else.
    fn guard(&mut self, address: VirtAddr, size: Bytes, guard: Guard) {
        let _ = (address, size, guard);
    }

    /// Where a page lies in physical memory, whatever guards it; the page has that frame for itself from then on.
    fn beneath(&mut self, address: VirtAddr) -> Option<Result<PhysAddr, Fault>> {
        self.physical(address, true)
    }

    /// Whether an access failed only because its bytes have not come yet from a device, or because a driver guards them: what was to be
    /// done is done again.
    fn is_waiting(&self) -> bool {
        false
    }

    /// A device may write this page of physical memory from now on, until it is given back.
    fn share(&mut self, page: PhysAddr) {
        let _ = page;
    }

    /// A device works on this page of physical memory until it is let go: whatever the program does, nobody else gets it before.
    fn pin(&mut self, page: PhysAddr) {
        let _ = page;
    }

    fn unpin(&mut self, page: PhysAddr) {
        let _ = page;
    }

    /// The memory that [`GuestMemory::physical`] speaks of.
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

    /// The bytes of a C string without its end, at most `longest` of them.
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

/// What of a page a driver guards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    #[default]
    None,
    /// Writes fault.
    Writes,
    /// Every access faults.
    All,
}

/// How the driver answers a fault of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFault {
    /// The access can be made again at once.
    Repaired,
    /// The thread waits, and makes the access again when devices have done something, or when `until` has come.
    Wait { until: Time },
    /// The page is none of the driver's: the access ends in a signal.
    NotMine,
}

/// How the driver answers a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The system call returns this value (in rax).
    Return(u64),
    /// The thread waits. The same call is made again, with the same arguments, after another thread's trap has returned, or
    /// when `until` has come ([`Time::NEVER`]: only the former).
    Wait {
        until: Time,
        /// Commands have got further by this call all the same: other threads that wait look again.
        moved: bool,
    },
    /// Nothing has been done: bytes that the call reads have not come yet from a device ([`GuestMemory::is_waiting`]). It is made
    /// again when they have.
    Away,
}

/// A driver: what answers the system call [`TRAP_CALL`].
pub trait Trap {
    /// One call, with the arguments in the order of the system-call convention: rdi, rsi, rdx, r10, r8, r9.
    fn trap(&mut self, args: [u64; 6], thread: Tid, guest: &mut dyn GuestMemory, now: Time) -> Answer;

    /// A thread, or the kernel for it, has accessed a page that the driver guards.
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

    /// What the program can read from now on: at its start, and when it has changed its working folder.
    fn see(&mut self, files: View) {
        let _ = files;
    }

    /// Lets the driver's devices work for a while (about `budget` instructions of theirs). To be called between the turns of
    /// threads, and again and again while all of them wait. Answers with the instructions executed; more than zero means
    /// that threads which wait for the driver should make their calls again, zero that the devices have nothing to do.
    fn work(&mut self, guest: &mut dyn GuestMemory, now: Time, budget: u64) -> u64 {
        let _ = (guest, now, budget);
        0
    }

    /// When something happens by itself for which threads may wait: the end of a kernel, whose time is known beforehand.
    fn next_event(&self) -> Time {
        Time::NEVER
    }

    /// Whether devices are at work of which nobody can say when it ends.
    fn is_busy(&self) -> bool {
        false
    }

    /// Why the driver's devices, and with them the simulation, can't go on.
    fn broken(&self) -> Option<String> {
        None
    }

    /// What a thread that was told to wait waits for, for the report on a deadlock: `event 3 of queue 1`.
    fn waits_for(&self, thread: Tid) -> String {
        let _ = thread;
        "the driver".into()
    }
}

/// No driver is there: every call fails as a system call that does not exist does.
pub struct NoDriver;

impl Trap for NoDriver {
    fn trap(&mut self, _: [u64; 6], _: Tid, _: &mut dyn GuestMemory, _: Time) -> Answer {
        const ENOSYS: i64 = 38;
        Answer::Return(-ENOSYS as u64)
    }
}
