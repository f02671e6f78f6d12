//! Study 1 of the dissertation on CPU-GPU collaboration: the effect of a shared last-level cache and of coherence
//! between CPU and GPU on programs written without them (`[giles 4.3]`).

use super::RODINIA;
use crate::{Experiment, Job, Options, Plan, Results, Row};

pub const EXPERIMENT: Experiment = Experiment {
    name: "giles-study1",
    about: "coherence and a shared last-level cache: speedups over the non-coherent machine that joins at memory",
    source: "KnightSim and M2S-CGM, 4.3.2",
    plan,
};

/// The baseline of the speed-ups.
const BASE: &str = "apu4-nc-mc";

/// The other machines, how arrays are handed over on them (on C-MC the host may not touch arrays while a kernel runs),
/// and the paper's speed-ups in the order of [`RODINIA`]. Of NC-L3 the paper says only that it is slightly worse.
const SYSTEMS: [(&str, &str, [Option<f64>; 6]); 3] = [
    ("apu4-nc-l3", "explicit", [None; 6]),
    ("apu4-c-mc", "mapped", [Some(3.27), Some(1.06), Some(0.94), Some(6.51), Some(1.21), Some(1.19)]),
    ("apu4-c-l3", "none", [Some(3.67), Some(1.06), Some(0.95), Some(8.83), Some(1.23), Some(1.40)]),
];

/// The paper has two values for BFS; these are from 4.7.
const OTHER_BFS: [(&str, f64); 2] = [("apu4-c-mc", 1.15), ("apu4-c-l3", 1.16)];

/// Sizes, in the order of [`RODINIA`]: those of the author's runs, whose outputs are published with the simulator
/// (github.com/stardica/m2s-cgm, src/scripts/Paper_1), and those of quick runs. Numbers of steps for programs that have steps: there,
/// backprop trains once and hotspot makes one launch.
const USUAL: [&str; 6] = ["65536", "576", "8192", "512x512", "992", "65536"];
const SMALL: [&str; 6] = ["16384", "128", "2048", "512x512", "256", "32768"];
const STEPS: [&str; 6] = ["--iterations 1", "", "--iterations 5", "--iterations 1", "", ""];

/// The GPU of the machines: with the eight compute units of Table 4.1, from whose outputs the author's figures are, and as a card with 32
/// has it (3.4.1).
const GPUS: [(&str, &[&str]); 2] =
    [("8 CUs", &["gpu.arrays=2", "gpu.l2.size=128KiB", "gpu.l2.banks=2"]), ("32 CUs", &[])];

/// What copies cost over what flushes cost, (NC-MC - C-MC) / (C-MC - C-L3): the time of kernels, which depends on the
/// GPU, cancels out. From the paper's speed-ups of BP and Hotspot; of the other programs these are too close together.
const COPIES_OVER_FLUSHES: [Option<f64>; 6] = [Some(21.0), None, None, Some(21.0), None, None];

fn job(at: usize, machine: &str, copies: &str, gpu: &[&str], quick: bool) -> Job {
    let (size, steps) = (if quick { SMALL[at] } else { USUAL[at] }, STEPS[at]);
    let changes: Vec<String> = gpu.iter().map(|change| (*change).to_owned()).collect();
    Job::new(machine, RODINIA[at].1, &format!("--size {size} --copies {copies} {steps}")).with(&changes)
}

fn plan(options: Options) -> Plan {
    let quick = options.size.is_quick();
    let of_program = |at| {
        GPUS.iter().flat_map(move |(_, gpu)| {
            let others = SYSTEMS.iter().map(move |(machine, copies, _)| job(at, machine, copies, gpu, quick));
            std::iter::once(job(at, BASE, "explicit", gpu, quick)).chain(others)
        })
    };
    let mut notes = vec!["BFS has two values in the paper: those of 4.3.2 and of 4.7".to_owned()];
    if quick {
        notes.push("small inputs: launches and copies weigh more than in the paper".into());
    }
    Plan {
        jobs: (0..RODINIA.len()).flat_map(of_program).collect(),
        native: Vec::new(),
        alone: false,
        notes,
        rows: Box::new(move |results| rows(results, quick)),
    }
}

fn rows(results: &Results, quick: bool) -> Vec<Row> {
    GPUS.iter().flat_map(|(name, gpu)| rows_of(results, quick, (name, gpu))).collect()
}

fn rows_of(results: &Results, quick: bool, (gpu_name, gpu): (&str, &[&str])) -> Vec<Row> {
    let mut rows = Vec::new();
    for (machine, copies, paper) in SYSTEMS {
        for (at, (name, _)) in RODINIA.iter().enumerate() {
            let base = results.get(&job(at, BASE, "explicit", gpu, quick));
            let (Some(base), Some(run)) = (base, results.get(&job(at, machine, copies, gpu, quick))) else { continue };
            let speedup = run.speedup_over(base);
            rows.push(Row::new(format!("{name}, {machine}, {gpu_name}"), paper[at], speedup));
            let other = OTHER_BFS.iter().find(|(system, _)| *name == "BFS" && *system == machine);
            rows.extend(other.map(|(_, paper)| Row::new(format!("BFS, {machine}, {gpu_name} (4.7)"), *paper, speedup)));
        }
    }
    for (at, (name, _)) in RODINIA.iter().enumerate() {
        let time = |machine, copies| Some(results.get(&job(at, machine, copies, gpu, quick))?.region_fs as f64);
        let times = (time(BASE, "explicit"), time("apu4-c-mc", "mapped"), time("apu4-c-l3", "none"));
        let (Some(nc_mc), Some(c_mc), Some(c_l3)) = times else { continue };
        if let Some(paper) = COPIES_OVER_FLUSHES[at].filter(|_| c_mc > c_l3) {
            let name = format!("{name}, copies over flushes, {gpu_name}");
            rows.push(Row::new(name, paper, (nc_mc - c_mc) / (c_mc - c_l3)));
        }
    }
    rows
}
