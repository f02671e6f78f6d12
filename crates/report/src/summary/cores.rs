//! The cores of a CPU: what they executed, and where their cycles went (`003_07d33ec44b25be67.txt`, 3.2.2).

use super::{
    caches::{self, CacheLevel},
    elements::Elements,
};
use crate::figures::ratio;
use engine::Statistics;
use serde::Serialize;

/// What a cycle of a core was spent on, by the name of the statistic and as it is told.
pub(crate) const PHASES: [(&str, &str); 6] = [
    ("busy", "executed"),
    ("read_stall", "waited for loads"),
    ("write_stall", "waited for stores"),
    ("fetch_stall", "had nothing fetched"),
    ("system", "was in the kernel"),
    ("idle", "had no thread"),
];

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cores {
    pub count: usize,
    /// Those that had a thread at any time.
    pub used: usize,
    pub instructions: u64,
    pub micro_ops: u64,
    /// Cycles in which they had a thread, of all cores together, and of the one that had most.
    pub cycles: u64,
    pub longest: u64,
    /// Cycles of all cores by what they were spent on.
    pub phases: Vec<(String, u64)>,
    pub branches: u64,
    pub mispredictions: u64,
    pub caches: Vec<CacheLevel>,
}

impl Cores {
    /// None if the machine has no CPU. `cycles` of its clock passed.
    pub(super) fn of(total: &Statistics, cycles: u64) -> Option<Self> {
        let cores: Vec<&str> = total.0.keys().filter_map(|path| path.strip_suffix(".cycles.read_stall")).collect();
        if cores.is_empty() {
            return None;
        }
        let sum = |name: &str| cores.iter().map(|core| total.count(&format!("{core}.{name}"))).sum::<u64>();
        let phases: Vec<(String, u64)> =
            PHASES.iter().map(|(name, _)| ((*name).to_owned(), sum(&format!("cycles.{name}")))).collect();
        let with_thread = |core: &&str| {
            let all = PHASES.iter().map(|(name, _)| total.count(&format!("{core}.cycles.{name}"))).sum::<u64>();
            all - total.count(&format!("{core}.cycles.idle"))
        };
        let with_thread: Vec<u64> = cores.iter().map(with_thread).collect();
        Some(Self {
            count: cores.len(),
            used: with_thread.iter().filter(|cycles| **cycles > 0).count(),
            instructions: sum("instructions"),
            micro_ops: sum("micro_ops"),
            cycles: with_thread.iter().sum(),
            longest: with_thread.iter().copied().max().unwrap_or(0),
            phases,
            branches: sum("branches"),
            mispredictions: ["direction", "target", "return"]
                .map(|kind| sum(&format!("mispredicted.{kind}")))
                .iter()
                .sum(),
            caches: caches::levels(&Elements::of(total), total, cycles),
        })
    }

    /// Instructions in a cycle of a core that has a thread.
    pub fn per_cycle(&self) -> f64 {
        ratio(self.instructions as f64, self.cycles as f64)
    }
}
