//! Connects the elements of a CPU complex.

use super::{CoreIds, CpuIds};
use crate::{
    cpu_complex::CpuComplex,
    plan::{
        EdgeId, Freight, Id, Wire,
        lower::{Lowering, ports},
    },
    translation::Pages,
};
use engine::{Cycles, Hertz, PortSpec};

impl Lowering<'_> {
    /// Bandwidth of the network's wires, in bytes per second.
    fn bandwidth(&self, cpu: &CpuComplex) -> Option<u64> {
        cpu.network.bytes_per_cycle.map(|bytes| bytes * cpu.system_clock.0)
    }

    /// Bandwidth from the GPUs to the memory controller, in bytes per second: hub and system agent stand at one switch
    /// (`[giles 4.4.1]`). Without a hub, the bandwidth of the agent's wires is that of the network.
    fn gpu_bandwidth(&self, cpu: &CpuComplex) -> Option<u64> {
        match cpu.hub {
            Some(hub) => hub.bytes_per_cycle.map(|bytes| bytes * self.machine.clock.0),
            None => self.bandwidth(cpu),
        }
    }

    fn rate(&self, id: Id) -> Hertz {
        self.plan.clocks[self.plan.element(id).clock]
    }

    /// A pair of wires within the complex, one per direction.
    fn pair(
        &mut self,
        (upper, name, lower): (Id, &str, Id),
        (latency, back): (u64, u64),
        bandwidth: Option<u64>,
        freight: Freight,
    ) -> EdgeId {
        let cpu = self.machine.cpu.as_ref().expect("only a complex has such wires");
        let capacity = cpu.network.capacity;
        let way = |clock: Hertz, latency: u64| PortSpec {
            capacity: capacity + latency as usize,
            latency: Cycles(latency),
            bytes_per_cycle: bandwidth.map(|bytes| bytes.div_ceil(clock.0)),
        };
        let from = self.plan.element(upper).path.to_string().replace('.', "_");
        let there = way(self.rate(upper), latency);
        let mut wire = ports((name, there), (&format!("{name}_back_{from}"), way(self.rate(lower), back)));
        if let Wire::Ports { there, back } = &mut wire {
            (there.head, back.head) = (cpu.network.head(), cpu.network.head());
        }
        self.plan.connect(name, upper, lower, wire, freight)
    }

    /// Attaches an element to the network.
    fn attach(&mut self, ids: &CpuIds, id: Id, latency: u64, bandwidth: Option<u64>) {
        let (clock, system) = (self.rate(id), self.rate(ids.network));
        let cycles = (latency * system.0).div_ceil(clock.0);
        self.pair((id, "to_network", ids.network), (1, cycles.max(1)), bandwidth, Freight::Messages);
    }

    pub(in crate::plan) fn connect_complex(&mut self, ids: &CpuIds, leaders: &[Id]) {
        let machine = self.machine;
        let cpu = machine.cpu.as_ref().expect("only such a machine has a complex");
        let bandwidth = self.bandwidth(cpu);
        if self.population.tests() {
            self.connect_testers(ids, leaders[0]);
        }
        for core in &ids.cores {
            self.connect_core(cpu, ids, core);
        }
        self.connect_iommu(cpu, ids);
        for (slice, id) in ids.slices.iter().enumerate() {
            self.attach(ids, *id, cpu.l3.latency.0, bandwidth);
            let name = format!("to_l3_{slice}");
            self.pair((ids.front_end, &name, *id), (1, 1), bandwidth, Freight::Flushes);
        }
        if let (Some((l1, l2)), Some(dma), Some(engine)) = (ids.engine_caches, cpu.dma, ids.engine) {
            let latencies = (dma.cache.latency.0, 1);
            self.pair((engine, "to_l1", l1), latencies, bandwidth, Freight::Requests);
            self.pair((l1, "to_l2", l2), latencies, bandwidth, Freight::Messages);
            self.attach(ids, l2, 0, bandwidth);
        }
        if let Some(hub) = ids.hub {
            self.attach(ids, hub, 0, self.gpu_bandwidth(cpu));
        }
        self.attach(ids, ids.agent, 2, self.gpu_bandwidth(cpu));
        let way = PortSpec { capacity: cpu.network.capacity, latency: Cycles(2), bytes_per_cycle: None };
        for (channel, memory) in ids.memories.iter().enumerate() {
            let wire = ports((&format!("to_memory{channel}"), way), ("to_agent", way));
            self.plan.connect("to_memory", ids.agent, *memory, wire, Freight::Messages);
        }
        self.command(ids.front_end, &ids.dispatchers);
        if let Some(shooter) = ids.shooter {
            // Cores come before compute units.
            let mut edges = std::mem::take(&mut self.plan.elements[shooter.0].edges);
            edges.sort_by_key(|edge| matches!(self.plan.edge(*edge).wire, Wire::Link(_)));
            self.plan.elements[shooter.0].edges = edges;
        }
        if let Some(program) = ids.program {
            self.plan.connect("commands", program, ids.front_end, Wire::Call, Freight::Commands);
        }
    }

    /// Connects the conductor to the testers, in the order in which it commands them.
    fn connect_testers(&mut self, ids: &CpuIds, conductor: Id) {
        let mut all = vec![("front_end".to_owned(), ids.front_end)];
        all.extend(ids.cores.iter().enumerate().map(|(core, of)| (format!("core{core}"), of.data)));
        all.extend(ids.cores.iter().enumerate().map(|(core, of)| (format!("code{core}"), of.code)));
        all.extend(ids.engine.map(|engine| ("dma".to_owned(), engine)));
        for (name, tester) in all {
            let wire = Wire::Link(self.machine.wires.dispatcher);
            self.plan.connect(name, conductor, tester, wire, Freight::Tests);
        }
    }

    fn connect_core(&mut self, cpu: &CpuComplex, ids: &CpuIds, core: &CoreIds) {
        let bandwidth = self.bandwidth(cpu);
        // A first-level cache is part of the core: its pipeline reads it without a bus. The 32 GB/s of `[giles Table
        // 4.1]` are those of the bus to the L2.
        let requests = Freight::Requests;
        let data = self.pair((core.data, "to_l1d", core.l1d), (cpu.l1d.latency.0, 1), None, requests);
        let code = self.pair((core.code, "to_l1i", core.l1i), (cpu.l1i.latency.0, 1), None, requests);
        for l1 in [core.l1d, core.l1i] {
            self.pair((l1, "to_l2", core.l2), (cpu.l2.latency.0, 1), bandwidth, Freight::Messages);
        }
        if let (Some((mmu, walkers)), Some(of), Some(shooter)) = (core.mmu, cpu.core_mmu, ids.shooter) {
            self.guard(Some(mmu), data, "data");
            self.guard(Some(mmu), code, "code");
            let way = PortSpec { capacity: of.mmu.misses, latency: Cycles(1), bytes_per_cycle: None };
            let wire = ports(("translate", way), ("translated", way));
            self.plan.connect("translate", mmu, walkers, wire, Freight::Translations);
            if matches!(self.pages(of.pages), Pages::Tables { .. }) {
                self.pair((walkers, "to_l1d", core.l1d), (cpu.l1d.latency.0, 1), None, requests);
            }
            self.shoots(shooter, walkers);
            self.shoots(shooter, mmu);
        }
        self.attach(ids, core.l2, 0, bandwidth);
    }

    /// Connects the kernel's shootdowns to an element.
    pub(in crate::plan) fn shoots(&mut self, shooter: Id, id: Id) {
        let way = PortSpec { capacity: 1, latency: Cycles(1), bytes_per_cycle: None };
        let name = format!("to_{}", self.plan.element(id).path.to_string().replace('.', "_"));
        let wire = ports((&name, way), ("forgotten", way));
        self.plan.connect(name.as_str(), shooter, id, wire, Freight::Shootdowns);
    }

    fn connect_iommu(&mut self, cpu: &CpuComplex, ids: &CpuIds) {
        let (Some(iommu), Some(of), Some(shooter)) = (ids.iommu, cpu.iommu(), ids.shooter) else { return };
        let bandwidth = self.bandwidth(cpu);
        if let Some((l1, l2)) = ids.iommu_caches {
            let latencies = (of.cache.latency.0, 1);
            self.pair((iommu, "to_l1d", l1), latencies, bandwidth, Freight::Requests);
            self.pair((l1, "to_l2", l2), latencies, bandwidth, Freight::Messages);
            self.attach(ids, l2, 0, bandwidth);
        }
        self.shoots(shooter, iommu);
    }
}
