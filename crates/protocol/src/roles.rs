//! What a machine needs to know about a protocol: the controller for each role, the guarantees to readers, and the
//! elements that the machine must have.

use crate::{Controller, Sharers, Stamp, Table};
use mem::{LINE, LineAddr, PhysAddr, Zone};
use std::sync::Arc;

/// A place in a machine for which a protocol may have a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A first-level cache of a GPU.
    L1,
    /// A bank of a GPU's second-level cache.
    L2,
    /// The memory below them.
    Home,
    /// The data cache of a core.
    CoreData,
    /// The instruction cache of a core.
    CoreCode,
    /// The second-level cache of a core.
    CoreL2,
    /// A slice of the last-level cache, with its directory.
    LastLevel,
    /// A memory with a directory of its own, where no last-level cache is shared.
    Directory,
    /// A GPU's memory that is a level above the host's.
    GpuMemory,
    /// The host's memory below those.
    HostMemory,
    /// The bytes behind the directory of such a memory.
    Store,
}

/// The parameters of a machine that its controllers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bits of logical times, at most 32: times of 32 bits do not overflow in any run.
    pub time_bits: u32,
    /// Lines of a block if memories are levels: a power of two, at most 256.
    pub lines: u16,
    /// Whether GPUs pass blocks to each other if memories are levels.
    pub peer_transfer: bool,
    /// If memories are levels: whether bytes that a GPU releases must reach the host's memory at once, because the host
    /// sends no requests for them.
    pub releases_home: bool,
    /// Bytes that a bit of a mask stands for if memories are levels: 1, 2, 4 or 8.
    pub grain: u8,
    /// If memories are levels: the numbers of the nodes above the host's memory that hold single lines, not blocks: the
    /// CPU's last-level cache.
    pub singles: Sharers,
    /// Whether there are several GPUs.
    pub peers: bool,
    /// Whether bytes that a GPU releases must leave its second-level cache, because a CPU does not see them there.
    pub recalls: bool,
    /// Where atomic accesses are performed if second-level caches do not keep each other coherent.
    pub atomics: Atomics,
    /// Whether the wires from first-level to second-level caches keep messages in order.
    pub in_order: bool,
    /// Whether second-level caches are above a translator, which must be notified of the lines that they write and give
    /// up.
    pub claims: bool,
    /// If lines are granted on leases of logical time: how long a line may be read after a read, and after a write.
    pub read_lease: Stamp,
    pub write_lease: Stamp,
}

/// Where atomic accesses are performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomics {
    /// In the cache itself.
    Here,
    /// Below, where the accesses of all requesters meet.
    Below,
    /// Below for lines of the host's memory, because caches of several GPUs may hold copies; in the cache itself for
    /// lines of its own GPU's memory, because no other GPU has a copy.
    BelowForHost,
}

impl Atomics {
    /// Whether atomic accesses to a line are performed below.
    pub fn are_below(self, line: LineAddr) -> bool {
        match self {
            Self::Here => false,
            Self::Below => true,
            Self::BelowForHost => Zone::of(PhysAddr(line.0)) == Zone::Host,
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            time_bits: 32,
            lines: 1,
            peer_transfer: false,
            releases_home: true,
            grain: 1,
            singles: Sharers::NONE,
            peers: false,
            recalls: false,
            atomics: Atomics::Here,
            in_order: false,
            claims: false,
            read_lease: Self::READ_LEASE,
            write_lease: Self::WRITE_LEASE,
        }
    }
}

impl Parameters {
    /// Minimum number of bits of logical times: a lease must fit.
    pub const LEAST_TIME_BITS: u32 = 5;
    /// The leases of `[halcone 5.1]`.
    pub const READ_LEASE: Stamp = 10;
    pub const WRITE_LEASE: Stamp = 5;

    /// The last logical time.
    pub const fn last_time(&self) -> Stamp {
        ((1u64 << self.time_bits) - 1) as Stamp
    }
}

/// A controller in its place.
pub type Seat = Arc<dyn Controller<LINE>>;

/// The controller for a role, if the protocol has one there.
pub type Seats = fn(Role, &Parameters) -> Option<Seat>;

/// The table of orders for a role: what acquires and releases consist of there.
pub type OrderTables = fn(Role, &Parameters) -> Option<&'static Table>;

/// What a read returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The newest write performed anywhere.
    Newest,
    /// The newest write up to the read's logical time.
    ByTime,
    /// The newest write before the last synchronisation, or a later one.
    UntilSynchronised,
}

/// How memory is organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Organisation {
    /// Each GPU has its own memory.
    Local,
    /// All GPUs share one memory.
    Shared,
    /// GPUs use the host's memory.
    Host,
    /// Memories of GPUs are levels above the host's.
    Levels,
}

/// How a CPU in the same machine sees the writes of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BesideCpu {
    /// Both meet in memory: caches are flushed around kernels.
    Memory,
    /// The CPU's caches are members of the protocol.
    Member,
    /// The CPU's caches are members, and a machine without a CPU can't use the protocol.
    MustBeMember,
}

/// An element that a machine must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub memory: &'static [Organisation],
    pub cpu: BesideCpu,
    /// Whether second-level caches of GPUs are homes of lines, and send each other messages.
    pub peers: bool,
}

/// The caches that must be invalidated before a kernel if others have written to memory, in addition to what every
/// acquire does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// The caches that compute units share.
    Shared,
    /// All caches: an acquire does not invalidate first-level caches.
    Everything,
}

/// Actions before and after a kernel, in addition to an acquire and a release by every compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Whether a GPU may hold lines that another GPU has written since.
    pub stale_between_gpus: bool,
    /// The caches to invalidate if others have written to memory.
    pub others_wrote: Forget,
    /// With several GPUs: how often all of them flush their second-level caches after a kernel, once for each cache
    /// that a write passes on its way to memory.
    pub flushes: u8,
}

impl Boundary {
    /// The boundary of protocols that keep GPUs coherent with each other.
    pub const COHERENT: Self = Self { stale_between_gpus: false, others_wrote: Forget::Shared, flushes: 1 };
}

/// Orders of a protocol that is never part of a timed machine.
pub fn no_orders(_: Role, _: &Parameters) -> Option<&'static Table> {
    None
}

/// A protocol that is never part of a timed machine.
pub fn nowhere(_: Role, _: &Parameters) -> Option<Seat> {
    None
}
