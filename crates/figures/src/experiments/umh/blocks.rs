//! Fig. 9: the effect of the block size, on four GPUs over NVLink; and the cost of interleaving addresses over the
//! banks of an L2 by pages (`[umh 5, 5.3]`).

use super::{PROGRAMS, System, job, mean, notes, speedups};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "umh-fig9",
    about: "blocks of 64 B to 4 KB in memories of GPUs: speed over blocks of a line, on 4 GPUs over NVLink",
    source: "UMH, 5 and Fig. 9; 5.3",
    plan,
};

const BLOCKS: [&str; 7] = ["64 B", "128 B", "256 B", "512 B", "1 KiB", "2 KiB", "4 KiB"];
/// Block sizes of quick runs.
const FEW: [&str; 4] = ["64 B", "256 B", "1 KiB", "4 KiB"];

/// Programs whose behaviour the paper describes: slower with larger blocks, or faster.
const NAMED: [&str; 4] = ["FW", "FWT", "MM", "RS"];

fn with_block(size: Size, program: &str, block: &str) -> Job {
    let changes = [format!("gpu.memory.block={block}"), format!("gpu.l2.interleave={block}")];
    // The block size of the machine file.
    let changes = if block == "4 KiB" { Vec::new() } else { changes.to_vec() };
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    job(size, program, (System::Umh, "nvlink"), 4, &changes)
}

fn interleaved(size: Size, program: &str, interleave: &str) -> Job {
    job(size, program, (System::Memcpy, "nvlink"), 1, &[&format!("gpu.l2.interleave={interleave}")])
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let blocks: &'static [&'static str] = if size.is_quick() { &FEW } else { &BLOCKS };
    let of_program = |program| {
        let blocks = blocks.iter().map(move |block| with_block(size, program, block));
        blocks.chain(["64 B", "4 KiB"].map(move |interleave| interleaved(size, program, interleave)))
    };
    Plan {
        jobs: PROGRAMS.iter().flat_map(|(_, program)| of_program(program)).collect(),
        native: Vec::new(),
        alone: false,
        notes: [
            notes(size),
            vec!["blocks of 8 and 16 KB are left out: the host outside takes back pages of 4 KB".into()],
        ]
        .concat(),
        rows: Box::new(move |results| rows(results, size, blocks)),
    }
}

fn rows(results: &Results, size: Size, blocks: &[&str]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut means = Vec::new();
    for block in &blocks[1..] {
        let speedups = speedups(
            results,
            |program| with_block(size, program, block),
            |program| with_block(size, program, blocks[0]),
        );
        if let Some(mean) = mean(&speedups) {
            rows.push(Row::new(format!("blocks of {block} over 64 B, mean"), None, mean));
            means.push((block, mean));
        }
        let named = speedups.into_iter().filter(|(name, _)| NAMED.contains(name));
        rows.extend(
            named.map(|(name, speedup)| Row::new(format!("{name}, blocks of {block} over 64 B"), None, speedup)),
        );
    }
    let best = means.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
    let bytes = |block: &str| match block.split_once(' ') {
        Some((number, "KiB")) => number.parse::<f64>().unwrap_or(0.0) * 1024.0,
        Some((number, _)) => number.parse().unwrap_or(0.0),
        None => 0.0,
    };
    rows.extend(best.map(|(block, _)| Row::new("best block, bytes", 4096.0, bytes(block))));
    let speedups =
        speedups(results, |program| interleaved(size, program, "4 KiB"), |program| interleaved(size, program, "64 B"));
    rows.extend(mean(&speedups).map(|mean| Row::new("L2 dealt by 4 KB over by 64 B, 1 GPU, mean", 0.946, mean)));
    rows
}
