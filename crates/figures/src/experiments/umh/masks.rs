//! Masks with one bit for several bytes: stores smaller than that become coherent stores (`[umh 4.1.2]`).

use super::{PROGRAMS, System, job, mean, notes, speedups};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "umh-masks",
    about: "dirty masks of 2, 4 and 8 bytes a bit over those of a byte, on 4 GPUs over NVLink; and what masks cost",
    source: "UMH, 4.1.2",
    plan,
};

const GRAINS: [u32; 3] = [2, 4, 8];

fn runs(size: Size, program: &str, bytes: u32) -> Job {
    let change = format!("gpu.memory.mask={bytes}");
    let changes: &[&str] = if bytes == 1 { &[] } else { &[&change] };
    job(size, program, (System::Umh, "nvlink"), 4, changes)
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let of_program = |program| std::iter::once(1).chain(GRAINS).map(move |bytes| runs(size, program, bytes));
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
    for bytes in GRAINS {
        let speedups = speedups(results, |program| runs(size, program, bytes), |program| runs(size, program, 1));
        rows.extend(mean(&speedups).map(|mean| Row::new(format!("{bytes} bytes a bit over 1, mean"), None, mean)));
        let worst = speedups.iter().map(|(_, speedup)| *speedup).min_by(f64::total_cmp);
        // "Does not exceed 2%", for 4 bytes per bit.
        let paper = (bytes == 4).then_some(0.98);
        rows.extend(worst.map(|worst| Row::new(format!("{bytes} bytes a bit over 1, slowest program"), paper, worst)));
    }
    for (bytes, paper) in [(1, Some(12.5)), (2, None), (4, Some(3.12)), (8, None)] {
        rows.push(Row::new(format!("memory for masks, {bytes} bytes a bit, %"), paper, 100.0 / (8 * bytes) as f64));
    }
    rows
}
