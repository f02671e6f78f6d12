//! Fig. 8: how HALCONE scales with the number of GPUs and of compute units, with constant inputs (`[halcone 5.2]`).

use super::{BENCHMARKS, Benchmark, HALCONE, NOTICES, READS, WRITES, job, notes, over_benchmarks, sum};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-fig8",
    about: "HALCONE on 1 to 16 GPUs, and with 32, 48 and 64 compute units in each of four",
    source: "HALCONE, 5.2 and Fig. 8",
    plan,
};

/// Numbers of GPUs, and mean speed-ups over one.
const GPUS: [(usize, f64); 4] = [(2, 1.76), (4, 2.74), (8, 4.05), (16, 5.43)];
/// Compute units of each of four GPUs, how many of them share an instruction cache, and mean speed-ups over 32.
const UNITS: [(usize, usize, f64); 2] = [(48, 6, 1.12), (64, 8, 1.24)];
const USUAL: usize = 4;

fn with_gpus(benchmark: &Benchmark, gpus: usize, size: Size) -> Job {
    let change = [format!("gpus={gpus}")];
    job(benchmark, HALCONE, size, if gpus == USUAL { &[] } else { &change })
}

fn with_units(benchmark: &Benchmark, units_per_array: usize, size: Size) -> Job {
    job(benchmark, HALCONE, size, &[format!("gpu.units_per_array={units_per_array}")])
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let of_benchmark = move |benchmark: &'static Benchmark| {
        let gpus = [1].into_iter().chain(GPUS.map(|(gpus, _)| gpus)).map(move |gpus| with_gpus(benchmark, gpus, size));
        gpus.chain(UNITS.map(|(_, units, _)| with_units(benchmark, units, size)))
    };
    Plan {
        jobs: BENCHMARKS.iter().flat_map(of_benchmark).collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for benchmark in &BENCHMARKS {
        let Some(one) = results.get(&with_gpus(benchmark, 1, size)) else { continue };
        for (gpus, _) in GPUS {
            let run = results.get(&with_gpus(benchmark, gpus, size));
            rows.extend(
                run.map(|run| Row::new(format!("{}, {gpus} GPUs", benchmark.name), None, run.speedup_over(one))),
            );
        }
    }
    for (gpus, paper) in GPUS {
        let (many, one) = (
            |benchmark: &Benchmark| with_gpus(benchmark, gpus, size),
            |benchmark: &Benchmark| with_gpus(benchmark, 1, size),
        );
        let mean = over_benchmarks(results, (&many, &one), |run, one| run.speedup_over(one));
        rows.extend(mean.map(|mean| Row::new(format!("mean, {gpus} GPUs"), paper, mean)));
    }
    for (units, per_array, paper) in UNITS {
        let more = |benchmark: &Benchmark| with_units(benchmark, per_array, size);
        let usual = |benchmark: &Benchmark| with_gpus(benchmark, USUAL, size);
        for benchmark in &BENCHMARKS {
            let both = results.get(&more(benchmark)).zip(results.get(&usual(benchmark)));
            rows.extend(both.map(|(run, base)| {
                Row::new(format!("{}, {units} compute units", benchmark.name), None, run.speedup_over(base))
            }));
        }
        let mean = over_benchmarks(results, (&more, &usual), |run, base| run.speedup_over(base));
        rows.extend(mean.map(|mean| Row::new(format!("mean, {units} compute units"), paper, mean)));
        let messages = over_benchmarks(results, (&more, &usual), |run, base| {
            sum(run, &[READS, WRITES, NOTICES]) / sum(base, &[READS, WRITES, NOTICES])
        });
        rows.extend(
            messages.map(|mean| Row::new(format!("L2-memory transactions, {units} compute units over 32"), None, mean)),
        );
    }
    rows
}
