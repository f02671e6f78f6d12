//! Makes a plan of a machine: every choice is made here.

use super::{Boundary, Domain, Freight, Id, Path, Plan, Way, What, Wire, gpus::Gpu, numbers::Numbers};
use crate::{
    cpu_complex::Join,
    spec::{CacheSpec, Machine},
};
use cache::BankSpec;
use engine::PortSpec;
use mem::Interleave;
use protocol::{
    Node, Roster, Table,
    roles::{self, BesideCpu, Seat, Sees},
};
use std::sync::Arc;

/// How many steps of a protocol an element keeps, to tell them if something is wrong.
pub(super) const HISTORY: usize = 32;

/// Who accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// Compute units that a host outside the machine gives work.
    Host,
    /// Testers in the places of compute units and cores.
    Testers,
    /// Compute units, and cores that run a program.
    Program,
}

/// A plan in the making.
pub(super) struct Lowering<'a> {
    pub machine: &'a Machine,
    pub population: Population,
    pub numbers: Numbers,
    pub plan: Plan,
    pub gpu_clock: usize,
}

/// The plan of a machine on which these access memory.
pub fn lower(machine: &Machine, population: Population) -> Plan {
    let channels = machine.channels().deal(|channel| channel);
    let clocks = vec![machine.clock];
    let domains = Domain::all(machine);
    let plan = Plan { clocks, elements: Vec::new(), edges: Vec::new(), domains, channels, cores: None };
    let numbers = Numbers::new(machine);
    let mut lowering = Lowering { machine, population, numbers, plan, gpu_clock: 0 };
    let gpus: Vec<Gpu> = (0..machine.gpus).map(|gpu| lowering.gpu(gpu)).collect();
    let levels = lowering.levels();
    let memory_clock = machine.memory.clock().map(|clock| lowering.clock(clock));
    let complex = machine.cpu.as_ref().map(|cpu| lowering.complex(cpu, memory_clock));
    let iommu = match &complex {
        None => machine.gpu_mmu.map(|mmu| lowering.lone_iommu(mmu)),
        Some(_) => None,
    };
    let memories = match (&complex, levels.is_empty()) {
        (None, true) => lowering.memories(memory_clock.unwrap_or(lowering.gpu_clock)),
        _ => Vec::new(),
    };
    let leaders = match &complex {
        Some(complex) if population == Population::Program => complex.dispatchers.clone(),
        _ => lowering.leaders(),
    };
    lowering.connect_peers(&gpus);
    for (number, gpu) in gpus.iter().enumerate() {
        let translators = match &complex {
            Some(complex) => complex.iommu.map(|iommu| (iommu, complex.shooter)),
            None => iommu.map(|iommu| (iommu, None)),
        };
        lowering.connect_gpu(number, gpu, leaders[number], translators);
        let wire = Wire::Link(machine.cpu.as_ref().map_or(machine.wires.l2_memory, |complex| complex.hub));
        for (bank, own) in gpu.banks.iter().enumerate() {
            let below = match &complex {
                Some(complex) => complex.hub,
                None if levels.is_empty() => memories[bank],
                None => levels[bank].gpus[number],
            };
            let name = format!("gpu{number}_l2_{bank}_memory");
            let edge = lowering.plan.connect(name, *own, below, wire.clone(), Freight::Messages);
            lowering.plan.order_bank(*own, edge, &gpus);
        }
    }
    lowering.connect_levels(&levels);
    if let Some(complex) = &complex {
        lowering.connect_complex(complex, &leaders);
    }
    lowering.plan
}

impl Lowering<'_> {
    pub(super) fn clock(&mut self, clock: engine::Hertz) -> usize {
        self.plan.clocks.push(clock);
        self.plan.clocks.len() - 1
    }

    /// Who gives work to each GPU, where that is not part of a complex.
    fn leaders(&mut self) -> Vec<Id> {
        let (machine, place) = (self.machine, (self.gpu_clock, 0));
        let boundary = self.boundary();
        match self.population {
            Population::Testers => {
                let conductor = self.plan.add(Path::to("host"), place, None, What::Conductor(boundary));
                self.plan.report(conductor, "host".to_owned(), None);
                vec![conductor; machine.gpus]
            }
            _ => {
                let dispatchers: Vec<Id> = (0..machine.gpus).map(|gpu| self.dispatcher(gpu)).collect();
                let host = self.plan.add(Path::to("host"), place, None, What::Host(boundary));
                self.plan.report(host, "host".to_owned(), None);
                for dispatcher in &dispatchers {
                    self.plan.connect("commands", host, *dispatcher, Wire::Call, Freight::Commands);
                }
                dispatchers
            }
        }
    }

    /// What has to be done around kernels.
    pub(super) fn boundary(&self) -> Boundary {
        let Machine { gpus, protocol, .. } = *self.machine;
        let of_protocol = protocol.protocol.boundary;
        let stale_copies = gpus > 1 && of_protocol.stale_between_gpus || self.meets_another_protocol();
        let others_wrote = match of_protocol.others_wrote {
            roles::Forget::Everything => gpu::Forget::Everything,
            roles::Forget::Shared => gpu::Forget::Shared,
        };
        Boundary { stale_copies, others_wrote, flushes: if gpus == 1 { 0 } else { of_protocol.flushes } }
    }

    /// Whether a CPU keeps its caches coherent by another protocol than GPUs, and meets these in memory.
    pub(super) fn meets_another_protocol(&self) -> bool {
        self.machine.cpu.is_some() && self.machine.protocol.protocol.needs.cpu == BesideCpu::Memory
    }

    pub(super) fn dispatcher(&mut self, gpu: usize) -> Id {
        let what = What::Dispatcher(self.machine.dispatcher, self.machine.compute_unit);
        self.plan.add(Path::to_one("gpu", gpu).and("dispatcher"), (self.gpu_clock, 0), None, what)
    }

    /// Whom a bank of a GPU's second-level cache asks, where that is nothing of the GPU's own.
    pub(super) fn homes_of_gpus(&self, bank: usize) -> Interleave<Node> {
        match &self.machine.cpu {
            None => Interleave::One(self.numbers.memory(bank)),
            Some(complex) => match complex.join {
                Join::LastLevel => complex.slices().deal(|slice| self.numbers.l3(slice)),
                Join::Memory => complex.channels.deal(|channel| self.numbers.memory(channel)),
            },
        }
    }
}

impl Plan {
    /// A bank looks at what is below first, then at those above, then at its peers.
    fn order_bank(&mut self, bank: Id, below: super::EdgeId, gpus: &[Gpu]) {
        let is_peer = |id: Id| gpus.iter().any(|gpu| gpu.banks.contains(&id));
        let mut edges = std::mem::take(&mut self.elements[bank.0].edges);
        edges.sort_by_key(|edge| match self.edge(*edge).beyond(bank) {
            _ if *edge == below => 0,
            other if is_peer(other) => 2,
            _ => 1,
        });
        self.elements[bank.0].edges = edges;
    }
}

/// A wire within a partition: what each end calls its way, and how it is made.
pub(super) fn ports((there, out): (&str, PortSpec), (back, returns): (&str, PortSpec)) -> Wire {
    let way = |name: &str, spec| Way { name: name.to_owned(), spec };
    Wire::Ports { there: way(there, out), back: way(back, returns) }
}

/// A bank of a cache.
pub(super) fn spec_of(of: &CacheSpec, controller: Seat, me: Node, below: Interleave<Node>, above: Roster) -> BankSpec {
    let CacheSpec { shape, mshrs, waiting, join_queue, write_back_queue, .. } = *of;
    let (above, peers) = (Arc::new(above), Vec::new());
    BankSpec { controller, me, below, above, shape, mshrs, waiting, join_queue, write_back_queue, peers }
}

/// A cache of one bank, kept coherent by its protocol alone.
pub(super) fn cache_spec(bank: BankSpec, ports: usize, orders: &'static Table) -> cache::CacheSpec {
    cache::CacheSpec { bank, history: HISTORY, ports, orders, sees: Sees::Newest, lifts_requests: false }
}
