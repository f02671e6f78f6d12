//! The plan of a machine as data (`plan.json`), for programs that draw it. Each element has its path, which is also the
//! prefix of its statistics. Wires that differ only in numbers are listed once.

use super::plan::{about, planned, wires_alike};
use machine::{Machine, plan::What};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct PlanFile {
    name: String,
    about: String,
    /// In the order of the plan.
    elements: Vec<ElementEntry>,
    /// Descriptions from sections of the machine file; elements refer to them by index.
    sections: Vec<String>,
    wires: Vec<WireEntry>,
}

#[derive(Serialize)]
struct ElementEntry {
    path: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct WireEntry {
    /// Paths of the elements at its ends, without numbers.
    pub(super) upper: String,
    pub(super) lower: String,
    pub(super) freight: String,
    /// Latency, capacity and width, in words.
    pub(super) made: String,
    pub(super) count: usize,
}

pub(crate) fn of(machine: &Machine) -> PlanFile {
    let (table, plan) = planned(machine);
    let mut sections: Vec<String> = Vec::new();
    let mut elements = Vec::new();
    for element in plan.elements.iter().filter(|element| !matches!(element.what, What::Timekeeper)) {
        let told: Vec<String> = about(element, &table).into_iter().filter(|line| !line.is_empty()).collect();
        let told = told.join("; ");
        let section = (!told.is_empty()).then(|| {
            sections.iter().position(|known| *known == told).unwrap_or_else(|| {
                sections.push(told);
                sections.len() - 1
            })
        });
        elements.push(ElementEntry { path: element.path.to_string(), kind: kind(&element.what), section });
    }
    PlanFile { name: machine.name.clone(), about: machine.about.clone(), elements, sections, wires: wires_alike(&plan) }
}

/// The kind of an element, in a word or two.
fn kind(what: &What) -> &'static str {
    match what {
        What::Unit(_) => "compute unit",
        What::Core(_) => "core",
        What::Dma { .. } | What::HostDma(_) => "DMA engine",
        What::Cache(_) => "cache",
        What::Memory(_) | What::Level(_) => "memory",
        What::Mmu(_) => "MMU",
        What::SharedTlb(_) => "TLB",
        What::Walkers(_) => "page walkers",
        What::Network(..) => "network",
        What::Fabric(_) => "fabric",
        What::Junction | What::Agent => "junction",
        What::Dispatcher(..) => "dispatcher",
        What::Host | What::Outside(_) | What::Program(_) => "host",
        What::FrontEnd(_) => "front end",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_compute_unit_and_cache_is_there_under_the_path_of_its_statistics() {
        let plan = of(&Machine::load("r9nano", &[]).unwrap());
        let count = |kind: &str| plan.elements.iter().filter(|element| element.kind == kind).count();
        assert_eq!(count("compute unit"), 64);
        let l1v =
            plan.elements.iter().find(|element| element.path == "gpu0.array15.cu3.l1v").expect("it has this cache");
        assert_eq!(l1v.kind, "cache");
        assert!(plan.sections[l1v.section.unwrap()].starts_with("16 KiB, 4 ways"));
        assert!(plan.wires.iter().any(|wire| wire.upper == "gpu.array.cu" && wire.count == 64));
    }
}
