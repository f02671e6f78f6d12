//! Fig. 13: run times under three kinds of memory management, and their scaling (`[umh 6.1]`).

use super::{FABRICS, GPUS, PROGRAMS, System, job, mean, notes, speedups};
use crate::{Experiment, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "umh-fig13",
    about: "a unified memory hierarchy against copies and accesses from afar, on 1, 2 and 4 GPUs over PCI Express and NVLink",
    source: "UMH, 6.1 and Fig. 13",
    plan,
};

/// Speed-up of UMH over copies, by number of GPUs; the paper does not name the fabric.
const OVER_MEMCPY: [f64; 3] = [1.54, 2.12, 1.92];

/// Speed-up from one GPU to four: UMH, copies, remote accesses.
const SCALING: [(System, &str, f64); 3] =
    [(System::Umh, "UMH", 2.3), (System::Memcpy, "MC", 1.76), (System::ZeroCopy, "ZC", 1.5)];

const SYSTEMS: [System; 3] = [System::Umh, System::Memcpy, System::ZeroCopy];

fn plan(options: Options) -> Plan {
    let size = options.size;
    let mut jobs = Vec::new();
    for (_, program) in PROGRAMS {
        for (system, fabric) in SYSTEMS.into_iter().flat_map(|system| FABRICS.map(|fabric| (system, fabric))) {
            jobs.extend(GPUS.map(|gpus| job(size, program, (system, fabric), gpus, &[])));
        }
    }
    let mut notes = notes(size);
    notes.push("the paper's means do not say over which fabric: both are compared with them".into());
    Plan { jobs, native: Vec::new(), alone: false, notes, rows: Box::new(move |results| rows(results, size)) }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    let over = |fast: System, slow: System, fabric: &'static str, gpus: usize| {
        speedups(
            results,
            |program| job(size, program, (fast, fabric), gpus, &[]),
            |program| job(size, program, (slow, fabric), gpus, &[]),
        )
    };
    for fabric in FABRICS {
        for (gpus, paper) in GPUS.into_iter().zip(OVER_MEMCPY) {
            let mean = mean(&over(System::Umh, System::Memcpy, fabric, gpus));
            rows.extend(mean.map(|mean| Row::new(format!("UMH over MC, {gpus} GPUs, {fabric}, mean"), paper, mean)));
        }
        for gpus in GPUS {
            let mean = mean(&over(System::Umh, System::ZeroCopy, fabric, gpus));
            let paper = (gpus == 4).then_some(5.38);
            rows.extend(mean.map(|mean| Row::new(format!("UMH over ZC, {gpus} GPUs, {fabric}, mean"), paper, mean)));
        }
        for (system, name, paper) in SCALING {
            let scaling = speedups(
                results,
                |program| job(size, program, (system, fabric), 4, &[]),
                |program| job(size, program, (system, fabric), 1, &[]),
            );
            rows.extend(
                mean(&scaling).map(|mean| Row::new(format!("{name}, 4 GPUs over 1, {fabric}, mean"), paper, mean)),
            );
        }
        for (name, speedup) in over(System::Umh, System::Memcpy, fabric, 4) {
            rows.push(Row::new(format!("{name}, UMH over MC, 4 GPUs, {fabric}"), None, speedup));
        }
        for (name, speedup) in over(System::Umh, System::ZeroCopy, fabric, 4) {
            rows.push(Row::new(format!("{name}, UMH over ZC, 4 GPUs, {fabric}"), None, speedup));
        }
    }
    rows
}
