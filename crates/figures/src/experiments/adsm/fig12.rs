//! Fig. 12: tpacf, which writes its input in several passes, by block and rolling size.

use super::{Way, job, milliseconds, plan};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "adsm-fig12",
    about: "tpacf under rolling-update: time and bytes moved by block size, with 1, 2 and 4 blocks that may be changed",
    source: "GMAC, 5.3, Fig. 12",
    plan: figure,
};

const ROLLING: [u64; 3] = [1, 2, 4];

/// Points and sets, and block sizes in KiB from well below a fourth of the input to all of it. Few points in many sets:
/// the input matters here, not the kernel.
fn inputs(size: Size) -> (&'static str, &'static [u64]) {
    size.of(
        ("64x340", &[4, 16, 32, 64, 128, 256]),
        ("128x680", &[16, 64, 128, 256, 512, 1024]),
        ("paper-gmac", &[64, 128, 256, 512, 1024, 2048, 4096, 8192]),
    )
}

fn tpacf(size: Size, block: u64, rolling: u64) -> Job {
    job("tpacf", &format!("--size {}", inputs(size).0), Way::Rolling(Some(block), Some(rolling)))
}

fn settings(size: Size) -> impl Iterator<Item = (u64, u64)> {
    let blocks = inputs(size).1;
    ROLLING.into_iter().flat_map(|rolling| blocks.iter().map(move |block| (*block, rolling)))
}

fn figure(options: Options) -> Plan {
    let size = options.size;
    let notes = [
        "the input is written in four passes: 255 KiB of points with --quick, 1020 KiB without, 4.7 MiB with --paper",
        "the paper states no values: with rolling sizes 1 and 2 time grows with the block until passes find their blocks still open, and falls \
         when the input fits; with 4 it is almost constant",
    ];
    let jobs = settings(size).map(|(block, rolling)| tpacf(size, block, rolling)).collect();
    plan(jobs, &notes, Box::new(move |results| rows(results, size)))
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (block, rolling) in settings(size) {
        let Some(run) = results.get(&tpacf(size, block, rolling)) else { continue };
        rows.push(Row::new(format!("rolling size {rolling}, {block} KiB (ms)"), None, milliseconds(run)));
        let moved = run.moved_data() as f64 / 1024.0;
        rows.push(Row::new(format!("rolling size {rolling}, {block} KiB, moved (KiB)"), None, moved));
    }
    rows
}
