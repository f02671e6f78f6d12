//! Study 2 of the dissertation on CPU-GPU collaboration: the best share of work for the CPU, and the best number of
//! threads (`[giles 4.4]`).

use super::collaborative::{self, PROGRAMS, Setting};
use crate::{Experiment, Options, Plan, Results, Row, mean};

pub const EXPERIMENT: Experiment = Experiment {
    name: "giles-study2",
    about: "collaborative programs over the GPU alone: threads of the CPU by its share of the work",
    source: "KnightSim and M2S-CGM, 4.4.2 and Table 4.2",
    plan,
};

/// The paper's speed-ups, in the order of [`PROGRAMS`].
const MEAN: [f64; 5] = [1.52, 1.36, 1.47, 1.69, 0.86];
const BEST: [f64; 5] = [2.23, 1.74, 2.0, 2.2, 1.24];

fn settings(quick: bool) -> Vec<Setting> {
    let (threads, shares) = match quick {
        true => (vec![8], vec![20, 40, 60, 80]),
        false => ((1..=8).collect(), (20..=80).step_by(10).collect::<Vec<u32>>()),
    };
    threads.into_iter().flat_map(|threads| shares.iter().map(move |&share| Setting { threads, share })).collect()
}

fn plan(options: Options) -> Plan {
    let quick = options.size.is_quick();
    collaborative::plan(
        |program| {
            let shared = settings(quick).into_iter().map(|setting| program.job(quick, setting));
            std::iter::once(program.job(quick, Setting::GPU_ALONE)).chain(shared).collect()
        },
        &["mean and best are over all settings that are run"],
        Box::new(move |results| rows(results, quick)),
    )
}

fn rows(results: &Results, quick: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, program) in PROGRAMS.iter().enumerate() {
        let Some(base) = results.get(&program.job(quick, Setting::GPU_ALONE)) else { continue };
        let speedup = |setting| Some((setting, results.get(&program.job(quick, setting))?.speedup_over(base)));
        // Only if all settings have results: a mean or best of some settings would not be comparable.
        let speedups: Option<Vec<(Setting, f64)>> = settings(quick).into_iter().map(speedup).collect();
        let Some(speedups) = speedups else { continue };
        let all: Vec<f64> = speedups.iter().map(|(_, speedup)| *speedup).collect();
        // Among equals, the first.
        let best = speedups.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(mean), Some(&(Setting { threads, share }, best))) = (mean(&all), best) else { continue };
        let name = program.name;
        rows.push(Row::new(format!("{name}, mean"), MEAN[at], mean));
        rows.push(Row::new(format!("{name}, best"), BEST[at], best));
        rows.push(Row::new(format!("{name}, threads of the best"), f64::from(program.best.threads), threads.into()));
        rows.push(Row::new(format!("{name}, CPU share of the best (%)"), f64::from(program.best.share), share.into()));
    }
    rows
}
