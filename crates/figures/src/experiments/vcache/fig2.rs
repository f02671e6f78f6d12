//! Fig. 2: how often the TLBs of compute units miss, and where the missed accesses then find their line (`[vcache
//! 3.1]`, observation 1).
//!
//! A look-up of a page that is already being fetched counts as a miss, too. The place of the line is known for reads:
//! the first-level cache (or on its way there), the second-level cache, or neither.

use super::{
    Group, L1_HIT, L1_MERGED, L1_MISS, L2_HIT, L2_MERGED, L2_MISS, SMALL, TLB_HITS, TLB_MERGED, TLB_MISSES, WORKLOADS,
    Workload, count, job, jobs, notes, over,
};
use crate::{Experiment, Measured, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "vc-fig2",
    about: "misses of the TLBs of compute units by their size, and where the line was",
    source: "GPU virtual caches, 3.1 and Fig. 2",
    plan,
};

/// Entries of a TLB, by size of the experiment. A TLB without limit shows the misses that no TLB avoids.
fn entries(size: Size) -> &'static [&'static str] {
    size.of(&["32", "128"], &["32", "64", "128", "infinite"], &["32", "64", "128", "infinite"])
}

fn changes(entries: &str) -> Vec<String> {
    let ways = (entries != "infinite").then(|| format!("gpu.mmu.ways={entries}"));
    // The machine has 32 entries by default: those runs are shared with other experiments.
    let change = (entries != "32").then(|| format!("gpu.mmu.entries={entries}"));
    change.iter().cloned().chain(ways.filter(|_| change.is_some())).collect()
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let jobs = entries(size).iter().flat_map(|entries| jobs(SMALL, size, &changes(entries)).collect::<Vec<_>>());
    Plan {
        jobs: jobs.collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn miss_ratio(run: &Measured) -> f64 {
    let missed = count(run, TLB_MISSES) + count(run, TLB_MERGED);
    100.0 * missed / (missed + count(run, TLB_HITS)).max(1.0)
}

/// Percentage of reads with a TLB miss that find their line in the first level, in the second, and in neither.
fn places(run: &Measured) -> Option<[f64; 3]> {
    let first = count(run, L1_HIT) + count(run, L1_MERGED);
    let (second, neither) = (count(run, L2_HIT) + count(run, L2_MERGED), count(run, L2_MISS));
    let reads = first + count(run, L1_MISS);
    let passed = count(run, L1_MISS) / (second + neither).max(1.0);
    (reads > 0.0).then(|| [first, second * passed, neither * passed].map(|n| 100.0 * n / reads))
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for entries in entries(size) {
        let changes = changes(entries);
        let run = |workload: &Workload| results.get(&job(workload, SMALL, size, &changes));
        for workload in &WORKLOADS {
            let ratio = run(workload).map(miss_ratio);
            rows.extend(
                ratio.map(|ratio| Row::new(format!("{}, {entries} entries, % missed", workload.name), None, ratio)),
            );
        }
        let paper = |value: f64| (*entries == "32").then_some(value);
        let ratio = over(Group::All, |workload| run(workload).map(miss_ratio));
        rows.extend(ratio.map(|ratio| Row::new(format!("mean, {entries} entries, % missed"), paper(56.0), ratio)));
        let stated = [("in the L1", 31.0), ("in the L2", 35.0), ("in neither", 34.0)];
        let mean = |at: usize| over(Group::All, |workload| Some(places(run(workload)?)?[at]));
        for (at, (place, value)) in stated.into_iter().enumerate() {
            let name = format!("mean, {entries} entries, line {place}, % of misses");
            rows.extend(mean(at).map(|share| Row::new(name, paper(value), share)));
        }
        let filtered = match *entries {
            "32" => Some(66.0),
            "128" => Some(65.0),
            _ => None,
        };
        let both = mean(0).zip(mean(1)).map(|(first, second)| first + second);
        let name = format!("mean, {entries} entries, virtual caches would filter, % of misses");
        rows.extend(both.map(|both| Row::new(name, filtered, both)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn a_tlb_without_limit_has_no_ways() {
        assert_eq!(changes("infinite"), ["gpu.mmu.entries=infinite"]);
        assert_eq!(changes("64"), ["gpu.mmu.entries=64", "gpu.mmu.ways=64"]);
        assert!(changes("32").is_empty());
    }
}
