//! Figs. 3 and 8: look-ups per cycle of the IOMMU's TLB, sampled each microsecond, without virtual caches and with them
//! (`[vcache 3.1, 5.1]`). Without virtual caches, the IOMMU's TLB handles any number of look-ups per cycle here.
//!
//! Only samples with a running kernel count: microseconds without a kernel have no look-ups.

use super::{
    ACCESSES, ANY_RATE, BUSY_1024, BUSY_2048, BUSY_4096, BUSY_8192, BUSY_16384, Group, MOST, OPT, SMALL, SQUARES,
    WORKLOADS, Workload, count, job, jobs, notes, over,
};
use crate::{Experiment, Job, Measured, Options, Plan, Results, Row, Size};

pub const FIG3: Experiment = Experiment {
    name: "vc-fig3",
    about: "look-ups of the IOMMU's TLB in a cycle: mean, deviation and most of a microsecond",
    source: "GPU virtual caches, 3.1 and Fig. 3",
    plan: |options| plan(options, false),
};

pub const FIG8: Experiment = Experiment {
    name: "vc-fig8",
    about: "look-ups of the IOMMU's TLB in a cycle, without virtual caches and with them",
    source: "GPU virtual caches, 5.1 and Fig. 8",
    plan: |options| plan(options, true),
};

fn baseline(workload: &Workload, size: Size) -> Job {
    job(workload, SMALL, size, &[ANY_RATE.to_owned()])
}

fn plan(options: Options, compare: bool) -> Plan {
    let size = options.size;
    let mut all: Vec<Job> = WORKLOADS.iter().map(|workload| baseline(workload, size)).collect();
    if compare {
        all.extend(jobs(OPT, size, &[]));
    }
    Plan {
        jobs: all,
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| if compare { compared(results, size) } else { alone(results, size) }),
    }
}

/// Look-ups per cycle while kernels run: the mean, the standard deviation over microseconds, the maximum of one
/// microsecond, and the share of microseconds with more than 1.46 per cycle.
struct Rate {
    mean: f64,
    deviation: f64,
    most: f64,
    busy: f64,
}

fn rate(run: &Measured) -> Rate {
    let per_us = run.gpu_hertz as f64 / 1e6;
    let samples = (run.kernels_fs as f64 / 1e9).max(1.0);
    let mean = count(run, ACCESSES) / samples;
    let variance = (count(run, SQUARES) / samples - mean * mean).max(0.0);
    let busy: f64 = [BUSY_1024, BUSY_2048, BUSY_4096, BUSY_8192, BUSY_16384].iter().map(|path| count(run, path)).sum();
    Rate {
        mean: mean / per_us,
        deviation: variance.sqrt() / per_us,
        most: count(run, MOST) / per_us,
        busy: 100.0 * busy / samples,
    }
}

fn alone(results: &Results, size: Size) -> Vec<Row> {
    let run = |workload: &Workload| results.get(&baseline(workload, size)).map(rate);
    let mut rates: Vec<_> = WORKLOADS.iter().filter_map(|workload| Some((workload, run(workload)?))).collect();
    rates.sort_by(|(_, one), (_, other)| other.mean.total_cmp(&one.mean));
    let mut rows = Vec::new();
    for (workload, rate) in &rates {
        rows.push(Row::new(format!("{}, mean", workload.name), None, rate.mean));
        rows.push(Row::new(format!("{}, deviation", workload.name), None, rate.deviation));
        rows.push(Row::new(format!("{}, most", workload.name), None, rate.most));
    }
    let busy = rates.iter().find(|(workload, _)| workload.name == "color_max").map(|(_, rate)| rate.busy);
    let name = "color_max, % of microseconds with more than 1.46 a cycle (paper: more than 1)";
    rows.extend(busy.map(|busy| Row::new(name, 25.0, busy)));
    let mut mean = |name: &str, paper: Option<f64>, group| {
        rows.extend(over(group, |workload| Some(run(workload)?.mean)).map(|mean| Row::new(name, paper, mean)));
    };
    mean("mean of all", Some(1.0), Group::All);
    mean("mean of high-bandwidth workloads", None, Group::High);
    mean("mean of low-bandwidth workloads", None, Group::Low);
    let most = rates.iter().map(|(_, rate)| rate.most).reduce(f64::max);
    rows.extend(most.map(|most| Row::new("most in a microsecond (paper: more than 4)", 4.0, most)));
    rows
}

fn compared(results: &Results, size: Size) -> Vec<Row> {
    let before = |workload: &Workload| results.get(&baseline(workload, size)).map(rate);
    let after = |workload: &Workload| results.get(&job(workload, OPT, size, &[])).map(rate);
    let mut rows = Vec::new();
    for workload in &WORKLOADS {
        for (design, rate) in [("baseline", before(workload)), ("virtual caches", after(workload))] {
            let Some(rate) = rate else { continue };
            rows.push(Row::new(format!("{}, {design}, mean", workload.name), None, rate.mean));
            rows.push(Row::new(format!("{}, {design}, deviation", workload.name), None, rate.deviation));
        }
    }
    let all = |of: &dyn Fn(&Workload) -> Option<f64>| over(Group::All, of);
    let mut row = |name: &str, paper: f64, value: Option<f64>| {
        rows.extend(value.map(|value| Row::new(name, paper, value)));
    };
    row("mean, baseline", 1.0, all(&|workload| Some(before(workload)?.mean)));
    row("mean, virtual caches (paper: less than 0.3)", 0.3, all(&|workload| Some(after(workload)?.mean)));
    let name = "virtual caches, % of microseconds with more than 1.46 a cycle, mean (paper: less than 0.5 of some with more than 1)";
    row(name, 0.5, all(&|workload| Some(after(workload)?.busy)));
    rows
}
