//! Fig. 8: bytes moved by lazy- and rolling-update, relative to batch-update.

use super::{HARDWARE, PARBOIL, ROLLING, Way, parboil, plan};
use crate::{Experiment, Options, Plan, Results, Row, Size, job::ratio};

pub const EXPERIMENT: Experiment = Experiment {
    name: "adsm-fig8",
    about: "Parboil under lazy- and rolling-update: bytes moved over those of batch-update",
    source: "GMAC, 5.1, Fig. 8",
    plan: figure,
};

/// Values measured with the native runtime, in the order of [`PARBOIL`]: lazy, rolling.
const MEASURED_NATIVELY: [[f64; 2]; 7] =
    [[1.0, 0.93], [0.81, 0.50], [0.81, 0.50], [0.14, 0.13], [0.57, 0.50], [0.53, 0.50], [1.0, 0.50]];

const WAYS: [(&str, Way); 2] = [("lazy", Way::Lazy), ("rolling", ROLLING)];

fn figure(options: Options) -> Plan {
    let size = options.size;
    let of_program = |at| [Way::Batch, Way::Lazy, ROLLING].map(|way| parboil(at, size, way));
    let jobs = (0..PARBOIL.len()).flat_map(of_program).collect();
    plan(jobs, &[HARDWARE], Box::new(move |results| rows(results, size)))
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, (program, _)) in PARBOIL.iter().enumerate() {
        let Some(batch) = results.get(&parboil(at, size, Way::Batch)) else { continue };
        for (number, (protocol, way)) in WAYS.iter().enumerate() {
            let Some(run) = results.get(&parboil(at, size, *way)) else { continue };
            let share = ratio(run.moved_data(), batch.moved_data());
            let row = Row::new(format!("{program}, {protocol}"), None, share);
            rows.push(row.beside(MEASURED_NATIVELY[at][number]));
        }
    }
    rows
}
