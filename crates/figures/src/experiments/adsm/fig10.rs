//! Fig. 10: where the time of the programs goes under rolling-update.

use super::{HARDWARE, PARBOIL, ROLLING, parboil, plan};
use crate::{Experiment, Measured, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "adsm-fig10",
    about: "Parboil under rolling-update: shares of time of the host, of kernels, of faults, and of calls and waiting for bytes",
    source: "GMAC, 5.1, Fig. 10",
    plan: figure,
};

/// "Always below 2% of the total execution time."
const FAULTS: f64 = 2.0;

/// Shares of the native runtime's time in per cent, in the order of [`PARBOIL`]: host, kernels, faults.
const MEASURED_NATIVELY: [[f64; 3]; 7] = [
    [2.0, 97.4, 0.2],
    [5.7, 92.7, 0.5],
    [7.4, 90.6, 0.7],
    [9.8, 84.0, 1.5],
    [0.2, 99.2, 0.1],
    [95.9, 2.2, 1.2],
    [1.7, 98.1, 0.1],
];

fn figure(options: Options) -> Plan {
    let size = options.size;
    let jobs = (0..PARBOIL.len()).map(|at| parboil(at, size, ROLLING)).collect();
    let notes = [
        HARDWARE,
        "the paper's 2% of faults is a bound: it says that they take less in every program, at its sizes",
        "programs here read no files: the paper's mri-fhd and mri-q do, and spend much of their time on it",
    ];
    plan(jobs, &notes, Box::new(move |results| rows(results, size)))
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, (program, _)) in PARBOIL.iter().enumerate() {
        let Some(run) = results.get(&parboil(at, size, ROLLING)) else { continue };
        for (number, (part, share)) in shares(run).into_iter().enumerate() {
            let paper = (part == "faults").then_some(FAULTS);
            let row = Row::new(format!("{program}, {part} (%)"), paper, share);
            rows.push(match MEASURED_NATIVELY[at].get(number) {
                Some(native) => row.beside(*native),
                None => row,
            });
        }
    }
    rows
}

/// Shares in per cent. The host of these machines executes one instruction per nanosecond, and does nothing else while
/// kernels run.
fn shares(run: &Measured) -> [(&'static str, f64); 4] {
    let host = run.cpu_instructions * 1_000_000;
    let rest = run.end_fs.saturating_sub(host + run.kernels_fs + run.fault_fs);
    let share = |part: u64| part as f64 / run.end_fs as f64 * 100.0;
    [
        ("host", share(host)),
        ("kernels", share(run.kernels_fs)),
        ("faults", share(run.fault_fs)),
        ("calls and waiting for bytes", share(rest)),
    ]
}
