//! Fig. 7: slowdown of programs under each protocol, relative to versions with explicit copies.

use super::{HARDWARE, PARBOIL, PROTOCOLS, Way, parboil, plan, slowdown};
use crate::{Experiment, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "adsm-fig7",
    about: "Parboil under batch-, lazy- and rolling-update: time over that of programs written by hand",
    source: "GMAC, 5.1, Fig. 7",
    plan: figure,
};

/// Values stated in the text: the two largest of batch-update; lazy- and rolling-update "achieve performance equal" to
/// CUDA.
fn paper(program: &str, protocol: &str) -> Option<f64> {
    match (program, protocol) {
        ("pns", "batch") => Some(65.18),
        ("rpes", "batch") => Some(18.64),
        (_, "batch") => None,
        _ => Some(1.0),
    }
}

/// Values measured with the native runtime, in the order of [`PARBOIL`] and [`PROTOCOLS`].
const MEASURED_NATIVELY: [[f64; 3]; 7] = [
    [1.00, 1.00, 1.00],
    [1.01, 1.00, 1.01],
    [1.01, 1.00, 1.01],
    [1.40, 0.97, 0.97],
    [1.00, 1.00, 1.00],
    [1.05, 1.01, 0.96],
    [1.00, 1.00, 1.00],
];

fn figure(options: Options) -> Plan {
    let size = options.size;
    let of_program = |at| {
        let protocols = PROTOCOLS.iter().map(move |(_, way)| parboil(at, size, *way));
        std::iter::once(parboil(at, size, Way::ByHand)).chain(protocols)
    };
    let jobs = (0..PARBOIL.len()).flat_map(of_program).collect();
    plan(jobs, &[HARDWARE], Box::new(move |results| rows(results, size)))
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, (program, _)) in PARBOIL.iter().enumerate() {
        let Some(by_hand) = results.get(&parboil(at, size, Way::ByHand)) else { continue };
        for (number, (protocol, way)) in PROTOCOLS.iter().enumerate() {
            let Some(run) = results.get(&parboil(at, size, *way)) else { continue };
            let row = Row::new(format!("{program}, {protocol}"), paper(program, protocol), slowdown(run, by_hand));
            rows.push(row.beside(MEASURED_NATIVELY[at][number]));
        }
    }
    rows
}
