//! Makes the plan of a machine. Every decision is taken here.

use super::{
    Boundary, ConductorPlan, Domain, Freight, FrontEndPlan, Id, Path, Plan, Tells, Way, What, Wire, gpus::Gpu,
    numbers::Numbers,
};
use crate::{
    cpu_complex::{CpuComplex, Join},
    fabric::Fabric,
    program::{FrontEndSpec, GpusSpec, HostDmaSpec},
    spec::{CacheSpec, Machine},
    zones::{self, MemoryZone, Place},
};
use cache::BankSpec;
use engine::{Cycles, LinkSpec, PortSpec};
use mem::{Bytes, Interleave, LINE};
use os::opencl::{
    Costs,
    gpu::{DeviceMemory, Memories, Synchronisation},
};
use protocol::{
    Node, Roster, Table,
    roles::{self, BesideCpu, Seat, Sees},
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of protocol steps that an element keeps for the report on an impossible event.
pub(super) const HISTORY: usize = 32;

/// Maximum requests in flight of a DMA engine on a fabric: more than fit on the longest route and back.
const IN_FLIGHT: usize = 1024;

/// Maximum commands in flight to a GPU.
const COMMANDS: usize = 64;

/// More memory than any program may use.
const AMPLE: Bytes = Bytes(1 << 46);

/// The elements that access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// Compute units, which get their work from a host outside the machine.
    Host,
    /// Testers in the places of compute units and cores.
    Testers,
    /// Testers in the places of compute units, with pages that a driver moves.
    PagedTesters,
    /// Compute units, and cores that run a program.
    Program,
}

impl Population {
    pub fn tests(self) -> bool {
        matches!(self, Self::Testers | Self::PagedTesters)
    }
}

/// A plan under construction.
pub(super) struct Lowering<'a> {
    pub machine: &'a Machine,
    pub population: Population,
    pub numbers: Numbers,
    pub plan: Plan,
    pub gpu_clock: usize,
    /// The host outside the machine, once it has been added.
    outside: Option<Id>,
}

/// The plan of a machine with this population.
pub fn lower(machine: &Machine, population: Population) -> Plan {
    let plan = Plan {
        clocks: vec![machine.clock],
        elements: Vec::new(),
        edges: Vec::new(),
        domains: Domain::all(machine),
        channels: zones::deal(&machine.zones),
        zones: zones::bases(&machine.zones),
        cores: None,
        shares: BTreeMap::new(),
        control_delay: None,
    };
    let numbers = Numbers::new(machine);
    let mut lowering = Lowering { machine, population, numbers, plan, gpu_clock: 0, outside: None };
    let gpus: Vec<Gpu> = (0..machine.gpus).map(|gpu| lowering.gpu(gpu)).collect();
    let levels = lowering.levels();
    let memory_clock = machine.memory.clock().map(|clock| lowering.clock(clock));
    let homes = machine.fabric.as_ref().map(|fabric| (fabric, lowering.homes(), lowering.ends(fabric)));
    let takes_back = lowering.copies().is_some() && machine.cpu.is_none() && population == Population::Program;
    let claims = takes_back.then(|| lowering.claims());
    let complex = machine.cpu.as_ref().map(|cpu| lowering.complex(cpu, memory_clock, levels.as_ref()));
    let lone = match &complex {
        None => machine.iommu().map(|iommu| lowering.lone_translators(iommu)),
        Some(_) => None,
    };
    let memories = match (&complex, &levels) {
        (None, None) if homes.is_none() => lowering.memories(memory_clock.unwrap_or(lowering.gpu_clock)),
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
            None => lone,
        };
        lowering.connect_gpu(number, gpu, leaders[number], translators);
        if homes.is_some() && levels.is_none() {
            continue;
        }
        if let (Some(fbt), Some(translators)) = (&machine.fbt, translators) {
            let below = complex.as_ref().map_or(memories.clone(), |complex| complex.hub.into_iter().collect());
            lowering.connect_fbt(number, gpu, fbt, translators, &below);
            for bank in &gpu.banks {
                let below = lowering.plan.edges_of(*bank, Freight::Messages).last();
                lowering.plan.order_bank(*bank, below.expect("it has just been connected"), &gpus);
            }
            continue;
        }
        let hub = machine.cpu.as_ref().and_then(|complex| complex.hub);
        let wire = Wire::Link(hub.unwrap_or(machine.wires.l2_memory));
        for (bank, own) in gpu.banks.iter().enumerate() {
            let below = match (&levels, &complex) {
                (Some(levels), _) => levels.gpus[bank][number],
                (None, Some(complex)) => complex.hub.expect("GPUs whose memories are no levels are wired to a hub"),
                (None, None) => memories[bank],
            };
            let name = format!("gpu{number}_l2_{bank}_memory");
            let edge = lowering.plan.connect(name, *own, below, wire.clone(), Freight::Messages);
            lowering.plan.order_bank(*own, edge, &gpus);
        }
    }
    if let Some(levels) = &levels {
        lowering.connect_levels(levels);
    }
    if population == Population::PagedTesters && homes.is_none() {
        lowering.lone_driver_engine(&memories);
    }
    if let Some((fabric, homes, ends)) = &homes {
        if population == Population::PagedTesters {
            lowering.driver_engine(ends);
        }
        if lowering.has_test_engines() {
            lowering.test_engines(ends, leaders[0]);
        }
        if let Some(claims) = claims {
            lowering.connect_claims(claims, ends);
        }
        lowering.connect_fabric(
            fabric,
            ends,
            &gpus,
            (homes, levels.as_ref()),
            complex.as_ref().and_then(|complex| complex.hub),
        );
    }
    if let Some(complex) = &complex {
        lowering.connect_complex(complex, &leaders);
    }
    if population == Population::Program {
        let engine = match lowering.outside {
            // Host and GPUs share one memory: no copies are made behind the program's back.
            Some(_) if lowering.copies().is_some() => None,
            Some(host) => Some(lowering.host_dma(host)),
            // Where memories are levels, all is reached through the CPU's caches.
            None => complex.as_ref().and_then(|complex| complex.engine).filter(|_| levels.is_none()),
        };
        if let (Some((.., ends)), Some(engine)) = (&homes, engine) {
            lowering.direct_seat(0, engine, ends, lowering.told_by_engines());
        }
    }
    lowering.plan
}

impl Lowering<'_> {
    pub(super) fn clock(&mut self, clock: engine::Hertz) -> usize {
        self.plan.clocks.push(clock);
        self.plan.clocks.len() - 1
    }

    /// The clock with this rate; elements with equal rates share one.
    pub(super) fn clock_of(&mut self, rate: engine::Hertz) -> usize {
        let known = self.plan.clocks.iter().position(|clock| *clock == rate);
        known.unwrap_or_else(|| self.clock(rate))
    }

    /// Whether second-level caches of other GPUs are homes of lines.
    pub(super) fn has_peers(&self) -> bool {
        self.machine.gpus > 1 && self.machine.protocol.protocol.needs.peers
    }

    /// Whether testers take the places of DMA engines. Caches see the writes of engines after a synchronisation only.
    /// If logical time orders accesses, or a CPU has its own caches, a synchronisation does not include the engines.
    fn has_test_engines(&self) -> bool {
        let Machine { fabric, cpu, protocol, .. } = self.machine;
        let sees = protocol.protocol.sees == Sees::UntilSynchronised && self.machine.levels.is_none();
        self.population.tests() && fabric.is_some() && cpu.is_none() && sees
    }

    /// For each GPU the element that gives it work, unless it belongs to a CPU complex.
    fn leaders(&mut self) -> Vec<Id> {
        let (machine, place) = (self.machine, (self.gpu_clock, 0));
        match self.population {
            Population::Testers | Population::PagedTesters => {
                let pages = (self.population == Population::PagedTesters).then(|| self.outside_gpus());
                let plan = ConductorPlan { boundary: self.boundary(), pages, front_end: self.front_end_spec(None) };
                let conductor = What::Conductor(plan);
                let conductor = self.plan.add(Path::to("host"), place, None, conductor);
                self.plan.report(conductor, "host".to_owned(), None);
                vec![conductor; machine.gpus]
            }
            _ => {
                let dispatchers: Vec<Id> = (0..machine.gpus).map(|gpu| self.dispatcher(gpu)).collect();
                let plan = FrontEndPlan { spec: self.front_end_spec(None), flushes: false };
                let front_end = self.plan.add(Path::to("front_end"), place, None, What::FrontEnd(plan));
                self.plan.report(front_end, "front_end".to_owned(), None);
                let host = match self.population {
                    Population::Program => What::Outside(self.outside_gpus()),
                    _ => What::Host,
                };
                let host = self.plan.add(Path::to("host"), place, None, host);
                self.plan.report(host, "host".to_owned(), None);
                self.plan.connect("commands", host, front_end, Wire::Call, Freight::Commands);
                self.outside = Some(host);
                self.command(front_end, &dispatchers);
                dispatchers
            }
        }
    }

    /// The GPUs as the driver of a process on a host outside the machine sees them.
    fn outside_gpus(&self) -> GpusSpec {
        let wavefronts = self.machine.wavefronts();
        GpusSpec {
            wavefronts,
            coherent: false,
            memories: self.memories_of_driver(),
            block: Bytes(u64::from(self.machine.protocol.parameters.lines) * LINE as u64),
            apart: !self.reaches_host(),
            host_past_caches: true,
        }
    }

    /// Whether GPUs can reach the host's memory.
    fn reaches_host(&self) -> bool {
        self.machine.zones.iter().any(|zone| zone.of_host)
    }

    /// The memories of the machine as the driver sees them.
    pub(super) fn memories_of_driver(&self) -> Memories {
        let machine = self.machine;
        let faults = machine.iommu().is_some_and(|iommu| iommu.faults());
        let local = machine.zones.iter().find(|zone| matches!(zone.place, Place::Gpu(_)));
        let apart = machine.zones.iter().find(|zone| !zone.of_host);
        let size = |zone: &MemoryZone| zone.size.unwrap_or(AMPLE);
        let device = match (local, apart) {
            (Some(local), _) => DeviceMemory::Each { size: size(local) },
            (None, Some(common)) => DeviceMemory::Common { size: size(common) },
            (None, None) => DeviceMemory::Host,
        };
        Memories { device, reach_host: self.reaches_host(), reach_peers: true, faults, copies: self.copies() }
    }

    /// When a host outside the machine sees what kernels have written, if memories of GPUs hold copies of its memory.
    fn copies(&self) -> Option<Synchronisation> {
        self.synchronises().filter(|_| self.machine.cpu.is_none())
    }

    /// When memories of GPUs on a fabric write back what they hold, if they are levels above the host's.
    fn synchronises(&self) -> Option<Synchronisation> {
        let (levels, fabric) = (self.machine.levels?, self.machine.fabric);
        fabric.map(|_| levels.synchronise)
    }

    /// The DMA engine of a driver that moves the pages of testers.
    fn driver_engine(&mut self, ends: &super::fabric::Ends) {
        let engine = What::Dma { outstanding: IN_FLIGHT };
        let engine = self.plan.add(Path::to("host").and("dma"), (self.gpu_clock, 0), None, engine);
        let by_time = self.machine.protocol.protocol.sees == Sees::ByTime;
        self.direct_seat(0, engine, ends, if by_time { Tells::Nothing } else { Tells::Everything });
    }

    /// Variant of [`driver_engine`](Self::driver_engine) for machines without a fabric, with a wire to each channel. It
    /// addresses bytes by their places in memory, which testers do not know.
    fn lone_driver_engine(&mut self, memories: &[Id]) {
        let (place, path, numbers) = ((self.gpu_clock, 0), Path::to("host").and("dma"), self.numbers);
        let engine = self.plan.add(path.clone(), place, None, What::Dma { outstanding: IN_FLIGHT });
        let homes = self.plan.channels.map(&|channel| numbers.memory(*channel));
        let what = What::Direct { homes, tells: Tells::Nothing };
        let seat = self.plan.add(path.and("direct"), place, Some(numbers.engine(0)), what);
        let way = PortSpec { capacity: IN_FLIGHT, latency: Cycles(1), bytes_per_cycle: None };
        let wire = ports(("to_direct", way), ("to_direct_replies", way));
        self.plan.connect("to_direct", engine, seat, wire, Freight::Requests);
        for (channel, memory) in memories.iter().enumerate() {
            let wire = Wire::Link(self.machine.wires.l2_memory);
            self.plan.connect(format!("host_dma_memory{channel}"), seat, *memory, wire, Freight::Messages);
        }
    }

    /// The DMA engine of a host outside the machine, and its wires to the channels if there is no fabric.
    fn host_dma(&mut self, host: Id) -> Id {
        let place = (self.gpu_clock, 0);
        let path = Path::to("host").and("dma");
        if self.machine.fabric.is_some() {
            let engine = self.plan.add(path.clone(), place, None, What::Dma { outstanding: IN_FLIGHT });
            self.plan.connect("commands", host, engine, Wire::Call, Freight::Commands);
            if !self.reaches_host() {
                let port = self.plan.add(path.and("host_port"), place, None, What::HostPort);
                let way = PortSpec { capacity: IN_FLIGHT, latency: Cycles(1), bytes_per_cycle: None };
                let wire = ports(("to_host", way), ("from_host", way));
                self.plan.connect("to_host", engine, port, wire, Freight::Requests);
            }
            return engine;
        }
        let Costs { bandwidth, copy_engine, .. } = self.machine.host;
        let spec = HostDmaSpec { bandwidth, copy_engine };
        let engine = self.plan.add(path, place, None, What::HostDma(spec));
        self.plan.connect("commands", host, engine, Wire::Call, Freight::Commands);
        let wire = LinkSpec { bytes_per_cycle: None, ..self.machine.wires.l2_memory };
        let timed = self.machine.protocol.protocol.sees == Sees::ByTime;
        for channel in 0..self.machine.channels() {
            let (path, part) = (Path::to_one("memory", channel).and("dma"), self.bank_part(0, channel));
            let port = self.plan.add(path, (self.gpu_clock, part), None, What::DmaPort { channel, timed });
            self.plan.report(port, format!("host.dma of memory{channel}"), None);
            self.plan.connect(format!("host_memory{channel}"), engine, port, Wire::Link(wire), Freight::Bytes);
        }
        engine
    }

    /// The accesses of DMA engines that are reported to the golden image.
    fn told_by_engines(&self) -> Tells {
        match self.reaches_host() {
            _ if self.machine.protocol.protocol.sees == Sees::ByTime => Tells::Nothing,
            true => Tells::OfDevices,
            false => Tells::Everything,
        }
    }

    /// The actions around kernels that are needed because of other GPUs.
    pub(super) fn boundary(&self) -> Boundary {
        let Machine { gpus, protocol, .. } = *self.machine;
        let of_protocol = protocol.protocol.boundary;
        let stale_copies =
            gpus > 1 && of_protocol.stale_between_gpus || self.meets_another_protocol() || self.has_test_engines();
        let others_wrote = match of_protocol.others_wrote {
            roles::Forget::Everything => gpu::Forget::Everything,
            roles::Forget::Shared => gpu::Forget::Shared,
        };
        let after = self.machine.dispatcher.write_back == gpu::WriteBack::After;
        let flushes = if gpus == 1 { u8::from(after) } else { of_protocol.flushes };
        let keeps = !protocol.parameters.releases_home || self.cpu_on_levels();
        Boundary { stale_copies, others_wrote, flushes, keeps }
    }

    /// The actions around kernels that the front end takes.
    pub(super) fn front_end_spec(&self, cpu: Option<&CpuComplex>) -> FrontEndSpec {
        let flushes = cpu.is_some_and(CpuComplex::flushes);
        FrontEndSpec {
            boundary: self.boundary(),
            flush_late: self.synchronises() == Some(Synchronisation::Dynamic)
                || cpu.is_some_and(CpuComplex::flushes_buffers),
            write_back: self.machine.dispatcher.write_back,
            flush_before: flushes || self.copies().is_some(),
            flush_after: flushes && cpu.is_some_and(|cpu| cpu.join == Join::LastLevel && !cpu.flushes_buffers()),
            regions: cpu.is_none(),
            read_at_once: cpu.is_some() && self.cpu_on_levels(),
            accounts: self.machine.fabric.is_some(),
        }
    }

    /// Whether a CPU's last-level cache is a member of the directories below the memories of GPUs.
    pub(super) fn cpu_on_levels(&self) -> bool {
        self.machine.cpu.as_ref().is_some_and(|cpu| cpu.join == Join::Directories)
    }

    /// Whether a CPU keeps its caches coherent by a protocol other than that of the GPUs, and meets the GPUs in memory.
    pub(super) fn meets_another_protocol(&self) -> bool {
        self.machine.cpu.is_some() && self.machine.protocol.protocol.needs.cpu == BesideCpu::Memory
    }

    pub(super) fn dispatcher(&mut self, gpu: usize) -> Id {
        let what = What::Dispatcher(self.machine.dispatcher, self.machine.compute_unit);
        let part = if self.machine.fabric.is_some() { self.array_part(gpu, 0) } else { 0 };
        self.plan.add(Path::to_one("gpu", gpu).and("dispatcher"), (self.gpu_clock, part), None, what)
    }

    /// Connects a front end to the dispatchers of GPUs, over the fabric if there is one.
    pub(super) fn command(&mut self, front_end: Id, dispatchers: &[Id]) {
        for (gpu, dispatcher) in dispatchers.iter().enumerate() {
            let (name, wire) = match &self.machine.fabric {
                None => ("commands".to_owned(), Wire::Call),
                Some(Fabric { latency, .. }) => {
                    let spec = LinkSpec { latency: *latency, capacity: COMMANDS, bytes_per_cycle: None };
                    (format!("gpu{gpu}_commands"), Wire::Link(spec))
                }
            };
            self.plan.connect(name, front_end, *dispatcher, wire, Freight::Commands);
        }
    }

    /// The nodes that a bank of a GPU's second-level cache asks for lines of a memory.
    pub(super) fn homes_in(&self, zone: &MemoryZone, gpu: usize, bank: usize) -> Interleave<Node> {
        let numbers = self.numbers;
        match (zone.place, &self.machine.cpu) {
            (Place::L2, _) => Interleave::One(numbers.memory(bank)),
            _ if self.machine.levels.is_some() => Interleave::One(numbers.gpu_memory(gpu, bank)),
            (Place::Agent, Some(complex)) if complex.join == Join::LastLevel => {
                complex.slices().deal(|slice| numbers.l3(slice))
            }
            (Place::Gpu(_), _) => Interleave::One(numbers.memory(zone.first + bank)),
            (Place::Agent | Place::Host | Place::Stacks | Place::Levels, _) => {
                zone.deal().map(&|channel| numbers.memory(*channel))
            }
        }
    }
}

impl Plan {
    /// Orders the edges of a bank: first those to below, then those to caches above, then those to peers.
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

/// A wire within a partition: for each direction, its name at the sending end and its parameters.
pub(super) fn ports((there, out): (&str, PortSpec), (back, returns): (&str, PortSpec)) -> Wire {
    let way = |name: &str, spec| Way { name: name.to_owned(), spec, head: None };
    Wire::Ports { there: way(there, out), back: way(back, returns) }
}

/// The parameters of a cache's bank.
pub(super) fn spec_of(of: &CacheSpec, controller: Seat, me: Node, below: Interleave<Node>, above: Roster) -> BankSpec {
    let CacheSpec { shape, mshrs, waiting, join_queue, write_back_queue, .. } = *of;
    let (above, peers) = (Arc::new(above), Vec::new());
    BankSpec { controller, me, below, above, shape, mshrs, waiting, join_queue, write_back_queue, peers }
}

/// The parameters of a cache with one bank, kept coherent by its protocol alone.
pub(super) fn cache_spec(bank: BankSpec, ports: usize, orders: &'static Table) -> cache::CacheSpec {
    cache::CacheSpec {
        bank,
        history: HISTORY,
        ports,
        orders,
        ordered: None,
        sees: Sees::Newest,
        lifts_requests: false,
        flushes_lines: false,
        flushes_below: false,
        wide_acquires: false,
        virtual_tags: false,
        remaps: 0,
        tells_gone: false,
        counts_tlb_misses: false,
        counts_lifetimes: false,
        memories: None,
    }
}
