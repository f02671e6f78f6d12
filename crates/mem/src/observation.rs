//! What the golden image is told of a run: every write when it is performed, every read with what it returned.
//!
//! Whoever performs accesses (a first-level cache, a synchronising dispatcher) reports them in the order in which they
//! took effect there.

use crate::{Block, LINE, LineAddr};

/// Who performs accesses: accesses of one observer are seen by itself in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Observer(pub u32);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// These bytes were read.
    Read(Block<LINE>),
    /// These bytes were written.
    Wrote(Block<LINE>),
    /// These bytes were found, and at once replaced by those.
    Changed { found: Block<LINE>, new: Block<LINE> },
    /// Memory gave these bytes to caches, whichever asked.
    Fetched(Block<LINE>),
    /// Memory got these bytes from a cache.
    Landed(Block<LINE>),
    /// Everybody has written back what was written, and nobody holds anything stale: a kernel's border.
    Synchronised,
    /// The same, where memory need not have got it: who asks for what was written is given it by the one who wrote it.
    Released,
}

/// A logical time, in protocols that order accesses by it. Times of caches run over and start anew; here the upper half counts how
/// often they have ([`stamp_of`]), so that these never do.
pub type Stamp = u64;

/// The time of a cache or memory that has started anew so many times.
pub const fn stamp_of(era: u32, time: u32) -> Stamp {
    (era as Stamp) << 32 | time as Stamp
}

/// How often time had started anew, and the time since.
pub const fn era_and_time(stamp: Stamp) -> (u32, u32) {
    ((stamp >> 32) as u32, stamp as u32)
}

/// Something that happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub who: Observer,
    pub line: LineAddr,
    pub seen: Seen,
    /// At which logical time; 0 in protocols without.
    pub stamp: Stamp,
}
