//! The cheapest paths through a grid: each launch processes a few rows, in local memory.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "pathfinder",
    about: "finds the cheapest paths down a grid of costs, twenty rows per launch",
    source: include_str!("pathfinder.cl"),
    object: include_bytes!("pathfinder.hsaco"),
    host: include_str!("pathfinder.c"),
    sizes: |size| {
        let (columns, rows) = shape(size);
        format!("{columns} columns of {rows} rows")
    },
    run,
};

const GROUP: usize = 256;
const ROWS_PER_LAUNCH: usize = 20;

/// Columns and rows; the last launch has fewer rows than the others.
fn shape(size: Size) -> (usize, usize) {
    size.pick((600, 45), (40_000, 100))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (columns, rows) = shape(size);
    let mut rng = Rng::new(57);
    let costs: Vec<u32> = (0..columns * rows).map(|_| rng.below(10)).collect();

    let cost_buffer = gpu.upload(&costs)?;
    let (mut from, mut to) = (gpu.upload(&costs[..columns])?, gpu.alloc_of::<u32>(columns)?);
    for first in (1..rows).step_by(ROWS_PER_LAUNCH) {
        let some = (rows - first).min(ROWS_PER_LAUNCH);
        let groups = columns.div_ceil(GROUP - 2 * some);
        let range = NdRange::line(groups * GROUP, GROUP as u32);
        gpu.launch("path_rows", range, args![cost_buffer, from, to, columns, first, some])?;
        std::mem::swap(&mut from, &mut to);
    }

    let mut best = costs[..columns].to_vec();
    for row in costs.chunks(columns).skip(1) {
        let least = |x: usize| *best[x.saturating_sub(1)..columns.min(x + 2)].iter().min().expect("x is among them");
        best = row.iter().enumerate().map(|(x, cost)| cost + least(x)).collect();
    }
    Ok(equal("paths", &gpu.download(from, columns)?, &best)?)
}
