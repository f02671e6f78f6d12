//! The CPU and what it shares with the GPU (`[giles Fig. 3.2]`): cores with two levels of caches, a last-level cache in
//! slices with the directory, a network, the GPU's hub, the system agent and the channels of memory. All of it is one partition.
//!
//! ```text
//! cpu.core0 - l1d -.
//!      \---- l1i --+- l2 --.     .-- cpu.l3_0
//! cpu.core1 ...      l2 ---+ ring +-- cpu.l3_1
//! dma - l1 --------- l2 ---+     |
//!   gpu0.l2_0 === hub -----'     '-- system agent -- memory0, memory1, ..
//! ```

mod dma;
mod translators;

use super::{
    Ends, FLUSHER, Fetches, HISTORY, Layout, Memories, Report,
    eyes::Eyes,
    memories::put,
    translation::{HubEnds, Shooter},
    wire,
};
use crate::{
    complex::{Complex, Join},
    program::{Caches, Coherent, Inside, InsideSpec, Software, SoftwareSpec, Translations},
    protocols::Roles,
    run::{PROGRAM, Start},
    spec::{CacheSpec, Machine},
    stress::{self, Port, Stress, Tester, TesterEnd},
};
use cache::{Acquire, Atomics, BankSpec, Cache, Requesters};
use cpu::Core;
use dma::Engine;
use dram::{Beside, Memory, MemorySpec, Timing};
use engine::{ClockId, Cycles, EventCount, Hertz, Inlet, Lane, Outlet, Partition, PortSpec, Scope};
use gpu::{ComputeUnitSpec, Dispatcher, DispatcherEnd, DispatcherSpec, Forget};
use interconnect::{HEADER, NetworkSpec, Packet, Reporter, Side, Station, Topology, WHOLE, Wire, deal, network};
use mem::{Block, Interleave, LINE, LineAddr, PhysAddr, Reply, Request, Share};
use os::forward::Forward;
use protocol::{
    Controller, Kind, Msg, Node,
    mesi::{
        directory,
        l1::{L1D, L1I},
        l2::L2,
    },
};
use rustc_hash::FxHashSet;
use std::{cell::RefCell, pin::Pin, rc::Rc, sync::Arc};
use translators::Translators;

/// Who stands where cores stand.
pub enum Cores {
    /// In the front end's place, at each core's data cache, and at each core's instruction cache.
    Testers(Stress, Vec<TesterEnd>),
    /// Cores that run a program; its kernels go to the dispatchers of these GPUs.
    Program(Start, Vec<Vec<DispatcherEnd>>),
}

/// What the complex is connected to, and who works in it.
pub struct ComplexPlan {
    pub layout: Layout,
    pub cores: Cores,
    /// The banks of GPUs' second-level caches.
    pub gpus: Vec<(Node, Ends)>,
    /// The MMUs of compute units.
    pub translated: Vec<HubEnds>,
    /// For each core's data cache, and its instruction cache.
    pub reports: Vec<(Report, Report)>,
    /// For the first caches of the DMA engine and of the IOMMU's walkers.
    pub engine: Report,
    pub iommu: Report,
    /// For whoever puts a program into memory.
    pub loader: Report,
    /// For each channel of memory.
    pub fetches: Vec<Option<Fetches>>,
    pub clocks: Clocks,
}

#[derive(Clone, Copy)]
pub struct Clocks {
    pub cpu: ClockId,
    pub system: ClockId,
    pub gpu: ClockId,
    pub memory: ClockId,
}

/// Builds the complex.
pub fn build(machine: &Machine, memories: &Memories, plan: ComplexPlan) -> impl FnOnce(&Partition) + Send + 'static {
    let complex = machine.complex.clone().expect("only a machine with a CPU has a complex");
    let (roles, timing) = (machine.protocol, machine.memory);
    let gpu_clock = machine.clock;
    let of_gpu = OfGpu { wavefronts: machine.wavefronts(), dispatcher: machine.dispatcher, unit: machine.compute_unit };
    let stores: Vec<_> = (0..complex.channels.count).map(|n| (memories.share(n), memories.stores[n].clone())).collect();
    move |partition| {
        let ComplexPlan { layout, cores, gpus, translated, reports, engine, iommu, loader, fetches, clocks } = plan;
        let scopes = Scopes {
            cpu: partition.scope(clocks.cpu),
            system: partition.scope(clocks.system),
            gpu: partition.scope(clocks.gpu),
            memory: partition.scope(clocks.memory),
        };
        let eyes = Eyes::new(layout, complex.join == Join::Memory);
        let loader = loader.place(&scopes.cpu);
        let tables = matches!(cores, Cores::Program(..));
        let translators = Translators::new(scopes.cpu.scope("kernel"), tables);
        let mut builder = Builder { complex, layout, scopes, gpu_clock, stations: Vec::new(), eyes, translators };
        let tops = builder.cores(reports);
        builder.iommu(translated, iommu);
        let shooter = builder.translators.shooter();
        let flusher = builder.slices();
        match cores {
            Cores::Testers(stress, ends) => {
                let engine = builder.complex.dma.map(|spec| builder.engine(spec, engine));
                builder.testers(stress, ends, (tops, flusher, engine), shooter);
            }
            Cores::Program(start, dispatchers) => {
                let engine = builder.complex.dma.map(|spec| builder.engine(spec, engine));
                let below = (tops, flusher, engine);
                if !builder.program((start, dispatchers), below, (&stores, loader), of_gpu, shooter) {
                    return partition.give_up();
                }
            }
        }
        builder.hub(gpus);
        builder.memory(roles, timing, stores.into_iter().zip(fetches));
        builder.network();
    }
}

/// The channels of memory and their bytes.
type Stores = [(Share, dram::Store)];

/// What a core is connected to.
struct Top {
    data: Wire<Reply, Request>,
    code: Wire<Reply, Request>,
}

/// What the front end must know of GPUs.
#[derive(Clone, Copy)]
struct OfGpu {
    wavefronts: u64,
    dispatcher: DispatcherSpec,
    unit: ComputeUnitSpec,
}

struct Scopes {
    cpu: Scope,
    system: Scope,
    gpu: Scope,
    memory: Scope,
}

struct Builder {
    complex: Complex,
    layout: Layout,
    scopes: Scopes,
    gpu_clock: Hertz,
    /// What is attached to the network so far.
    stations: Vec<Station<Packet>>,
    eyes: Rc<Eyes>,
    translators: Translators,
}

impl Builder {
    fn core_scope(&self, core: usize) -> Scope {
        self.scopes.cpu.scope("cpu").scope(("core", core))
    }

    /// Bytes a second of the network's wires.
    fn bandwidth(&self) -> Option<u64> {
        self.complex.network.bytes_per_cycle.map(|bytes| bytes * self.complex.system_clock.0)
    }

    /// The same of the way from the GPU to the memory controller: hub and system agent stand at one switch (4.4.1).
    fn gpu_bandwidth(&self) -> Option<u64> {
        self.complex.hub.bytes_per_cycle.map(|bytes| bytes * self.gpu_clock.0)
    }

    /// A wire there and back within the complex.
    fn pair<Out: 'static, Back: 'static>(
        &self,
        from: (&Scope, Hertz),
        name: &str,
        to: (&Scope, Hertz),
        latencies: (u64, u64),
    ) -> (Wire<Back, Out>, Wire<Out, Back>) {
        self.pair_as_wide(from, name, to, latencies, self.bandwidth())
    }

    /// The same of another bandwidth, in bytes a second.
    fn pair_as_wide<Out: 'static, Back: 'static>(
        &self,
        (from, from_clock): (&Scope, Hertz),
        name: &str,
        (to, to_clock): (&Scope, Hertz),
        (latency, back): (u64, u64),
        bandwidth: Option<u64>,
    ) -> (Wire<Back, Out>, Wire<Out, Back>) {
        let way = |clock: Hertz, latency| PortSpec {
            capacity: self.complex.network.capacity + latency as usize,
            latency: Cycles(latency),
            bytes_per_cycle: bandwidth.map(|bytes| bytes.div_ceil(clock.0)),
        };
        let (out, there): (Outlet<Out>, Inlet<Out>) = from.port(name, way(from_clock, latency), to);
        let (reply, here): (Outlet<Back>, Inlet<Back>) =
            to.port(&format!("{name}_back_{}", from.path().replace('.', "_")), way(to_clock, back), from);
        (Wire { from: here, to: out }, Wire { from: there, to: reply })
    }

    /// Attaches an element of the CPU's clock to the network; gives its side of the wire.
    fn attach(&mut self, nodes: Vec<Node>, scope: &Scope, clock: Hertz, latency: u64) -> Wire<Packet, Packet> {
        let bandwidth = self.bandwidth();
        self.attach_as_wide(nodes, scope, clock, latency, bandwidth)
    }

    fn attach_as_wide(
        &mut self,
        nodes: Vec<Node>,
        scope: &Scope,
        clock: Hertz,
        latency: u64,
        bandwidth: Option<u64>,
    ) -> Wire<Packet, Packet> {
        let system = (&self.scopes.system.scope("network"), self.complex.system_clock);
        let cycles = (latency * self.complex.system_clock.0).div_ceil(clock.0);
        let latencies = (1, cycles.max(1));
        let (element, network) = self.pair_as_wide((scope, clock), "to_network", system, latencies, bandwidth);
        self.stations.push(Station { nodes, wire: network });
        element
    }

    /// Cores' caches; gives what each core is connected to.
    fn cores(&mut self, reports: Vec<(Report, Report)>) -> Vec<Top> {
        let (complex, layout) = (self.complex.clone(), self.layout);
        let clock = complex.clock;
        let mut tops = Vec::new();
        for (core, (of_data, of_code)) in reports.into_iter().enumerate() {
            let scope = self.core_scope(core);
            let (d, i, l2) = (scope.scope("l1d"), scope.scope("l1i"), scope.scope("l2"));
            let (data, d_top) = self.pair((&scope, clock), "to_l1d", (&d, clock), (complex.l1d.latency.0, 1));
            let (code, i_top) = self.pair((&scope, clock), "to_l1i", (&i, clock), (complex.l1i.latency.0, 1));
            let (d_down, d_up) = self.pair((&d, clock), "to_l2", (&l2, clock), (complex.l2.latency.0, 1));
            let (i_down, i_up) = self.pair((&i, clock), "to_l2", (&l2, clock), (complex.l2.latency.0, 1));
            let asker = layout.core(core);
            let below = Interleave::One(layout.core_l2(core));
            let l1 =
                |node, controller, spec: CacheSpec, down| First { node, controller, spec, below: below.clone(), down };
            let (mut top, mut requesters) = (Top { data, code }, vec![(asker, d_top)]);
            if let Some(mmu) = complex.core_mmu {
                let walkers;
                (top, walkers) = self.core_mmu(core, mmu, top);
                requesters.extend(walkers);
            }
            let l1d = first(l1(layout.l1d(core), &L1D, complex.l1d, d_down), requesters, of_data, &d);
            let l1d = l1d.watched_by(self.eyes.of_stores(core));
            d.serve("control", |cx| l1d.run(cx));
            let l1i = first(l1(layout.code(core), &L1I, complex.l1i, i_down), vec![(asker, i_top)], of_code, &i);
            i.serve("control", |cx| l1i.run(cx));
            self.second(core, complex.l2, vec![(layout.l1d(core), d_up), (layout.code(core), i_up)], &l2);
            tops.push(top);
        }
        tops
    }

    /// A second-level cache on the network, under these.
    fn second(&mut self, core: usize, spec: CacheSpec, above: Vec<(Node, Wire<Packet, Packet>)>, scope: &Scope) {
        let (layout, me) = (self.layout, self.layout.core_l2(core));
        let out = self.attach(vec![me], scope, self.complex.clock, 0);
        let others = layout.of_complex().into_iter().chain(layout.gpu_l2s()).filter(|node| *node != me);
        let mut side = Side { from: Vec::new(), to: Vec::new() };
        for (node, wire) in above {
            side.from.push(wire.from);
            side.to.push((vec![node], wire.to));
        }
        side.from.push(out.from);
        side.to.push((others.collect(), out.to));
        let homes = self.complex.slices().deal(|slice| layout.l3(slice));
        let spec = cache_spec(spec, &L2, me, homes, layout.l1d(core), false);
        let cache = Cache::new(spec, Vec::new(), side, None, scope).lines_watched_by(self.eyes.of_core_l2());
        scope.serve("control", |cx| cache.run(cx));
    }

    /// Testers in the places of cores, of a DMA engine and of the front end.
    fn testers(
        &self,
        stress: Stress,
        ends: Vec<TesterEnd>,
        (tops, flusher, engine): (Vec<Top>, Flusher, Option<Engine>),
        shooter: Option<Rc<Shooter>>,
    ) {
        let mut ends = ends.into_iter();
        let mut next = || ends.next().expect("there is an end for every tester");
        let scope = self.scopes.gpu.scope("front_end");
        let translations = shooter.map(|shooter| shooter as Rc<dyn Translations>);
        let front_end = stress::FrontEnd::new(stress, next(), Rc::new(flusher), translations, &scope);
        scope.serve("control", |cx| front_end.run(cx));
        let layout = self.layout;
        let (data, code): (Vec<_>, Vec<_>) = tops.into_iter().map(|top| (top.data, top.code)).unzip();
        let data = data.into_iter().enumerate().map(|(core, wire)| (core, Port::Data, layout.l1d(core), wire));
        let code = code.into_iter().enumerate().map(|(core, wire)| (core, Port::Code, layout.code(core), wire));
        for (core, port, node, wire) in data.chain(code) {
            let scope = self.core_scope(core).scope(if port == Port::Data { "data" } else { "code" });
            let tester = Tester::new((stress, port), node.0.into(), next(), wire, &scope);
            scope.serve("control", |cx| tester.run(cx));
        }
        if let Some(Engine { wire, scope, .. }) = engine {
            let number = layout.l1d(self.complex.stacks() - 1).0.into();
            let tester = Tester::new((stress, Port::Engine), number, next(), wire, &scope);
            scope.serve("control", |cx| tester.run(cx));
        }
    }

    /// Cores, the program on them, and the front end of the GPUs that its driver uses. Says whether the program could be started.
    fn program(
        &self,
        (start, dispatchers): (Start, Vec<Vec<DispatcherEnd>>),
        (tops, flusher, engine): (Vec<Top>, Flusher, Option<Engine>),
        (stores, loader): (&Stores, Option<Reporter>),
        of_gpu: OfGpu,
        shooter: Option<Rc<Shooter>>,
    ) -> bool {
        let complex = &self.complex;
        let forward = start.forward.map(Forward::new);
        let spec = InsideSpec {
            wavefronts: of_gpu.wavefronts,
            coherent: complex.join == Join::LastLevel && complex.shared,
            forget: Forget::Nothing,
            flush_before: complex.flushes(),
            flush_after: complex.flushes() && complex.join == Join::LastLevel,
        };
        let inside = Inside::forwarded(spec, forward.clone());
        let finish = Arc::clone(&start.finish);
        let Some((mut process, usage)) = start.process(&inside) else { return false };
        if let Some(forward) = &forward {
            process.space.expect_cores();
            process.fast_forward(forward);
        }
        let (system, slice) = (complex.kernel, complex.slice);
        let spec = SoftwareSpec { cores: complex.cores, threads: complex.threads, system, slice };
        let bells: Vec<EventCount> = (0..complex.cores).map(|core| self.core_scope(core).eventcount("bell")).collect();
        let cpu = self.scopes.cpu.scope("cpu");
        let software = Software::new(process, spec, bells.clone(), cpu.eventcount("alert"), finish);
        software.with_process(|process| put(process, stores, complex.channels, loader));
        software.attach(&inside, usage);
        software.set_look(self.eyes.look());
        self.eyes.open(software.clone());
        if let Some(shooter) = shooter {
            shooter.obey(&software);
        }
        for (core, (bell, top)) in bells.into_iter().zip(tops).enumerate() {
            let scope = self.core_scope(core);
            let guest = Rc::new(RefCell::new(software.guest(core)));
            let core = Core::new(complex.core.clone(), complex.threads, guest, top.data, top.code, bell, &scope);
            scope.serve("pipeline", |cx| core.run(cx));
        }
        let warden = software.warden();
        cpu.spawn(PROGRAM, |cx| warden.run(cx));
        let gpus = dispatchers.into_iter().enumerate().map(|(gpu, units)| {
            let scope = self.scopes.gpu.scope(("gpu", gpu)).scope("dispatcher");
            let (launches, done) = (scope.queue("launches", 1), scope.eventcount("done"));
            let (spec, unit) = (of_gpu.dispatcher, of_gpu.unit);
            let dispatcher = Dispatcher::new(spec, (launches.clone(), done.clone()), units, unit, &scope);
            scope.serve("control", |cx| dispatcher.run(cx));
            (launches, done)
        });
        if let Some(engine) = engine {
            engine.start(&inside);
        }
        let scope = self.scopes.gpu.scope("front_end");
        let caches: Rc<dyn Caches> = if complex.flushes() { Rc::new(flusher) } else { Rc::new(Coherent) };
        let front_end = inside.front_end(gpus.collect(), caches, &scope);
        scope.serve("control", |cx| front_end.run(cx));
        true
    }

    /// The last-level cache; gives who can have it flushed.
    fn slices(&mut self) -> Flusher {
        let (complex, layout) = (self.complex.clone(), self.layout);
        let front_end = self.scopes.gpu.scope("front_end");
        let pages: Rc<RefCell<FxHashSet<PhysAddr>>> = Rc::default();
        let mut slices = Vec::new();
        for slice in 0..complex.slices {
            let scope = self.scopes.cpu.scope("cpu").scope(("l3_", slice));
            let me = layout.l3(slice);
            let Wire { from, to } = self.attach(vec![me], &scope, complex.clock, complex.l3.latency.0);
            let others = layout.of_complex().into_iter().chain(layout.gpu_l2s()).filter(|node| *node != me);
            let clocks = (self.gpu_clock, complex.clock);
            let (orders, ordered) =
                self.pair((&front_end, clocks.0), &format!("to_l3_{slice}"), (&scope, clocks.1), (1, 1));
            slices.push((me, orders));
            let to = vec![(others.collect(), to), (vec![FLUSHER], ordered.to)];
            let neighbours = Side { from: vec![from, ordered.from], to };
            let homes = self.memories();
            let mut spec = cache_spec(complex.l3, &directory::L3, me, homes, layout.core_l2(0), true);
            spec.acquire = Acquire::Recall;
            let cache = Cache::new(spec, Vec::new(), neighbours, None, &scope);
            let flushed = Rc::clone(&pages);
            let cache = cache.recalling(Rc::new(move |line| flushed.borrow().contains(&page_of(line))));
            let cache = cache.lines_watched_by(self.eyes.of_directory());
            scope.serve("control", |cx| cache.run(cx));
        }
        Flusher { slices, pages }
    }

    fn memories(&self) -> Interleave<Node> {
        self.complex.channels.deal(|channel| self.layout.memory(channel))
    }

    /// Between the GPUs and the network: a message at a time for each way.
    fn hub(&mut self, gpus: Vec<(Node, Ends)>) {
        if gpus.is_empty() {
            return;
        }
        let scope = self.scopes.gpu.scope("hub");
        let nodes: Vec<Node> = gpus.iter().map(|(node, _)| *node).collect();
        let out = self.attach_as_wide(nodes, &scope, self.gpu_clock, 0, self.gpu_bandwidth());
        let banks = gpus.into_iter().map(|(node, ends)| Station { nodes: vec![node], wire: wire(ends, &scope) });
        let mut stations: Vec<_> = banks.collect();
        stations.push(Station { nodes: self.layout.of_complex(), wire: out });
        let spec = NetworkSpec { topology: Topology::Crossbar, latency: Cycles(1), ..self.complex.network };
        network::<Packet>(spec, stations, &scope).expect("the machine file was checked: such a hub can be built");
    }

    /// The system agent with the channels of memory behind it.
    fn memory(
        &mut self,
        roles: Roles,
        timing: Timing,
        stores: impl ExactSizeIterator<Item = ((Share, dram::Store), Option<Fetches>)>,
    ) {
        let (layout, clock) = (self.layout, self.complex.system_clock);
        let scope = self.scopes.system.scope("system_agent");
        let nodes = (0..stores.len()).map(|channel| layout.memory(channel)).collect();
        let Wire { from, to } = self.attach_as_wide(nodes, &scope, clock, 2, self.gpu_bandwidth());
        let mut dealt_to = Vec::new();
        for (number, ((share, store), fetches)) in stores.enumerate() {
            let own = self.scopes.memory.scope(("memory", number));
            let me = layout.memory(number);
            let arrives =
                PortSpec { capacity: self.complex.network.capacity, latency: Cycles(2), bytes_per_cycle: None };
            let (arrives_to, arrives_from) = scope.port(&format!("to_memory{number}"), arrives, &own);
            dealt_to.push((me, arrives_to));
            let (back, returns) = own.port("to_agent", arrives, &scope);
            let askers = layout.of_complex().into_iter().chain(layout.gpu_l2s()).filter(|node| *node != me);
            let above = Side { from: vec![arrives_from], to: vec![(askers.collect(), back)] };
            let gpus = layout.gpu_l2s();
            let beside = (self.complex.join == Join::Memory && !gpus.is_empty()).then(|| Beside {
                controller: &directory::MC,
                first: gpus[0],
                count: gpus.len() as u16,
            });
            let (controller, above_it) = (roles.home, layout.core_l2(0));
            let spec =
                MemorySpec { controller, me, above: above_it, beside, share, timing, room: None, history: HISTORY };
            let sides = fetches.and_then(|fetches| fetches.place(&own));
            let memory =
                Memory::new(spec, above, store, None, &own).watched_by(self.eyes.of_memory()).checked_by(sides);
            own.serve("control", |cx| memory.run(cx));
            let returns = Rc::new(returns);
            for (name, lane) in [("answers", Lane::Reply), ("probes", Lane::Coherence)] {
                let (to, returns) = (to.clone(), Rc::clone(&returns));
                scope.serve((name, number), |_| async move {
                    loop {
                        let packet: Packet = returns.recv(lane).await;
                        to.send(lane, packet, interconnect::bytes(&packet.msg)).await;
                    }
                });
            }
        }
        scope.serve("deal", |cx| deal(vec![from], dealt_to, cx));
    }

    fn network(self) {
        let scope = self.scopes.system.scope("network");
        let built = network::<Packet>(self.complex.network, self.stations, &scope);
        built.expect("the machine file was checked: such a network can be built");
    }
}

/// Has the CPU's caches give up all they hold of some pages: those above the last-level cache are told by it.
struct Flusher {
    slices: Vec<(Node, Wire<Packet, Packet>)>,
    /// Those pages. Looked up, never walked.
    pages: Rc<RefCell<FxHashSet<PhysAddr>>>,
}

/// The page that a line lies in.
fn page_of(line: LineAddr) -> PhysAddr {
    const PAGE: u64 = 4096;
    PhysAddr(line.0 / PAGE * PAGE)
}

impl Caches for Flusher {
    fn flush(&self, pages: &[PhysAddr]) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        *self.pages.borrow_mut() = pages.iter().copied().collect();
        Box::pin(async {
            for (slice, wire) in &self.slices {
                let order =
                    Msg { scope: mem::Scope::System, ..Msg::new(FLUSHER, *slice, Kind::Flush, WHOLE, Block::EMPTY) };
                wire.to.send(Lane::Coherence, order.into(), HEADER).await;
            }
            for (_, wire) in &self.slices {
                wire.from.recv(Lane::Reply).await;
            }
        })
    }
}

/// A first-level cache of a core.
struct First {
    node: Node,
    controller: &'static dyn Controller<LINE>,
    spec: CacheSpec,
    below: Interleave<Node>,
    down: Wire<Packet, Packet>,
}

fn first(l1: First, requesters: Requesters, report: Report, scope: &Scope) -> Cache {
    let below = *l1.below.of(0);
    let spec = cache_spec(l1.spec, l1.controller, l1.node, l1.below, l1.node, false);
    report.cache(spec, requesters, Side::one(below, l1.down), scope)
}

fn cache_spec(
    spec: CacheSpec,
    controller: &'static dyn Controller<LINE>,
    me: Node,
    below: Interleave<Node>,
    above: Node,
    lifts_requests: bool,
) -> cache::CacheSpec {
    let CacheSpec { shape, mshrs, waiting, join_queue, write_back_queue, ports, .. } = spec;
    let peers = Vec::new();
    let bank = BankSpec { controller, me, below, above, shape, mshrs, waiting, join_queue, write_back_queue, peers };
    let (atomics, acquire) = (Atomics::Owned, Acquire::Coherent);
    cache::CacheSpec { bank, history: HISTORY, ports, atomics, acquire, lifts_requests, claims: false }
}

/// Whom a bank of a GPU's L2 asks.
pub fn homes_of_gpu(machine: &Machine, layout: Layout) -> Option<(Interleave<Node>, Acquire)> {
    let complex = machine.complex.as_ref()?;
    let homes = match complex.join {
        Join::LastLevel => complex.slices().deal(|slice| layout.l3(slice)),
        Join::Memory => complex.channels.deal(|channel| layout.memory(channel)),
    };
    let acquire = if complex.flushes() { Acquire::Recall } else { Acquire::Coherent };
    Some((homes, acquire))
}
