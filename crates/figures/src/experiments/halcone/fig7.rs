//! Fig. 7: the five systems with four GPUs on the standard benchmarks (`[halcone 5.1]`).

use super::{
    BENCHMARKS, Benchmark, HALCONE, HMG, L2_READS, L2_WRITES, NOTICES, RDMA, READS, SM_WB, SM_WT, WRITES, job, notes,
    over_benchmarks, sum,
};
use crate::{Experiment, Measured, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-fig7",
    about: "five systems of four GPUs: speedups over RDMA without coherence, and transactions below L1 and L2",
    source: "HALCONE, 5.1 and Fig. 7",
    plan,
};

/// The other systems, and their mean speed-ups over the baseline.
const SYSTEMS: [(&str, f64); 4] = [(HMG, 1.5), (SM_WB, 3.9), (SM_WT, 4.6), (HALCONE, 4.6)];

fn plan(options: Options) -> Plan {
    let size = options.size;
    let machines = std::iter::once(RDMA).chain(SYSTEMS.iter().map(|(machine, _)| *machine));
    let jobs = machines.flat_map(|machine| BENCHMARKS.iter().map(move |benchmark| job(benchmark, machine, size, &[])));
    Plan {
        jobs: jobs.collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size)),
    }
}

/// Messages between L2s and memory: reads, writes and eviction notices.
fn below_l2(run: &Measured) -> f64 {
    sum(run, &[READS, WRITES, NOTICES])
}

fn below_l1(run: &Measured) -> f64 {
    sum(run, &[L2_READS, L2_WRITES])
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let on = |machine: &'static str| move |benchmark: &Benchmark| job(benchmark, machine, size, &[]);
    let speedup = |machine: &'static str, benchmark: &Benchmark| {
        Some(results.get(&on(machine)(benchmark))?.speedup_over(results.get(&on(RDMA)(benchmark))?))
    };
    let mut rows = Vec::new();
    for (machine, paper) in SYSTEMS {
        for benchmark in &BENCHMARKS {
            let speedup = speedup(machine, benchmark);
            rows.extend(speedup.map(|speedup| Row::new(format!("{}, {machine}", benchmark.name), None, speedup)));
        }
        let mean = over_benchmarks(results, (&on(machine), &on(RDMA)), |run, base| run.speedup_over(base));
        rows.extend(mean.map(|mean| Row::new(format!("mean, {machine} over {RDMA}"), paper, mean)));
    }
    let mut mean = |name: &str, paper: Option<f64>, one, other, of: fn(&Measured, &Measured) -> f64| {
        let value = over_benchmarks(results, (&on(one), &on(other)), of);
        rows.extend(value.map(|value| Row::new(name, paper, value)));
    };
    let speed: fn(&Measured, &Measured) -> f64 = |run, base| run.speedup_over(base);
    mean("mean, HALCONE over HMG", Some(3.0), HALCONE, HMG, speed);
    mean("mean, HALCONE over SM-WT-NC (1% slower)", Some(0.99), HALCONE, SM_WT, speed);
    let l2: fn(&Measured, &Measured) -> f64 = |run, base| below_l2(run) / below_l2(base);
    mean("L2-memory transactions, SM-WB-NC over SM-WT-NC (22.7% fewer)", Some(0.773), SM_WB, SM_WT, l2);
    mean("L2-memory transactions, HALCONE over SM-WT-NC (1% more, 5.2.2)", Some(1.01), HALCONE, SM_WT, l2);
    let l1: fn(&Measured, &Measured) -> f64 = |run, base| below_l1(run) / below_l1(base);
    mean("L1-L2 transactions, SM-WT-NC over SM-WB-NC (the same)", Some(1.0), SM_WT, SM_WB, l1);
    mean("L1-L2 transactions, HALCONE over SM-WT-NC (1% more, 5.2.2)", Some(1.01), HALCONE, SM_WT, l1);
    for (name, bound, [least, most]) in [("compute", true, [1.2, 2.0]), ("memory", false, [3.0, 27.0])] {
        let all = BENCHMARKS.iter().filter(|benchmark| benchmark.compute_bound == bound);
        let all: Vec<f64> = all.filter_map(|benchmark| speedup(HALCONE, benchmark)).collect();
        let fold = |of: fn(f64, f64) -> f64| all.iter().copied().reduce(of);
        rows.extend(
            fold(f64::min)
                .map(|value| Row::new(format!("least gain of a {name}-bound benchmark, HALCONE"), least, value)),
        );
        rows.extend(
            fold(f64::max)
                .map(|value| Row::new(format!("greatest gain of a {name}-bound benchmark, HALCONE"), most, value)),
        );
    }
    let best = BENCHMARKS.iter().filter(|benchmark| ["mm", "conv"].contains(&benchmark.name));
    let best = best.filter_map(|benchmark| speedup(HMG, benchmark)).reduce(f64::max);
    rows.extend(best.map(|best| Row::new("greatest gain of HMG on mm and conv", 18.0, best)));
    rows
}
