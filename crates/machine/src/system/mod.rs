//! A machine, wired.
//!
//! ```text
//! gpu0.dispatcher ===.
//! gpu0.array0.cu0 - l1v -.         .=== gpu0.l2_0 === memory0      -: port   ===: link, where the machine may be cut
//! gpu0.array0.cu1 - l1v -+= array0 =+
//! gpu0.array0 l1s, l1i --'         '=== gpu0.l2_1 === memory1
//! ```
//! Other GPUs have the same, over the same memory. With `check`, first-level vector caches, banks (of atomic accesses) and
//! the host also report to the golden image, which has a partition of its own.

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
use complex::{Clocks, ComplexPlan, Cores};
use dram::{Memory, MemorySpec};
use engine::{ClockId, LinkReceiver, LinkSender, LinkSpec, Model, Partition, Scope};
use gpu::{Dispatcher, DispatcherEnd, UnitEnd};
use interconnect::{Packet, Wire};
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
/// More than can be under way: whoever checks a run holds nobody up.
const ANY_NUMBER: usize = 1 << 40;

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

/// Wires to whoever checks the run, for those who report; none if nobody does.
struct Reports {
    model: Vec<(Observer, LinkReceiver<Observation>)>,
    names: Vec<String>,
    /// Who belongs to which side, where there are two that meet in memory.
    sides: Vec<Option<Side>>,
    spec: Option<LinkSpec>,
}

/// An observer, and its end of the wire.
type Report = Option<(Observer, LinkSender<Observation>)>;

/// The same for a memory that two sides fetch from.
struct Fetches {
    first: Observer,
    second: Observer,
    told: LinkSender<Observation>,
}

impl Reports {
    fn new(machine: &Machine, check: bool) -> Self {
        let wires = &machine.wires;
        let latency = wires.l1_l2.latency.min(wires.l2_memory.latency).min(wires.dispatcher.latency);
        let latency = machine.levels.map_or(latency, |levels| levels.wire.latency.min(latency));
        let spec = check.then_some(LinkSpec { latency, capacity: ANY_NUMBER, bytes_per_cycle: None });
        Self { model: Vec::new(), names: Vec::new(), sides: Vec::new(), spec }
    }

    /// A wire for somebody.
    fn wire(&mut self, model: &mut Model, name: String, side: impl Into<Option<Side>>) -> Report {
        let spec = self.spec?;
        let observer = self.observer(name, side.into());
        let (sender, receiver) = model.link(format!("check.{}", observer.0), spec);
        self.model.push((observer, receiver));
        Some((observer, sender))
    }

    fn observer(&mut self, name: String, side: Option<Side>) -> Observer {
        self.names.push(name);
        self.sides.push(side);
        Observer(self.names.len() as u32 - 1)
    }

    /// A wire for a channel of memory, which tells of both sides.
    fn of_memory(&mut self, model: &mut Model, channel: usize) -> Option<Fetches> {
        let (first, told) = self.wire(model, format!("memory{channel}, for the CPU,"), Side::Cpu)?;
        let second = self.observer(format!("memory{channel}, for the GPU,"), Some(Side::Gpu));
        Some(Fetches { first, second, told })
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
            let observed = |number| reports.wire(&mut model, format!("{name}.array{array}.cu{number}.l1v"), Side::Gpu);
            let reports = (0..agents.len()).map(observed).collect();
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
            let report = reports.wire(&mut model, format!("{name}.l2_{bank}"), Side::Gpu);
            let peers = peers.remove(&(gpu, bank)).unwrap_or_default();
            let plan = BankPlan { layout, gpu, bank, above, below, peers, report };
            bank::part(machine, plan, bank_partition(gpu, bank), &mut parts);
        }
    }
    if machine.levels.is_some() {
        for (bank, banks) in askers.drain(..).enumerate() {
            let partition = |gpu| bank_partition(gpu, bank);
            levels::parts(machine, layout, (bank, banks), memories, partition, (&mut model, &mut parts));
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
        let loader = reports.wire(&mut model, "loader".to_owned(), None);
        let mut observed = |core, cache| reports.wire(&mut model, format!("cpu.core{core}.{cache}"), Side::Cpu);
        let of_cores = (0..cpu.cores).map(|core| (observed(core, "l1d"), observed(core, "l1i"))).collect();
        let engine = cpu.dma.and_then(|_| reports.wire(&mut model, "dma.l1".to_owned(), Side::Cpu));
        let apart = cpu.join == Join::Memory;
        let fetches = |channel| if apart { reports.of_memory(&mut model, channel) } else { None };
        let fetches = (0..cpu.channels.count).map(fetches).collect();
        let gpus = askers.drain(..).flatten().collect();
        let cores = leads.cores(machine, &mut model);
        let plan = ComplexPlan { layout, cores, gpus, translated, reports: of_cores, engine, loader, fetches, clocks };
        parts.add_whole(0, complex::build(machine, memories, plan));
    }
    for (channel, askers) in askers.into_iter().enumerate() {
        let spec = MemorySpec {
            controller: machine.protocol.home,
            me: layout.memory(channel),
            above: layout.l2(0, channel),
            beside: None,
            channel: memories.channel(channel),
            timing: machine.memory,
            room: machine.tsu,
            history: HISTORY,
        };
        let report =
            machine.protocol.timed.then(|| reports.wire(&mut model, format!("memory{channel}"), None)).flatten();
        let store = memories.stores[channel].clone();
        parts.add_at(memory_clock, bank_partition(0, channel), move |root| {
            let scope = root.scope(("memory", channel));
            let mut above = interconnect::Side { from: Vec::new(), to: Vec::new() };
            for (node, ends) in askers {
                let Wire { from, to } = wire(ends, &scope);
                above.from.push(from);
                above.to.push((vec![node], to));
            }
            let observer = report.map(|(observer, end)| (observer, scope.sender(end)));
            let memory = Memory::new(spec, above, store, observer, &scope);
            scope.serve("control", |cx| memory.run(cx));
        });
    }
    let report = reports.wire(&mut model, "host".to_owned(), None);
    front_part(machine, leads, report, &mut parts);
    if let Some(kept) = check {
        let Reports { model: ends, names, sides, .. } = reports;
        let own = 1 + machine.partitions.arrays + machine.partitions.l2;
        let image = match &machine.complex {
            Some(complex) if complex.join == Join::Memory => Image::apart(sides, machine.gpus > 1),
            complex => Image::new(machine.protocol.timed, complex.is_some()),
        };
        // As fast as the fastest who report: what is told of one cycle is told together.
        let clock = machine.complex.as_ref().map_or(parts.clock, |cpu| model.clock(cpu.clock));
        parts.add_at(clock, own, move |root| golden(image, kept, ends, names, root));
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
                let names = std::iter::once("front_end".to_owned()).chain(of_cores);
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
    let timed = machine.protocol.timed;
    parts.add(0, move |root| {
        let host = root.scope("host");
        let observer = report.map(|(observer, end)| (observer, host.sender(end)));
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
                let front = Host { commands, ended, gpus, stale_copies, timed, observer };
                host.spawn("commands", |cx| front.run(cx));
            }
            Leads::Program(..) => {}
            Leads::Conductor(stress, gpus, message) => {
                let conductor = Conductor::new(stress, gpus, stale_copies, observer, &host);
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

/// Whoever checks the run.
fn golden(
    image: Image,
    kept: Kept,
    ends: Vec<(Observer, LinkReceiver<Observation>)>,
    names: Vec<String>,
    root: &Scope,
) {
    let scope = root.scope("check");
    let from = ends.into_iter().map(|(_, end)| scope.receiver(end)).collect();
    let golden = Golden { image, kept, from, names, bell: scope.eventcount("work") };
    scope.serve("golden_image", |cx| golden.run(cx));
}
