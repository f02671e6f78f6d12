//! Study 3 of the dissertation on CPU-GPU collaboration: bandwidth, the GPU's clock, the coalescer and the latency of
//! switches (`[giles 4.5, Figs. 4.13 to 4.16]`).
//!
//! A switch here occupies a link for at least one cycle. "Negligible latency" is therefore modelled by a crossbar of
//! one-cycle switches: one switch between any two stations instead of up to five of two cycles each.

use super::collaborative::{self, Collaborative, PROGRAMS};
use crate::{Experiment, Job, Measured, Options, Plan, Results, Row, job::ratio, mean};

pub const EXPERIMENT: Experiment = Experiment {
    name: "giles-study3",
    about: "bandwidth, GPU clock, coalescer and switch latency: mean speedups of the CPU's and the GPU's part",
    source: "KnightSim and M2S-CGM, 4.5.2, Figs. 4.13 to 4.16",
    plan,
};

/// Bandwidth between the GPU and the memory controller: 72 B per cycle of the GPU's clock are 72 GB/s at 1 GHz and 288
/// GB/s at 4 GHz.
const WIDE: &[&str] = &["system.hub.bytes_per_cycle=72"];
const FAST: &[&str] = &["gpu.clock=4 GHz"];
/// 32 GB/s for a hub at 4 GHz.
const NARROW_4GHZ: &[&str] = &["system.hub.bytes_per_cycle=8"];
const COALESCER: &[&str] = &["gpu.l1v.waiting=96"];
const NO_LATENCY: &[&str] = &["system.network.kind=crossbar", "system.network.latency=1"];

/// A change of the machine, and the paper's speed-ups of CPU and GPU.
struct Change {
    name: &'static str,
    changes: &'static [&'static [&'static str]],
    cpu: Option<f64>,
    gpu: Option<f64>,
}

/// Quick experiments do only the first few.
const QUICK: usize = 4;
const CHANGES: [Change; 8] = [
    Change { name: "72 GB/s", changes: &[WIDE], cpu: Some(1.11), gpu: Some(1.04) },
    Change { name: "coalescer 96, 72 GB/s", changes: &[COALESCER, WIDE], cpu: Some(1.58), gpu: Some(1.32) },
    Change { name: "no switch latency", changes: &[NO_LATENCY], cpu: Some(1.50), gpu: Some(1.07) },
    Change { name: "4 GHz, 288 GB/s", changes: &[FAST, WIDE], cpu: Some(1.06), gpu: Some(1.92) },
    Change {
        name: "coalescer 96, 4 GHz, 288 GB/s",
        changes: &[COALESCER, FAST, WIDE],
        cpu: Some(1.01),
        gpu: Some(2.14),
    },
    Change {
        name: "no switch latency, 4 GHz",
        changes: &[NO_LATENCY, FAST, NARROW_4GHZ],
        cpu: Some(1.50),
        gpu: Some(2.66),
    },
    Change { name: "no switch latency, coalescer 96", changes: &[NO_LATENCY, COALESCER], cpu: None, gpu: None },
    Change {
        name: "no switch latency, coalescer 96, 4 GHz",
        changes: &[NO_LATENCY, COALESCER, FAST, NARROW_4GHZ],
        cpu: None,
        gpu: Some(3.33),
    },
];

fn changes(quick: bool) -> &'static [Change] {
    if quick { &CHANGES[..QUICK] } else { &CHANGES }
}

/// The program with its best setting of study 2.
fn base(program: &Collaborative, quick: bool) -> Job {
    program.job(quick, program.best)
}

fn job(program: &Collaborative, quick: bool, change: &Change) -> Job {
    let changes: Vec<String> = change.changes.concat().into_iter().map(str::to_owned).collect();
    base(program, quick).with(&changes)
}

fn plan(options: Options) -> Plan {
    let quick = options.size.is_quick();
    collaborative::plan(
        |program| {
            let changed = changes(quick).iter().map(|change| job(program, quick, change));
            std::iter::once(base(program, quick)).chain(changed).collect()
        },
        &[
            "a part's time is the longest that one of its cores or compute units was not idle",
            "'no switch latency' is a crossbar: a switch of one cycle between any two",
        ],
        Box::new(move |results| rows(results, quick)),
    )
}

fn rows(results: &Results, quick: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for change in changes(quick) {
        // Only if all programs have results: means of some programs would not be comparable.
        let pairs = PROGRAMS
            .iter()
            .map(|program| Some((results.get(&base(program, quick))?, results.get(&job(program, quick, change))?)));
        let Some(pairs) = pairs.collect::<Option<Vec<_>>>() else { continue };
        let speedup = |part: fn(&Measured) -> u64| {
            let each: Vec<f64> = pairs.iter().map(|(before, after)| ratio(part(before), part(after))).collect();
            mean(&each)
        };
        let parts = [("CPU", change.cpu, speedup(|run| run.cpu_fs)), ("GPU", change.gpu, speedup(|run| run.gpu_fs))];
        for (part, paper, measured) in parts {
            rows.extend(measured.map(|measured| Row::new(format!("{}, {part}", change.name), paper, measured)));
        }
    }
    rows
}
