//! A machine with work to do, wired.
//!
//! ```text
//! gpu.dispatcher ---.
//! gpu.cu0 - gpu.cu0.l1 --- gpu.l2 --- memory        -: port   ---: link, where the machine may be cut
//! gpu.cu1 - gpu.cu1.l1 ---'
//! ```
//! With `check`, caches and dispatcher also report to the golden image, which has a partition of its own.

use crate::{
    golden::{Golden, Image, Kept},
    spec::Machine,
    work::Work,
};
use cache::{BankSpec, Cache, CacheSpec, Homes, Top};
use dram::{FixedMemory, Harvest};
use engine::{
    ClockId, Inlet, LinkReceiver, LinkSender, LinkSpec, Model, Monitor, Outcome, Outlet, PortSpec, Run, RunOptions,
    Scope,
};
use gpu::{AddressMap, ComputeUnit, Dispatcher, Kernel};
use interconnect::Wire;
use mem::{Frames, LINE, Observation, Observer, Reply, Request};
use protocol::{Msg, Node, vi_l1::ViL1, wb_l2::WriteBackL2};
use std::{collections::BTreeMap, sync::Arc};

/// How a machine is run.
#[derive(Clone, Default)]
pub struct Options {
    /// Threads to run in; none are as good as one. The result does not depend on it.
    pub threads: usize,
    /// Compare every read with the golden image.
    pub check: bool,
    /// To watch and stop the run from outside.
    pub monitor: Monitor,
}

/// What came of a run.
pub struct Finished {
    pub run: Run,
    /// What memory holds now.
    pub memory: Frames,
}

const DISPATCHER: Node = Node(0);
const L2: Node = Node(254);
const MEMORY: Node = Node(255);
/// How many steps of a protocol a cache keeps, to tell them if something is wrong.
const HISTORY: usize = 32;
/// More than can be under way: whoever checks a run holds nobody up.
const ANY_NUMBER: usize = 1 << 40;

fn unit_node(unit: usize) -> Node {
    Node(1 + unit as u8)
}

fn l1_node(unit: usize) -> Node {
    Node(128 + unit as u8)
}

/// The two ends of a two-way link, one for each side.
type Ends = (LinkSender<Msg<LINE>>, LinkReceiver<Msg<LINE>>);

fn two_way(model: &mut Model, name: &str, spec: LinkSpec) -> (Ends, Ends) {
    let (down, from_above) = model.link(format!("{name}.down"), spec);
    let (up, from_below) = model.link(format!("{name}.up"), spec);
    ((down, from_below), (up, from_above))
}

fn wire((sender, receiver): Ends, scope: &Scope) -> Wire<Msg<LINE>, Msg<LINE>> {
    Wire { from: scope.receiver(receiver), to: scope.sender(sender) }
}

/// Something that is built in a partition.
type Part = Box<dyn FnOnce(&Scope) + Send>;

/// What is built where.
struct Parts {
    clock: ClockId,
    by_partition: BTreeMap<usize, Vec<Part>>,
}

impl Parts {
    fn add(&mut self, partition: usize, part: impl FnOnce(&Scope) + Send + 'static) {
        self.by_partition.entry(partition).or_default().push(Box::new(part));
    }

    fn build(self, model: &mut Model) {
        let clock = self.clock;
        for parts in self.by_partition.into_values() {
            model.partition(move |partition| {
                let root = partition.scope(clock);
                parts.into_iter().for_each(|part| part(&root));
            });
        }
    }
}

/// Runs kernels on a machine.
pub fn run(machine: &Machine, work: Work, options: &Options) -> Finished {
    let mut model = Model::new();
    let mut parts = Parts { clock: model.clock(machine.clock), by_partition: BTreeMap::new() };
    let units = machine.compute_units;
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for unit in 0..units {
        let (upper, lower) = two_way(&mut model, &format!("l1_l2.{unit}"), machine.l1_l2);
        above.push(upper);
        below.push(lower);
    }
    let (l2_end, memory_end) = two_way(&mut model, "l2_memory", machine.l2_memory);

    let kept = Kept::default();
    let mut reports: Vec<Option<LinkSender<Observation>>> = (0..=units).map(|_| None).collect();
    if options.check {
        let latency = machine.l1_l2.latency.min(machine.l2_memory.latency);
        let spec = LinkSpec { latency, capacity: ANY_NUMBER, bytes_per_cycle: None };
        let mut ends = Vec::new();
        for (number, report) in reports.iter_mut().enumerate() {
            let (sender, receiver) = model.link(format!("check.{number}"), spec);
            *report = Some(sender);
            ends.push(receiver);
        }
        let (image, kept) = (Image::new(work.memory.clone()), kept.clone());
        let own = parts.by_partition.keys().max().copied().unwrap_or_default().max(machine.partitions.most()) + 1;
        parts.add(own, move |root| golden(image, kept, ends, units, root));
    }

    let harvest = Harvest::default();
    gpu_part(machine, work.kernels, work.map, above, reports, &mut parts);
    l2_part(machine, below, l2_end, &mut parts);
    let (spec, own) = (machine.memory, harvest.clone());
    parts.add(machine.partitions.memory, move |root| {
        let scope = root.scope("memory");
        let memory = FixedMemory::new(spec, MEMORY, vec![(L2, wire(memory_end, &scope))], work.memory, own, &scope);
        scope.serve("control", |cx| memory.run(cx));
    });
    parts.build(&mut model);

    let run_options =
        RunOptions { threads: options.threads.max(1), monitor: options.monitor.clone(), ..RunOptions::default() };
    let mut run = model.run(&run_options);
    let memory = harvest.take();
    if options.check
        && run.outcome == Outcome::Finished
        && let Err(message) = kept.take().compare(&memory)
    {
        run.outcome = Outcome::Failed { time: run.end, context: "check".to_owned(), message };
    }
    Finished { run, memory }
}

/// Compute units with their caches, and the dispatcher.
fn gpu_part(
    machine: &Machine,
    kernels: Vec<Kernel>,
    map: AddressMap,
    below: Vec<Ends>,
    mut reports: Vec<Option<LinkSender<Observation>>>,
    parts: &mut Parts,
) {
    let unit_spec = machine.compute_unit;
    let port = PortSpec { capacity: machine.l1.waiting, latency: machine.l1_latency, bytes_per_cycle: None };
    let (l1, invalidate) = (machine.l1, machine.invalidate);
    parts.add(0, move |root| {
        let gpu = root.scope("gpu");
        let front = gpu.scope("dispatcher");
        let ended = front.eventcount("ended");
        let map = Arc::new(map);
        let observer = |number: usize, scope: &Scope, report: Option<LinkSender<Observation>>| {
            report.map(|end| (Observer(number as u32), scope.sender(end)))
        };
        let dispatcher_report = reports.pop().flatten();
        let dispatcher_observer = observer(below.len(), &front, dispatcher_report);
        let (mut units, mut caches) = (Vec::new(), Vec::new());
        for (unit, (below, report)) in below.into_iter().zip(reports).enumerate() {
            let scope = gpu.scope(("cu", unit));
            let l1_scope = scope.scope("l1");
            let (unit_side, l1_unit): (Wire<Reply, Request>, _) = port_pair(&scope, "to_l1", port, &l1_scope);
            let (front_side, l1_front) = port_pair(&front, &format!("to_l1_{unit}"), port, &l1_scope);
            let bank = BankSpec {
                controller: &ViL1,
                me: l1_node(unit),
                below: Homes { nodes: vec![L2], stride: LINE as u64 },
                shape: l1.shape,
                mshrs: l1.mshrs,
                waiting: l1.waiting,
            };
            let top = Top::Requesters(vec![(unit_node(unit), l1_unit), (DISPATCHER, l1_front)]);
            let below = vec![(L2, wire(below, &l1_scope))];
            let spec = CacheSpec { bank, history: HISTORY };
            let cache = Cache::new(spec, top, below, observer(unit, &l1_scope, report), &l1_scope);
            l1_scope.serve("control", |cx| cache.run(cx));
            units.push(ComputeUnit::new(unit_spec, unit, Arc::clone(&map), unit_side, ended.clone(), &scope));
            caches.push(front_side);
        }
        let (kernel_cycles, observer) = (front.histogram("kernel_cycles"), dispatcher_observer);
        let dispatcher = Dispatcher { kernels, units, ended, invalidate, caches, kernel_cycles, observer };
        front.spawn("control", |cx| dispatcher.run(cx));
    });
}

/// Requests one way, replies the other.
fn port_pair(from: &Scope, name: &str, spec: PortSpec, to: &Scope) -> (Wire<Reply, Request>, Wire<Request, Reply>) {
    let (request_out, request_in): (Outlet<Request>, Inlet<Request>) = from.port(name, spec, to);
    let back = format!("{name}_replies");
    let (reply_out, reply_in): (Outlet<Reply>, Inlet<Reply>) = to.port(&back, spec, from);
    (Wire { from: reply_in, to: request_out }, Wire { from: request_in, to: reply_out })
}

fn l2_part(machine: &Machine, above: Vec<Ends>, below: Ends, parts: &mut Parts) {
    let l2 = machine.l2;
    parts.add(machine.partitions.l2, move |root| {
        let scope = root.scope("gpu").scope("l2");
        let bank = BankSpec {
            controller: &WriteBackL2,
            me: L2,
            below: Homes { nodes: vec![MEMORY], stride: LINE as u64 },
            shape: l2.shape,
            mshrs: l2.mshrs,
            waiting: l2.waiting,
        };
        let wires = above.into_iter().enumerate().map(|(unit, ends)| (l1_node(unit), wire(ends, &scope)));
        let top = Top::Caches(wires.collect());
        let below = vec![(MEMORY, wire(below, &scope))];
        let cache = Cache::new(CacheSpec { bank, history: HISTORY }, top, below, None, &scope);
        scope.serve("control", |cx| cache.run(cx));
    });
}

/// Whoever checks the run.
fn golden(image: Image, kept: Kept, ends: Vec<LinkReceiver<Observation>>, units: usize, root: &Scope) {
    let scope = root.scope("check");
    let from = ends.into_iter().map(|end| scope.receiver(end)).collect();
    let names = (0..units).map(|unit| format!("gpu.cu{unit}.l1")).collect();
    let golden = Golden { image, kept, from, names, bell: scope.eventcount("work") };
    scope.serve("golden_image", |cx| golden.run(cx));
}
