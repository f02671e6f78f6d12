//! Fig. 11: the sum of two vectors under rolling-update, by block size.

use super::{Way, job, milliseconds, plan};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "adsm-fig11",
    about: "vector addition under rolling-update, by block size: time, and bytes a second while transfers go on",
    source: "GMAC, 5.2, Fig. 11",
    plan: figure,
};

const BLOCKS: [u64; 14] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768];

/// Busy cycles of the DMA engine, which runs at the GPU's clock.
const BUSY: &str = "host.dma.cycles.busy";

fn vecadd(size: Size, block: u64) -> Job {
    let elements = size.of("262144", "scaled-gmac", "paper-gmac");
    job("vecadd", &format!("--size {elements}"), Way::Rolling(Some(block), None)).counting(&[BUSY])
}

fn blocks(size: Size) -> impl Iterator<Item = u64> {
    // Larger blocks are cut to the size of the vector.
    let largest = size.of(1024, 2048, 32768);
    BLOCKS.into_iter().filter(move |block| *block <= largest)
}

fn figure(options: Options) -> Plan {
    let size = options.size;
    let notes = [
        "the paper states no values: bandwidth grows with the block up to 32 MB, time falls by more than that from 4 to 16 KB, and transfers to \
         the GPU take least with 64 KB, which still overlap with the host's work",
    ];
    let jobs = blocks(size).map(|block| vecadd(size, block)).collect();
    plan(jobs, &notes, Box::new(move |results| rows(results, size)))
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for block in blocks(size) {
        let Some(run) = results.get(&vecadd(size, block)) else { continue };
        rows.push(Row::new(format!("{block} KiB (ms)"), None, milliseconds(run)));
        let busy = run.counts.get(BUSY).filter(|busy| **busy > 0.0);
        let rate = busy.map(|cycles| run.moved_bytes() as f64 * run.gpu_hertz as f64 / cycles / 1e9);
        rows.extend(rate.map(|rate| Row::new(format!("{block} KiB, transfers (GB/s)"), None, rate)));
    }
    rows
}
