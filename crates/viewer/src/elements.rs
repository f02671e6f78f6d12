//! The measures by which the drawing of a machine colours its elements: how busy each was, how full its queues were,
//! and its hit rate.
//!
//! Elements are those of the machine's plan (`plan.json`). An element's statistics are found by its path and their
//! names (`docs/statistics.md`). A statistic that an element does not count is absent, not 0.

use crate::{file, statistics::Value};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, io, path::Path};

/// `plan.json`.
#[derive(Deserialize)]
struct PlanFile {
    elements: Vec<PlanElement>,
    sections: Vec<String>,
}

#[derive(Deserialize)]
struct PlanElement {
    path: String,
    kind: String,
    section: Option<usize>,
}

/// An element of the drawing.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Element {
    path: String,
    kind: String,
    about: String,
    /// The share of its cycles in which it worked.
    busy: Option<f64>,
    /// The share of its cycles in which it waited for others: compute units and cores.
    waiting: Option<f64>,
    /// Messages that waited at it, on average.
    queued: Option<f64>,
    /// Hit rate: the share of a cache's reads, a TLB's look-ups or a DRAM's row accesses that hit.
    hits: Option<f64>,
}

/// Reasons for cycles in which an element had nothing to do, and in which it worked; the others are of waiting.
const IDLE: [&str; 3] = ["idle", "no_wave", "launch"];
const WORK: [&str; 4] = ["busy", "system", "issue", "vector"];

/// The elements of a run's machine.
pub(crate) fn of(folder: &Path, total: &BTreeMap<String, Value>) -> io::Result<Vec<Element>> {
    let plan: PlanFile = serde_json::from_slice(&file::read(&folder.join("plan.json"), u64::MAX)?)?;
    let about = |section: Option<usize>| section.and_then(|at| plan.sections.get(at)).cloned().unwrap_or_default();
    let element = |planned: &PlanElement| {
        let own = Own { path: &planned.path, total };
        let (busy, waiting) = own.phases().unwrap_or((own.occupied(), None));
        let queued = own.queued();
        Element {
            path: planned.path.clone(),
            kind: planned.kind.clone(),
            about: about(planned.section),
            busy,
            waiting,
            queued,
            hits: own.hits(),
        }
    };
    Ok(plan.elements.iter().map(element).collect())
}

/// The statistics of one element.
struct Own<'a> {
    path: &'a str,
    total: &'a BTreeMap<String, Value>,
}

impl<'a> Own<'a> {
    /// The statistics below this name in the element, each with the rest of its path.
    fn below(&self, name: &str) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let prefix = if name.is_empty() { format!("{}.", self.path) } else { format!("{}.{name}.", self.path) };
        let range = self.total.range(prefix.clone()..);
        range.map_while(move |(path, value)| Some((path.strip_prefix(&prefix)?, value)))
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.total.get(&format!("{}.{name}", self.path))
    }

    /// The busy and the waiting share of an element whose cycles are attributed to reasons.
    fn phases(&self) -> Option<(Option<f64>, Option<f64>)> {
        let (mut work, mut idle, mut all) = (0, 0, 0);
        for (reason, value) in self.below("cycles") {
            let cycles = value.count();
            all += cycles;
            match reason {
                reason if IDLE.contains(&reason) => idle += cycles,
                reason if WORK.contains(&reason) => work += cycles,
                _ => {}
            }
        }
        let share = |cycles: u64| Some(cycles as f64 / all as f64);
        (all > 0).then(|| (share(work), share(all - work - idle)))
    }

    /// Cycles of its own clock that a level below a name saw.
    fn cycles(&self, name: &str) -> Option<u64> {
        self.below(name).find_map(|(_, value)| match value {
            Value::Level { cycles, .. } if *cycles > 0 => Some(*cycles),
            _ => None,
        })
    }

    /// The share of cycles in which it was occupied: its data buses, if it is DRAM, or its control.
    fn occupied(&self) -> Option<f64> {
        let buses = self.below("").filter_map(|(rest, value)| {
            let channel = rest.strip_suffix(".bus_busy_cycles")?;
            Some(value.count() as f64 / self.cycles(channel)? as f64)
        });
        let buses: Vec<f64> = buses.collect();
        if !buses.is_empty() {
            return Some((buses.iter().sum::<f64>() / buses.len() as f64).min(1.0));
        }
        let busy = self.get("control.busy_cycles").or_else(|| self.get("busy_cycles"))?;
        Some((busy.count() as f64 / self.cycles("")? as f64).min(1.0))
    }

    /// Messages in the fullest of its own queues, on average. Queues of elements within it are theirs.
    fn queued(&self) -> Option<f64> {
        let names = ["waiting", "arrivals.level", "write_back_queue", "misses_under_way", "under_way.level"];
        let own = names.iter().filter_map(|name| self.get(name)).filter_map(mean);
        let channels =
            self.below("").filter(|(rest, _)| rest.ends_with(".read_queue") || rest.ends_with(".write_queue"));
        own.chain(channels.filter_map(|(_, value)| mean(value))).reduce(f64::max)
    }

    fn hits(&self) -> Option<f64> {
        let share = |hits: u64, all: u64| (all > 0).then(|| hits as f64 / all as f64);
        if let Some(accesses @ Value::Matrix { .. }) = self.get("accesses") {
            let reads = accesses.pairs().filter(|(row, ..)| *row == "read");
            let (mut hits, mut all) = (0, 0);
            for (_, column, n) in reads {
                (hits, all) = (hits + if column == "hit" { n } else { 0 }, all + n);
            }
            return share(hits, all);
        }
        let (mut hits, mut all) = (0, 0);
        for (rest, value) in self.below("") {
            // TLBs of an MMU are one name below it; rows are counted by channel.
            if rest.matches('.').count() > 1 {
                continue;
            }
            match rest.rsplit('.').next() {
                Some("hits" | "row_hits") => (hits, all) = (hits + value.count(), all + value.count()),
                Some("misses" | "merged" | "row_closed" | "row_conflicts") => all += value.count(),
                _ => {}
            }
        }
        share(hits, all)
    }
}

fn mean(level: &Value) -> Option<f64> {
    match level {
        Value::Level { cycles, area, .. } if *cycles > 0 => Some(*area as f64 / *cycles as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total() -> BTreeMap<String, Value> {
        let counts = [
            ("cu0.cycles.issue", 20),
            ("cu0.cycles.vector_memory", 30),
            ("cu0.cycles.no_wave", 50),
            ("l1.control.busy_cycles", 25),
            ("mmu.code.hits", 3),
            ("mmu.vector.misses", 1),
        ];
        let mut total: BTreeMap<String, Value> =
            counts.into_iter().map(|(path, n)| (path.to_owned(), Value::Count(n))).collect();
        total.insert("l1.waiting".into(), Value::Level { cycles: 100, area: 50, max: 4 });
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let accesses = Value::Matrix {
            rows: names(&["read", "write"]),
            columns: names(&["hit", "miss"]),
            counts: vec![6, 2, 1, 1],
        };
        total.insert("l1.accesses".into(), accesses);
        total
    }

    #[test]
    fn cycles_of_a_unit_are_work_or_waiting_or_neither() {
        let total = total();
        assert_eq!(Own { path: "cu0", total: &total }.phases(), Some((Some(0.2), Some(0.3))));
        assert_eq!(Own { path: "l1", total: &total }.phases(), None);
    }

    #[test]
    fn a_cache_is_busy_by_its_control_and_hit_by_reads() {
        let total = total();
        let l1 = Own { path: "l1", total: &total };
        assert_eq!((l1.occupied(), l1.queued(), l1.hits()), (Some(0.25), Some(0.5), Some(0.75)));
    }

    #[test]
    fn the_tlbs_of_an_mmu_count_together_and_what_is_not_measured_is_none() {
        let total = total();
        assert_eq!(Own { path: "mmu", total: &total }.hits(), Some(0.75));
        let nothing = Own { path: "hub", total: &total };
        assert_eq!((nothing.occupied(), nothing.queued(), nothing.hits()), (None, None, None));
    }
}
