//! The plan of a machine: plain data that says which elements there are, how they are connected, which role of which
//! protocol each has, and where bytes lie.
//!
//! [`lower`](lower::lower) makes it from a machine file and takes every decision; [`build`](crate::build) makes a model
//! from it and takes none. The drawing of a machine, the names of the observers in a checked run, and the routes of
//! messages are derived from it.

mod cpu_complex;
mod domain;
mod fabric;
mod gpus;
mod lower;
mod memory;
mod numbers;
mod path;
mod routes;

pub use domain::{Domain, Members};
pub use fabric::{FabricPlan, Receivers};
pub use lower::{Population, lower};
pub use numbers::{FLUSHER, MOST, Numbers};
pub use path::Path;
pub use routes::Routes;

use crate::{
    golden::Side,
    program::{FrontEndSpec, GpusSpec, HostDmaSpec},
    stress::Port as TesterPort,
};
use cache::CacheSpec;
use dram::{Extent, LevelSpec, MemorySpec, RoomSpec};
use engine::{Hertz, LinkSpec, PortSpec, Time};
use gpu::{ComputeUnitSpec, DispatcherSpec};
use interconnect::NetworkSpec;
use mem::{Bytes, Interleave, Share};
use protocol::{Node, Roster, Sharers};
use std::collections::BTreeMap;
use vm::{Above, FbtSpec, MmuSpec, SharedTlbSpec, TlbSpec, WalkersSpec};

/// A machine that can be built.
pub struct Plan {
    /// The clocks. Of edges at one time, those of earlier clocks run first.
    pub clocks: Vec<Hertz>,
    /// The elements. Each partition builds its own in this order.
    pub elements: Vec<Element>,
    /// The connections. Links are declared in this order: of deliveries at one time, those of earlier links come first.
    pub edges: Vec<Edge>,
    /// The coherence domains: sets of elements that keep each other's caches coherent.
    pub domains: Vec<Domain>,
    /// The channel of memory of each address, by number.
    pub channels: Interleave<usize>,
    /// The first address of each memory: of the host's, which cores reach, and of those that only GPUs reach.
    pub zones: Vec<u64>,
    /// The cores' view of memory, if there are cores.
    pub cores: Option<CoresView>,
    /// If GPUs are joined by a fabric: the partitions' shares of the work, by number, and how long each GPU may run
    /// without synchronising with the others.
    pub shares: BTreeMap<usize, engine::Share>,
    pub control_delay: Option<Time>,
}

/// The number of an element in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(pub usize);

/// The number of an edge in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeId(pub usize);

/// A piece of hardware, or software in its place.
pub struct Element {
    pub path: Path,
    /// The number of its clock.
    pub clock: usize,
    /// The partition that it is built in.
    pub part: usize,
    pub what: What,
    /// The number under which other elements address it, or know it as a requester.
    pub node: Option<Node>,
    /// Its connections, in the order in which it looks at them.
    pub edges: Vec<EdgeId>,
    /// The observers as which it reports to the golden image.
    pub reports: Vec<Reports>,
}

/// An observer of the golden image: an element that reports to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reports {
    pub name: String,
    /// The side that it belongs to, if there are two that meet in memory.
    pub side: Option<Side>,
}

/// The kind of an element.
pub enum What {
    // Requesters.
    Unit(UnitPlan),
    Core(Box<CorePlan>),
    Tester(TesterPlan),
    Dma {
        outstanding: usize,
    },
    /// The wire of a DMA engine to the memory of a host outside the machine, which is not modelled.
    HostPort,
    /// The wire of a DMA engine to memory, past all caches.
    Direct {
        /// The home of each address.
        homes: Interleave<Node>,
        tells: Tells,
    },
    /// The port through which a host outside the machine takes blocks out of the memories of GPUs.
    Claims {
        /// The directory of each address.
        homes: Interleave<Node>,
        /// Bytes of a block.
        block: u64,
    },
    // Elements that hold lines.
    Cache(Box<CachePlan>),
    Memory(Box<MemoryPlan>),
    Level(Box<LevelPlan>),
    // Translation.
    Mmu(MmuPlan),
    /// The second-level TLB of a GPU.
    SharedTlb(SharedTlbSpec),
    Walkers(WalkersPlan),
    /// A forward-backward table, between a second-level cache with virtual tags and everything below.
    Fbt(FbtPlan),
    /// Sends shootdowns: makes all translation elements drop entries that the kernel has changed.
    Shooter,
    // Elements that forward messages.
    Network(NetworkSpec, Relay),
    /// An end of a fabric, or a switch in it.
    Fabric(FabricPlan),
    /// The wires that the caches of one array share. Arriving messages are distributed over the caches.
    Junction,
    /// Forwards between the network and the channels of memory.
    Agent,
    // Elements that hand out work.
    Dispatcher(DispatcherSpec, ComputeUnitSpec),
    /// The port at which commands of a host written in Rust arrive, which is outside the model.
    Host,
    /// A host outside the machine that executes a process, and its DMA engine.
    Outside(GpusSpec),
    HostDma(HostDmaSpec),
    /// The DMA engine's wire to the bytes of a channel.
    DmaPort {
        channel: usize,
        timed: bool,
    },
    /// Controls the testers.
    Conductor(ConductorPlan),
    /// The process on the cores, and its kernel.
    Program(ProgramPlan),
    /// Keeps the process's timers, and runs until the process has ended.
    Timekeeper,
    /// Hands the kernels of the process to the GPUs, and has caches flushed around them. Testers have a front end of
    /// their own.
    FrontEnd(FrontEndPlan),
}

/// The accesses of a DMA engine that are reported to the golden image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// Memory reports all writes.
    Nothing,
    /// Accesses to the memories of devices only: a host outside the machine writes its own memory without reports.
    OfDevices,
    Everything,
}

/// A compute unit.
pub struct UnitPlan {
    pub spec: ComputeUnitSpec,
    /// Its number among the compute units of all GPUs: each has its own scratch memory.
    pub number: usize,
    /// Whether it is the first of the units that share an instruction cache.
    pub first: bool,
}

/// A core.
pub struct CorePlan {
    pub number: usize,
    pub spec: cpu::CoreSpec,
    /// Hardware threads.
    pub threads: usize,
}

/// An element that takes the place of a requester and accesses memory at random.
pub struct TesterPlan {
    pub port: TesterPort,
    /// Its number among all testers, from which its accesses follow.
    pub number: u64,
    /// Its group: the testers of one GPU, or those of the CPU.
    pub group: usize,
}

/// A cache, or a bank of one.
pub struct CachePlan {
    pub spec: CacheSpec,
    /// The section of the machine file that describes it. Drawings and statistics name it by this.
    pub section: &'static str,
    /// Whether requesters are connected above it, rather than caches.
    pub first_level: bool,
    /// The part of the cores' view of memory that it updates.
    pub view: Option<View>,
    /// The nodes that its protocol sends to, if it can reach more than these.
    pub speaks_to: Option<Vec<Node>>,
}

/// The events of an element from which the cores' view of memory is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The stores of a core.
    Stores { core: usize },
    /// The stores of a DMA engine.
    Transfers,
    /// Lines that come to a core's second-level cache from a GPU.
    Arrivals,
    /// The holder that may write a line, as recorded by the directory.
    Directory,
}

/// The cores' view of memory.
#[derive(Clone)]
pub struct CoresView {
    /// The node of the directory, the node below it, the nodes above it, and which of these are caches of GPUs.
    pub me: Node,
    pub below: Node,
    pub above: Roster,
    pub gpus: Sharers,
    /// Where GPUs write.
    pub gpus_write: GpusWrite,
}

/// The place where the writes of GPUs come to the notice of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpusWrite {
    /// In their caches, which the directory of the last-level cache tracks.
    Tracked,
    /// In memory, past the last-level cache.
    Past,
    /// In caches and memories of their own, which the directories of the host's memory track.
    Levels,
}

/// A channel of memory.
pub struct MemoryPlan {
    pub spec: MemorySpec,
    pub channel: usize,
    /// Whether logical time orders accesses: then this memory reports the writes.
    pub timed: bool,
    /// Whether it is behind the system agent, where cores can access it.
    pub watched: bool,
    /// The section of the machine file that describes it.
    pub section: &'static str,
    /// The nodes that it answers, if it can reach more than these.
    pub speaks_to: Option<Vec<Node>>,
    /// Whether its bytes are those of a process on a host outside the machine, which writes them without messages.
    pub of_process: bool,
}

/// A memory that is a level of a hierarchy.
pub struct LevelPlan {
    pub spec: LevelSpec,
    pub extent: ExtentPlan,
    /// Whether its bytes are those of a process on a host outside the machine.
    pub of_process: bool,
    /// If cores follow which blocks GPUs hold: the numbers of the memories of GPUs above it.
    pub watched: Option<Sharers>,
}

/// The lines that a level holds.
pub enum ExtentPlan {
    /// Blocks of the level below.
    Cache(RoomSpec),
    /// All addresses of a channel.
    All(Share, usize),
}

impl ExtentPlan {
    /// The extent with the bytes of its channel, which has these addresses.
    pub fn with(&self, bytes: impl Fn(usize, Share) -> dram::Backing) -> Extent {
        match self {
            Self::Cache(room) => Extent::Cache(*room),
            Self::All(share, channel) => Extent::All(*share, bytes(*channel, *share)),
        }
    }
}

/// An MMU between a requester and its caches.
pub struct MmuPlan {
    pub tlb: TlbSpec,
    pub spec: MmuSpec,
    /// The edges that it translates for, and the name of each.
    pub guards: Vec<(EdgeId, &'static str)>,
    /// Whether it can reach the kernel's page tables.
    pub at_kernel: bool,
}

/// The page-table walkers of one core, or of all compute units.
pub struct WalkersPlan {
    pub walkers: WalkersSpec,
    pub pages: crate::translation::Pages,
    /// The TLB in front of them.
    pub tlb: Option<SharedTlbSpec>,
    /// The forward-backward table that this TLB looks up before it asks the walkers.
    pub second_level: Option<FbtSpec>,
    /// Whether they serve several requesters, as an IOMMU.
    pub iommu: bool,
}

/// A forward-backward table.
#[derive(Clone)]
pub struct FbtPlan {
    pub spec: FbtSpec,
    /// The bank of the second-level cache for each line, and the first-level caches.
    pub banks: Interleave<Node>,
    pub first_level: Vec<Node>,
    /// Bytes of a line of the cache above.
    pub line: Bytes,
    pub above: Above,
}

/// The process on the cores.
pub struct ProgramPlan {
    pub gpus: GpusSpec,
    pub cores: usize,
    pub threads: usize,
    pub kernel: os::process::SystemSpec,
    pub slice: engine::Time,
}

/// The front end of GPUs in the model.
pub struct FrontEndPlan {
    pub spec: FrontEndSpec,
    /// Whether it has the caches of the CPU flushed.
    pub flushes: bool,
}

/// The plan of the element that controls the testers.
#[derive(Clone, Copy, Debug)]
pub struct ConductorPlan {
    pub boundary: Boundary,
    /// If a driver moves the testers' pages: the GPUs as this driver sees them.
    pub pages: Option<GpusSpec>,
    pub front_end: FrontEndSpec,
}

/// Actions around a kernel that are needed because of other GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Whether a GPU may hold copies that another GPU has made stale.
    pub stale_copies: bool,
    /// What caches invalidate before a kernel if other elements have written to memory.
    pub others_wrote: gpu::Forget,
    /// How often all GPUs flush after a kernel; 0 for a single GPU that has flushed its caches before the kernel's end.
    pub flushes: u8,
    /// Whether flushed bytes may stay in a GPU's memory, which is a level above the host's.
    pub keeps: bool,
}

/// A connection of two elements.
pub struct Edge {
    pub name: String,
    /// The end at the requester, or closer to it.
    pub upper: Id,
    pub lower: Id,
    pub wire: Wire,
    pub freight: Freight,
    /// The receivers of its messages, if others have an edge of their own.
    pub only: Option<Receivers>,
}

impl Edge {
    /// The other end.
    pub fn beyond(&self, id: Id) -> Id {
        if self.upper == id { self.lower } else { self.upper }
    }
}

/// The implementation of an edge.
#[derive(Clone)]
pub enum Wire {
    /// A link: the machine may be cut here, so it has a latency.
    Link(LinkSpec),
    /// Ports in both directions within a partition.
    Ports { there: Way, back: Way },
    /// The upper end uses the lower end's outputs as its own; arriving messages are distributed to it.
    Shared(PortSpec),
    /// One end calls the other directly.
    Call,
}

/// One direction of a wire within a partition.
#[derive(Clone)]
pub struct Way {
    /// The name that its sender gives it.
    pub name: String,
    pub spec: PortSpec,
    /// With cut-through: after how many bytes of a message its receiver may take it.
    pub head: Option<u64>,
}

/// What travels along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freight {
    /// Requests down, replies up.
    Requests,
    /// Messages of protocols, both ways.
    Messages,
    /// Requests for translations, and their results.
    Translations,
    /// Pages to be dropped from TLBs, and confirmations.
    Shootdowns,
    /// Workgroups, and reports that they have ended.
    Work,
    /// Commands to testers, and what they have read.
    Tests,
    /// Orders to flush, and confirmations.
    Flushes,
    /// Kernels and copies.
    Commands,
    /// Bytes of memory, in any number.
    Bytes,
}

impl Plan {
    fn add(&mut self, path: Path, (clock, part): (usize, usize), node: Option<Node>, what: What) -> Id {
        let (edges, reports) = (Vec::new(), Vec::new());
        self.elements.push(Element { path, clock, part, what, node, edges, reports });
        Id(self.elements.len() - 1)
    }

    fn connect(&mut self, name: impl Into<String>, upper: Id, lower: Id, wire: Wire, freight: Freight) -> EdgeId {
        let edge = EdgeId(self.edges.len());
        self.edges.push(Edge { name: name.into(), upper, lower, wire, freight, only: None });
        for end in [upper, lower] {
            self.elements[end.0].edges.push(edge);
        }
        edge
    }

    fn report(&mut self, id: Id, name: String, side: Option<Side>) {
        self.elements[id.0].reports.push(Reports { name, side });
    }

    pub fn element(&self, id: Id) -> &Element {
        &self.elements[id.0]
    }

    pub fn edge(&self, edge: EdgeId) -> &Edge {
        &self.edges[edge.0]
    }

    /// The edges of an element with this freight, in its order.
    pub fn edges_of(&self, id: Id, freight: Freight) -> impl Iterator<Item = EdgeId> {
        self.element(id).edges.iter().copied().filter(move |edge| self.edge(*edge).freight == freight)
    }
}

impl Element {
    /// The section of the machine file that describes the element, if there is one.
    pub fn section(&self) -> Option<&'static str> {
        match &self.what {
            What::Unit(_) => Some("gpu.compute_unit"),
            What::Core(_) => Some("cpu.core"),
            What::Dma { .. } => Some("system.dma"),
            What::Cache(cache) => Some(cache.section),
            What::Memory(memory) => Some(memory.section),
            What::Level(level) => match level.extent {
                ExtentPlan::Cache(_) => Some("gpu.memory"),
                ExtentPlan::All(..) => Some("memory"),
            },
            What::Mmu(mmu) => Some(if mmu.at_kernel { "cpu.mmu" } else { "gpu.mmu" }),
            What::SharedTlb(_) => Some("gpu.l2_tlb"),
            What::Fbt(fbt) => Some(if matches!(fbt.above, Above::WritesThrough) { "gpu.names" } else { "gpu.fbt" }),
            What::Walkers(walkers) => Some(if walkers.iommu { "system.iommu" } else { "cpu.mmu" }),
            What::Network(_, Relay::Between) => Some("gpu.network"),
            What::Network(..) => Some("system.network"),
            What::Fabric(_) => Some("fabric"),
            What::Dispatcher(..) => Some("gpu.dispatcher"),
            What::Host | What::Outside(_) | What::HostDma(_) => Some("host"),
            What::Program(_) => Some("cpu.kernel"),
            What::DmaPort { .. }
            | What::Direct { .. }
            | What::HostPort
            | What::Claims { .. }
            | What::Shooter
            | What::Junction
            | What::Agent
            | What::Tester(_)
            | What::Conductor(_)
            | What::Timekeeper
            | What::FrontEnd(_) => None,
        }
    }

    /// How it forwards messages that are addressed to others, if it does.
    pub fn relays(&self) -> Option<Relay> {
        match &self.what {
            What::Network(_, relay) => Some(*relay),
            What::Fabric(fabric) => Some(if fabric.switch { Relay::Any } else { Relay::End }),
            What::Junction | What::Fbt(_) => Some(Relay::Across),
            What::Agent => Some(Relay::Between),
            _ => None,
        }
    }
}

/// Between which edges an element forwards messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relay {
    /// From any edge to any other.
    Any,
    /// From edges above to edges below, and back.
    Across,
    /// From edges to other forwarding elements to edges to elements that do not forward, and back: from arrays to
    /// banks, from a network to channels of memory.
    Between,
    /// From elements inside to a fabric, and back, and between elements inside.
    End,
}
