//! The fabric that connects GPUs, memory stacks and the host.
//!
//! ```text
//! gpu0.l2_0 ===.                                         .=== gpu1.l2_0
//! gpu0.array0 =+= gpu0.port ======= fabric ===== gpu1.port +=== gpu1.array0
//! gpu0.memory0 '                      ||                 '=== gpu1.memory0
//!                                  host.port === memory0
//! ```
//! A tree has a switch in the middle, and so has a switch complex with a limited total bandwidth. Otherwise the ends
//! are linked to each other. In a point-to-point fabric each link has its own bandwidth. In a switch complex all
//! messages that leave an end share one channel, and all that arrive at an end share one: there the complex arbitrates,
//! in the receiver's partition.
//!
//! If both caches and memories receive requests over the fabric, each kind has its own virtual channels
//! ([`Receivers`]): a cache may have to access a memory before it can accept a request.

use super::{
    EdgeId, Freight, Id, Path, Tells, TesterPlan, What, Wire,
    gpus::Gpu,
    lower::{Lowering, Population, ports},
    memory::{Homes, Levels},
};
use crate::{
    fabric::{Fabric, Kind, Remote},
    stress::Port,
    zones::Place,
};
use engine::{Cycles, LinkSpec, PortSpec, Share, Time};
use interconnect::ChannelSpec;
use std::collections::BTreeMap;

/// An end of a fabric, or a switch in it.
pub struct FabricPlan {
    /// Output channels, each with the name of its statistics.
    pub channels: Vec<(String, ChannelSpec)>,
    /// Edges that share a channel, each with the channel's index.
    pub paced: Vec<(EdgeId, usize)>,
    /// A switch connects all its edges with each other; an end connects its inside with the fabric.
    pub switch: bool,
    /// Whether this is a GPU's end, which counts lines read from elsewhere.
    pub counts_reads: bool,
}

/// Receivers of messages over a fabric. A message to a cache may wait until the cache has accessed a memory. So that
/// neither kind waits behind the other, each has its own virtual channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receivers {
    Caches,
    Memories,
}

/// Queue entries of a DMA engine's request port.
const SEAT: usize = 8;

/// The ends of a fabric.
pub(super) struct Ends {
    gpus: Vec<Id>,
    stacks: Vec<Id>,
    host: Id,
    /// The switch in the middle, if there is one.
    switch: Option<Id>,
}

impl Ends {
    /// All ends with their names.
    fn all(&self) -> Vec<(String, Id)> {
        let gpus = self.gpus.iter().enumerate().map(|(number, id)| (format!("gpu{number}"), *id));
        let stacks = self.stacks.iter().enumerate().map(|(number, id)| (format!("stack{number}"), *id));
        gpus.chain(stacks).chain([("host".to_owned(), self.host)]).collect()
    }
}

impl Lowering<'_> {
    /// The ends of the fabric, and the switch between them.
    pub(super) fn ends(&mut self, fabric: &Fabric) -> Ends {
        let stacks = self.machine.zones.iter().filter(|zone| zone.place == Place::Stacks).map(|zone| zone.stacks).sum();
        let gpus: Vec<Id> = (0..self.machine.gpus)
            .map(|gpu| self.fabric_node(Path::to_one("gpu", gpu).and("port"), self.bank_part(gpu, 0), false))
            .collect();
        // Memories that are levels move blocks, not lines.
        let counts_reads = self.machine.levels.is_none();
        gpus.iter().for_each(|end| self.fabric_mut(*end).counts_reads = counts_reads);
        let stacks = (0..stacks)
            .map(|stack| self.fabric_node(Path::to_one("stack", stack).and("port"), self.stack_part(stack), false));
        let stacks = stacks.collect();
        let host = self.fabric_node(Path::to("host").and("port"), 0, false);
        let central = matches!(fabric.kind, Kind::Tree { .. } | Kind::Switch { total: Some(_) });
        let switch = central.then(|| self.fabric_node(Path::to("fabric"), 0, true));
        Ends { gpus, stacks, host, switch }
    }

    fn fabric_node(&mut self, path: Path, part: usize, switch: bool) -> Id {
        let plan = FabricPlan { channels: Vec::new(), paced: Vec::new(), switch, counts_reads: false };
        self.plan.add(path, (self.gpu_clock, part), None, What::Fabric(plan))
    }

    /// The partition of a memory stack, numbered after those of GPUs. A stack that holds the host's programs is in
    /// their partition.
    pub(super) fn stack_part(&self, stack: usize) -> usize {
        if self.machine.zones[0].of_host && self.machine.zones[0].place == Place::Stacks {
            return 0;
        }
        1 + self.machine.gpus * self.parts_of_gpu() + stack
    }

    /// Connects the ends with their insides, and with each other.
    pub(super) fn connect_fabric(
        &mut self,
        fabric: &Fabric,
        ends: &Ends,
        gpus: &[Gpu],
        (homes, levels): (&Homes, Option<&Levels>),
        hub: Option<Id>,
    ) {
        let wire = Wire::Link(self.machine.wires.l2_memory);
        for (number, gpu) in gpus.iter().enumerate() {
            match levels {
                None => self.connect_gpu_to_end(number, gpu, ends.gpus[number], homes),
                Some(levels) => {
                    for (bank, of_gpus) in levels.gpus.iter().enumerate() {
                        let name = format!("gpu{number}_memory{bank}_port");
                        let end = ends.gpus[number];
                        self.plan.connect(name, of_gpus[number], end, wire.clone(), Freight::Messages);
                    }
                }
            }
        }
        for (channel, own) in levels.iter().flat_map(|levels| levels.hosts.iter().enumerate()) {
            self.plan.connect(format!("memory{channel}_port"), *own, ends.host, wire.clone(), Freight::Messages);
        }
        for (zone, channels) in self.machine.zones.clone().into_iter().zip(&homes.of_zones) {
            for (number, channel) in channels.iter().enumerate() {
                let name = self.plan.element(*channel).path.to_string().replace('.', "_");
                let end = match zone.place {
                    Place::Stacks => ends.stacks[number / zone.channels],
                    Place::Gpu(gpu) => ends.gpus[gpu],
                    _ => ends.host,
                };
                self.plan.connect(format!("{name}_port"), *channel, end, wire.clone(), Freight::Messages);
            }
        }
        if let (Some(hub), Some(wire)) = (hub, self.machine.cpu.as_ref().and_then(|complex| complex.hub)) {
            self.plan.connect("hub_port", ends.host, hub, Wire::Link(wire), Freight::Messages);
        }
        self.join_ends(fabric, ends);
        self.plan.control_delay = Some(self.hop(fabric, ends));
        self.plan.shares = self.shares();
    }

    /// Connects a GPU's L2 banks to its end, and its arrays if their caches send requests to other GPUs.
    fn connect_gpu_to_end(&mut self, number: usize, gpu: &Gpu, end: Id, homes: &Homes) {
        let wire = Wire::Link(self.machine.wires.l2_memory);
        for (bank, own) in gpu.banks.iter().enumerate() {
            if let Some(local) = homes.local(number, bank) {
                let name = format!("gpu{number}_l2_{bank}_memory");
                self.plan.connect(name, *own, local, wire.clone(), Freight::Messages);
            }
            for only in self.receivers() {
                let name = format!("gpu{number}_l2_{bank}_port{}", suffix(only));
                let edge = self.plan.connect(name, *own, end, wire.clone(), Freight::Messages);
                self.plan.edges[edge.0].only = only;
            }
        }
        if self.machine.remote == Some(Remote::L1) {
            for (array, own) in gpu.arrays.iter().enumerate() {
                let name = format!("gpu{number}_array{array}_port");
                let wire = Wire::Link(self.machine.wires.l1_l2);
                self.plan.connect(name, own.junction, end, wire, Freight::Messages);
            }
        }
    }

    /// The virtual channels: one, unless both caches and memories receive requests over the fabric.
    fn receivers(&self) -> Vec<Option<Receivers>> {
        let peers = self.machine.gpus > 1 && self.machine.protocol.protocol.needs.peers;
        match self.machine.remote == Some(Remote::L1) || peers {
            true => vec![Some(Receivers::Memories), Some(Receivers::Caches)],
            false => vec![None],
        }
    }

    /// Latency of a link of the fabric.
    fn hop(&self, fabric: &Fabric, ends: &Ends) -> Time {
        // A route over a switch has two links.
        if ends.switch.is_some() { Time((fabric.latency.0 / 2).max(1)) } else { fabric.latency }
    }

    fn join_ends(&mut self, fabric: &Fabric, ends: &Ends) {
        let (all, bandwidth) = (ends.all(), fabric.bandwidth);
        let is_stack = |id: &Id| ends.stacks.contains(id);
        match (fabric.kind, ends.switch) {
            (Kind::Tree { shared }, Some(switch)) => {
                let bus = shared.then(|| self.fabric_channel(switch, "bus", fabric, bandwidth));
                for (name, end) in all {
                    let edges = self.join(fabric, ends, (&name, end), ("fabric", switch));
                    let to_end =
                        bus.unwrap_or_else(|| self.fabric_channel(switch, &format!("to_{name}"), fabric, bandwidth));
                    edges.iter().for_each(|edge| self.pace(switch, *edge, to_end));
                    if !shared {
                        let out = self.fabric_channel(end, "out", fabric, bandwidth);
                        edges.iter().for_each(|edge| self.pace(end, *edge, out));
                    }
                }
            }
            (Kind::Switch { total: Some(total) }, Some(switch)) => {
                let through = self.fabric_channel(switch, "through", fabric, total);
                for (name, end) in all {
                    self.pace_inside(end, fabric);
                    let edges = self.join(fabric, ends, (&name, end), ("fabric", switch));
                    let out = self.fabric_channel(end, "out", fabric, bandwidth);
                    for edge in edges {
                        self.pace(end, edge, out);
                        self.pace(switch, edge, through);
                    }
                }
            }
            (Kind::Switch { .. }, _) => {
                let out: BTreeMap<Id, usize> = all
                    .iter()
                    .map(|(_, end)| {
                        self.pace_inside(*end, fabric);
                        (*end, self.fabric_channel(*end, "out", fabric, bandwidth))
                    })
                    .collect();
                for (at, (name, end)) in all.iter().enumerate() {
                    for (other_name, other) in all[..at].iter().filter(|(_, other)| !(is_stack(end) && is_stack(other)))
                    {
                        for edge in self.join(fabric, ends, (name, *end), (other_name, *other)) {
                            self.pace(*end, edge, out[end]);
                            self.pace(*other, edge, out[other]);
                        }
                    }
                }
            }
            (Kind::PointToPoint | Kind::Tree { .. }, _) => {
                for (at, (name, end)) in all.iter().enumerate() {
                    for (other_name, other) in all[..at].iter().filter(|(_, other)| !(is_stack(end) && is_stack(other)))
                    {
                        let there = self.fabric_channel(*end, &format!("to_{other_name}"), fabric, bandwidth);
                        let back = self.fabric_channel(*other, &format!("to_{name}"), fabric, bandwidth);
                        for edge in self.join(fabric, ends, (name, *end), (other_name, *other)) {
                            self.pace(*end, edge, there);
                            self.pace(*other, edge, back);
                        }
                    }
                }
            }
        }
    }

    /// Links between two nodes of the fabric, one per virtual channel.
    fn join(
        &mut self,
        fabric: &Fabric,
        ends: &Ends,
        (name, one): (&str, Id),
        (other_name, other): (&str, Id),
    ) -> Vec<EdgeId> {
        let spec = LinkSpec { latency: self.hop(fabric, ends), capacity: fabric.credits, bytes_per_cycle: None };
        let wires = self.receivers().into_iter().map(|only| {
            let name = format!("{name}_{other_name}{}", suffix(only));
            let edge = self.plan.connect(name, one, other, Wire::Link(spec), Freight::Messages);
            self.plan.edges[edge.0].only = only;
            edge
        });
        wires.collect()
    }

    /// Messages that arrive at an end of a switch complex share the bandwidth of the complex's output.
    fn pace_inside(&mut self, end: Id, fabric: &Fabric) {
        let channel = self.fabric_channel(end, "in", fabric, fabric.bandwidth);
        for edge in self.plan.edges_of(end, Freight::Messages).collect::<Vec<_>>() {
            self.pace(end, edge, channel);
        }
    }

    /// A port at an end of the fabric (0 is the host's, followed by those of GPUs) through which `engine` accesses
    /// memories past all caches.
    pub(super) fn direct_seat(&mut self, number: usize, engine: Id, ends: &Ends, tells: Tells) -> Id {
        let (end, scope) = match number.checked_sub(1) {
            None => (ends.host, Path::to("host")),
            Some(gpu) => (ends.gpus[gpu], Path::to_one("gpu", gpu)),
        };
        let numbers = self.numbers;
        let homes = self.plan.channels.map(&|channel| numbers.memory(*channel));
        let (part, node) = (self.plan.element(end).part, numbers.engine(number));
        let seat =
            self.plan.add(scope.and("direct"), (self.gpu_clock, part), Some(node), What::Direct { homes, tells });
        let name = self.plan.element(seat).path.to_string();
        let side = self.meets_another_protocol().then_some(crate::golden::Side::Gpu);
        self.plan.report(seat, name.clone(), side);
        let way = PortSpec { capacity: SEAT, latency: Cycles(1), bytes_per_cycle: None };
        let wire = ports(("to_direct", way), ("to_direct_replies", way));
        self.plan.connect("to_direct", engine, seat, wire, Freight::Requests);
        let wire = Wire::Link(self.machine.wires.l2_memory);
        self.plan.connect(format!("{}_port", name.replace('.', "_")), seat, end, wire, Freight::Messages);
        seat
    }

    /// The element by which a host outside the machine takes blocks back from GPUs.
    pub(super) fn claims(&mut self) -> Id {
        let (numbers, zone) = (self.numbers, self.machine.zones[0]);
        let homes = zone.deal().map(&|channel| numbers.host_memory(*channel));
        let block = self.machine.levels.map_or(mem::LINE as u64, |levels| levels.room.block);
        let what = What::Claims { homes, block };
        self.plan.add(Path::to("host").and("claims"), (self.gpu_clock, 0), Some(numbers.engine(0)), what)
    }

    pub(super) fn connect_claims(&mut self, claims: Id, ends: &Ends) {
        let wire = Wire::Link(self.machine.wires.l2_memory);
        self.plan.connect("host_claims_port", claims, ends.host, wire, Freight::Messages);
    }

    /// Testers in place of DMA engines, at every end except those of stacks. A driver that moves pages uses the host's
    /// engine.
    pub(super) fn test_engines(&mut self, ends: &Ends, conductor: Id) {
        for number in usize::from(self.population == Population::PagedTesters)..=self.machine.gpus {
            let (end, path) = match number.checked_sub(1) {
                None => (ends.host, Path::to("host").and("dma")),
                Some(gpu) => (ends.gpus[gpu], Path::to_one("gpu", gpu).and("dma")),
            };
            let node = self.numbers.engine(number);
            let plan = TesterPlan { port: Port::Engine, number: node.0.into(), group: self.machine.gpus };
            let place = (self.gpu_clock, self.plan.element(end).part);
            let tester = self.plan.add(path, place, Some(node), What::Tester(plan));
            self.direct_seat(number, tester, ends, Tells::Everything);
            let wire = Wire::Link(self.machine.wires.dispatcher);
            self.plan.connect(format!("dma{number}"), conductor, tester, wire, Freight::Tests);
        }
    }

    fn fabric_mut(&mut self, id: Id) -> &mut FabricPlan {
        match &mut self.plan.elements[id.0].what {
            What::Fabric(fabric) => fabric,
            _ => unreachable!("it is a node of the fabric"),
        }
    }

    /// Adds a channel of this bandwidth to a node, and returns its index.
    fn fabric_channel(&mut self, node: Id, name: &str, fabric: &Fabric, bandwidth: u64) -> usize {
        let channels = &mut self.fabric_mut(node).channels;
        channels.push((name.to_owned(), ChannelSpec { bandwidth, header: fabric.header }));
        channels.len() - 1
    }

    fn pace(&mut self, node: Id, edge: EdgeId, channel: usize) {
        self.fabric_mut(node).paced.push((edge, channel));
    }

    /// The share of each partition. The partitions of a GPU form a group, which synchronises with other groups once per
    /// fabric latency.
    fn shares(&self) -> BTreeMap<usize, Share> {
        let (gpus, per_gpu) = (self.machine.gpus, self.parts_of_gpu());
        let mut shares: BTreeMap<usize, Share> = BTreeMap::new();
        for element in &self.plan.elements {
            let group = match element.part.checked_sub(1) {
                None => 0,
                Some(part) if part < gpus * per_gpu => 1 + part / per_gpu,
                // A stack serves all GPUs; stacks are distributed over the GPUs' groups.
                Some(part) => 1 + (part - gpus * per_gpu) % gpus,
            };
            shares.entry(element.part).or_insert(Share { weight: 0, group }).weight += 1;
        }
        shares
    }
}

fn suffix(only: Option<Receivers>) -> &'static str {
    match only {
        Some(Receivers::Memories) => "_memories",
        Some(Receivers::Caches) => "_caches",
        None => "",
    }
}
