//! The validation of the dissertation on CPU-GPU collaboration: speed-ups of OpenMP programs by number of threads,
//! simulated and on a real computer (`[giles 3.4.2, Fig. 3.14]`).
//!
//! The paper's real computer had four cores. A comparison with a computer that has fewer, or that is busy, says little.

use super::RODINIA;
use crate::{Experiment, Job, Options, Plan, Results, Row, mean};

pub const EXPERIMENT: Experiment = Experiment {
    name: "giles-validation",
    about: "OpenMP programs with 2 and 4 threads over one: simulated, and with --native on this computer",
    source: "KnightSim and M2S-CGM, 3.4.2",
    plan,
};

const MACHINE: &str = "apu4-nc-mc";

/// Numbers of threads, and the paper's mean differences between simulated and real speed-ups.
const THREADS: [(u32, f64); 2] = [(2, 0.104), (4, 0.22)];

/// Sizes of quick runs, in the order of [`RODINIA`].
const SMALL: [&str; 6] = ["2048", "80", "800", "96x96", "192", "4096"];

fn job(at: usize, threads: u32, quick: bool) -> Job {
    let size = if quick { SMALL[at] } else { "usual" };
    Job::new(MACHINE, &format!("{}-omp", RODINIA[at].1), &format!("--size {size} --threads {threads}"))
}

fn plan(Options { size, native }: Options) -> Plan {
    let quick = size.is_quick();
    let threads = || std::iter::once(1).chain(THREADS.map(|(threads, _)| threads));
    let jobs: Vec<Job> =
        (0..RODINIA.len()).flat_map(|at| threads().map(move |threads| job(at, threads, quick))).collect();
    let mut notes = Vec::new();
    if native {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        notes.push(format!("this computer has {cores} processors; the paper's had 4 cores, and was otherwise idle"));
        if quick {
            notes.push("small inputs take microseconds here: what starting threads costs hides the speedup".into());
        }
    } else {
        notes.push("the paper reports differences to a real computer: --native measures this one".into());
    }
    Plan {
        native: if native { jobs.clone() } else { Vec::new() },
        jobs,
        alone: false,
        notes,
        rows: Box::new(move |results| rows(results, quick)),
    }
}

fn rows(results: &Results, quick: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, (name, _)) in RODINIA.iter().enumerate() {
        let one = job(at, 1, quick);
        let ratio = results.get(&one).zip(results.native(&one));
        rows.extend(ratio.map(|(simulated, native)| {
            Row::new(
                format!("{name}, one thread, simulated time over native"),
                None,
                simulated.region_fs as f64 * 1e-15 / native,
            )
        }));
    }
    for (threads, paper) in THREADS {
        let mut differences = Vec::new();
        for (at, (name, _)) in RODINIA.iter().enumerate() {
            let (one, several) = (job(at, 1, quick), job(at, threads, quick));
            let simulated =
                results.get(&one).zip(results.get(&several)).map(|(one, several)| several.speedup_over(one));
            let native = results.native(&one).zip(results.native(&several)).map(|(one, several)| one / several);
            let row = |how: &str, speedup| Row::new(format!("{name}, {threads} threads, {how}"), None, speedup);
            rows.extend(simulated.map(|speedup| row("simulated", speedup)));
            rows.extend(native.map(|speedup| row("native", speedup)));
            differences.extend(simulated.zip(native).map(|(simulated, native)| difference(simulated, native)));
        }
        let all = mean(&differences).filter(|_| differences.len() == RODINIA.len());
        // On a busy computer the difference says nothing about the simulation, so it is not compared with the paper's.
        let paper = Some(paper).filter(|_| results.was_quiet());
        rows.extend(all.map(|mean| Row::new(format!("mean difference, {threads} threads"), paper, mean)));
        let spreads: Vec<f64> =
            (0..RODINIA.len()).filter_map(|at| results.native_spread(&job(at, threads, quick))).collect();
        let spread = mean(&spreads).filter(|_| spreads.len() == RODINIA.len());
        rows.extend(
            spread.map(|spread| Row::new(format!("mean spread of repetitions, {threads} threads"), None, spread)),
        );
    }
    rows
}

/// The difference relative to the real value.
fn difference(simulated: f64, native: f64) -> f64 {
    (simulated - native).abs() / native
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_no_sign() {
        assert_eq!((difference(1.5, 2.0), difference(2.5, 2.0)), (0.25, 0.25));
    }
}
