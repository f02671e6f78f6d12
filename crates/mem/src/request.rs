//! Requests of cores and compute units to the memory system, and its replies.
//!
//! A requester splits its accesses at line boundaries and numbers them. Each reply carries the number of its request
//! and comes when the access has been performed, in any order. Caches talk to each other in messages of their protocol,
//! not in these.

use crate::{Atomic, Block, LineAddr, PhysAddr, Stamp, VirtAddr};

/// The size of a line in the timing model, in bytes.
pub const LINE: usize = 64;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read the bytes of the mask.
    Load,
    /// Write the bytes of the data.
    Store,
    /// Atomically change the bytes of the mask, at the point of coherence of the device; `data` holds the operands.
    Atomic(Atomic),
    /// Read the bytes of the mask and lock the line until this requester's next store to it: the first half of an
    /// atomic access.
    Lock,
    /// Write the line back to memory and drop it from all caches of the coherent system, in order with stores.
    FlushLine,
    /// Invalidate everything that may be stale: the start of a kernel, or an acquire.
    Invalidate,
    /// Make all written data visible at the scope's level: the end of a kernel, or a release.
    Flush,
}

/// The observers to which an access must be visible when its reply comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The requesters that share the first-level cache.
    Group,
    /// All requesters of the device.
    Device,
    /// All devices and the host.
    System,
}

/// The number by which a requester identifies a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The number of an address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asid(pub u16);

/// A request for one line, or for all of them (`Invalidate`, `Flush`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: RequestId,
    pub access: Access,
    pub scope: Scope,
    pub asid: Asid,
    /// The virtual address of the line.
    pub virt: VirtAddr,
    /// The physical address of the line, once it has been translated.
    pub phys: Option<PhysAddr>,
    /// The bytes of a store; for a load, only the mask matters.
    pub data: Block<LINE>,
    /// The requester's logical time, in protocols that order accesses by the times of compute units.
    pub stamp: Stamp,
    /// Number of lanes that make this request together. The request takes this number of look-ups, and this number of
    /// queue entries while it waits.
    pub lanes: u8,
    /// Whether the requester's TLB missed, for statistics of where such accesses find their line.
    pub tlb_missed: bool,
}

impl Request {
    /// The address with which a cache looks up the line: the physical one if it is known.
    pub fn line(&self) -> LineAddr {
        LineAddr(self.phys.map_or(self.virt.0, |phys| phys.0))
    }
}

/// The answer to a request: it has been performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    pub id: RequestId,
    /// The bytes of a load, or the old value of an atomic access.
    pub data: Block<LINE>,
    /// The logical time at which the access was performed, in protocols that have one.
    pub stamp: Stamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_small_enough_to_be_copied_without_a_call() {
        assert!(size_of::<Request>() <= 128, "{} bytes", size_of::<Request>());
    }
}
