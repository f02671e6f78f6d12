//! Energy: what elements spend on events and what they leak, section `[energy]` of a machine file.
//!
//! Elements count their events anyway, so the energy of a run is computed when it is over: for each region and element,
//! from the events counted and the leakage over the region's length. The sums equal those of accounts that are charged
//! event by event, and the run is not slower. An event costs its energy in addition to leakage, as published figures
//! are given.

use crate::{
    file::{File, MachineError},
    moved::{bytes_of, goes_onto_fabric},
    plan::{Element, Population, lower},
    spec::Machine,
    units::{Joules, Watts},
};
use engine::{Run, Statistics, Time, Value};
use serde::Deserialize;

/// The key of an element's energy in its statistics.
const ENERGY: &str = "energy";

/// Energies of events and leakage. Without the section a machine has no energy.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergySpec {
    /// Instructions of a wavefront.
    vector: Joules,
    scalar: Joules,
    local: Joules,
    access: Joules,
    /// An instruction of a core.
    core: Joules,
    /// A look-up in a TLB.
    tlb: Joules,
    /// An access to a cache, by level.
    l1: Joules,
    l2: Joules,
    l3: Joules,
    /// A line read from memory or written there; and from or to the memory of a GPU's own.
    memory: Joules,
    gpu_memory: Joules,
    /// A message that a switch of a network forwards.
    hop: Joules,
    /// A byte that goes onto the fabric.
    wire: Joules,
    unit_leaks: Watts,
    core_leaks: Watts,
    l1_leaks: Watts,
    l2_leaks: Watts,
    l3_leaks: Watts,
    memory_leaks: Watts,
    network_leaks: Watts,
}

/// Reads the section, if there is one.
pub(crate) fn energy(file: &mut File) -> Result<Option<EnergySpec>, MachineError> {
    if file.has("energy") { file.section("energy").map(Some) } else { Ok(None) }
}

/// Leakage of an element, the energy of each kind of event, by the ending of its counter's name, and the energy of a byte
/// that the element sends over the fabric.
struct Costs {
    leaks: Watts,
    events: Vec<(&'static str, Joules)>,
    wire: Joules,
}

impl EnergySpec {
    fn of(&self, element: &Element) -> Option<Costs> {
        let none = Watts(0);
        let (leaks, events) = match element.section()? {
            "gpu.compute_unit" => {
                let each = [
                    (".instructions.vector", self.vector),
                    (".instructions.scalar", self.scalar),
                    (".instructions.branch", self.scalar),
                    (".instructions.scheduler", self.scalar),
                    (".instructions.local", self.local),
                    (".instructions.scalar_memory", self.access),
                    (".instructions.vector_memory", self.access),
                ];
                (self.unit_leaks, each.to_vec())
            }
            "cpu.core" => (self.core_leaks, vec![(".instructions", self.core)]),
            "gpu.mmu" | "cpu.mmu" | "gpu.l2_tlb" => {
                (none, [".hits", ".misses", ".merged"].map(|kind| (kind, self.tlb)).to_vec())
            }
            "gpu.l1v" | "gpu.l1s" | "gpu.l1i" | "cpu.l1d" | "cpu.l1i" => (self.l1_leaks, vec![(".accesses", self.l1)]),
            "gpu.l2" | "cpu.l2" => (self.l2_leaks, vec![(".accesses", self.l2)]),
            "cpu.l3" => (self.l3_leaks, vec![(".accesses", self.l3)]),
            section @ ("memory" | "gpu.memory") => {
                let line = if section == "memory" { self.memory } else { self.gpu_memory };
                (self.memory_leaks, [".reads", ".writes"].map(|kind| (kind, line)).to_vec())
            }
            "gpu.network" | "system.network" | "fabric" => (self.network_leaks, vec![(".forwarded", self.hop)]),
            _ => return None,
        };
        Some(Costs { leaks, events, wire: self.wire })
    }
}

impl Costs {
    /// The energy of an element in a region, in femtojoules.
    fn spent(&self, path: &str, statistics: &Statistics, length: Time) -> Value {
        let below = format!("{path}.");
        let own = statistics.starting(&below);
        let active = own.map(|(name, value)| {
            let is_own = |(suffix, _): &&(&str, Joules)| {
                // The counters of a TLB stand below its port's name, those of a network below a switch's.
                let rest = &name[path.len()..];
                rest == *suffix
                    || rest.ends_with(suffix) && matches!(*suffix, ".hits" | ".misses" | ".merged" | ".forwarded")
            };
            let each = self.events.iter().find(is_own).map_or(0, |(_, each)| each.0);
            let bytes = if goes_onto_fabric(name) { bytes_of(value, None) } else { 0 };
            each.saturating_mul(events(value)).saturating_add(self.wire.0.saturating_mul(bytes))
        });
        let active = active.fold(0, u64::saturating_add);
        // A milliwatt is a femtojoule in 1000 fs.
        let passive = u128::from(self.leaks.0) * u128::from(length.0) / 1000;
        Value::Energy { passive: u64::try_from(passive).unwrap_or(u64::MAX), active }
    }
}

fn events(value: &Value) -> u64 {
    match value {
        Value::Count(count) => *count,
        Value::Matrix { counts, .. } => counts.iter().sum(),
        _ => 0,
    }
}

/// Adds the energy of each element to the statistics of each region.
pub(crate) fn charge(machine: &Machine, run: &mut Run) {
    let Some(spec) = machine.energy else { return };
    let plan = lower(machine, Population::Program);
    let elements = plan.elements.iter().filter_map(|element| Some((element.path.to_string(), spec.of(element)?)));
    let elements: Vec<(String, Costs)> = elements.collect();
    for region in &mut run.regions {
        let length = Time(region.end.0 - region.start.0);
        let spent = |(path, costs): &(String, Costs)| {
            (format!("{path}.{ENERGY}").into(), costs.spent(path, &region.statistics, length))
        };
        let spent: Vec<(engine::Path, Value)> = elements.iter().map(spent).collect();
        region.statistics.0.extend(spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_leakage_are_charged_to_the_element_that_counts_them() {
        let changes = ["energy.part=28nm-hbm".to_owned()];
        let machine = Machine::load("skeleton", &changes).expect("the part has every key");
        let mut statistics = Statistics::default();
        let mut count = |path: &str, number| _ = statistics.0.insert(path.into(), Value::Count(number));
        count("gpu0.array0.cu0.instructions.vector", 10);
        count("gpu0.array0.cu0.instructions.vector_memory", 2);
        count("memory0.reads", 3);
        count("memory00.reads", 1000);
        let traffic = Value::Matrix {
            rows: vec!["line".into(), "copy".into()],
            columns: vec!["messages".into(), "bytes".into()],
            counts: vec![1, 72, 2, 144],
        };
        for wire in ["gpu0.port.out", "gpu0.port.in", "fabric.to_gpu0"] {
            statistics.0.insert(wire.into(), traffic.clone());
        }
        let region = engine::Region { name: "a".to_owned(), start: Time(0), end: Time::nanos(1), statistics };
        let mut run = Run { regions: vec![region], ..empty() };
        charge(&machine, &mut run);
        let spec = machine.energy.expect("it was set");
        let of = |path: &str| run.regions[0].statistics.energy(path);
        let leaks = |watts: Watts| watts.0 * 1000;
        assert_eq!(of("gpu0.array0.cu0.energy"), (leaks(spec.unit_leaks), 10 * spec.vector.0 + 2 * spec.access.0));
        assert_eq!(of("memory0"), (leaks(spec.memory_leaks), 3 * spec.memory.0));
        assert_eq!(of("gpu0.l2_0"), (leaks(spec.l2_leaks), 0), "an element without events leaks");
    }

    fn empty() -> Run {
        Run {
            outcome: engine::Outcome::Finished,
            end: Time::ZERO,
            regions: Vec::new(),
            trace: Vec::new(),
            events: 0,
            pressure: Vec::new(),
            scaling: Vec::new(),
        }
    }
}
