//! The plan of a machine: plain data that says which elements there are, how they are connected, which role of which protocol each
//! has, and where bytes live.
//!
//! [`lower`](lower::lower) makes it of a machine file and makes every choice; [`build`](crate::build) makes a model of it and makes
//! none. The drawing of a machine, the names of those who are checked, and the routes of messages are derived from it.

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
    /// Of edges at one time, those of earlier clocks run first.
    pub clocks: Vec<Hertz>,
    /// Each partition builds its own in this order.
    pub elements: Vec<Element>,
    /// Links are declared in this order: of deliveries at one time, those of earlier links come first.
    pub edges: Vec<Edge>,
    /// Those who keep each other's caches coherent.
    pub domains: Vec<Domain>,
    /// Which channel of memory has which addresses, by number.
    pub channels: Interleave<usize>,
    /// The first addresses of the memories: of the host's, which cores reach, and of those that only GPUs reach.
    pub zones: Vec<u64>,
    /// How cores see memory, where there are cores.
    pub cores: Option<CoresView>,
    /// Where GPUs are joined by a fabric: the partitions' shares of the work, by number, and how long each GPU may run by itself.
    pub shares: BTreeMap<usize, engine::Share>,
    pub control_delay: Option<Time>,
}

/// An element, by its number in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(pub usize);

/// An edge, by its number in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeId(pub usize);

/// A piece of hardware, or software that stands in its place.
pub struct Element {
    pub path: Path,
    /// Its clock, by number.
    pub clock: usize,
    /// The partition that it is built in.
    pub part: usize,
    pub what: What,
    /// The number under which others address it, or know it as one who asks.
    pub node: Option<Node>,
    /// What it is connected by, in the order in which it looks at them.
    pub edges: Vec<EdgeId>,
    /// As what it reports to the golden image.
    pub reports: Vec<Reports>,
}

/// One who reports to the golden image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reports {
    pub name: String,
    /// The side that it belongs to, where there are two that meet in memory.
    pub side: Option<Side>,
}

/// What an element is.
pub enum What {
    // Who asks.
    Unit(UnitPlan),
    Core(Box<CorePlan>),
    Tester(TesterPlan),
    Dma {
        outstanding: usize,
    },
    /// A DMA engine's way to the memory of a host outside, of which there is no model.
    HostPort,
    /// A DMA engine's way to memory, past all caches.
    Direct {
        /// Whose home is where.
        homes: Interleave<Node>,
        tells: Tells,
    },
    /// By which a host outside takes blocks out of the memories of GPUs.
    Claims {
        /// Whose directory is where.
        homes: Interleave<Node>,
        /// Bytes of a block.
        block: u64,
    },
    // Who keeps lines.
    Cache(Box<CachePlan>),
    Memory(Box<MemoryPlan>),
    Level(Box<LevelPlan>),
    // Who translates.
    Mmu(MmuPlan),
    /// The second-level TLB of a GPU.
    SharedTlb(SharedTlbSpec),
    Walkers(WalkersPlan),
    /// Between a second-level cache that goes by virtual addresses and everything below.
    Fbt(FbtPlan),
    /// Makes all of those forget what the kernel has changed.
    Shooter,
    // Who passes messages on.
    Network(NetworkSpec, Relay),
    /// An end of a fabric, or a switch in it.
    Fabric(FabricPlan),
    /// The ways that caches of one array share, and from where what arrives on them is dealt over the caches.
    Junction,
    /// Between the network and the channels of memory.
    Agent,
    // Who gives work.
    Dispatcher(DispatcherSpec, ComputeUnitSpec),
    /// Where commands of a host arrive that is Rust, outside the model.
    Host,
    /// A host outside the machine that executes a process, and its DMA engine.
    Outside(GpusSpec),
    HostDma(HostDmaSpec),
    /// The engine's way to the bytes of a channel.
    DmaPort {
        channel: usize,
        timed: bool,
    },
    /// Leads the testers.
    Conductor(ConductorPlan),
    /// The process on the cores, and its kernel.
    Program(ProgramPlan),
    /// Keeps the process's timers, and stays until it has ended.
    Timekeeper,
    /// Hands the kernels of the process to the GPUs, and has caches flushed around them. Testers have one of their own.
    FrontEnd(FrontEndPlan),
}

/// What the golden image is told of a DMA engine's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// It is memory that says what was written when.
    Nothing,
    /// What is read and written in the memories of devices: a host outside writes its own as it likes.
    OfDevices,
    Everything,
}

/// A compute unit.
pub struct UnitPlan {
    pub spec: ComputeUnitSpec,
    /// Its number among those of all GPUs: each has scratch memory of its own.
    pub number: usize,
    /// Whether it is the first of those that share a cache of code.
    pub first: bool,
}

/// A core.
pub struct CorePlan {
    pub number: usize,
    pub spec: cpu::CoreSpec,
    /// Hardware threads.
    pub threads: usize,
}

/// Stands in the place of one who asks, and accesses memory at random.
pub struct TesterPlan {
    pub port: TesterPort,
    /// Its number among all, from which its accesses follow.
    pub number: u64,
    /// Those of one GPU, or of the CPU, are a group.
    pub group: usize,
}

/// A cache, or a bank of one.
pub struct CachePlan {
    pub spec: CacheSpec,
    /// Whom it is known as by those who draw and count: the section of the machine file that describes it.
    pub section: &'static str,
    /// Whether elements that ask stand above it, rather than caches.
    pub first_level: bool,
    /// What of it the cores' view of memory follows.
    pub view: Option<View>,
    /// Those whom its protocol speaks to, where others are within its reach.
    pub speaks_to: Option<Vec<Node>>,
}

/// What of an element the cores' view of memory follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The stores of a core.
    Stores { core: usize },
    /// The stores of a DMA engine.
    Transfers,
    /// Lines that come to a core's second-level cache from a GPU.
    Arrivals,
    /// Who may write a line, as the directory knows.
    Directory,
}

/// How cores see memory.
#[derive(Clone)]
pub struct CoresView {
    /// Where a directory stands, and the GPUs' caches among those it knows.
    pub me: Node,
    pub below: Node,
    pub above: Roster,
    pub gpus: Sharers,
    /// GPUs write to memory past the last-level cache.
    pub past: bool,
}

/// A channel of memory.
pub struct MemoryPlan {
    pub spec: MemorySpec,
    pub channel: usize,
    /// Whether logical time orders accesses: it is memory that says what was written when.
    pub timed: bool,
    /// Whether it stands behind an agent, within reach of cores.
    pub watched: bool,
    /// The section of the machine file that describes it.
    pub section: &'static str,
    /// Those whom it answers, where more are within its reach.
    pub speaks_to: Option<Vec<Node>>,
    /// Whether its bytes are those of a process on a host outside, which writes them as it likes.
    pub of_process: bool,
}

/// A memory that is a level of a hierarchy.
pub struct LevelPlan {
    pub spec: LevelSpec,
    pub extent: ExtentPlan,
    /// Whether its bytes are those of a process on a host outside.
    pub of_process: bool,
}

/// What a level holds.
pub enum ExtentPlan {
    /// Blocks of what is below.
    Cache(RoomSpec),
    /// All of the addresses of a channel.
    All(Share, usize),
}

impl ExtentPlan {
    /// With the bytes of its channel, which has these addresses.
    pub fn with(&self, bytes: impl Fn(usize, Share) -> dram::Backing) -> Extent {
        match self {
            Self::Cache(room) => Extent::Cache(*room),
            Self::All(share, channel) => Extent::All(*share, bytes(*channel, *share)),
        }
    }
}

/// An MMU between one who asks and its caches.
pub struct MmuPlan {
    pub tlb: TlbSpec,
    pub spec: MmuSpec,
    /// The edges on which it stands, and what each is called.
    pub guards: Vec<(EdgeId, &'static str)>,
    /// Whether the kernel's page tables are within reach.
    pub at_kernel: bool,
}

/// Those who find pages, of one core or of all compute units.
pub struct WalkersPlan {
    pub walkers: WalkersSpec,
    pub pages: crate::translation::Pages,
    /// A TLB before them.
    pub tlb: Option<SharedTlbSpec>,
    /// A forward-backward table in which that looks before it asks them.
    pub second_level: Option<FbtSpec>,
    /// Whether several ask: they are an IOMMU.
    pub iommu: bool,
}

/// A forward-backward table.
#[derive(Clone)]
pub struct FbtPlan {
    pub spec: FbtSpec,
    /// The bank of the second-level cache of each line, and the first-level caches.
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

/// Leads the testers.
#[derive(Clone, Copy, Debug)]
pub struct ConductorPlan {
    pub boundary: Boundary,
    /// The GPUs, as a driver sees them that moves the testers' pages, if one does; and what stands before their caches.
    pub pages: Option<GpusSpec>,
    pub front_end: FrontEndSpec,
}

/// What has to be done around a kernel because of other GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Whether a GPU may hold copies that another has made stale.
    pub stale_copies: bool,
    /// What caches forget before a kernel, where memory has been changed by others.
    pub others_wrote: gpu::Forget,
    /// How often all GPUs flush after a kernel; 0 for one GPU that has flushed its caches itself before the kernel's end.
    pub flushes: u8,
    /// Whether what a GPU has flushed may stay in its memory, which is a level above the host's.
    pub keeps: bool,
}

/// A connection of two elements.
pub struct Edge {
    pub name: String,
    /// The one who asks, or stands nearer to those who ask.
    pub upper: Id,
    pub lower: Id,
    pub wire: Wire,
    pub freight: Freight,
    /// Whom its messages are for, where others have an edge of their own.
    pub only: Option<Receivers>,
}

impl Edge {
    /// The other end.
    pub fn beyond(&self, id: Id) -> Id {
        if self.upper == id { self.lower } else { self.upper }
    }
}

/// What an edge is made of.
#[derive(Clone)]
pub enum Wire {
    /// Along it a machine may be cut, so it takes time.
    Link(LinkSpec),
    /// There and back within a partition.
    Ports { there: Way, back: Way },
    /// The upper end uses the lower one's ways out as its own; what arrives is dealt to it.
    Shared(PortSpec),
    /// One calls the other.
    Call,
}

/// One way of a wire within a partition.
#[derive(Clone)]
pub struct Way {
    /// As its sender calls it.
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
    /// Pages that are asked for, and their places.
    Translations,
    /// Pages to be forgotten, and word that they are.
    Shootdowns,
    /// Workgroups, and word that they have ended.
    Work,
    /// What testers are told, and what they have read.
    Tests,
    /// Orders to flush, and word that it is done.
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

    /// The edges of an element that carry this, in its order.
    pub fn edges_of(&self, id: Id, freight: Freight) -> impl Iterator<Item = EdgeId> {
        self.element(id).edges.iter().copied().filter(move |edge| self.edge(*edge).freight == freight)
    }
}

impl Element {
    /// The section of the machine file that describes it, if one does.
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

    /// Whether it passes on messages that are addressed to others.
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

/// Where one who passes messages on passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relay {
    /// From any edge to any other.
    Any,
    /// From those above to those below, and back.
    Across,
    /// From those who pass messages on themselves to those who do not, and back: from arrays to banks, from a network to
    /// channels of memory.
    Between,
    /// From what is inside to a fabric, and back, and between what is inside.
    End,
}
