//! What cores and compute units ask of the memory system, and what it answers.
//!
//! A requester splits its accesses at the borders of lines, gives each a number of its own and gets an answer under that
//! number when it has been performed, in any order. What caches say to each other below are the messages of their
//! protocol, not these.

use crate::{Atomic, Block, LineAddr, PhysAddr, Stamp, VirtAddr};

/// The bytes of a line, as the timing model moves them.
pub const LINE: usize = 64;

/// What a request is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read the bytes of the mask.
    Load,
    /// Write the bytes of the data.
    Store,
    /// Change the bytes of the mask as one indivisible step, where everybody on the device meets; `data` holds the operands.
    Atomic(Atomic),
    /// Read the bytes of the mask of a line that nobody else gets until this requester's next store to it: the first half of an
    /// indivisible access.
    Lock,
    /// Forget everything that may be stale: a kernel starts, or an acquire.
    Invalidate,
    /// See to it that everything written has arrived at the scope's level: a kernel ends, or a release.
    Flush,
}

/// Among whom an access has to be visible when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Those who share the requester's first cache.
    Group,
    /// Everybody on the same device.
    Device,
    /// Every device, and the host.
    System,
}

/// The number under which a requester knows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The number of an address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asid(pub u16);

/// A request about one line, or about all of them (`Invalidate`, `Flush`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: RequestId,
    pub access: Access,
    pub scope: Scope,
    pub asid: Asid,
    /// The line as the program names it.
    pub virt: VirtAddr,
    /// The line as memory names it, once it has been translated.
    pub phys: Option<PhysAddr>,
    /// A store's bytes; of a load, only the mask counts.
    pub data: Block<LINE>,
    /// What time it is at the requester, in protocols that order accesses by the time of compute units.
    pub stamp: Stamp,
    /// How many lanes ask for it together: so many look-ups it takes, and so many places where it waits.
    pub lanes: u8,
    /// Whether the requester's TLB did not have its page, for those who ask where such accesses find their line.
    pub tlb_missed: bool,
}

impl Request {
    /// The address under which a cache looks the line up: the physical one as soon as it is known.
    pub fn line(&self) -> LineAddr {
        LineAddr(self.phys.map_or(self.virt.0, |phys| phys.0))
    }
}

/// The answer to a request: it has been performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    pub id: RequestId,
    /// A load's bytes; what an atomic access found.
    pub data: Block<LINE>,
    /// The logical time at which it was performed, in protocols that have one.
    pub stamp: Stamp,
}
