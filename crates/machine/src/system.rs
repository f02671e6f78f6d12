//! A machine, wired.
//!
//! ```text
//! gpu.dispatcher ===.
//! gpu.array0.cu0 - l1v -.         .=== gpu.l2_0 === memory0      -: port   ===: link, where the machine may be cut
//! gpu.array0.cu1 - l1v -+= array0 =+
//! gpu.array0 l1s, l1i --'         '=== gpu.l2_1 === memory1
//! ```
//! With `check`, vector caches, banks (of atomic accesses) and the host also report to the golden image, which has a partition of its own.

use crate::{
    golden::{Golden, Image, Kept},
    session::{Command, Ended, Host},
    spec::{CacheSpec, Machine},
};
use cache::{BankSpec, Cache, Homes, Top};
use dram::{Channel, FixedMemory, Store};
use engine::{ClockId, Cycles, Inlet, LinkReceiver, LinkSender, LinkSpec, Model, Outlet, PortSpec, Scope};
use gpu::{Caches, ComputeUnit, Dispatcher, DispatcherEnd, UnitEnd};
use interconnect::{Packet, Side, Wire, deal};
use mem::{Frames, LINE, Observation, Observer, PhysAddr, Reply, Request};
use protocol::{Node, vi_l1::ViL1, wb_l2::WriteBackL2};
use std::{
    collections::BTreeMap,
    sync::mpsc::{Receiver, Sender},
};

/// How many steps of a protocol a cache keeps, to tell them if something is wrong.
const HISTORY: usize = 32;
/// More than can be under way: whoever checks a run holds nobody up.
const ANY_NUMBER: usize = 1 << 40;

/// Everybody's number. Compute units come first.
mod node {
    use protocol::Node;

    pub fn unit(unit: usize) -> Node {
        Node(unit as u8)
    }

    pub fn l1v(unit: usize) -> Node {
        Node(64 + unit as u8)
    }

    pub fn l1s(array: usize) -> Node {
        Node(128 + array as u8)
    }

    pub fn l1i(array: usize) -> Node {
        Node(144 + array as u8)
    }

    pub fn l2(bank: usize) -> Node {
        Node(160 + bank as u8)
    }

    pub fn memory(channel: usize) -> Node {
        Node(176 + channel as u8)
    }
}

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

/// Which partition the n-th of something is in, dealt over so many behind the first `before`.
fn dealt(number: usize, partitions: usize, before: usize) -> usize {
    if partitions == 0 { 0 } else { before + number % partitions }
}

/// The model of a machine. Whoever stands at the other end of `host` gives it work.
pub(crate) fn build(
    machine: &Machine,
    memories: &Memories,
    check: Option<Kept>,
    (commands, ended): (Receiver<Command>, Sender<Ended>),
) -> Model {
    let mut model = Model::new();
    let mut parts = Parts { clock: model.clock(machine.clock), by_partition: BTreeMap::new() };
    let (arrays, banks, units) = (machine.arrays, machine.banks.count, machine.compute_units());
    let array_partition = |array| dealt(array, machine.partitions.arrays, 1);
    let bank_partition = |bank| dealt(bank, machine.partitions.l2, 1 + machine.partitions.arrays);

    let (mut to_units, mut to_dispatcher) = (Vec::new(), Vec::new());
    for unit in 0..units {
        let (dispatcher_end, unit_end) = gpu::link(&mut model, &format!("unit{unit}"), machine.wires.dispatcher);
        to_units.push(dispatcher_end);
        to_dispatcher.push(unit_end);
    }
    let mut below: Vec<Vec<Ends>> = (0..arrays).map(|_| Vec::new()).collect();
    let mut above: Vec<Vec<Ends>> = (0..banks).map(|_| Vec::new()).collect();
    for (array, below) in below.iter_mut().enumerate() {
        for (bank, above) in above.iter_mut().enumerate() {
            let (upper, lower) = two_way(&mut model, &format!("array{array}_l2_{bank}"), machine.wires.l1_l2);
            below.push(upper);
            above.push(lower);
        }
    }

    let mut reports: Vec<Option<LinkSender<Observation>>> = (0..=units + banks).map(|_| None).collect();
    if let Some(kept) = check {
        let latency =
            machine.wires.l1_l2.latency.min(machine.wires.l2_memory.latency).min(machine.wires.dispatcher.latency);
        let spec = LinkSpec { latency, capacity: ANY_NUMBER, bytes_per_cycle: None };
        let mut ends = Vec::new();
        for (number, report) in reports.iter_mut().enumerate() {
            let (sender, receiver) = model.link(format!("check.{number}"), spec);
            *report = Some(sender);
            ends.push(receiver);
        }
        let own = 1 + machine.partitions.arrays + machine.partitions.l2;
        let caches = (0..units).map(|unit| unit_path(unit, machine.units_per_array) + ".l1v");
        let names = caches.chain((0..banks).map(|bank| format!("gpu.l2_{bank}"))).collect();
        parts.add(own, move |root| golden(kept, ends, names, root));
    }

    let front = Front { commands, ended, units: to_units, report: reports.pop().flatten() };
    front_part(machine, front, &mut parts);
    let (mut units_left, mut reports) = (to_dispatcher.into_iter(), reports.into_iter());
    for (array, below) in below.into_iter().enumerate() {
        let units = units_left.by_ref().take(machine.units_per_array).collect();
        let reports = reports.by_ref().take(machine.units_per_array).collect();
        array_part(machine, ArrayPlan { array, below, units, reports }, array_partition(array), &mut parts);
    }
    let mut bank_reports: Vec<_> = reports.collect();
    for (bank, (above, store)) in above.into_iter().zip(&memories.stores).enumerate() {
        let (l2_end, memory_end) = two_way(&mut model, &format!("l2_{bank}_memory"), machine.wires.l2_memory);
        let plan = BankPlan { bank, above, below: l2_end, report: bank_reports[bank].take() };
        bank_part(machine, plan, bank_partition(bank), &mut parts);
        let (spec, channel, store) = (machine.memory, memories.channel(bank), store.clone());
        parts.add(bank_partition(bank), move |root| {
            let scope = root.scope(("memory", bank));
            let askers = vec![(node::l2(bank), wire(memory_end, &scope))];
            let memory = FixedMemory::new(spec, (node::memory(bank), channel), askers, store, &scope);
            scope.serve("control", |cx| memory.run(cx));
        });
    }
    parts.build(&mut model);
    model
}

/// The bytes of every channel.
pub(crate) struct Memories {
    stores: Vec<Store>,
    interleave: u64,
}

impl Memories {
    pub fn new(machine: &Machine) -> Self {
        let stores = (0..machine.banks.count).map(|_| Store::default()).collect();
        Self { stores, interleave: machine.banks.interleave }
    }

    fn channel(&self, number: usize) -> Channel {
        Channel { number: number as u64, of: self.stores.len() as u64, interleave: self.interleave }
    }

    /// The channel that an address belongs to.
    fn home(&self, address: PhysAddr) -> usize {
        (address.0 / self.interleave) as usize % self.stores.len()
    }

    /// Where bytes lie that start at `address`: how many are in one piece.
    fn pieces(&self, address: PhysAddr, count: usize) -> impl Iterator<Item = (PhysAddr, std::ops::Range<usize>)> {
        let (interleave, mut done) = (self.interleave, 0);
        std::iter::from_fn(move || {
            let at = PhysAddr(address.0 + done as u64);
            let piece = ((interleave - at.0 % interleave) as usize).min(count - done);
            let range = done..done + piece;
            done += piece;
            (piece > 0).then_some((at, range))
        })
    }

    pub fn read(&self, address: PhysAddr, bytes: &mut [u8]) {
        for (at, range) in self.pieces(address, bytes.len()) {
            let home = self.home(at);
            self.stores[home].frames().read(self.channel(home).inside(at), &mut bytes[range]);
        }
    }

    pub fn write(&self, address: PhysAddr, bytes: &[u8]) {
        for (at, range) in self.pieces(address, bytes.len()) {
            let home = self.home(at);
            self.stores[home].frames().write(self.channel(home).inside(at), &bytes[range]);
        }
    }

    /// All of it as one.
    pub fn all(&self) -> Frames {
        let mut memory = Frames::new();
        for (number, store) in self.stores.iter().enumerate() {
            for (inside, bytes) in store.frames().pieces(self.interleave) {
                // Frames are larger than what was written: nothing is brought back that is zero all over.
                if bytes.iter().any(|byte| *byte != 0) {
                    memory.write(self.channel(number).outside(inside), bytes);
                }
            }
        }
        memory
    }
}

fn unit_path(unit: usize, units_per_array: usize) -> String {
    format!("gpu.array{}.cu{}", unit / units_per_array, unit % units_per_array)
}

/// What the front end is made of.
struct Front {
    commands: Receiver<Command>,
    ended: Sender<Ended>,
    units: Vec<DispatcherEnd>,
    report: Option<LinkSender<Observation>>,
}

/// Where commands of the host arrive, and the dispatcher.
fn front_part(machine: &Machine, front: Front, parts: &mut Parts) {
    let (spec, unit) = (machine.dispatcher, machine.compute_unit);
    let number = (machine.compute_units() + machine.banks.count) as u32;
    parts.add(0, move |root| {
        let scope = root.scope("gpu").scope("dispatcher");
        let (launches, done) = (scope.queue("launches", 1), scope.eventcount("done"));
        let dispatcher = Dispatcher::new(spec, (launches.clone(), done.clone()), front.units, unit, &scope);
        scope.serve("control", |cx| dispatcher.run(cx));
        let observer = front.report.map(|end| (Observer(number), scope.sender(end)));
        let Front { commands, ended, .. } = front;
        let host = Host { commands, ended, gpus: vec![(launches, done)], observer };
        root.scope("host").spawn("commands", |cx| host.run(cx));
    });
}

/// What an array is connected to.
struct ArrayPlan {
    array: usize,
    below: Vec<Ends>,
    units: Vec<UnitEnd>,
    reports: Vec<Option<LinkSender<Observation>>>,
}

/// An array: compute units with their vector caches, and the caches of code and scalars that they share.
fn array_part(machine: &Machine, plan: ArrayPlan, partition: usize, parts: &mut Parts) {
    let (l1v, l1s, l1i) = (machine.l1v, machine.l1s, machine.l1i);
    let (unit_spec, per_array) = (machine.compute_unit, machine.units_per_array);
    let banks = machine.banks;
    parts.add(partition, move |root| {
        let array = plan.array;
        let scope = root.scope("gpu").scope(("array", array));
        // The ways to the banks are shared by all caches of the array; what comes back is dealt.
        let (mut ways, mut arrivals) = (Vec::new(), Vec::new());
        for (bank, ends) in plan.below.into_iter().enumerate() {
            let Wire { from, to } = wire(ends, &scope);
            ways.push((vec![node::l2(bank)], to));
            arrivals.push(from);
        }
        let mut dealt_to: Vec<(Node, Outlet<Packet>)> = Vec::new();
        let nodes: Vec<Node> = (0..banks.count).map(node::l2).collect();
        let mut cache = |me: Node, spec: CacheSpec, top, observer, scope: &Scope| {
            let arrives = PortSpec { capacity: spec.waiting, latency: Cycles(0), bytes_per_cycle: None };
            let (to, from) = scope.port("arrivals", arrives, scope);
            dealt_to.push((me, to));
            let bank = BankSpec {
                controller: &ViL1,
                me,
                below: Homes { nodes: nodes.clone(), stride: banks.interleave },
                above: node::unit(0),
                shape: spec.shape,
                mshrs: spec.mshrs,
                waiting: spec.waiting,
            };
            let below = Side { from: vec![from], to: ways.clone() };
            let cache =
                Cache::new(cache::CacheSpec { bank, history: HISTORY }, Top::Requesters(top), below, observer, scope);
            scope.serve("control", |cx| cache.run(cx));
        };
        let (s_scope, i_scope) = (scope.scope("l1s"), scope.scope("l1i"));
        let (mut s_top, mut i_top) = (Vec::new(), Vec::new());
        let mut built = Vec::new();
        for (number, (end, report)) in plan.units.into_iter().zip(plan.reports).enumerate() {
            let unit = array * per_array + number;
            let unit_scope = scope.scope(("cu", number));
            let v_scope = unit_scope.scope("l1v");
            let (vector, v_side) = port_pair(&unit_scope, "to_l1v", l1v, &v_scope);
            let (scalar, s_side) = port_pair(&unit_scope, "to_l1s", l1s, &s_scope);
            let (code, i_side) = port_pair(&unit_scope, "to_l1i", l1i, &i_scope);
            let observer = report.map(|end| (Observer(unit as u32), v_scope.sender(end)));
            cache(node::l1v(unit), l1v, vec![(node::unit(unit), v_side)], observer, &v_scope);
            s_top.push((node::unit(unit), s_side));
            i_top.push((node::unit(unit), i_side));
            built.push((unit, number, end, Caches { vector, scalar, code }, unit_scope));
        }
        cache(node::l1s(array), l1s, s_top, None, &s_scope);
        cache(node::l1i(array), l1i, i_top, None, &i_scope);
        for (unit, number, end, caches, scope) in built {
            let unit = ComputeUnit::new(unit_spec, unit, number == 0, end.place(&scope), caches, &scope);
            scope.serve("control", |cx| unit.run(cx));
        }
        let bell = scope.eventcount("arrivals");
        scope.serve("deal", |cx| deal(arrivals, dealt_to, bell, cx));
    });
}

/// Requests one way, with the time of the look-up; replies the other.
fn port_pair(from: &Scope, name: &str, cache: CacheSpec, to: &Scope) -> (Wire<Reply, Request>, Wire<Request, Reply>) {
    let way = |latency| PortSpec {
        capacity: cache.waiting + latency as usize,
        latency: Cycles(latency),
        bytes_per_cycle: None,
    };
    let (request_out, request_in): (Outlet<Request>, Inlet<Request>) = from.port(name, way(cache.latency.0), to);
    let back = format!("{name}_replies_{}", from.path().replace('.', "_"));
    let (reply_out, reply_in): (Outlet<Reply>, Inlet<Reply>) = to.port(&back, way(1), from);
    (Wire { from: reply_in, to: request_out }, Wire { from: request_in, to: reply_out })
}

/// What a bank is connected to.
struct BankPlan {
    bank: usize,
    above: Vec<Ends>,
    below: Ends,
    report: Option<LinkSender<Observation>>,
}

/// A bank of the L2.
fn bank_part(machine: &Machine, plan: BankPlan, partition: usize, parts: &mut Parts) {
    let (l2, arrays, per_array) = (machine.l2, machine.arrays, machine.units_per_array);
    let BankPlan { bank, above, below, report } = plan;
    let number = (machine.compute_units() + bank) as u32;
    parts.add(partition, move |root| {
        let scope = root.scope("gpu").scope(("l2_", bank));
        let spec = BankSpec {
            controller: &WriteBackL2,
            me: node::l2(bank),
            below: Homes { nodes: vec![node::memory(bank)], stride: LINE as u64 },
            above: node::l1v(0),
            shape: l2.shape,
            mshrs: l2.mshrs,
            waiting: l2.waiting,
        };
        let mut top = Side { from: Vec::new(), to: Vec::new() };
        for (array, ends) in (0..arrays).zip(above) {
            let Wire { from, to } = wire(ends, &scope);
            let caches = (array * per_array..(array + 1) * per_array).map(node::l1v);
            top.from.push(from);
            top.to.push((caches.chain([node::l1s(array), node::l1i(array)]).collect(), to));
        }
        let below = Side::one(node::memory(bank), wire(below, &scope));
        let observer = report.map(|end| (Observer(number), scope.sender(end)));
        let spec = cache::CacheSpec { bank: spec, history: HISTORY };
        let cache = Cache::new(spec, Top::Caches(top), below, observer, &scope);
        scope.serve("control", |cx| cache.run(cx));
    });
}

/// Whoever checks the run.
fn golden(kept: Kept, ends: Vec<LinkReceiver<Observation>>, names: Vec<String>, root: &Scope) {
    let scope = root.scope("check");
    let from = ends.into_iter().map(|end| scope.receiver(end)).collect();
    let golden = Golden { image: Image::default(), kept, from, names, bell: scope.eventcount("work") };
    scope.serve("golden_image", |cx| golden.run(cx));
}
