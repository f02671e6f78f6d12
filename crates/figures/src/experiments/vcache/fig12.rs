//! Fig. 12 of the appendix (`[vcache]`): how long pages stay in the TLBs of compute units, and how long lines of caches
//! are used.
//!
//! Lifetimes are counted by powers of two of a cycle. The text's limit of 5 us is 3500 cycles; the nearest power of two
//! above it is 4096 cycles, 5.85 us. Entries that are still held at the end of a run do not count.

use super::{SMALL, WORKLOADS, Workload, count, job, notes};
use crate::{Experiment, Job, Measured, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "vc-fig12",
    about: "how long pages stay in TLBs of compute units, and for how long lines in L1s and in the L2 are used",
    source: "GPU virtual caches, appendix and Fig. 12",
    plan,
};

/// What is measured: its name, its histogram, and the percentage that lives longer than the limit according to the
/// text.
const LIVES: [(&str, &str, f64); 3] = [
    ("TLB entries", "gpu*.mmu.vector.resident_cycles", 10.0),
    ("lines in L1s", "gpu*.l1v.active_cycles", 40.0),
    ("lines in the L2", "gpu*.l2_*.active_cycles", 60.0),
];

/// Number of bits of the longest lifetimes that are told apart; `LIMIT_BITS` correspond to the text's limit.
const MOST_BITS: usize = 24;
const LIMIT_BITS: usize = 12;

/// The path of the count of lifetimes with this number of bits.
fn bucket(histogram: &str, bits: usize) -> String {
    format!("{histogram}.n{bits}")
}

fn bfs() -> &'static Workload {
    WORKLOADS.iter().find(|workload| workload.name == "bfs").expect("bfs is one of the workloads")
}

fn run(size: Size) -> Job {
    let paths = LIVES.iter().flat_map(|(_, histogram, _)| (0..=MOST_BITS).map(|bits| bucket(histogram, bits)));
    let paths: Vec<String> = paths.collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    job(bfs(), SMALL, size, &["gpu.lifetimes=true".to_owned()]).counting(&paths)
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let mut notes = notes(size);
    notes.push("the text's 5 us are 3500 cycles; lifetimes are counted above 4096 cycles, 5.85 us".to_owned());
    Plan {
        jobs: vec![run(size)],
        native: Vec::new(),
        alone: false,
        notes,
        rows: Box::new(move |results| rows(results, size)),
    }
}

/// Percentage of lifetimes with more than this number of bits of cycles.
fn longer(run: &Measured, histogram: &str, bits: usize) -> Option<f64> {
    let sum = |from: usize| (from..=MOST_BITS).map(|bits| count(run, &bucket(histogram, bits))).sum::<f64>();
    let all = sum(0);
    (all > 0.0).then(|| 100.0 * sum(bits + 1) / all)
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let Some(run) = results.get(&run(size)) else { return Vec::new() };
    let mut rows = Vec::new();
    for (name, histogram, paper) in LIVES {
        for bits in (LIMIT_BITS - 3)..=(LIMIT_BITS + 4) {
            let us = (1_u64 << bits) as f64 / run.gpu_hertz as f64 * 1e6;
            let row = |share| {
                Row::new(
                    format!("bfs, {name} that live longer than {us:.2} us, %"),
                    (bits == LIMIT_BITS).then_some(paper),
                    share,
                )
            };
            rows.extend(longer(run, histogram, bits).map(row));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_the_text_is_the_first_power_of_two_above_five_microseconds() {
        let cycles = 5e-6 * 700e6;
        assert!(cycles < f64::from(1 << LIMIT_BITS) && cycles > f64::from(1 << (LIMIT_BITS - 1)));
    }
}
