//! What a machine has to know of a protocol to be built with it: which controller stands where, what it promises, what it needs.

use crate::{Controller, Stamp, Table};
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

/// What sizes of a machine its controllers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Logical times have so many bits, 32 at most: these do not overflow in any run.
    pub time_bits: u32,
    /// Lines of a block, where memories are levels: a power of two, 256 at most.
    pub lines: u16,
    /// Whether GPUs give blocks to each other, where memories are levels.
    pub peer_transfer: bool,
    /// Whether what GPUs release must be in the host's memory then, where memories are levels: the host does not ask for it.
    pub releases_home: bool,
    /// Bytes that a bit of a mask stands for, where memories are levels: 1, 2, 4 or 8.
    pub grain: u8,
    /// Whether there are several GPUs.
    pub peers: bool,
    /// Whether what GPUs release must leave their second-level caches, because a CPU does not see it there.
    pub recalls: bool,
    /// Where second-level caches that do not keep each other coherent have atomic accesses performed.
    pub atomics: Atomics,
    /// Whether first-level caches send to their second-level caches on ways that keep the order of messages.
    pub in_order: bool,
    /// Whether second-level caches stand above a translator, which must hear of what they write and give up.
    pub claims: bool,
    /// How long a line may be read after a read and after a write, where lines are given out on leases of logical time.
    pub read_lease: Stamp,
    pub write_lease: Stamp,
}

/// Where atomic accesses are performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomics {
    /// In the cache itself.
    Here,
    /// Below: there it meets others.
    Below,
    /// Below for lines of the host's memory, of which the caches of several GPUs may hold a copy; in the cache itself for those of
    /// its own GPU's, of which no other has one.
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
    /// Logical times have at least so many bits: a lease must fit.
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
    /// Each GPU has its own.
    Local,
    /// All GPUs have one.
    Shared,
    /// The host's.
    Host,
    /// Memories of GPUs are levels above the host's.
    Levels,
}

/// How a CPU in the same machine can see what GPUs write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BesideCpu {
    /// Both meet in memory: caches are flushed around kernels.
    Memory,
    /// The CPU's caches are members of the protocol.
    Member,
    /// They are, and a machine without a CPU can't have the protocol.
    MustBeMember,
}

/// What a machine must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub memory: &'static [Organisation],
    pub cpu: BesideCpu,
    /// Whether second-level caches of GPUs are homes of lines, and send each other messages.
    pub peers: bool,
}

/// Which caches must forget what they hold before a kernel, once others have written to memory: beside what every acquire does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// Those that compute units share.
    Shared,
    /// All: an acquire does not have first-level caches forget.
    Everything,
}

/// What is done before and after a kernel, beside an acquire and a release by every compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Whether a GPU may still hold what another GPU has changed since.
    pub stale_between_gpus: bool,
    /// What has to go where memory has been changed by others.
    pub others_wrote: Forget,
    /// How often all GPUs flush their second-level caches after a kernel, where there are several GPUs: once for each cache that a
    /// write passes on its way to memory.
    pub flushes: u8,
}

impl Boundary {
    /// GPUs keep each other up to date.
    pub const COHERENT: Self = Self { stale_between_gpus: false, others_wrote: Forget::Shared, flushes: 1 };
}

/// Orders of a protocol that is never part of a machine in time.
pub fn no_orders(_: Role, _: &Parameters) -> Option<&'static Table> {
    None
}

/// A protocol that is never part of a machine in time.
pub fn nowhere(_: Role, _: &Parameters) -> Option<Seat> {
    None
}
