//! The benefit of block transfers between GPUs (`[umh 4.1.1]`).

use super::{FABRICS, PROGRAMS, System, job, mean, notes, speedups};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "umh-peer",
    about: "blocks that GPUs give to each other, over blocks that go through the host's memory, on 4 GPUs",
    source: "UMH, 4.1.1",
    plan,
};

fn runs(size: Size, program: &str, fabric: &str, peer: bool) -> Job {
    let changes: &[&str] = if peer { &[] } else { &["gpu.memory.peer_transfer=false"] };
    job(size, program, (System::Umh, fabric), 4, changes)
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let of_program = |program| {
        FABRICS.into_iter().flat_map(move |fabric| [true, false].map(|peer| runs(size, program, fabric, peer)))
    };
    Plan {
        jobs: PROGRAMS.iter().flat_map(|(_, program)| of_program(program)).collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for fabric in FABRICS {
        let speedups = speedups(
            results,
            |program| runs(size, program, fabric, true),
            |program| runs(size, program, fabric, false),
        );
        rows.extend(mean(&speedups).map(|mean| Row::new(format!("peer transfer, {fabric}, mean"), 1.05, mean)));
        rows.extend(speedups.into_iter().map(|(name, speedup)| Row::new(format!("{name}, {fabric}"), None, speedup)));
    }
    rows
}
