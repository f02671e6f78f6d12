//! Traffic between memories added by coherence (`[umh 6.1.4]`).

use super::{FABRICS, PROGRAMS, System, job, notes};
use crate::{Experiment, Measured, Options, Plan, Results, Row, Size, mean};

pub const EXPERIMENT: Experiment = Experiment {
    name: "umh-traffic",
    about: "messages of coherence between memories of GPUs and the host's, in percent of the data that travel there, on 4 GPUs",
    source: "UMH, 6.1.4",
    plan,
};

fn plan(options: Options) -> Plan {
    let size = options.size;
    let of_program = |program| FABRICS.map(|fabric| job(size, program, (System::Umh, fabric), 4, &[]));
    Plan {
        jobs: PROGRAMS.iter().flat_map(|(_, program)| of_program(program)).collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size)),
    }
}

/// Bytes of messages without data, in per cent of those with data. Requests for blocks are not counted: they would
/// exist without coherence as well.
fn share(run: &Measured) -> f64 {
    let of = |cause: &str| run.moved.get(cause).copied().unwrap_or(0) as f64;
    let data = of("remote line") + of("remote write");
    if data > 0.0 { 100.0 * of("coherence") / data } else { 0.0 }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for fabric in FABRICS {
        let runs = PROGRAMS.iter().filter_map(|(name, program)| {
            Some((*name, share(results.get(&job(size, program, (System::Umh, fabric), 4, &[]))?)))
        });
        let shares: Vec<(&str, f64)> = runs.collect();
        let values: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
        rows.extend(mean(&values).map(|mean| Row::new(format!("mean, {fabric}, %"), 0.08, mean)));
        rows.extend(shares.into_iter().map(|(name, share)| {
            let paper = (name == "FW").then_some(1.2);
            Row::new(format!("{name}, {fabric}, %"), paper, share)
        }));
    }
    rows
}
