//! The cores of a CPU: instructions executed, and where their cycles went (`[giles 3.2.2]`).

use super::{
    caches::{self, CacheLevel},
    elements::{Elements, by_number},
};
use crate::figures::ratio;
use engine::Statistics;
use serde::{Deserialize, Serialize};

/// The phases of a core's cycles: the name in the statistics, and the name for people.
pub(crate) const PHASES: [(&str, &str); 6] = [
    ("busy", "executed"),
    ("read_stall", "waited for loads"),
    ("write_stall", "waited for stores"),
    ("fetch_stall", "had nothing fetched"),
    ("system", "was in the kernel"),
    ("idle", "had no thread"),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cores {
    pub count: usize,
    /// Number of cores that ever had a thread.
    pub used: usize,
    pub instructions: u64,
    pub micro_ops: u64,
    /// Cycles with a thread, of all cores together; `longest`: of the core that had most.
    pub cycles: u64,
    pub longest: u64,
    /// Cycles of all cores by phase.
    pub phases: Vec<(String, u64)>,
    pub branches: u64,
    pub mispredictions: u64,
    pub caches: Vec<CacheLevel>,
    /// Each core, in order of number.
    pub each: Vec<Core>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// The core's path: `cpu.core0`.
    pub name: String,
    pub instructions: u64,
    /// Cycles in which it had a thread.
    pub cycles: u64,
    /// Shares of all its cycles by phase, in the order of [`Cores::phases`].
    pub shares: Vec<f64>,
}

impl Core {
    /// Instructions per cycle with a thread.
    pub fn per_cycle(&self) -> f64 {
        ratio(self.instructions as f64, self.cycles as f64)
    }
}

impl Cores {
    /// `None` if the machine has no CPU. `cycles`: duration in the CPU's clock.
    pub(super) fn of(total: &Statistics, cycles: u64) -> Option<Self> {
        let mut cores: Vec<&str> = total.0.keys().filter_map(|path| path.strip_suffix(".cycles.read_stall")).collect();
        if cores.is_empty() {
            return None;
        }
        cores.sort_by_cached_key(|core| by_number(core));
        let sum = |name: &str| cores.iter().map(|core| total.count(&format!("{core}.{name}"))).sum::<u64>();
        let phases: Vec<(String, u64)> =
            PHASES.iter().map(|(name, _)| ((*name).to_owned(), sum(&format!("cycles.{name}")))).collect();
        let each = |core: &&str| {
            let of = PHASES.map(|(name, _)| total.count(&format!("{core}.cycles.{name}")));
            let all: u64 = of.iter().sum();
            Core {
                name: (*core).to_owned(),
                instructions: total.count(&format!("{core}.instructions")),
                cycles: all - total.count(&format!("{core}.cycles.idle")),
                shares: of.map(|cycles| ratio(cycles as f64, all as f64)).to_vec(),
            }
        };
        let each: Vec<Core> = cores.iter().map(each).collect();
        Some(Self {
            count: cores.len(),
            used: each.iter().filter(|core| core.cycles > 0).count(),
            instructions: sum("instructions"),
            micro_ops: sum("micro_ops"),
            cycles: each.iter().map(|core| core.cycles).sum(),
            longest: each.iter().map(|core| core.cycles).max().unwrap_or(0),
            phases,
            branches: sum("branches"),
            mispredictions: ["direction", "target", "return"]
                .map(|kind| sum(&format!("mispredicted.{kind}")))
                .iter()
                .sum(),
            caches: caches::levels(&Elements::of(total), total, cycles),
            each,
        })
    }

    /// The share of a phase in the cycles in which cores had a thread.
    pub fn share(&self, phase: &str) -> f64 {
        let cycles = self.phases.iter().find(|(name, _)| name == phase).map_or(0, |(_, cycles)| *cycles);
        ratio(cycles as f64, self.cycles as f64)
    }

    /// A level of the CPU's caches, if it exists.
    pub fn level(&self, name: &str) -> Option<&CacheLevel> {
        self.caches.iter().find(|cache| cache.level == name)
    }

    /// Instructions per cycle of a core that has a thread.
    pub fn per_cycle(&self) -> f64 {
        ratio(self.instructions as f64, self.cycles as f64)
    }
}
