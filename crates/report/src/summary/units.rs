//! Compute units: where their cycles went, and their occupancy.

use super::{Spread, elements::Elements};
use crate::{facts::Facts, figures::ratio};
use engine::{Statistics, Value};
use serde::{Deserialize, Serialize};

/// All compute units together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Units {
    pub count: usize,
    /// Number of units that ever had a wavefront.
    pub used: usize,
    /// Shares of kernel time; they add up to 1.
    pub breakdown: Vec<Share>,
    /// Resident wavefronts; `wave_slots`: the maximum per unit.
    pub waves: Spread,
    pub wave_slots: u64,
    pub wavefronts: u64,
    /// Instructions by kind.
    pub instructions: Vec<(String, u64)>,
    /// Shares of all cycles of all units: with an LDS bank conflict, and (`line_slots_full`) without a free slot for a
    /// line.
    pub lds_conflicts: f64,
    pub line_slots_full: f64,
    /// The shares of each unit, in the order of `breakdown`.
    #[serde(skip)]
    pub(crate) each: Vec<(String, Vec<f64>)>,
}

/// The share of cycles that a reason takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The name in the statistics: `vector_memory`.
    pub reason: String,
    pub share: Spread,
}

/// What a unit's cycle is spent on: the name in the statistics, and the name for people.
pub(crate) const REASONS: [(&str, &str); 9] = [
    ("issue", "issued an instruction"),
    ("vector", "vector ALUs busy"),
    ("vector_memory", "waited for vector memory"),
    ("scalar", "waited for scalars"),
    ("local", "waited for local data share"),
    ("code", "waited for instructions"),
    ("barrier", "waited at a barrier"),
    ("no_wave", "had no wavefront"),
    ("launch", "kernel was being launched"),
];

const NO_WAVE: usize = 7;

impl Units {
    /// `cycles`: duration of the run; `kernel_cycles`: cycles in which kernels ran.
    pub(super) fn of(
        elements: &Elements,
        total: &Statistics,
        facts: Facts,
        cycles: u64,
        kernel_cycles: u64,
    ) -> Option<Self> {
        if elements.units.is_empty() {
            return None;
        }
        let count = |unit: &str, what: &str| total.count(&format!("{unit}.{what}"));
        let sum = |what: &str| elements.units.iter().map(|unit| count(unit, what)).sum::<u64>();
        let share = |unit: &String| {
            let mut of: Vec<u64> = REASONS.iter().map(|(name, _)| count(unit, &format!("cycles.{name}"))).collect();
            // Cycles that a unit has not accounted for count as `NO_WAVE`; cycles between kernels are subtracted.
            let open = cycles.saturating_sub(of.iter().sum());
            of[NO_WAVE] = (of[NO_WAVE] + open).saturating_sub(cycles.saturating_sub(kernel_cycles));
            let all: u64 = of.iter().sum();
            (unit.clone(), of.into_iter().map(|n| ratio(n as f64, all as f64)).collect())
        };
        let each: Vec<(String, Vec<f64>)> = elements.units.iter().map(share).collect();
        let breakdown = REASONS.iter().enumerate().map(|(at, (reason, _))| {
            let shares: Vec<f64> = each.iter().map(|(_, shares)| shares[at]).collect();
            Share { reason: (*reason).to_owned(), share: Spread::of(&shares) }
        });
        let waves: Vec<f64> = elements.units.iter().map(|unit| resident(total, unit, kernel_cycles)).collect();
        let all_cycles = kernel_cycles as f64 * elements.units.len() as f64;
        Some(Self {
            count: elements.units.len(),
            used: elements.units.iter().filter(|unit| count(unit, "wavefronts") > 0).count(),
            breakdown: breakdown.collect(),
            waves: Spread::of(&waves),
            wave_slots: facts.wave_slots,
            wavefronts: sum("wavefronts"),
            instructions: by_kind(elements, total),
            lds_conflicts: ratio(sum("lds_conflict_cycles") as f64, all_cycles),
            line_slots_full: ratio(sum("line_slots_full_cycles") as f64, all_cycles),
            each,
        })
    }

    /// The average share of a reason.
    pub fn share(&self, reason: &str) -> f64 {
        self.breakdown.iter().find(|share| share.reason == reason).map_or(0.0, |share| share.share.mean)
    }
}

/// Average number of resident wavefronts of a unit over kernel time.
fn resident(total: &Statistics, unit: &str, kernel_cycles: u64) -> f64 {
    match total.get(&format!("{unit}.resident")) {
        Some(Value::Series(spans)) => ratio(spans.sums.iter().sum::<u64>() as f64, kernel_cycles as f64),
        _ => 0.0,
    }
}

fn by_kind(elements: &Elements, total: &Statistics) -> Vec<(String, u64)> {
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for unit in &elements.units {
        let below = format!("{unit}.instructions.");
        for (path, _) in total.starting(&below) {
            let (kind, n) = (&path[below.len()..], total.count(path));
            match kinds.iter_mut().find(|(name, _)| name == kind) {
                Some((_, sum)) => *sum += n,
                None => kinds.push((kind.to_owned(), n)),
            }
        }
    }
    kinds
}
