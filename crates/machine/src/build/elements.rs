//! Builds each kind of element.

use super::{
    Agents, Observers,
    program::{Flusher, Running},
    translation::Translators,
    view::CoresView,
    wires::{End, Scopes, Wires},
};
use crate::{
    plan::{
        CachePlan, ConductorPlan, EdgeId, Element, FabricPlan, Freight, Id, LevelPlan, MemoryPlan, MmuPlan, Plan,
        Routes, TesterPlan, UnitPlan, View, What,
    },
    program::{Claims, Coherent, FrontEnd, FrontEndSpec, GpusSpec, HostMemory, ModelGpus, OutsideProcess},
    session::Host,
    stress::{self, Book, Conductor, Forgotten, Migrator, PagedPlace, PagedTester, Pages, Port, Stress, Tester},
};
use cache::Cache;
use dram::{Backing, Level, Memory, Sides, Store};
use engine::{Lane, Scope};
use gpu::{Caches, CommandProcessor, ComputeUnit, Dispatcher, DispatcherSpec};
use interconnect::{FabricWire, Packet, Reporter, Side, Station, Wire, deal, fabric, network};
use mem::{LINE, Reply, Request};
use protocol::Node;
use std::{rc::Rc, sync::Arc};
use vm::{Control, Mmu, MmuPort, Roots, Shootdowns};

/// The program could not be started, so there is nothing to run.
pub struct Refused;

/// Restricts an element's outgoing wires to the nodes that it sends to.
pub(super) fn only(mut side: Side<Packet>, speaks_to: Option<&[Node]>) -> Side<Packet> {
    if let Some(speaks_to) = speaks_to {
        side.to.iter_mut().for_each(|(nodes, _)| nodes.retain(|node| speaks_to.contains(node)));
    }
    side
}

/// Builds the elements of a partition.
pub struct Builder<'a> {
    pub plan: &'a Plan,
    routes: &'a Routes,
    observers: &'a Observers,
    pub scopes: Scopes<'a>,
    pub wires: Wires,
    pub stores: &'a [Store],
    stress: Stress,
    pub agents: Option<Agents>,
    /// State of testers whose pages are moved, and the driver that moves them.
    book: Option<Arc<Book>>,
    pub driver: Option<ModelGpus>,
    /// The cores' view of memory, if there are cores.
    pub view: Option<Rc<CoresView>>,
    pub translators: Translators,
    /// The command processors of GPUs that have been built.
    pub dispatchers: Vec<CommandProcessor>,
    /// The front end of those GPUs, if a host outside the machine sends it kernels.
    pub front_end: Option<FrontEnd>,
    /// Pages that the CPU's caches are currently flushing.
    pub flushed: Rc<super::program::Pages>,
    /// The program, once started: on cores, or on a host outside the machine.
    pub running: Option<Running>,
    pub outside: Option<(OutsideProcess, ModelGpus)>,
    /// How that host takes blocks back from GPUs.
    pub claims: Option<(Claims, Scope)>,
    /// The memory of that host, which some channels represent.
    pub host_bytes: Rc<HostMemory>,
}

impl<'a> Builder<'a> {
    pub fn new(
        plan: &'a Plan,
        routes: &'a Routes,
        observers: &'a Observers,
        scopes: Scopes<'a>,
        wires: Wires,
        stores: &'a [Store],
        (stress, agents, book): (Stress, Option<Agents>, Option<Arc<Book>>),
    ) -> Self {
        Self {
            plan,
            routes,
            observers,
            scopes,
            wires,
            stores,
            stress,
            agents,
            book,
            driver: None,
            view: plan.cores.clone().map(CoresView::new),
            translators: Translators::default(),
            dispatchers: Vec::new(),
            front_end: None,
            flushed: Rc::default(),
            running: None,
            outside: None,
            claims: None,
            host_bytes: Rc::default(),
        }
    }

    pub fn element(&mut self, id: Id) -> Result<(), Refused> {
        let element = self.plan.element(id);
        let scope = self.scopes.of(element);
        match &element.what {
            What::Unit(unit) => self.unit(id, unit, &scope),
            What::Tester(tester) => self.tester(id, tester, &scope),
            What::Cache(cache) => self.cache(id, cache, &scope),
            What::Memory(memory) => self.memory(id, memory, &scope),
            What::Level(level) => self.level(id, level, &scope),
            What::Mmu(mmu) => self.mmu(id, mmu, &scope),
            What::SharedTlb(spec) => self.shared_tlb(id, *spec, &scope),
            What::Walkers(walkers) => self.walkers(id, walkers, &scope),
            What::Fbt(fbt) => self.fbt(id, fbt, &scope),
            What::Shooter => self.shooter(id, &scope),
            What::Network(spec, _) => {
                let stations = self.stations(id);
                let built = network::<Packet>(*spec, stations, &scope);
                built.expect("the machine file was checked: such a network can be built");
            }
            What::Fabric(plan) => self.fabric(id, plan, &scope),
            What::Junction => self.junction(id, &scope),
            What::Agent => self.agent(id, &scope),
            What::Dispatcher(spec, unit) => self.dispatcher(id, (*spec, *unit), &scope),
            What::Host => self.host(id, &scope),
            What::Outside(gpus) => return self.outside(id, *gpus, &scope),
            What::HostDma(spec) => self.host_dma(id, *spec, &scope),
            What::DmaPort { channel, timed } => self.dma_port(id, *channel, *timed, &scope),
            What::Conductor(plan) => self.conductor(id, plan, &scope),
            What::Program(program) => return self.program(id, program, &scope),
            What::Core(core) => self.core(id, core, &scope),
            What::Timekeeper => self.timekeeper(&scope),
            What::Dma { outstanding } => self.dma(id, *outstanding, &scope),
            What::HostPort => self.host_port(id, &scope),
            What::Direct { homes, tells } => self.direct(id, homes, *tells, &scope),
            What::Claims { homes, block } => self.claims(id, homes, *block, &scope),
            What::FrontEnd(front_end) => self.front_end(id, front_end, &scope),
        }
        Ok(())
    }

    pub fn stress(&self) -> Stress {
        self.stress
    }

    /// The only edge of an element that carries this freight.
    pub fn edge(&self, id: Id, freight: Freight) -> EdgeId {
        self.plan.edges_of(id, freight).next().expect("the plan connects it")
    }

    /// The request wires of an element, in order of its edges.
    pub fn asks(&mut self, id: Id) -> Vec<Wire<Reply, Request>> {
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Requests).collect();
        let own = edges.into_iter().filter(|edge| self.plan.edge(*edge).upper == id);
        own.map(|edge| self.wires.asks.remove(&edge).expect("both ends of every edge are in place")).collect()
    }

    pub fn reporter(&self, id: Id, number: u32, scope: &Scope) -> Option<Reporter> {
        let (observer, journal) = self.observers.of(id, number)?;
        Some(Reporter::new(observer, journal, scope))
    }

    /// An element's message wires, with the nodes that each leads to.
    pub fn side(&mut self, id: Id) -> Side<Packet> {
        let mut side = Side { from: Vec::new(), to: Vec::new() };
        let carries = |edge: &EdgeId| matches!(self.plan.edge(*edge).freight, Freight::Messages | Freight::Flushes);
        let edges: Vec<EdgeId> = self.plan.element(id).edges.iter().copied().filter(carries).collect();
        for edge in edges {
            let nodes = self.routes.beyond(id, edge).to_vec();
            match self.wires.arrivals.remove(&edge) {
                Some(arrivals) => {
                    side.from.push(arrivals);
                    side.to.extend(self.shared(self.plan.edge(edge).lower));
                }
                None => {
                    let Wire { from, to } = self.wires.take(edge, id);
                    side.from.push(from);
                    side.to.push((nodes, to));
                }
            }
        }
        side
    }

    /// The wires below a junction, which the caches above it share.
    fn shared(&self, junction: Id) -> Vec<(Vec<Node>, engine::Outlet<Packet>)> {
        let below = self.below(junction);
        let ways = below.map(|edge| {
            let to = self.wires.messages[&(edge, junction)].to.clone();
            (self.routes.beyond(junction, edge).to_vec(), to)
        });
        ways.collect()
    }

    /// The edges from a relay to the elements below it.
    fn below(&self, id: Id) -> impl Iterator<Item = EdgeId> {
        self.plan.edges_of(id, Freight::Messages).filter(move |edge| self.plan.edge(*edge).upper == id)
    }

    fn cache(&mut self, id: Id, plan: &CachePlan, scope: &Scope) {
        let asked: Vec<EdgeId> = self.plan.edges_of(id, Freight::Requests).collect();
        let requesters = asked.into_iter().map(|edge| {
            let node = self.plan.element(self.plan.edge(edge).upper).node.expect("a requester has a number");
            (node, self.wires.asked.remove(&edge).expect("both ends of every edge are in place"))
        });
        let (requesters, side) = (requesters.collect(), only(self.side(id), plan.speaks_to.as_deref()));
        let reported = !self.plan.element(id).reports.is_empty();
        let reporter = if reported { self.reporter(id, 0, scope) } else { None };
        let mut cache = Cache::new(plan.spec.clone(), requesters, side, reporter, scope);
        if plan.first_level {
            cache = cache.broken(self.observers.is_broken(self.plan.element(id)));
        }
        if let (Some(view), Some(follows)) = (&self.view, plan.view) {
            cache = match follows {
                View::Stores { core } => cache.watched_by(view.of_stores(core)),
                View::Transfers => cache.watched_by(view.of_transfers()),
                View::Arrivals => cache.lines_watched_by(view.of_core_l2()),
                View::Directory => {
                    let pages = Rc::clone(&self.flushed);
                    let cache = cache.recalling(Rc::new(move |line| pages.has(line)));
                    cache.lines_watched_by(view.of_directory())
                }
            };
        }
        scope.serve("control", |cx| cache.run(cx));
    }

    fn memory(&mut self, id: Id, plan: &MemoryPlan, scope: &Scope) {
        let side = only(self.side(id), plan.speaks_to.as_deref());
        let store: Backing = match plan.of_process {
            true => Backing::Host(Rc::clone(&self.host_bytes) as _, plan.spec.share),
            false => self.stores[plan.channel].clone().into(),
        };
        let reports = self.plan.element(id).reports.len();
        let reporter = |number| if reports > 0 { self.reporter(id, number, scope) } else { None };
        // With logical time, memory reports which value was written when.
        let observer = if plan.timed { reporter(0) } else { None };
        let first = if plan.timed && self.plan.domains.len() == 1 { None } else { reporter(0) };
        let second = || self.observers.of(id, 1).map(|(observer, _)| observer);
        let sides = first.map(|first| match second().filter(|_| reports > 1) {
            Some(second) => Sides { second: first.on_behalf_of(second), first },
            None => Sides { second: first.clone(), first },
        });
        let memory = Memory::new(plan.spec.clone(), side, store, observer, scope);
        let memory = match self.view.as_ref().filter(|_| plan.watched) {
            Some(view) => memory.watched_by(view.of_memory()),
            None => memory,
        };
        let memory = memory.checked_by(sides, !plan.of_process);
        scope.serve("control", |cx| memory.run(cx));
    }

    fn level(&mut self, id: Id, plan: &LevelPlan, scope: &Scope) {
        let side = self.side(id);
        let extent = plan.extent.with(|channel, share| match plan.of_process {
            true => Backing::Host(Rc::clone(&self.host_bytes) as _, share),
            false => self.stores[channel].clone().into(),
        });
        let reported = !self.plan.element(id).reports.is_empty();
        let level = Level::new(plan.spec.clone(), extent, side, scope);
        let level = level.checked_by(if reported { self.reporter(id, 0, scope) } else { None });
        let block = (plan.spec.directory.lines() * LINE) as u64;
        let watcher = plan.watched.zip(self.view.as_ref()).map(|(gpus, view)| view.of_host_directory(gpus, block));
        let level = level.watched_by(watcher);
        scope.serve("control", |cx| level.run(cx));
    }

    fn stations(&mut self, id: Id) -> Vec<Station<Packet>> {
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Messages).collect();
        let station = |edge| Station { nodes: self.routes.beyond(id, edge).to_vec(), wire: self.wires.take(edge, id) };
        edges.into_iter().map(station).collect()
    }

    fn fabric(&mut self, id: Id, plan: &FabricPlan, scope: &Scope) {
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Messages).collect();
        let stations = edges.iter().copied().zip(self.stations(id));
        let wires = stations.map(|(edge, station)| {
            let channel = plan.paced.iter().find(|(paced, _)| *paced == edge).map(|(_, channel)| *channel);
            let edge = self.plan.edge(edge);
            let other = if edge.upper == id { edge.lower } else { edge.upper };
            FabricWire { station, channel, outside: matches!(self.plan.element(other).what, What::Fabric(_)) }
        });
        let (wires, clock) = (wires.collect(), self.plan.clocks[self.plan.element(id).clock]);
        let built = fabric(&plan.channels, clock, wires, plan.counts_reads, scope);
        built.expect("routes lead to each element by one way");
    }

    fn junction(&mut self, id: Id, scope: &Scope) {
        let arrivals = self.below(id).collect::<Vec<_>>().into_iter().map(|edge| self.wires.take(edge, id).from);
        let arrivals = arrivals.collect();
        let above: Vec<EdgeId> =
            self.plan.edges_of(id, Freight::Messages).filter(|edge| self.plan.edge(*edge).lower == id).collect();
        let dealt_to = above.into_iter().flat_map(|edge| {
            let way = self.wires.deals.remove(&edge).expect("both ends of every edge are in place");
            self.routes.beyond(id, edge).iter().map(move |node| (*node, way.clone()))
        });
        let dealt_to = dealt_to.collect();
        scope.serve("deal", |cx| deal(arrivals, dealt_to, cx));
    }

    /// The system agent: distributes messages from the network over the channels, and forwards their answers.
    fn agent(&mut self, id: Id, scope: &Scope) {
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Messages).collect();
        let (above, below): (Vec<_>, Vec<_>) = edges.into_iter().partition(|edge| self.is_network(*edge, id));
        let Wire { from, to } = self.wires.take(above[0], id);
        let mut dealt_to = Vec::new();
        for (number, edge) in below.into_iter().enumerate() {
            let memory = self.plan.element(self.plan.edge(edge).lower);
            let Wire { from: returns, to: way } = self.wires.take(edge, id);
            dealt_to.push((memory.node.expect("a memory has a number"), way));
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

    fn is_network(&self, edge: EdgeId, of: Id) -> bool {
        self.plan.element(self.plan.edge(edge).beyond(of)).relays().is_some()
    }

    fn unit(&mut self, id: Id, plan: &UnitPlan, scope: &Scope) {
        let [vector, scalar, code] =
            self.asks(id).try_into().unwrap_or_else(|_| unreachable!("a compute unit has three caches"));
        let work = self.edge(id, Freight::Work);
        let Some(End::Unit(end)) = self.wires.ends.remove(&(work, id)) else {
            unreachable!("a compute unit is given work")
        };
        let caches = Caches { vector, scalar, code };
        let unit = ComputeUnit::new(plan.spec, plan.number, plan.first, end.place(scope), caches, scope);
        scope.serve("control", |cx| unit.run(cx));
    }

    fn dispatcher(&mut self, id: Id, (spec, unit): (DispatcherSpec, gpu::ComputeUnitSpec), scope: &Scope) {
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Work).collect();
        let units = edges.into_iter().filter_map(|edge| match self.wires.ends.remove(&(edge, id)) {
            Some(End::Dispatcher(end)) => Some(end),
            _ => None,
        });
        let processor = Dispatcher::build(spec, units.collect(), unit, scope);
        match self.wires.ends.remove(&(self.edge(id, Freight::Commands), id)) {
            Some(End::Commands(wire)) => wire.place(&processor, &scope.scope("commands")),
            _ => self.dispatchers.push(processor),
        }
    }

    /// The element that receives commands from a host outside the machine.
    fn host(&mut self, id: Id, scope: &Scope) {
        let (Some(Agents::Host(commands, ended)), Some(front_end)) = (self.agents.take(), self.front_end.take()) else {
            unreachable!("a machine that has a host is built for one")
        };
        let (observer, over) = (self.reporter(id, 0, scope), scope.eventcount("over"));
        let host = Host { commands, ended, front_end, over, observer };
        scope.spawn("commands", |cx| host.run(cx));
    }

    fn tester(&mut self, id: Id, plan: &TesterPlan, own: &Scope) {
        let wire = self.asks(id).pop().expect("a tester asks a cache");
        let tests = self.edge(id, Freight::Tests);
        let Some(End::Tester(end)) = self.wires.ends.remove(&(tests, id)) else {
            unreachable!("a tester is told what to do")
        };
        // A core is represented by two testers.
        let scope = match plan.port {
            Port::Data => own.scope("data"),
            Port::Code => own.scope("code"),
            Port::Unit { .. } | Port::Paged { .. } | Port::Engine => own.clone(),
        };
        if let (Port::Paged { by_lane, number }, Some(book)) = (plan.port, &self.book) {
            let place = PagedPlace { gpu: plan.group, number, by_lane };
            let tester = PagedTester::new(self.stress, place, Arc::clone(book), end, wire, &scope);
            scope.serve("control", |cx| tester.run(cx));
            return;
        }
        // Cores access only the host's memory.
        let everywhere = matches!(plan.port, Port::Unit { .. }) || self.plan.cores.is_none();
        let zones = if everywhere { self.plan.zones.clone() } else { vec![self.plan.zones[0]] };
        let tester = Tester::new((self.stress, plan.port), zones, plan.number, end, wire, &scope);
        scope.serve("control", |cx| tester.run(cx));
    }

    fn conductor(&mut self, id: Id, plan: &ConductorPlan, scope: &Scope) {
        let observer = self.reporter(id, 0, scope);
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Tests).collect();
        let mut groups = Vec::new();
        for edge in edges {
            let group = match &self.plan.element(self.plan.edge(edge).lower).what {
                What::Tester(tester) => tester.group,
                // The front end leads the group of the CPU.
                _ => groups.len(),
            };
            groups.resize_with(groups.len().max(group + 1), Vec::new);
            if let Some(End::Conductor(end)) = self.wires.ends.remove(&(edge, id)) {
                groups[group].push(end);
            }
        }
        let mut conductor = Conductor::new(self.stress, groups, plan.boundary, observer, scope);
        let agents = self.agents.take();
        let mut one = None;
        match (plan.pages, &agents) {
            (Some(gpus), Some(Agents::PagedTesters(_, forgets))) => {
                conductor.pages = Some(self.migrator(&conductor, (gpus, plan.front_end), *forgets, scope));
            }
            (Some(gpus), Some(Agents::Migration(migrated))) => {
                let (inside, book) = self.driver(&conductor, (gpus, plan.front_end), None, scope);
                let (zones, apart, bell) = (self.plan.zones.clone(), gpus.apart, scope.eventcount("news"));
                inside.ring(vec![bell.clone()]);
                let migrated = Arc::clone(migrated);
                one = Some(stress::OneMigration { gpus: inside, book, bell, zones, apart, migrated });
            }
            _ => {}
        }
        scope.spawn("conductor", |cx| async {
            match (agents, one) {
                (Some(Agents::Writer(read)), _) => conductor.pass(read).await,
                (Some(Agents::Streams(streams, took)), _) => conductor.stream(streams, took, cx).await,
                (_, Some(one)) => conductor.migrate(one, cx).await,
                _ => conductor.run(cx).await,
            }
        });
    }

    /// The driver that moves testers' pages at random.
    fn migrator(
        &mut self,
        conductor: &Conductor,
        (gpus, front_end): (GpusSpec, FrontEndSpec),
        forgets: Option<Forgotten>,
        scope: &Scope,
    ) -> Pages {
        let (inside, book) = self.driver(conductor, (gpus, front_end), forgets, scope);
        let (migrator, control) =
            Migrator::new(&inside, &book, self.stress.seed, (self.plan.zones.clone(), gpus.apart), scope);
        scope.serve("driver", |cx| migrator.run(cx));
        Pages { control, book }
    }

    /// The parts by which a driver of testers moves pages, as those of a program's driver.
    fn driver(
        &mut self,
        conductor: &Conductor,
        (gpus, front_end): (GpusSpec, FrontEndSpec),
        forgets: Option<Forgotten>,
        scope: &Scope,
    ) -> (ModelGpus, Arc<Book>) {
        let book = self.book.clone().expect("testers of pages have a book");
        let inside = ModelGpus::forwarded(gpus, self.translators.tables.clone(), None);
        let processors: Vec<CommandProcessor> = (0..book.gpus())
            .map(|gpu| {
                let own = scope.scope(("gpu", gpu));
                let processor = CommandProcessor::new(1, &own);
                let recalls = stress::Recalls::new(processor.clone(), conductor.group(gpu), forgets);
                own.serve("recall", |cx| recalls.run(cx));
                processor
            })
            .collect();
        let front_end = FrontEnd::build(front_end, processors, Rc::new(Coherent), None, None, scope);
        if forgets == Some(Forgotten::Shootdown)
            && let Some((shootdowns, kernel)) = &mut self.translators.shootdowns
        {
            // A shootdown that reaches no TLB.
            *shootdowns = Rc::new(Shootdowns::new(Vec::new(), &self.translators.roots, &kernel.scope("forgetful")));
        }
        self.take_pages_away(&inside, &front_end, scope);
        self.driver = Some(inside.clone());
        (inside, book)
    }

    /// Inserts an MMU into the edges that it guards.
    fn mmu(&mut self, id: Id, plan: &MmuPlan, scope: &Scope) {
        let below = self.edge(id, Freight::Translations);
        let below = self.wires.translates.remove(&below).expect("both ends of every edge are in place");
        let control = self.control(id);
        let capacity = plan.spec.lookups.max(plan.spec.waiting);
        let way = engine::PortSpec { capacity, latency: engine::Cycles(0), bytes_per_cycle: None };
        let mut ports = Vec::new();
        for (edge, name) in &plan.guards {
            let Wire { from: replies, to } =
                self.wires.asks.remove(edge).expect("both ends of every edge are in place");
            let (top, from) = scope.port(format!("from_{name}").as_str(), way, scope);
            ports.push(MmuPort { name: (*name).to_owned(), tlb: plan.tlb, from, to });
            self.wires.asks.insert(*edge, Wire { from: replies, to: top });
        }
        // An MMU that is not beside the kernel that writes the tables can't look at them: it learns of changes by
        // shootdowns only.
        let roots = if plan.at_kernel { self.translators.roots.clone() } else { Roots::default() };
        let mmu = Mmu::new(plan.spec, ports, below, control, &roots, scope);
        scope.serve("control", |cx| mmu.run(cx));
    }

    /// The shootdown wire of an element, if a kernel can change translations.
    pub fn control(&mut self, id: Id) -> Option<Control> {
        let edge = self.plan.edges_of(id, Freight::Shootdowns).next()?;
        self.wires.forgets.remove(&edge)
    }

    /// The element that orders the CPU's caches to flush.
    pub fn flusher(&mut self, id: Id) -> Flusher {
        let edges: Vec<EdgeId> = self.plan.edges_of(id, Freight::Flushes).collect();
        let slices = edges.into_iter().map(|edge| {
            let slice: &Element = self.plan.element(self.plan.edge(edge).lower);
            (slice.node.expect("a slice has a number"), self.wires.take(edge, id))
        });
        Flusher { slices: slices.collect(), pages: Rc::clone(&self.flushed) }
    }
}
