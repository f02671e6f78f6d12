//! The cost until the CPU can use the GPUs' results: bytes (Fig. 14) and time (`[umh 6.2]`).

use super::{FABRICS, PROGRAMS, System, count, job, mean, notes};
use crate::{Experiment, Job, Measured, Options, Plan, Results, Row, Size};

pub const FLUSHED: Experiment = Experiment {
    name: "umh-fig14",
    about: "bytes that must reach the host before it can use results: copies, unified memory by software, one block of a hierarchy; 4 GPUs",
    source: "UMH, 6.2 and Fig. 14",
    plan: |options| plan(options, bytes),
};

pub const SYNCHRONISATION: Experiment = Experiment {
    name: "umh-sync",
    about: "time until the host can start to use results, over that of a dynamic synchronisation of one block; 4 GPUs",
    source: "UMH, 6.2",
    plan: |options| plan(options, times),
};

/// The alternatives to UMH, and the paper's "at least" slowdown of each.
const OTHERS: [(System, &str, f64); 3] =
    [(System::ZeroCopy, "ZC", 13.0), (System::Memcpy, "MC", 20.0), (System::Managed, "software UM", 24.0)];

/// Clock of the GPUs and of the DMA engine, in hertz.
const CLOCK: f64 = 800e6;

fn of(size: Size, program: &str, system: System, fabric: &str) -> Job {
    job(size, program, (system, fabric), 4, &[])
}

fn plan(options: Options, rows: fn(&Results, Size) -> Vec<Row>) -> Plan {
    let size = options.size;
    let systems = [System::Umh, System::ZeroCopy, System::Memcpy, System::Managed];
    let of_program =
        |program| systems.into_iter().flat_map(move |system| FABRICS.map(|fabric| of(size, program, system, fabric)));
    let mut notes = notes(size);
    notes.push(
        "others flush the caches of GPUs after each kernel and copy results; a host outside takes one page of 4 KB from all GPUs, as a core's \
         store of no byte would"
            .into(),
    );
    Plan {
        jobs: PROGRAMS.iter().flat_map(|(_, program)| of_program(program)).collect(),
        native: Vec::new(),
        alone: false,
        notes,
        rows: Box::new(move |results| rows(results, size)),
    }
}

/// Seconds from the end of a kernel until the host can start.
fn delay(run: &Measured, system: System) -> Option<f64> {
    let per = |sum: &str, number: &str| Some(count(run, sum) / Some(count(run, number)).filter(|n| *n > 0.0)?);
    let cycles = match system {
        System::Umh => per("host.claims.cycles.sum", "host.claims.cycles.count")?,
        System::ZeroCopy => per("front_end.flush.sum", "front_end.flush.count")?,
        System::Memcpy | System::Managed => {
            per("front_end.flush.sum", "front_end.flush.count")? + count(run, "host.dma.to_host_cycles.sum")
        }
    };
    Some(cycles / CLOCK)
}

fn times(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for fabric in FABRICS {
        for (system, name, paper) in OTHERS {
            let ratios = PROGRAMS.iter().filter_map(|(program_name, program)| {
                let delay = |system| delay(results.get(&of(size, program, system, fabric))?, system);
                Some((*program_name, delay(system)? / delay(System::Umh)?))
            });
            let ratios: Vec<(&str, f64)> = ratios.collect();
            let least = ratios.iter().map(|(_, ratio)| *ratio).min_by(f64::total_cmp);
            rows.extend(least.map(|least| Row::new(format!("{name} over UMH, {fabric}, least"), paper, least)));
            rows.extend(mean(&ratios).map(|mean| Row::new(format!("{name} over UMH, {fabric}, mean"), None, mean)));
        }
    }
    rows
}

fn bytes(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, program) in PROGRAMS {
        for (system, told) in [(System::Memcpy, "W, by copies"), (System::Managed, "W, by software UM")] {
            let run = results.get(&of(size, program, system, "nvlink"));
            let bytes = run.map(|run| count(run, "host.dma.to_host"));
            rows.extend(bytes.map(|bytes| Row::new(format!("{name}, {told}, KB"), None, bytes / 1024.0)));
        }
        if let Some(run) = results.get(&of(size, program, System::Umh, "nvlink"))
            && count(run, "host.claims.cycles.count") > 0.0
        {
            let claim = count(run, "memory*.writes") * 64.0 / count(run, "host.claims.cycles.count");
            rows.push(Row::new(format!("{name}, mean of a claim, to the host, KB"), None, claim / 1024.0));
        }
    }
    // At most one block per GPU, once to its stack and once to the host; with write-back L1s, also one per L1.
    rows.push(Row::new("at most by a dynamic synchronisation, KB", 32.0, f64::from(4 * (4 + 4))));
    rows.push(Row::new("the same with L1s that write back, KB", 288.0, f64::from(4 * (16 * 4 + 4 + 4))));
    rows
}
