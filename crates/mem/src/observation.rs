//! What a run reports to the golden image: every write when it is performed, and every read with the value it returned.
//!
//! The elements that perform accesses (first-level caches, synchronising dispatchers) report them in the order in which
//! they took effect there.

use crate::{Block, LINE, LineAddr};

/// An element that performs accesses. It sees its own accesses in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Observer(pub u32);

/// An event at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// These bytes were read.
    Read(Block<LINE>),
    /// These bytes were written.
    Wrote(Block<LINE>),
    /// These bytes were found and atomically replaced by `new`.
    Changed { found: Block<LINE>, new: Block<LINE> },
    /// Memory supplied these bytes to a cache, whichever cache asked.
    Fetched(Block<LINE>),
    /// Memory received these bytes from a cache.
    Landed(Block<LINE>),
    /// All written data has been written back, and no cache holds stale data: the start or end of a kernel.
    Synchronised,
    /// Variant for a write that memory need not have received: a requester gets the bytes from the writer.
    Released,
}

/// A logical time, in protocols that order accesses by it. The times of caches overflow and are reset. The upper half
/// of a stamp counts these resets ([`stamp_of`]), so that stamps never overflow.
pub type Stamp = u64;

/// The stamp for `time` at a cache or memory whose time has been reset `era` times.
pub const fn stamp_of(era: u32, time: u32) -> Stamp {
    (era as Stamp) << 32 | time as Stamp
}

/// The number of resets, and the time since the last.
pub const fn era_and_time(stamp: Stamp) -> (u32, u32) {
    ((stamp >> 32) as u32, stamp as u32)
}

/// An event at a line, as one observer reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub who: Observer,
    pub line: LineAddr,
    pub seen: Seen,
    /// The logical time of the event; 0 in protocols without one.
    pub stamp: Stamp,
}
