//! Fig. 9: a 3-D stencil into which the host introduces a source before each step, by volume: lazy-update, and
//! rolling-update with several block sizes.

use super::{Way, job, milliseconds, plan};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size, job::ratio};

pub const EXPERIMENT: Experiment = Experiment {
    name: "adsm-fig9",
    about: "3-D stencil with a source, by volume: times of lazy-update and of rolling-update with small and large blocks",
    source: "GMAC, 5.1, Fig. 9",
    plan: figure,
};

/// Block sizes in KiB.
const BLOCKS: [u64; 4] = [4, 256, 1024, LARGEST];
const LARGEST: u64 = 32 << 10;

fn volumes(size: Size) -> &'static [u64] {
    size.of(&[64, 96], &[64, 96, 128, 160], &[64, 128, 192, 256, 320, 384])
}

fn stencil(volume: u64, way: Way) -> Job {
    job("stencil", &format!("--size {volume}x{volume}x{volume} --iterations 8 --variant source"), way)
}

/// All blocks that hold a whole volume behave alike, so only the largest of them is run.
fn ways(volume: u64) -> impl Iterator<Item = (String, Way)> {
    let kib = volume.pow(3) * 4 / 1024;
    let blocks = BLOCKS.iter().filter(move |block| **block < kib || **block == LARGEST);
    let rolling = blocks.map(|block| (format!("rolling, {block} KiB"), Way::Rolling(Some(*block), None)));
    std::iter::once(("lazy".to_owned(), Way::Lazy)).chain(rolling)
}

fn figure(options: Options) -> Plan {
    let size = options.size;
    let jobs = volumes(size).iter().flat_map(|volume| ways(*volume).map(|(_, way)| stencil(*volume, way))).collect();
    let notes = [
        "eight steps; then the host reads the volume once, where the paper's program writes it to disk every few steps",
        "the paper states no values: rolling-update gains on lazy-update as the volume grows, and blocks of 256 KB and 1 MB beat 32 MB, by \
         less as it grows",
    ];
    plan(jobs, &notes, Box::new(move |results| rows(results, size)))
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for volume in volumes(size) {
        for (name, way) in ways(*volume) {
            let Some(run) = results.get(&stencil(*volume, way)) else { continue };
            rows.push(Row::new(format!("{volume} cubed, {name} (ms)"), None, milliseconds(run)));
        }
        let both = [Way::Lazy, Way::Rolling(Some(256), None)].map(|way| results.get(&stencil(*volume, way)));
        if let [Some(lazy), Some(rolling)] = both {
            let gain = ratio(lazy.end_fs, rolling.end_fs);
            rows.push(Row::new(format!("{volume} cubed, lazy over rolling with 256 KiB"), None, gain));
        }
    }
    rows
}
