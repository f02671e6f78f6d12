//! Latencies and rates that follow from a CPU's parameters. `cohesim bench machine` shows them beside its measurements
//! of a core. Only latencies, widths and serialisation count, for an idle machine; queues and conflicts do not.

use crate::{cpu_complex::CpuComplex, spec::Machine};
use cpu::Class;
use interconnect::{HEADER, Topology};
use mem::LINE;

/// An expected figure: the name of a probe (`crates/workloads/guest/probes`), what it measures, and the cycles of a
/// core that a step takes; `None` if the parameters alone do not say.
pub struct Implied {
    pub probe: &'static str,
    pub what: &'static str,
    pub cycles: Option<f64>,
}

/// A message with a line.
const DATA: u64 = HEADER + LINE as u64;

/// The expected figures of a machine's first core; none if it has no CPU.
pub fn of_cores(machine: &Machine) -> Vec<Implied> {
    let Some(cpu) = &machine.cpu else { return Vec::new() };
    let (ways, core) = (Ways { machine, cpu }, &cpu.core);
    let timing = |class| core.units.iter().find(|unit| unit.does.contains(&class)).map(|unit| unit.timing);
    let chain = |class| Some(timing(class).map_or(1.0, |of| of.latency.0 as f64));
    let rate = |class| {
        let units = timing(class).map_or(0.0, |of| of.interval.0 as f64 / of.count as f64);
        Some(units.max(1.0 / core.issue_width as f64))
    };
    let rows = [
        ("l1", "load that hits the L1D", Some(ways.l1())),
        ("l2", "load that hits the L2", Some(ways.l2())),
        ("l3", "load that hits the L3", ways.l3()),
        ("memory", "load from memory", ways.memory()),
        ("load_8", "independent loads of 8 B", Some(1.0 / cpu.l1d.ports as f64)),
        ("load_16", "independent loads of 16 B", Some(1.0 / cpu.l1d.ports as f64)),
        ("store_8", "independent stores of 8 B", Some(1.0 / cpu.l1d.ports as f64)),
        ("forward", "store and load of its value", Some(1.0 + core.forwarding.0 as f64)),
        ("add_chain", "add, dependent", chain(Class::Integer)),
        ("imul_chain", "imul, dependent", chain(Class::Multiply)),
        ("imul", "imul, independent", rate(Class::Multiply)),
        ("div_chain", "div, dependent", chain(Class::Divide)),
        ("addsd_chain", "addsd, dependent", chain(Class::FloatAdd)),
        ("addsd", "addsd, independent", rate(Class::FloatAdd)),
        ("mulsd_chain", "mulsd, dependent", chain(Class::FloatMultiply)),
        ("mulsd", "mulsd, independent", rate(Class::FloatMultiply)),
        ("flush_clean", "clflush of a clean line, mfence", ways.flush(false)),
        ("flush_dirty", "clflush of a changed line, mfence", ways.flush(true)),
        ("flush_many", "clflush of changed lines, one mfence", None),
        ("system_call", "system call", Some(cpu.kernel.trap as f64)),
        ("first_touch", "first touch of a page", Some((cpu.kernel.trap + cpu.kernel.soft_fault) as f64)),
    ];
    rows.map(|(probe, what, cycles)| Implied { probe, what, cycles }).into()
}

/// The ways through a CPU complex, in cycles of its cores.
struct Ways<'a> {
    machine: &'a Machine,
    cpu: &'a CpuComplex,
}

impl Ways<'_> {
    /// Cycles of a core in a cycle of the network.
    fn slower(&self) -> f64 {
        self.cpu.clock.0 as f64 / self.cpu.system_clock.0 as f64
    }

    /// Until a receiver has a message, in cycles of a clock: the wire's serialisation.
    fn serial(&self, bytes: u64, clock: u64) -> f64 {
        let Some(width) = self.cpu.network.bytes_per_cycle else { return 0.0 };
        let width = (width * self.cpu.system_clock.0).div_ceil(clock);
        bytes.min(self.cpu.network.head().unwrap_or(bytes)).div_ceil(width) as f64
    }

    /// On a wire of the cores' clock.
    fn near(&self, bytes: u64, latency: u64) -> f64 {
        self.serial(bytes, self.cpu.clock.0) + latency as f64
    }

    /// On a wire of the network's clock.
    fn far(&self, bytes: u64, latency: f64) -> f64 {
        (self.serial(bytes, self.cpu.system_clock.0) + latency) * self.slower()
    }

    fn l1(&self) -> f64 {
        (self.cpu.core.address.latency.0 + self.cpu.l1d.latency.0 + 1) as f64
    }

    fn l2(&self) -> f64 {
        self.l1() + self.near(HEADER, self.cpu.l2.latency.0) + self.near(DATA, 1)
    }

    /// The stations of the network: the L2s of cores and of others that ask, slices, the hub, the agent.
    fn first_slice(&self) -> usize {
        self.cpu.stacks()
    }

    fn agent(&self) -> usize {
        self.first_slice() + self.cpu.slices + usize::from(self.cpu.hub.is_some())
    }

    /// Between two stations of the network, through its switches.
    fn network(&self, from: usize, to: usize, bytes: u64) -> Option<f64> {
        let hops = match self.cpu.network.topology {
            Topology::Crossbar => 0,
            Topology::Ring => {
                let switches = (self.agent() + 1).div_ceil(2);
                let apart = (from / 2).abs_diff(to / 2);
                apart.min(switches - apart)
            }
            Topology::Mesh { .. } | Topology::Bus => return None,
        };
        let switch = self.cpu.network.latency.0 as f64 * self.slower();
        Some((hops + 1) as f64 * switch + hops as f64 * self.far(bytes, 0.0))
    }

    /// From one of the caches of the CPU's clock to another station and back.
    fn station_to_slice(&self, from: usize, slice: usize, bytes: u64) -> Option<f64> {
        let latency = (self.cpu.l3.latency.0 as f64 / self.slower()).ceil().max(1.0);
        Some(self.near(bytes, 1) + self.network(from, slice, bytes)? + self.far(bytes, latency))
    }

    fn slice_to(&self, slice: usize, to: usize, bytes: u64) -> Option<f64> {
        Some(self.near(bytes, 1) + self.network(slice, to, bytes)? + self.far(bytes, 1.0))
    }

    /// The mean over all slices.
    fn mean(&self, of: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let slices = self.first_slice()..self.first_slice() + self.cpu.slices;
        Some(slices.map(of).sum::<Option<f64>>()? / self.cpu.slices as f64)
    }

    fn l3(&self) -> Option<f64> {
        let ring =
            self.mean(|slice| Some(self.station_to_slice(0, slice, HEADER)? + self.slice_to(slice, 0, DATA)?))?;
        Some(self.l2() + ring)
    }

    /// From a slice to memory with one message, and back with another.
    fn below(&self, slice: usize, there: u64, back: u64) -> Option<f64> {
        let agent = self.agent();
        // The wires of the agent have latencies of their own, and those to channels take two cycles each way.
        let out = self.near(there, 1) + self.network(slice, agent, there)? + self.far(there, 2.0) + 2.0 * self.slower();
        let home = 2.0 * self.slower() + self.far(back, 1.0) + self.network(agent, slice, back)?;
        Some(out + home + self.far(back, 1.0))
    }

    fn memory(&self) -> Option<f64> {
        let memory = self.machine.memory_latency() * self.cpu.clock.0 as f64 / self.machine.clock.0 as f64;
        Some(self.l3()? + memory + self.mean(|slice| self.below(slice, HEADER, DATA))?)
    }

    /// A flush of a line that the first core's L1D holds: down to the slice, the recall from there and its answers, and
    /// the way back.
    fn flush(&self, dirty: bool) -> Option<f64> {
        let held = if dirty { DATA } else { HEADER };
        let memory = self.machine.memory_latency() * self.cpu.clock.0 as f64 / self.machine.clock.0 as f64;
        let (down, up) = (self.near(HEADER, self.cpu.l2.latency.0), |bytes| self.near(bytes, 1));
        let ring = |slice| {
            let ways = self.station_to_slice(0, slice, HEADER)? + 2.0 * self.slice_to(slice, 0, HEADER)?;
            let written = if dirty { memory + self.below(slice, DATA, HEADER)? } else { 0.0 };
            Some(ways + self.station_to_slice(0, slice, held)? + written)
        };
        // The L1D's orders travel up without bandwidth of their own.
        Some(
            (self.l1() - 1.0)
                + down
                + up(HEADER)
                + self.near(held, self.cpu.l2.latency.0)
                + up(HEADER)
                + 1.0
                + self.mean(ring)?,
        )
    }
}
