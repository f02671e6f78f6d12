//! A machine, wired.
//!
//! ```text
//! gpu0.dispatcher ===.
//! gpu0.array0.cu0 - l1v -.         .=== gpu0.l2_0 === memory0      -: port   ===: link, where the machine may be cut
//! gpu0.array0.cu1 - l1v -+= array0 =+
//! gpu0.array0 l1s, l1i --'         '=== gpu0.l2_1 === memory1
//! ```
//! Other GPUs have the same, over the same memory. With `check`, first-level caches, banks (of atomic accesses), memories and the
//! host also report to the golden image, which is no part of the model.

mod array;
mod bank;
mod between;
mod complex;
mod eyes;
mod levels;
mod memories;
mod node;
mod translation;

pub(crate) use memories::Memories;
pub(crate) use node::{FLUSHER, Layout, MOST};

use crate::{
    complex::Join,
    golden::{Golden, Image, Kept, Side},
    protocols::L2,
    run::Start,
    session::{Command, Ended, Host},
    spec::Machine,
    stress::{self, Conductor, ConductorEnd, Stress, TesterEnd},
};
use array::ArrayPlan;
use bank::BankPlan;
use between::Between;
use cache::{Cache, Requesters};
use complex::{Clocks, ComplexPlan, Cores};
use dram::{Memory, MemorySpec, Sides};
use engine::{ClockId, Journal, LinkReceiver, LinkSender, LinkSpec, Model, Partition, Scope};
use gpu::{Dispatcher, DispatcherEnd, UnitEnd};
use interconnect::{Packet, Reporter, Wire};
use mem::{Observation, Observer};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::AtomicU8,
        mpsc::{Receiver, Sender},
    },
};

/// How many steps of a protocol a cache keeps, to tell them if something is wrong.
const HISTORY: usize = 32;

/// The two ends of a two-way link, one for each side.
type Ends = (LinkSender<Packet>, LinkReceiver<Packet>);

fn two_way(model: &mut Model, name: &str, spec: LinkSpec) -> (Ends, Ends) {
    let (down, from_above) = model.link(format!("{name}.down"), spec);
    let (up, from_below) = model.link(format!("{name}.up"), spec);
    ((down, from_below), (up, from_above))
}

fn wire((sender, receiver): Ends, scope: &Scope) -> Wire<Packet, Packet> {
    Wire { from: scope.receiver(receiver), to: scope.sender(sender) }
}

/// Something that is built in a partition.
type Part = Box<dyn FnOnce(&Partition) + Send>;

/// What is built where.
struct Parts {
    clock: ClockId,
    by_partition: BTreeMap<usize, Vec<Part>>,
}

impl Parts {
    fn add(&mut self, partition: usize, part: impl FnOnce(&Scope) + Send + 'static) {
        self.add_at(self.clock, partition, part);
    }

    /// Adds something that has a clock of its own.
    fn add_at(&mut self, clock: ClockId, partition: usize, part: impl FnOnce(&Scope) + Send + 'static) {
        self.add_whole(partition, move |built| part(&built.scope(clock)));
    }

    /// Adds something that has several clocks.
    fn add_whole(&mut self, partition: usize, part: impl FnOnce(&Partition) + Send + 'static) {
        self.by_partition.entry(partition).or_default().push(Box::new(part));
    }

    fn build(self, model: &mut Model) {
        for parts in self.by_partition.into_values() {
            model.partition(move |partition| {
                parts.into_iter().for_each(|part| part(partition));
            });
        }
    }
}

/// Which partition the n-th of something is in, dealt over so many behind the first `before`.
fn dealt(number: usize, partitions: usize, before: usize) -> usize {
    if partitions == 0 { 0 } else { before + number % partitions }
}

/// Who reports to the golden image; nobody if the run is not checked.
struct Reports {
    journal: Option<Journal<Observation>>,
    names: Vec<String>,
    /// Who belongs to which side, where there are two that meet in memory.
    sides: Vec<Option<Side>>,
    /// Which of them answers a load with a wrong byte, in a test of the check.
    broken: Option<String>,
}

/// One of them: what an element takes to its place to report from there.
#[derive(Default)]
struct Report {
    to: Option<(Observer, Journal<Observation>)>,
    broken: bool,
}

impl Report {
    fn place(self, scope: &Scope) -> Option<Reporter> {
        self.to.map(|(observer, journal)| Reporter::new(observer, &journal, scope))
    }

    /// A first-level cache that reports.
    fn cache(
        self,
        spec: cache::CacheSpec,
        above: Requesters,
        below: interconnect::Side<Packet>,
        scope: &Scope,
    ) -> Cache {
        let broken = self.broken;
        Cache::new(spec, above, below, self.place(scope), scope).broken(broken)
    }
}

/// A memory's: what it reports of those above it, and of a second side.
struct Fetches {
    first: Report,
    second: Observer,
}

impl Fetches {
    fn place(self, scope: &Scope) -> Option<Sides> {
        let first = self.first.place(scope)?;
        Some(Sides { second: first.on_behalf_of(self.second), first })
    }
}

impl Reports {
    fn new(machine: &Machine, check: bool) -> Self {
        let (journal, broken) = (check.then(Journal::default), machine.broken.clone());
        Self { journal, names: Vec::new(), sides: Vec::new(), broken }
    }

    /// One more who reports. At one time, those come first who were added first.
    fn add(&mut self, name: String, side: impl Into<Option<Side>>) -> Report {
        let broken = self.broken.as_ref() == Some(&name);
        let observer = self.observer(name, side.into());
        Report { to: self.journal.clone().map(|journal| (observer, journal)), broken }
    }

    fn observer(&mut self, name: String, side: Option<Side>) -> Observer {
        self.names.push(name);
        self.sides.push(side);
        Observer(self.names.len() as u32 - 1)
    }

    /// A channel of memory, which tells of both sides.
    fn of_memory(&mut self, channel: usize) -> Fetches {
        let first = self.add(format!("memory{channel}, for the CPU,"), Side::Cpu);
        let second = self.observer(format!("memory{channel}, for the GPU,"), Some(Side::Gpu));
        Fetches { first, second }
    }
}

/// Who accesses memory.
pub(crate) enum Agents {
    /// Compute units; whoever stands at the other end of these gives them work.
    Host(Receiver<Command>, Sender<Ended>),
    /// Testers in their places.
    Testers(Stress),
    /// The same; one passes a message to another, and what that reads is left here.
    Writer(Arc<AtomicU8>),
    /// Compute units, and cores that run a program.
    Program(Start),
}

/// One of them, with its end of the wire to whoever gives it work.
enum Agent {
    Unit(UnitEnd),
    Tester(Stress, TesterEnd),
}

/// The other ends, of each GPU.
enum Leads {
    Dispatchers(Receiver<Command>, Sender<Ended>, Vec<Vec<DispatcherEnd>>),
    Conductor(Stress, Vec<Vec<ConductorEnd>>, Option<Arc<AtomicU8>>),
    /// Everything that leads is in the complex, once it has been built.
    Program(Option<Start>, Vec<Vec<DispatcherEnd>>),
}

/// The model of a machine.
pub(crate) fn build(machine: &Machine, memories: &Memories, check: Option<Kept>, agents: Agents) -> Model {
    let mut model = Model::new();
    let mut parts = Parts { clock: model.clock(machine.clock), by_partition: BTreeMap::new() };
    let mut reports = Reports::new(machine, check.is_some());
    let layout = Layout::new(machine);
    let (arrays, banks) = (machine.arrays, machine.banks.count);
    let array_partition = |gpu, array| dealt(gpu * arrays + array, machine.partitions.arrays, 1);
    let bank_partition = |gpu, bank| dealt(gpu * banks + bank, machine.partitions.l2, 1 + machine.partitions.arrays);

    let mut leads = match agents {
        Agents::Host(commands, ended) => Leads::Dispatchers(commands, ended, Vec::new()),
        Agents::Testers(stress) => Leads::Conductor(stress, Vec::new(), None),
        Agents::Writer(read) => Leads::Conductor(Stress::NOTHING, Vec::new(), Some(read)),
        Agents::Program(start) => Leads::Program(Some(start), Vec::new()),
    };
    // The wires to each channel of memory, or to the complex with the CPU, from all GPUs.
    let mut askers: Vec<Vec<(protocol::Node, Ends)>> = (0..banks).map(|_| Vec::new()).collect();
    let below_l2 = machine.complex.as_ref().map_or(machine.wires.l2_memory, |complex| complex.hub);
    let mut peers = peers(machine, &mut model);
    let gpu_mmu = machine.complex.as_ref().and_then(|complex| complex.gpu_mmu);
    let mut translated = Vec::new();
    for gpu in 0..machine.gpus {
        let name = format!("gpu{gpu}");
        let mut agents = leads.gpu(machine, &name, &mut model).into_iter();
        let testers = matches!(leads, Leads::Conductor(..));
        let between = Between { layout, gpu, testers, partition: bank_partition(gpu, 0) };
        let (below, above) = between.wires(machine, &mut model, &mut parts);
        for (array, below) in below.into_iter().enumerate() {
            let agents: Vec<Agent> = agents.by_ref().take(machine.units_per_array).collect();
            let mut observed = |cache: String| reports.add(format!("{name}.array{array}.{cache}"), Side::Gpu);
            let vectors = (0..agents.len()).map(|number| observed(format!("cu{number}.l1v"))).collect();
            let reports = (vectors, observed("l1s".to_owned()), observed("l1i".to_owned()));
            let mut mmus = Vec::new();
            if let Some(mmu) = gpu_mmu {
                for number in 0..agents.len() {
                    let name = format!("{name}_array{array}_cu{number}");
                    let (unit, hub) = translation::link(&mut model, &name, mmu.iommu.wire);
                    mmus.push((mmu, unit));
                    translated.push(hub);
                }
            }
            let plan = ArrayPlan { layout, gpu, array, below, agents, reports, mmus };
            array::part(machine, plan, array_partition(gpu, array), &mut parts);
        }
        for (bank, above) in above.into_iter().enumerate() {
            let (below, asks) = two_way(&mut model, &format!("{name}_l2_{bank}_memory"), below_l2);
            askers[bank].push((layout.l2(gpu, bank), asks));
            let report = reports.add(format!("{name}.l2_{bank}"), Side::Gpu);
            let peers = peers.remove(&(gpu, bank)).unwrap_or_default();
            let plan = BankPlan { layout, gpu, bank, above, below, peers, report };
            bank::part(machine, plan, bank_partition(gpu, bank), &mut parts);
        }
    }
    if machine.levels.is_some() {
        for (bank, banks) in askers.drain(..).enumerate() {
            let partition = |gpu| bank_partition(gpu, bank);
            let host = (memories, reports.add(format!("memory{bank}"), None));
            levels::parts(machine, layout, (bank, banks), host, partition, (&mut model, &mut parts));
        }
    }
    let memory_clock = machine.memory.clock().map_or(parts.clock, |clock| model.clock(clock));
    if let Some(cpu) = &machine.complex {
        let clocks = Clocks {
            cpu: model.clock(cpu.clock),
            system: model.clock(cpu.system_clock),
            gpu: parts.clock,
            memory: if machine.memory.clock().is_some() { memory_clock } else { model.clock(cpu.system_clock) },
        };
        let loader = reports.add("loader".to_owned(), None);
        let mut observed = |cache: String| reports.add(cache, Side::Cpu);
        let of_core = |core, cache| format!("cpu.core{core}.{cache}");
        let of_cores = (0..cpu.cores).map(|core| (observed(of_core(core, "l1d")), observed(of_core(core, "l1i"))));
        let of_cores = of_cores.collect();
        let (engine, iommu) = (observed("dma.l1".to_owned()), observed("iommu.l1d".to_owned()));
        let apart = cpu.join == Join::Memory;
        let fetches = (0..cpu.channels.count).map(|channel| apart.then(|| reports.of_memory(channel))).collect();
        let gpus = askers.drain(..).flatten().collect();
        let cores = leads.cores(machine, &mut model);
        let plan =
            ComplexPlan { layout, cores, gpus, translated, reports: of_cores, engine, iommu, loader, fetches, clocks };
        parts.add_whole(0, complex::build(machine, memories, plan));
    }
    for (channel, askers) in askers.into_iter().enumerate() {
        let spec = MemorySpec {
            controller: machine.protocol.home,
            me: layout.memory(channel),
            above: layout.l2(0, channel),
            beside: None,
            share: memories.share(channel),
            timing: machine.memory,
            room: machine.tsu,
            history: HISTORY,
        };
        let (report, timed) = (reports.add(format!("memory{channel}"), None), machine.protocol.timed);
        let store = memories.stores[channel].clone();
        parts.add_at(memory_clock, bank_partition(0, channel), move |root| {
            let scope = root.scope(("memory", channel));
            let mut above = interconnect::Side { from: Vec::new(), to: Vec::new() };
            for (node, ends) in askers {
                let Wire { from, to } = wire(ends, &scope);
                above.from.push(from);
                above.to.push((vec![node], to));
            }
            // With logical time it is memory that says what was written when.
            let (observer, all) = if timed { (report, Report::default()) } else { (Report::default(), report) };
            let sides = all.place(&scope).map(|first| Sides { second: first.clone(), first });
            let memory = Memory::new(spec, above, store, observer.place(&scope), &scope).checked_by(sides);
            scope.serve("control", |cx| memory.run(cx));
        });
    }
    // What others report at the time of a synchronisation came before it.
    let report = reports.add("host".to_owned(), None);
    front_part(machine, leads, report, &mut parts);
    if let (Some(kept), Some(journal)) = (check, reports.journal) {
        let image = match &machine.complex {
            Some(complex) if complex.join == Join::Memory => Image::apart(reports.sides, machine.gpus > 1),
            Some(_) => Image::coherent(),
            None if machine.protocol.timed => Image::timed(),
            None => Image::stale(),
        };
        model.audit("check.golden_image", journal, Golden::new(image, kept, reports.names));
    }
    parts.build(&mut model);
    model
}

/// The wires between the second-level caches of different GPUs: to each, from those of the same bank.
fn peers(machine: &Machine, model: &mut Model) -> BTreeMap<(usize, usize), Vec<(usize, Ends)>> {
    let mut peers: BTreeMap<(usize, usize), Vec<(usize, Ends)>> = BTreeMap::new();
    if matches!(machine.protocol.l2, L2::Alone(_)) {
        return peers;
    }
    for bank in 0..machine.banks.count {
        for (one, other) in (0..machine.gpus).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let (first, second) = two_way(model, &format!("gpu{one}_gpu{other}_l2_{bank}"), machine.wires.l2_memory);
            peers.entry((one, bank)).or_default().push((other, first));
            peers.entry((other, bank)).or_default().push((one, second));
        }
    }
    peers
}

impl Leads {
    /// Who stands where cores stand, led like those of a further GPU.
    fn cores(&mut self, machine: &Machine, model: &mut Model) -> Cores {
        let cores = machine.complex.as_ref().map_or(0, |complex| complex.cores);
        match self {
            Self::Dispatchers(..) => unreachable!("a host outside gives work to a machine without cores"),
            Self::Program(start, gpus) => {
                let start = start.take().expect("a machine has one complex");
                Cores::Program(start, std::mem::take(gpus))
            }
            Self::Conductor(stress, groups, _) => {
                let of_cores =
                    ["core", "code"].into_iter().flat_map(|name| (0..cores).map(move |core| format!("{name}{core}")));
                let engine = machine.complex.as_ref().and_then(|complex| complex.dma).map(|_| "dma".to_owned());
                let names = std::iter::once("front_end".to_owned()).chain(of_cores).chain(engine);
                let links = names.map(|name| stress::link(model, &name, machine.wires.dispatcher));
                let (ends, testers) = links.unzip();
                groups.push(ends);
                Cores::Testers(*stress, testers)
            }
        }
    }

    /// The wires of one more GPU.
    fn gpu(&mut self, machine: &Machine, gpu: &str, model: &mut Model) -> Vec<Agent> {
        let (units, spec) = (0..machine.compute_units(), machine.wires.dispatcher);
        let name = |unit| format!("{gpu}_unit{unit}");
        match self {
            Self::Dispatchers(.., gpus) | Self::Program(_, gpus) => {
                let (ends, units): (_, Vec<_>) = units.map(|unit| gpu::link(model, &name(unit), spec)).unzip();
                gpus.push(ends);
                units.into_iter().map(Agent::Unit).collect()
            }
            Self::Conductor(stress, gpus, _) => {
                let (ends, testers): (_, Vec<_>) = units.map(|unit| stress::link(model, &name(unit), spec)).unzip();
                gpus.push(ends);
                testers.into_iter().map(|end| Agent::Tester(*stress, end)).collect()
            }
        }
    }
}

/// Where commands of the host arrive, and the dispatchers; or whoever leads the testers.
fn front_part(machine: &Machine, leads: Leads, report: Report, parts: &mut Parts) {
    let (spec, unit) = (machine.dispatcher, machine.compute_unit);
    let stale_copies = machine.gpus > 1 && !machine.protocol.coherent;
    let homes_in_caches = machine.gpus > 1 && matches!(machine.protocol.l2, L2::Peers(_));
    let timed = machine.protocol.timed;
    parts.add(0, move |root| {
        let host = root.scope("host");
        let observer = report.place(&host);
        match leads {
            Leads::Dispatchers(commands, ended, gpus) => {
                let gpus = gpus.into_iter().enumerate().map(|(gpu, units)| {
                    let scope = root.scope(("gpu", gpu)).scope("dispatcher");
                    let (launches, done) = (scope.queue("launches", 1), scope.eventcount("done"));
                    let dispatcher = Dispatcher::new(spec, (launches.clone(), done.clone()), units, unit, &scope);
                    scope.serve("control", |cx| dispatcher.run(cx));
                    (launches, done)
                });
                let gpus = gpus.collect();
                let front = Host { commands, ended, gpus, stale_copies, homes_in_caches, timed, observer };
                host.spawn("commands", |cx| front.run(cx));
            }
            Leads::Program(..) => {}
            Leads::Conductor(stress, gpus, message) => {
                let conductor = Conductor::new(stress, gpus, (stale_copies, homes_in_caches), observer, &host);
                host.spawn("conductor", |cx| async {
                    match message {
                        Some(read) => conductor.pass(read).await,
                        None => conductor.run(cx).await,
                    }
                });
            }
        }
    });
}
