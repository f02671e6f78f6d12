//! The elements of GPUs, and how they are connected.
//!
//! ```text
//! gpu0.dispatcher ===.
//! gpu0.array0.cu0 - l1v -.         .=== gpu0.l2_0 === below        -: ports   ===: a link, where the machine may be cut
//! gpu0.array0.cu1 - l1v -+= array0 =+
//! gpu0.array0 l1s, l1i --'         '=== gpu0.l2_1 === below
//! ```
//! With a network, each array and each bank has a link to it.

use super::{
    CachePlan, EdgeId, FbtPlan, Freight, Id, MmuPlan, Path, Relay, TesterPlan, UnitPlan, What, Wire,
    lower::{Lowering, Population, ports, spec_of},
};
use crate::{
    fabric::Remote,
    golden::Side,
    spec::{CacheSpec, Partitions},
    stress::Port,
    translation::{GpuFbt, GpuMmu},
    zones::{MemoryZone, Place},
};
use engine::{Cycles, PortSpec};
use mem::{Interleave, Stride};
use protocol::{
    Node, Roster, Sharers,
    roles::{Role, Sees},
};
use vm::{Above, FbtSpec, Membership, MmuSpec, SharedTlbSpec, TlbSpec};

/// HMG distributes the homes of lines over GPUs by page.
const HOME: Stride = Stride::of(4096);

/// The elements of a GPU.
pub(super) struct Gpu {
    network: Option<Id>,
    pub arrays: Vec<Array>,
    pub banks: Vec<Id>,
}

/// The elements of an array.
pub(super) struct Array {
    pub junction: Id,
    /// Compute units, or testers.
    pub agents: Vec<Id>,
    vectors: Vec<Id>,
    /// The table below each vector cache and the TLB below that, if these caches alone have virtual tags.
    names: Vec<(Id, Id)>,
    pub mmus: Vec<Id>,
    /// The scalar cache and the instruction cache; testers have none.
    shared: Option<(Id, Id)>,
}

impl Lowering<'_> {
    pub(super) fn array_part(&self, gpu: usize, array: usize) -> usize {
        let arrays = self.machine.partitions.arrays;
        match self.machine.fabric {
            Some(_) => self.first_part(gpu) + array.checked_rem(arrays).unwrap_or(0),
            None => dealt(gpu * self.machine.arrays + array, arrays, 1),
        }
    }

    pub(super) fn bank_part(&self, gpu: usize, bank: usize) -> usize {
        let Partitions { arrays, l2 } = self.machine.partitions;
        match self.machine.fabric {
            Some(_) => self.first_part(gpu) + bank.checked_rem(l2).map_or(0, |number| arrays + number),
            None => dealt(gpu * self.machine.banks.count + bank, l2, 1 + arrays),
        }
    }

    /// Number of partitions of a GPU on a fabric.
    pub(super) fn parts_of_gpu(&self) -> usize {
        (self.machine.partitions.arrays + self.machine.partitions.l2).max(1)
    }

    fn first_part(&self, gpu: usize) -> usize {
        1 + gpu * self.parts_of_gpu()
    }

    pub(super) fn gpu(&mut self, gpu: usize) -> Gpu {
        let machine = self.machine;
        let part = self.bank_part(gpu, 0);
        let network = machine.network.map(|spec| {
            let path = Path::to_one("gpu", gpu).and("network");
            self.plan.add(path, (self.gpu_clock, part), None, What::Network(spec, Relay::Between))
        });
        let arrays = (0..machine.arrays).map(|array| self.array(gpu, array)).collect();
        let banks = (0..machine.banks.count).map(|bank| self.bank(gpu, bank)).collect();
        Gpu { network, arrays, banks }
    }

    fn array(&mut self, gpu: usize, array: usize) -> Array {
        let machine = self.machine;
        let place = (self.gpu_clock, self.array_part(gpu, array));
        let own = Path::to_one("gpu", gpu).and_one("array", array);
        let mut built = Array {
            junction: Id(usize::MAX),
            agents: Vec::new(),
            vectors: Vec::new(),
            names: Vec::new(),
            mmus: Vec::new(),
            shared: None,
        };
        let unit = |number| array * machine.units_per_array + number;
        for number in 0..machine.units_per_array {
            let path = own.clone().and_one("cu", number);
            let l1v =
                self.first_level(gpu, path.clone().and("l1v"), place, self.numbers.l1v(gpu, unit(number)), "gpu.l1v");
            built.vectors.push(l1v);
            if let (Some(table), Some(mmu)) = (machine.names, machine.gpu_mmu) {
                built.names.push(self.names((gpu, unit(number)), path.clone(), place, (table, &mmu)));
            }
            if let Some(GpuMmu { tlb, mmu: spec, .. }) = machine.gpu_mmu {
                let spec = MmuSpec { lifetimes: machine.lifetimes, ..spec };
                let mmu = MmuPlan { tlb, spec, guards: Vec::new(), at_kernel: false };
                built.mmus.push(self.plan.add(path.clone().and("mmu"), place, None, What::Mmu(mmu)));
            }
            if self.population.tests() {
                let node = self.numbers.unit(gpu, unit(number));
                let by_lane = machine.compute_unit.coalescer == gpu::Coalescer::Cache;
                let port = match self.population {
                    Population::PagedTesters => {
                        Port::Paged { by_lane, number: gpu * machine.compute_units() + unit(number) }
                    }
                    _ => Port::Unit { by_lane },
                };
                let tester = TesterPlan { port, number: node.0.into(), group: gpu };
                built.agents.push(self.plan.add(path, place, Some(node), What::Tester(tester)));
            }
        }
        if !self.population.tests() {
            let scalars = self.numbers.l1s(gpu, array);
            let code = self.numbers.l1i(gpu, array);
            built.shared = Some((
                self.first_level(gpu, own.clone().and("l1s"), place, scalars, "gpu.l1s"),
                self.first_level(gpu, own.clone().and("l1i"), place, code, "gpu.l1i"),
            ));
            for number in 0..machine.units_per_array {
                let node = self.numbers.unit(gpu, unit(number));
                let all = gpu * machine.compute_units() + unit(number);
                let plan = UnitPlan { spec: machine.compute_unit, number: all, first: number == 0 };
                let path = own.clone().and_one("cu", number);
                built.agents.push(self.plan.add(path, place, Some(node), What::Unit(plan)));
            }
        }
        built.junction = self.plan.add(own, place, None, What::Junction);
        built
    }

    /// A first-level cache of a GPU.
    fn first_level(&mut self, gpu: usize, path: Path, place: (usize, usize), me: Node, section: &'static str) -> Id {
        let (machine, roles) = (self.machine, self.machine.protocol);
        let of = self.cache_of(section);
        let own = || machine.banks.deal(|bank| self.numbers.l2(gpu, bank));
        let l2s = |zone: &MemoryZone| match (zone.place, machine.remote) {
            (Place::Gpu(owner), Some(Remote::L1)) => machine.banks.deal(|bank| self.numbers.l2(owner, bank)),
            _ => own(),
        };
        let below = Interleave::of_zones(machine.zones.iter().map(l2s).collect());
        // A fabric leads to more nodes than the cache may send to.
        let speaks_to = machine.fabric.map(|_| below.owners().copied().collect());
        let bank = spec_of(&of, roles.seat(Role::L1), me, below, Roster::NONE);
        let spec = cache::CacheSpec {
            sees: roles.protocol.sees,
            wide_acquires: machine.forgetting_acquires,
            virtual_tags: machine.fbt.is_some() || machine.names.is_some() && section == "gpu.l1v",
            remaps: machine.fbt.map_or(0, |fbt| fbt.spec.remaps),
            counts_tlb_misses: machine.has_lone_iommu(),
            counts_lifetimes: machine.lifetimes,
            memories: self.memories_by_time(),
            // The L2 of another GPU holds what that GPU's memory would: lines there are never stale.
            ordered: (machine.remote == Some(Remote::L1)).then(|| own().owners().copied().collect()),
            ..super::lower::cache_spec(bank, of.ports, roles.orders(Role::L1))
        };
        let name = path.to_string();
        let plan = CachePlan { spec, section, first_level: true, view: None, speaks_to };
        let id = self.plan.add(path, place, Some(me), What::Cache(Box::new(plan)));
        self.plan.report(id, name, Some(Side::Gpu));
        id
    }

    /// The memory of each line, if memories assign logical times.
    fn memories_by_time(&self) -> Option<Interleave<Node>> {
        let timed = self.machine.protocol.protocol.sees == Sees::ByTime;
        timed.then(|| self.plan.channels.map(&|channel| self.numbers.memory(*channel)))
    }

    /// The node to which an L2 bank sends its requests for lines of a memory: that memory, or the L2 of another GPU
    /// that is their home.
    fn below_of_bank(&self, zone: &MemoryZone, gpu: usize, bank: usize) -> Interleave<Node> {
        let (own, gpus) = (self.homes_in(zone, gpu, bank), self.machine.gpus);
        let l2 = |other| Interleave::One(self.numbers.l2(other, bank));
        match zone.place {
            Place::Gpu(owner) if owner != gpu && self.has_peers() => l2(owner),
            Place::Gpu(_) => own,
            // Homes are assigned to the GPUs in turn.
            _ if self.has_peers() => {
                let home = |other| if other == gpu { own.clone() } else { l2(other) };
                Interleave::Choice { stride: HOME, over: (0..gpus).map(home).collect() }
            }
            _ => own,
        }
    }

    pub(super) fn cache_of(&self, section: &str) -> CacheSpec {
        match section {
            "gpu.l1v" => self.machine.l1v,
            "gpu.l1s" => self.machine.l1s,
            "gpu.l1i" => self.machine.l1i,
            _ => self.machine.l2,
        }
    }

    fn bank(&mut self, gpu: usize, bank: usize) -> Id {
        let (machine, roles, numbers) = (self.machine, self.machine.protocol, self.numbers);
        let me = numbers.l2(gpu, bank);
        let (gpus, peers) = (machine.gpus, roles.protocol.needs.peers);
        // With remote access by L1s, the L2 holds no lines of other GPUs' memories: first-level caches send those
        // requests to the other GPU.
        let asks = |zone: &&MemoryZone| match zone.place {
            Place::Gpu(owner) => owner == gpu || machine.remote == Some(Remote::L2),
            _ => true,
        };
        let own = machine.zones.iter().find(|zone| zone.place == Place::Gpu(gpu)).unwrap_or(&machine.zones[0]);
        let below =
            machine.zones.iter().map(|zone| self.below_of_bank(Some(zone).filter(asks).unwrap_or(own), gpu, bank));
        let below = Interleave::of_zones(below.collect());
        let above = match peers {
            // Code does not change while a kernel runs, and instruction caches are invalidated before the next kernel.
            // So NMOESI's directories leave instruction caches out, which have the last numbers among a GPU's caches.
            // Multi2Sim models no instruction caches (`[umh 2]`).
            false if machine.levels.is_some() => {
                Roster::row(numbers.l1v(gpu, 0), machine.compute_units() + machine.arrays)
            }
            false => Roster::row(numbers.l1v(gpu, 0), Sharers::MOST),
            true => Roster::row(numbers.l2(0, 0), gpus * machine.banks.count),
        };
        let mut of = spec_of(&machine.l2, roles.seat(Role::L2), me, below, above);
        // In the order in which the wires to them are declared.
        of.peers = (0..gpus).filter(|other| peers && *other != gpu).map(|other| numbers.l2(other, bank)).collect();
        let spec = cache::CacheSpec {
            sees: roles.protocol.sees,
            memories: self.memories_by_time(),
            virtual_tags: machine.fbt.is_some(),
            tells_gone: machine.fbt.is_some() && machine.cpu.is_some(),
            counts_tlb_misses: machine.has_lone_iommu(),
            counts_lifetimes: machine.lifetimes,
            ..super::lower::cache_spec(of, machine.l2.ports, roles.orders(Role::L2))
        };
        // The network of a CPU leads to more nodes than the bank may send to.
        let speaks_to = (self.meets_another_protocol() || machine.fabric.is_some()).then(|| {
            let askers = if machine.remote == Some(Remote::L1) { 0..gpus } else { gpu..gpu + 1 };
            let above = askers.flat_map(|gpu| (0..machine.arrays).flat_map(move |array| numbers.array(gpu, array)));
            above.chain(spec.bank.below.owners().copied()).chain(spec.bank.peers.iter().copied()).collect()
        });
        let plan = CachePlan { spec, section: "gpu.l2", first_level: false, view: None, speaks_to };
        let place = (self.gpu_clock, self.bank_part(gpu, bank));
        let path = Path::to_one("gpu", gpu).and_one("l2_", bank);
        let name = path.to_string();
        let id = self.plan.add(path, place, Some(me), What::Cache(Box::new(plan)));
        self.plan.report(id, name, Some(Side::Gpu));
        id
    }

    /// The links between L2s of different GPUs: each bank is linked to the banks of equal number.
    pub(super) fn connect_peers(&mut self, gpus: &[Gpu]) {
        if !self.machine.protocol.protocol.needs.peers || self.machine.fabric.is_some() {
            return;
        }
        let wire = Wire::Link(self.machine.wires.l2_memory);
        for bank in 0..self.machine.banks.count {
            for (one, other) in (0..gpus.len()).flat_map(|one| (0..one).map(move |other| (one, other))) {
                let (upper, lower) = (gpus[one].banks[bank], gpus[other].banks[bank]);
                let name = format!("gpu{one}_gpu{other}_l2_{bank}");
                self.plan.connect(name, upper, lower, wire.clone(), Freight::Messages);
            }
        }
    }

    /// Connects the elements of a GPU. `leader` gives its agents work, and `translators` serve their translations.
    pub(super) fn connect_gpu(&mut self, number: usize, gpu: &Gpu, leader: Id, translators: Option<(Id, Option<Id>)>) {
        let machine = self.machine;
        let freight = if self.population.tests() { Freight::Tests } else { Freight::Work };
        for (unit, agent) in gpu.arrays.iter().flat_map(|array| &array.agents).enumerate() {
            let name = format!("gpu{number}_unit{unit}");
            self.plan.connect(name, leader, *agent, Wire::Link(machine.wires.dispatcher), freight);
        }
        let wire = Wire::Link(machine.wires.l1_l2);
        match gpu.network {
            None => {
                for (array, own) in gpu.arrays.iter().enumerate() {
                    for (bank, lower) in gpu.banks.iter().enumerate() {
                        let name = format!("gpu{number}_array{array}_l2_{bank}");
                        self.plan.connect(name, own.junction, *lower, wire.clone(), Freight::Messages);
                    }
                }
            }
            Some(network) => {
                for (array, own) in gpu.arrays.iter().enumerate() {
                    let name = format!("gpu{number}_array{array}_network");
                    self.plan.connect(name, own.junction, network, wire.clone(), Freight::Messages);
                }
                for (bank, own) in gpu.banks.iter().enumerate() {
                    let name = format!("gpu{number}_l2_{bank}_network");
                    self.plan.connect(name, *own, network, wire.clone(), Freight::Messages);
                }
            }
        }
        if let (Some(translators), Some(mmu)) = (translators, machine.gpu_mmu) {
            self.connect_mmus(number, gpu, translators, &mmu);
        }
        for (array, of) in gpu.arrays.iter().enumerate() {
            self.connect_array(of);
            if let (Some((iommu, _)), Some(mmu)) = (translators, machine.gpu_mmu) {
                self.connect_names(&format!("gpu{number}_array{array}"), of, iommu, &mmu);
            }
        }
    }

    /// The table below the vector cache of a compute unit, which detects synonyms, and the TLB below that.
    fn names(
        &mut self,
        (gpu, unit): (usize, usize),
        path: Path,
        place: (usize, usize),
        (table, mmu): (TlbSpec, &GpuMmu),
    ) -> (Id, Id) {
        let l1v = self.numbers.l1v(gpu, unit);
        let plan = FbtPlan {
            spec: FbtSpec { table, second_level: false, latency: Cycles(0), remaps: 0 },
            banks: Interleave::One(l1v),
            first_level: vec![l1v],
            line: self.machine.l1v.shape.line(),
            above: Above::WritesThrough,
        };
        let node = Some(self.numbers.names(gpu, unit));
        let names = self.plan.add(path.clone().and("names"), place, node, What::Fbt(plan));
        let MmuSpec { lookups, misses, shootdown, .. } = mmu.mmu;
        let spec = SharedTlbSpec { tlb: mmu.tlb, lookups: Some(lookups), banks: 1, misses, shootdown };
        (names, self.plan.add(path.and("names_tlb"), place, None, What::SharedTlb(spec)))
    }

    /// Connects vector caches that alone are virtual to the tables below them, those to the junction and to TLBs, and
    /// these to the IOMMU.
    fn connect_names(&mut self, name: &str, of: &Array, iommu: Id, mmu: &GpuMmu) {
        let way = PortSpec { capacity: mmu.mmu.waiting, latency: Cycles(0), bytes_per_cycle: None };
        for (number, (cache, (names, tlb))) in of.vectors.iter().zip(&of.names).enumerate() {
            self.plan.connect(
                "to_names",
                *cache,
                *names,
                ports(("to_names", way), ("answers", way)),
                Freight::Messages,
            );
            self.plan.connect("arrivals", *names, of.junction, Wire::Shared(way), Freight::Messages);
            let wire = ports(("translate", way), ("translated", way));
            self.plan.connect("translate", *names, *tlb, wire, Freight::Translations);
            let wire = Wire::Link(mmu.iommu.wire);
            self.plan.connect(format!("{name}_cu{number}_names"), *tlb, iommu, wire, Freight::Translations);
        }
    }

    /// Connects the forward-backward table below a GPU's virtually tagged L2 to memories, or to the hub beside a CPU.
    /// It also sends messages to first-level caches that the L2 keeps no record of, sends misses to the IOMMU, and
    /// receives shootdowns from the kernel.
    pub(super) fn connect_fbt(
        &mut self,
        number: usize,
        gpu: &Gpu,
        fbt: &GpuFbt,
        (iommu, kernel): (Id, Option<Id>),
        below: &[Id],
    ) {
        let (machine, numbers) = (self.machine, self.numbers);
        let above = match &machine.cpu {
            None => Above::Claims,
            Some(cpu) => Above::Member(Membership {
                cache: machine.protocol.seat(Role::L2),
                homes: cpu.slices().deal(|slice| numbers.l3(slice)),
            }),
        };
        let first_level = (0..machine.arrays).filter(|_| machine.cpu.is_none());
        let first_level = first_level.flat_map(|array| match self.population.tests() {
            true => numbers.vector_caches(number, array).collect(),
            false => numbers.array(number, array),
        });
        let plan = FbtPlan {
            spec: fbt.spec,
            banks: machine.banks.deal(|bank| numbers.l2(number, bank)),
            first_level: first_level.collect(),
            line: machine.l2.shape.line(),
            above,
        };
        let (path, node) = (Path::to_one("gpu", number).and("fbt"), Some(numbers.fbt(number)));
        let own = self.plan.add(path, (self.gpu_clock, 0), node, What::Fbt(plan));
        for (bank, id) in gpu.banks.iter().enumerate() {
            let name = format!("gpu{number}_l2_{bank}_fbt");
            self.plan.connect(name, *id, own, Wire::Link(fbt.wire), Freight::Messages);
        }
        for (array, of) in gpu.arrays.iter().enumerate().filter(|_| machine.cpu.is_none()) {
            let name = format!("gpu{number}_array{array}_fbt");
            self.plan.connect(name, of.junction, own, Wire::Link(fbt.wire), Freight::Messages);
        }
        for (number_below, id) in below.iter().enumerate() {
            let name = format!("gpu{number}_l2_{number_below}_memory");
            self.plan.connect(name, own, *id, Wire::Link(machine.wires.l2_memory), Freight::Messages);
        }
        // The look-up latency is charged on the translation request.
        let way = |latency| PortSpec { capacity: fbt.wire.capacity, latency, bytes_per_cycle: None };
        // The answers' name belongs to the IOMMU, which may serve several tables.
        let answers = if machine.gpus > 1 { format!("translated_gpu{number}") } else { "translated".to_owned() };
        let wire = ports(("translate", way(fbt.spec.latency)), (&answers, way(Cycles(0))));
        self.plan.connect("translate", own, iommu, wire, Freight::Translations);
        if let Some(kernel) = kernel {
            self.shoots(kernel, own);
        }
    }

    /// Connects compute units to the second-level TLB of their GPU, if it has one, and that TLB to the IOMMU. A kernel
    /// sends shootdowns to all of them.
    fn connect_mmus(&mut self, number: usize, gpu: &Gpu, (iommu, kernel): (Id, Option<Id>), mmu: &GpuMmu) {
        let far = Wire::Link(mmu.iommu.wire);
        let (asked, near) = match mmu.shared {
            None => (iommu, far.clone()),
            Some(shared) => {
                let place = (self.gpu_clock, self.array_part(number, 0));
                let path = Path::to_one("gpu", number).and("l2_tlb");
                let own = self.plan.add(path, place, None, What::SharedTlb(shared.tlb));
                let name = format!("gpu{number}_l2_tlb");
                self.plan.connect(name.clone(), own, iommu, far.clone(), Freight::Translations);
                if let Some(kernel) = kernel {
                    self.plan.connect(name, kernel, own, far.clone(), Freight::Shootdowns);
                }
                (own, Wire::Link(shared.wire))
            }
        };
        for (array, own) in gpu.arrays.iter().enumerate() {
            for (unit, own) in own.mmus.iter().enumerate() {
                let name = format!("gpu{number}_array{array}_cu{unit}");
                self.plan.connect(name.clone(), *own, asked, near.clone(), Freight::Translations);
                if let Some(kernel) = kernel {
                    self.plan.connect(name, kernel, *own, far.clone(), Freight::Shootdowns);
                }
            }
        }
    }

    /// Connects agents to their caches, and the caches to the junction that they share.
    fn connect_array(&mut self, array: &Array) {
        for (number, agent) in array.agents.iter().enumerate() {
            let mmu = array.mmus.get(number).copied();
            let vector = array.vectors[number];
            let edge = self.ask(*agent, "to_l1v", vector, "gpu.l1v");
            if self.machine.names.is_none() {
                self.guard(mmu, edge, "vector");
                self.share(vector, array.junction, "gpu.l1v");
            }
            if let Some((scalars, code)) = array.shared {
                let edge = self.ask(*agent, "to_l1s", scalars, "gpu.l1s");
                self.guard(mmu, edge, "scalar");
                let edge = self.ask(*agent, "to_l1i", code, "gpu.l1i");
                self.guard(mmu, edge, "code");
            }
        }
        if let Some((scalars, code)) = array.shared {
            self.share(scalars, array.junction, "gpu.l1s");
            self.share(code, array.junction, "gpu.l1i");
        }
    }

    /// A request port with the latency of the cache's look-up, and a reply port.
    fn ask(&mut self, agent: Id, name: &str, cache: Id, section: &str) -> EdgeId {
        let of = self.cache_of(section);
        let way = |latency: u64| PortSpec {
            capacity: of.waiting + latency as usize,
            latency: Cycles(latency),
            bytes_per_cycle: None,
        };
        let from = self.plan.element(agent).path.to_string().replace('.', "_");
        let wire = ports((name, way(of.latency.0)), (&format!("{name}_replies_{from}"), way(1)));
        self.plan.connect(name, agent, cache, wire, Freight::Requests)
    }

    fn share(&mut self, cache: Id, junction: Id, section: &str) {
        let of = self.cache_of(section);
        let arrives = PortSpec { capacity: of.waiting, latency: Cycles(0), bytes_per_cycle: None };
        self.plan.connect("arrivals", cache, junction, Wire::Shared(arrives), Freight::Messages);
    }

    /// Puts an MMU on an edge, if there is one.
    pub(super) fn guard(&mut self, mmu: Option<Id>, edge: EdgeId, name: &'static str) {
        let Some(mmu) = mmu else { return };
        match &mut self.plan.elements[mmu.0].what {
            What::Mmu(plan) => plan.guards.push((edge, name)),
            _ => unreachable!("only an MMU guards an edge"),
        }
    }
}

/// The partition of the n-th element when elements are distributed over `partitions` partitions after the first
/// `before`.
fn dealt(number: usize, partitions: usize, before: usize) -> usize {
    if partitions == 0 { 0 } else { before + number % partitions }
}
