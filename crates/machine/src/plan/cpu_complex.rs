//! The CPU and what it shares with GPUs (`[giles Fig. 3.2]`): cores with two levels of caches, a last-level cache in
//! slices with the directory, a network, the GPUs' hub, the system agent and the channels of memory. All of it is one
//! partition.
//!
//! ```text
//! cpu.core0 - l1d -.
//!      \---- l1i --+- l2 --.     .-- cpu.l3_0
//! cpu.core1 ...      l2 ---+ ring +-- cpu.l3_1
//! dma - l1 --------- l2 ---+     |
//!   gpu0.l2_0 === hub -----'     '-- system agent -- memory0, memory1, ..
//! ```

mod connect;

use super::{
    CachePlan, CorePlan, CoresView, FrontEndPlan, GpusWrite, Id, MemoryPlan, MmuPlan, Path, ProgramPlan, Relay,
    TesterPlan, View, WalkersPlan, What,
    lower::{HISTORY, Lowering, Population, cache_spec, spec_of},
    memory::Levels,
    numbers::FLUSHER,
};
use crate::{
    cpu_complex::{CpuComplex, Join},
    golden::Side,
    program::GpusSpec,
    spec::CacheSpec,
    stress::Port,
    translation::{Iommu, Pages},
};
use dram::{Beside, MemorySpec, RoomSpec};
use engine::Cycles;
use interconnect::{NetworkSpec, Topology};
use mem::{Bytes, Interleave, LINE};
use protocol::{
    Node, Roster, Sharers, Table, mesi,
    roles::{Parameters, Role, Seat, Sees},
};
use std::sync::Arc;

/// The latency of a page walk for testers, which have no page tables.
const UNTOLD: Cycles = Cycles(40);

/// The partition of the complex.
const PART: usize = 0;

/// The elements of a complex.
pub(super) struct CpuIds {
    cores: Vec<CoreIds>,
    pub iommu: Option<Id>,
    iommu_caches: Option<(Id, Id)>,
    pub shooter: Option<Id>,
    slices: Vec<Id>,
    engine_caches: Option<(Id, Id)>,
    /// The DMA engine, or the tester in its place.
    pub engine: Option<Id>,
    front_end: Id,
    pub dispatchers: Vec<Id>,
    program: Option<Id>,
    pub hub: Option<Id>,
    memories: Vec<Id>,
    agent: Id,
    network: Id,
}

/// A core, or the testers in its place, and its caches.
struct CoreIds {
    data: Id,
    code: Id,
    l1d: Id,
    l1i: Id,
    l2: Id,
    mmu: Option<(Id, Id)>,
}

/// The data, code and second-level caches of a core, its MMU and its walkers.
type CoreCaches = (Id, Id, Id, Option<(Id, Id)>);

/// The clocks of a complex, by number.
#[derive(Clone, Copy)]
struct Clocks {
    cpu: usize,
    system: usize,
    memory: usize,
}

impl Lowering<'_> {
    pub(super) fn complex(&mut self, cpu: &CpuComplex, memory_clock: Option<usize>, levels: Option<&Levels>) -> CpuIds {
        let (of_cpu, system) = (self.clock(cpu.clock), self.clock(cpu.system_clock));
        let memory = memory_clock.unwrap_or_else(|| self.clock(cpu.system_clock));
        let clocks = Clocks { cpu: of_cpu, system, memory };
        self.plan.cores = Some(self.view(cpu));
        let caches: Vec<_> = (0..cpu.cores).map(|core| self.core_caches(cpu, core, clocks)).collect();
        let (iommu_caches, iommu) = self.iommu(cpu, clocks);
        let translates = iommu.is_some() || cpu.core_mmu.is_some();
        let place = (clocks.cpu, PART);
        let shooter = translates.then(|| self.plan.add(Path::to("kernel"), place, None, What::Shooter));
        let slices = (0..cpu.slices).map(|slice| self.slice(cpu, slice, clocks)).collect();
        let engine_caches = cpu.dma.map(|dma| {
            let number = cpu.stacks() - 1;
            let l1 = self.private(number, Path::to("dma").and("l1"), ("system.dma", dma.cache), place);
            self.cache_mut(l1).view = Some(View::Transfers);
            self.plan.report(l1, "dma.l1".to_owned(), Some(Side::Cpu));
            (l1, self.second(number, Path::to("dma").and("l2"), ("system.dma", dma.cache), place))
        });
        let mut ids = CpuIds {
            cores: Vec::new(),
            iommu,
            iommu_caches,
            shooter,
            slices,
            engine_caches,
            engine: None,
            front_end: Id(usize::MAX),
            dispatchers: Vec::new(),
            program: None,
            hub: None,
            memories: Vec::new(),
            agent: Id(usize::MAX),
            network: Id(usize::MAX),
        };
        match self.population {
            Population::Testers | Population::PagedTesters => self.testers(cpu, &mut ids, caches, clocks),
            _ => self.program(cpu, &mut ids, caches, clocks),
        }
        ids.hub = cpu.hub.map(|_| {
            let hub = NetworkSpec { topology: Topology::Crossbar, latency: Cycles(1), ..cpu.network };
            self.plan.add(Path::to("hub"), (self.gpu_clock, PART), None, What::Network(hub, Relay::Any))
        });
        ids.memories = match levels {
            Some(levels) => levels.hosts.clone(),
            None => (0..cpu.channels.count).map(|channel| self.channel(cpu, channel, clocks)).collect(),
        };
        ids.agent = self.plan.add(Path::to("system_agent"), (clocks.system, PART), None, What::Agent);
        ids.network =
            self.plan.add(Path::to("network"), (clocks.system, PART), None, What::Network(cpu.network, Relay::Any));
        ids
    }

    /// The cores' view of memory.
    fn view(&self, cpu: &CpuComplex) -> CoresView {
        let numbers = self.numbers;
        let above = Roster::row(numbers.core_l2(0), Sharers::MOST);
        let gpus = numbers.gpu_l2s().into_iter().map(|node| above.sharer(node)).fold(Sharers::NONE, Sharers::or);
        let (me, below) = (numbers.l3(0), numbers.memory(0));
        let gpus_write = match cpu.join {
            Join::LastLevel => GpusWrite::Tracked,
            Join::Memory => GpusWrite::Past,
            Join::Directories => GpusWrite::Levels,
        };
        CoresView { me, below, above, gpus, gpus_write }
    }

    /// A controller of the CPU's protocol: that of the GPUs if its caches are members, else MESI.
    fn of_cpu(&self, role: Role) -> Seat {
        if self.cpu_on_levels() {
            return self.machine.protocol.seat(role);
        }
        mesi::seats(role, &Parameters::default()).expect("it has one in every place of a CPU")
    }

    /// The table of orders for a role of the CPU's protocol.
    fn orders_of_cpu(&self, role: Role) -> &'static Table {
        if self.cpu_on_levels() {
            return self.machine.protocol.orders(role);
        }
        mesi::orders(role, &Parameters::default()).expect("every cache of a CPU has one")
    }

    fn cache_mut(&mut self, id: Id) -> &mut CachePlan {
        match &mut self.plan.elements[id.0].what {
            What::Cache(cache) => cache,
            _ => unreachable!("it is a cache"),
        }
    }

    /// The walkers, the MMU and the caches of a core.
    fn core_caches(&mut self, cpu: &CpuComplex, core: usize, clocks: Clocks) -> CoreCaches {
        let (own, place) = (Path::to("cpu").and_one("core", core), (clocks.cpu, PART));
        let mmu = cpu.core_mmu.map(|of| {
            let pages = self.pages(of.pages);
            let walkers = WalkersPlan { walkers: of.walkers, pages, tlb: of.second, second_level: None, iommu: false };
            let node = Some(self.numbers.walkers(core));
            let walkers = self.plan.add(own.clone().and("walkers"), place, node, What::Walkers(walkers));
            let mmu = MmuPlan { tlb: of.tlb, spec: of.mmu, guards: Vec::new(), at_kernel: true };
            (self.plan.add(own.clone().and("mmu"), place, None, What::Mmu(mmu)), walkers)
        });
        let l1d = self.private(core, own.clone().and("l1d"), ("cpu.l1d", cpu.l1d), place);
        self.cache_mut(l1d).view = Some(View::Stores { core });
        self.plan.report(l1d, format!("cpu.core{core}.l1d"), Some(Side::Cpu));
        let below = Interleave::One(self.numbers.core_l2(core));
        let me = self.numbers.code(core);
        let spec = cache_spec(
            spec_of(&cpu.l1i, self.of_cpu(Role::CoreCode), me, below, Roster::NONE),
            cpu.l1i.ports,
            self.orders_of_cpu(Role::CoreCode),
        );
        let plan = CachePlan { spec, section: "cpu.l1i", first_level: true, view: None, speaks_to: None };
        let l1i = self.plan.add(own.clone().and("l1i"), place, Some(me), What::Cache(Box::new(plan)));
        self.plan.report(l1i, format!("cpu.core{core}.l1i"), Some(Side::Cpu));
        let l2 = self.second(core, own.and("l2"), ("cpu.l2", cpu.l2), place);
        (l1d, l1i, l2, mmu)
    }

    /// The data cache of stack `number`.
    fn private(&mut self, number: usize, path: Path, of: (&'static str, CacheSpec), place: (usize, usize)) -> Id {
        let (section, of) = of;
        let (me, below) = (self.numbers.l1d(number), Interleave::One(self.numbers.core_l2(number)));
        let spec = cache_spec(
            spec_of(&of, self.of_cpu(Role::CoreData), me, below, Roster::NONE),
            of.ports,
            self.orders_of_cpu(Role::CoreData),
        );
        let plan = CachePlan { spec, section, first_level: true, view: None, speaks_to: None };
        self.plan.add(path, place, Some(me), What::Cache(Box::new(plan)))
    }

    /// The second-level cache of stack `number`.
    fn second(&mut self, number: usize, path: Path, of: (&'static str, CacheSpec), place: (usize, usize)) -> Id {
        let (section, of) = of;
        let me = self.numbers.core_l2(number);
        let complex = self.machine.cpu.as_ref().expect("only a complex has such caches");
        let slices = complex.slices().deal(|slice| self.numbers.l3(slice));
        let spec = cache_spec(
            spec_of(&of, self.of_cpu(Role::CoreL2), me, slices, Roster::row(self.numbers.l1d(number), 2)),
            of.ports,
            self.orders_of_cpu(Role::CoreL2),
        );
        let plan = CachePlan { spec, section, first_level: false, view: Some(View::Arrivals), speaks_to: None };
        self.plan.add(path, place, Some(me), What::Cache(Box::new(plan)))
    }

    /// The translation of a population: testers have no page tables.
    fn pages(&self, pages: Pages) -> Pages {
        match (pages, self.population) {
            (Pages::Tables { .. } | Pages::Driver(_), Population::Testers) => Pages::Flat(UNTOLD),
            // A host written in Rust has no driver: every page is at the place given by the launch.
            (Pages::Driver(latency), Population::Host) => Pages::Flat(latency),
            (pages, _) => pages,
        }
    }

    /// The IOMMU that compute units ask for translations. It reads page tables through its own caches, as a core does.
    fn iommu(&mut self, cpu: &CpuComplex, clocks: Clocks) -> (Option<(Id, Id)>, Option<Id>) {
        let Some(of) = cpu.iommu() else { return (None, None) };
        let pages = self.pages(of.pages);
        let caches = matches!(pages, Pages::Tables { .. }).then(|| {
            let (own, place) = (Path::to("iommu"), (clocks.cpu, PART));
            let of = ("system.iommu.cache", of.cache);
            let l1 = self.private(cpu.cores, own.clone().and("l1d"), of, place);
            self.plan.report(l1, "iommu.l1d".to_owned(), Some(Side::Cpu));
            (l1, self.second(cpu.cores, own.and("l2"), of, place))
        });
        let plan = WalkersPlan {
            walkers: of.walkers,
            pages,
            tlb: of.tlb,
            second_level: cpu.fbt.map(|fbt| fbt.spec).filter(|spec| spec.second_level),
            iommu: true,
        };
        let node = Some(self.numbers.walkers(cpu.cores));
        let iommu = self.plan.add(Path::to("iommu"), (self.gpu_clock, PART), node, What::Walkers(plan));
        (caches, Some(iommu))
    }

    /// The IOMMU of a machine without a CPU, whose kernel would have page tables; and the element that sends
    /// shootdowns, if a driver can recall pages.
    pub(super) fn lone_translators(&mut self, iommu: Iommu) -> (Id, Option<Id>) {
        let faults = iommu.faults();
        let plan = WalkersPlan {
            walkers: iommu.walkers,
            pages: self.pages(iommu.pages),
            tlb: iommu.tlb,
            second_level: self.machine.fbt.map(|fbt| fbt.spec).filter(|spec| spec.second_level),
            iommu: true,
        };
        let place = (self.gpu_clock, PART);
        let iommu = self.plan.add(Path::to("iommu"), place, None, What::Walkers(plan));
        let takes_away = faults && matches!(self.population, Population::Program | Population::PagedTesters);
        let shooter = takes_away.then(|| self.plan.add(Path::to("kernel"), place, None, What::Shooter));
        if let Some(shooter) = shooter {
            self.shoots(shooter, iommu);
        }
        (iommu, shooter)
    }

    fn slice(&mut self, cpu: &CpuComplex, slice: usize, clocks: Clocks) -> Id {
        let me = self.numbers.l3(slice);
        let homes = cpu.channels.deal(|channel| match self.cpu_on_levels() {
            true => self.numbers.host_memory(channel),
            false => self.numbers.memory(channel),
        });
        let above = Roster::row(self.numbers.core_l2(0), Sharers::MOST);
        let bank = spec_of(&cpu.l3, self.of_cpu(Role::LastLevel), me, homes, above);
        let plain = cache_spec(bank, cpu.l3.ports, self.orders_of_cpu(Role::LastLevel));
        let spec = cache::CacheSpec {
            lifts_requests: true,
            flushes_lines: true,
            flushes_below: cpu.join == Join::Memory && !self.meets_another_protocol(),
            ..plain
        };
        let plan =
            CachePlan { spec, section: "cpu.l3", first_level: false, view: Some(View::Directory), speaks_to: None };
        let path = Path::to("cpu").and_one("l3_", slice);
        self.plan.add(path, (clocks.cpu, PART), Some(me), What::Cache(Box::new(plan)))
    }

    /// Testers in the places of cores, of a DMA engine and of the front end.
    fn testers(&mut self, cpu: &CpuComplex, ids: &mut CpuIds, caches: Vec<CoreCaches>, clocks: Clocks) {
        let group = self.machine.gpus;
        let place = (clocks.cpu, PART);
        let plan = FrontEndPlan { spec: self.front_end_spec(Some(cpu)), flushes: true };
        let at_gpu = (self.gpu_clock, PART);
        ids.front_end = self.plan.add(Path::to("front_end"), at_gpu, Some(FLUSHER), What::FrontEnd(plan));
        let mut tester = |path: Path, node: Node, port, number: Node| {
            let tester = TesterPlan { port, number: number.0.into(), group };
            self.plan.add(path, place, Some(node), What::Tester(tester))
        };
        let numbers = self.numbers;
        let own = |core| Path::to("cpu").and_one("core", core);
        let data: Vec<Id> =
            (0..cpu.cores).map(|core| tester(own(core), numbers.core(core), Port::Data, numbers.l1d(core))).collect();
        let code: Vec<Id> =
            (0..cpu.cores).map(|core| tester(own(core), numbers.core(core), Port::Code, numbers.code(core))).collect();
        ids.engine = cpu.dma.map(|_| {
            let number = cpu.stacks() - 1;
            tester(Path::to("dma"), numbers.core(number), Port::Engine, numbers.l1d(number))
        });
        for (core, (l1d, l1i, l2, mmu)) in caches.into_iter().enumerate() {
            ids.cores.push(CoreIds { data: data[core], code: code[core], l1d, l1i, l2, mmu });
        }
    }

    /// Cores, the program on them, and the front end of the GPUs that its driver uses.
    fn program(&mut self, cpu: &CpuComplex, ids: &mut CpuIds, caches: Vec<CoreCaches>, clocks: Clocks) {
        let place = (clocks.cpu, PART);
        let gpus = GpusSpec {
            wavefronts: self.machine.wavefronts(),
            coherent: !cpu.flushes(),
            memories: self.memories_of_driver(),
            block: Bytes(LINE as u64),
            apart: false,
            host_past_caches: false,
        };
        let plan = ProgramPlan { gpus, cores: cpu.cores, threads: cpu.threads, kernel: cpu.kernel, slice: cpu.slice };
        let program = self.plan.add(Path::to("cpu"), place, None, What::Program(plan));
        self.plan.report(program, "loader".to_owned(), None);
        ids.program = Some(program);
        for (core, (l1d, l1i, l2, mmu)) in caches.into_iter().enumerate() {
            let path = Path::to("cpu").and_one("core", core);
            let node = Some(self.numbers.core(core));
            let plan = CorePlan { number: core, spec: cpu.core.clone(), threads: cpu.threads };
            let own = self.plan.add(path, place, node, What::Core(Box::new(plan)));
            ids.cores.push(CoreIds { data: own, code: own, l1d, l1i, l2, mmu });
        }
        self.plan.add(Path::to("cpu"), place, None, What::Timekeeper);
        ids.dispatchers = (0..self.machine.gpus).map(|gpu| self.dispatcher(gpu)).collect();
        ids.engine = cpu.dma.map(|dma| {
            let node = Some(self.numbers.core(cpu.stacks() - 1));
            self.plan.add(Path::to("dma"), place, node, What::Dma { outstanding: dma.outstanding })
        });
        let plan = FrontEndPlan { spec: self.front_end_spec(Some(cpu)), flushes: cpu.flushes() };
        let at_gpu = (self.gpu_clock, PART);
        ids.front_end = self.plan.add(Path::to("front_end"), at_gpu, Some(FLUSHER), What::FrontEnd(plan));
        if self.meets_another_protocol() || self.cpu_on_levels() {
            let side = self.meets_another_protocol().then_some(Side::Gpu);
            self.plan.report(ids.front_end, "front_end".to_owned(), side);
        }
    }

    /// A channel of memory behind the system agent.
    fn channel(&mut self, cpu: &CpuComplex, channel: usize, clocks: Clocks) -> Id {
        let (machine, numbers) = (self.machine, self.numbers);
        let (me, gpus) = (numbers.memory(channel), numbers.gpu_l2s());
        let apart = cpu.join == Join::Memory;
        let plain = MemorySpec {
            controller: self.of_cpu(Role::Home),
            me,
            above: Arc::default(),
            beside: None,
            watch_first: false,
            share: cpu.channels.share(channel),
            timing: machine.memory,
            room: None,
            history: HISTORY,
        };
        let spec = if !apart {
            plain
        } else if self.meets_another_protocol() {
            let members = Arc::new(Roster::row(numbers.l3(0), cpu.slices));
            let beside = Some(Beside { controller: self.of_cpu(Role::Home), members });
            let controller = machine.protocol.seat(Role::Home);
            let room = machine.tsu.map(|room| RoomSpec { share: cpu.channels.share(channel), ..room });
            MemorySpec { controller, above: Arc::new(Roster::new(gpus)), beside, watch_first: true, room, ..plain }
        } else {
            let members = Arc::new(Roster::new(gpus));
            MemorySpec { beside: Some(Beside { controller: self.of_cpu(Role::Directory), members }), ..plain }
        };
        let mut speaks_to = numbers.slices_and_gpu_l2s();
        speaks_to.extend(numbers.engines().filter(|_| machine.fabric.is_some()));
        let timed = machine.protocol.protocol.sees == Sees::ByTime;
        let plan = MemoryPlan {
            spec,
            channel,
            timed,
            watched: true,
            section: "memory",
            speaks_to: Some(speaks_to),
            of_process: false,
        };
        let place = (clocks.memory, PART);
        let id = self.plan.add(Path::to_one("memory", channel), place, Some(me), What::Memory(Box::new(plan)));
        let mut sides = [("CPU", Side::Cpu), ("GPU", Side::Gpu)];
        if self.meets_another_protocol() {
            sides.reverse();
        }
        for (name, side) in sides.into_iter().filter(|_| apart) {
            self.plan.report(id, format!("memory{channel}, for the {name},"), Some(side));
        }
        id
    }
}
