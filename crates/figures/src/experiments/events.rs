//! Table 2.1 of the dissertation on CPU-GPU collaboration, for this engine: events per simulated cycle, and the time
//! per event (`[giles 2.6.2]`).
//!
//! As in the paper, events are counted in the program's parallel section; the time per event is that of the whole run.
//! An event is one step of a context. The paper's contexts run in every cycle of their element, those of this engine
//! only when there is something to do.

use crate::{Experiment, Job, Options, Plan, Results, Row, mean, native};

pub const EXPERIMENT: Experiment = Experiment {
    name: "giles-events",
    about: "events in a simulated cycle, and what an event takes on this computer, by simulated cores",
    source: "KnightSim and M2S-CGM, Table 2.1",
    plan,
};

const MACHINE: &str = "apu-c-l3";

/// Number of cores, and the paper's events per cycle: mean and maximum.
const CORES: [(u32, f64, f64); 8] = [
    (1, 13.0, 26.0),
    (2, 20.0, 38.0),
    (4, 34.0, 58.0),
    (8, 60.0, 95.0),
    (16, 113.0, 165.0),
    (32, 215.0, 291.0),
    (64, 416.0, 529.0),
    (128, 813.0, 980.0),
];

/// The paper's physical cycles of work per event.
const CYCLES: f64 = 2680.0;

fn job(cores: u32, quick: bool) -> Job {
    // At least one row per thread. The check, which runs on one thread, is left out.
    let size = if quick { "128x128 --iterations 8" } else { "usual --iterations 20" };
    let arguments = format!("--size {size} --no-check --threads {cores}");
    Job::new(MACHINE, "hotspot-omp", &arguments).with(&[format!("cpu.cores={cores}"), format!("system.slices={cores}")])
}

fn plan(options: Options) -> Plan {
    let quick = options.size.is_quick();
    let rate = native::tsc_hertz();
    let mut notes = vec![
        "of the parallel section of hotspot-omp; a cycle is one of the cores' clock".to_owned(),
        "many threads take long to start, one after another, and cores without a thread have no events here".to_owned(),
        "`if all were busy`: events for each cycle of a core that has a thread, times cores".to_owned(),
    ];
    if rate.is_none() {
        notes.push("the rate of this computer's time-stamp counter is not known: no cycles".into());
    }
    Plan {
        jobs: CORES.iter().map(|(cores, ..)| job(*cores, quick)).collect(),
        native: Vec::new(),
        alone: true,
        notes,
        rows: Box::new(move |results| rows(results, quick, rate)),
    }
}

fn rows(results: &Results, quick: bool, rate: Option<f64>) -> Vec<Row> {
    let (mut rows, mut times) = (Vec::new(), Vec::new());
    for (cores, paper, paper_most) in CORES {
        let Some(run) = results.get(&job(cores, quick)) else { continue };
        let nanoseconds = run.host_seconds * 1e9 / run.events.max(1) as f64;
        times.push(nanoseconds);
        rows.push(Row::new(format!("{cores} cores, events a cycle"), paper, run.events_per_cycle()));
        rows.push(Row::new(format!("{cores} cores, most in a cycle"), paper_most, run.region_most_events as f64));
        let all_busy = run.events_per_core_cycle() * f64::from(cores);
        rows.push(Row::new(format!("{cores} cores, if all were busy"), None, all_busy));
        rows.push(Row::new(format!("{cores} cores, ns an event"), None, nanoseconds));
    }
    let cycles = mean(&times).zip(rate).map(|(nanoseconds, rate)| nanoseconds * 1e-9 * rate);
    rows.extend(cycles.map(|cycles| Row::new("cycles of this computer an event, mean", CYCLES, cycles)));
    rows
}
