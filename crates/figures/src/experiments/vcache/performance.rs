//! Figs. 9, 10 and 11: virtual caches compared with the ideal MMU, with larger TLBs, and with a design in which only
//! the first-level caches are virtual (`[vcache 5.2, 5.4]`).

use super::{
    BIG_TLB, Group, IDEAL, LARGE, NO_OPT, OPT, SECOND_HITS, SECOND_MISSES, SMALL, WORKLOADS, Workload, count, job,
    jobs, notes, over, pair, time_over,
};
use crate::{Experiment, Options, Plan, Results, Row, Size};

pub const FIG9: Experiment = Experiment {
    name: "vc-fig9",
    about: "performance of two baselines and of virtual caches, over an ideal MMU",
    source: "GPU virtual caches, 5.2 and Fig. 9",
    plan: |options| plan(options, &[IDEAL, SMALL, LARGE, NO_OPT, OPT], beside_ideal),
};

pub const FIG10: Experiment = Experiment {
    name: "vc-fig10",
    about: "virtual caches over TLBs of 128 entries and an IOMMU with one of 16384",
    source: "GPU virtual caches, 5.2 and Fig. 10",
    plan: |options| plan(options, &[BIG_TLB, OPT], beside_large_tlbs),
};

pub const FIG11: Experiment = Experiment {
    name: "vc-fig11",
    about: "virtual first-level caches alone and the whole hierarchy, over physical caches and an IOMMU with a TLB of 16384",
    source: "GPU virtual caches, 5.4 and Fig. 11",
    plan: |options| {
        let (there, missing): (Vec<_>, Vec<_>) =
            L1_ONLY.iter().map(|(machine, _)| *machine).partition(|name| is_there(name));
        let machines: Vec<_> = [LARGE, OPT].into_iter().chain(there).collect();
        let mut plan = plan(options, &machines, beside_l1_only);
        plan.notes
            .extend(missing.iter().map(|name| format!("there is no shipped machine '{name}'; its rows are left out")));
        plan
    },
};

/// Machines with virtual tags in first-level caches only, and the entries of the TLBs below these.
const L1_ONLY: [(&str, &str); 2] = [("vc-l1only-32", "32"), ("vc-l1only-128", "128")];

fn is_there(name: &str) -> bool {
    machine::shipped().any(|machine| machine == name)
}

fn plan(options: Options, machines: &[&'static str], rows: fn(&Results, Size) -> Vec<Row>) -> Plan {
    let size = options.size;
    Plan {
        jobs: machines.iter().flat_map(|machine| jobs(machine, size, &[])).collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size)),
    }
}

/// The speed-up of one design over another.
fn speedup(results: &Results, workload: &Workload, (one, base): (&str, &str), size: Size) -> Option<f64> {
    let (one, base) = (job(workload, one, size, &[]), job(workload, base, size, &[]));
    pair(results, (&one, &base), |run, base| 1.0 / time_over(run, base))
}

/// Performance relative to the ideal MMU as stated in the text, of high-bandwidth workloads and of all.
type Stated = (&'static str, &'static str, [Option<f64>; 2]);

const BESIDE_IDEAL: [Stated; 4] = [
    (SMALL, "Baseline 512", [Some(0.58), Some(0.68)]),
    (LARGE, "Baseline 16K", [None, None]),
    (NO_OPT, "VC W/O OPT", [None, None]),
    (OPT, "VC With OPT (almost ideal)", [Some(1.0), Some(1.0)]),
];

fn beside_ideal(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (machine, name, stated) in BESIDE_IDEAL {
        let performance = |workload: &Workload| speedup(results, workload, (machine, IDEAL), size);
        for workload in &WORKLOADS {
            rows.extend(performance(workload).map(|value| Row::new(format!("{}, {name}", workload.name), None, value)));
        }
        for (group, what, paper) in [
            (Group::High, "high-bandwidth workloads", stated[0]),
            (Group::Low, "low-bandwidth workloads", (machine == OPT).then_some(1.0)),
            (Group::All, "all workloads", stated[1]),
        ] {
            let mean = over(group, performance);
            rows.extend(mean.map(|mean| Row::new(format!("mean of {what}, {name}"), paper, mean)));
        }
    }
    let found = |workload: &Workload| {
        let run = results.get(&job(workload, OPT, size, &[]))?;
        let all = count(run, SECOND_HITS) + count(run, SECOND_MISSES);
        (all > 0.0).then(|| 100.0 * count(run, SECOND_HITS) / all)
    };
    let name = "misses of the IOMMU's TLB that the FBT has, %, mean (4.1)";
    rows.extend(over(Group::All, found).map(|found| Row::new(name, 74.0, found)));
    rows
}

fn beside_large_tlbs(results: &Results, size: Size) -> Vec<Row> {
    let over_tlbs = |workload: &Workload| speedup(results, workload, (OPT, BIG_TLB), size);
    let mut rows = Vec::new();
    for workload in &WORKLOADS {
        rows.extend(over_tlbs(workload).map(|value| Row::new(workload.name, None, value)));
    }
    let high = over(Group::High, over_tlbs);
    rows.extend(high.map(|mean| Row::new("mean of high-bandwidth workloads", 1.2, mean)));
    rows.extend(over(Group::All, over_tlbs).map(|mean| Row::new("mean of all workloads", None, mean)));
    rows
}

fn beside_l1_only(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    let whole = |workload: &Workload| speedup(results, workload, (OPT, LARGE), size);
    let mut design = |name: &str, paper: Option<f64>, of: &dyn Fn(&Workload) -> Option<f64>| {
        for workload in &WORKLOADS {
            rows.extend(of(workload).map(|value| Row::new(format!("{}, {name}", workload.name), None, value)));
        }
        for (group, what, paper) in [(Group::High, "high-bandwidth", paper), (Group::All, "all", None)] {
            rows.extend(over(group, of).map(|mean| Row::new(format!("mean of {what} workloads, {name}"), paper, mean)));
        }
    };
    design("whole hierarchy over physical caches", None, &whole);
    for (machine, entries) in L1_ONLY {
        let stated = (entries == "32").then_some(1.35);
        let alone = |workload: &Workload| speedup(results, workload, (machine, LARGE), size);
        design(&format!("L1 alone, TLBs of {entries}, over physical caches"), stated, &alone);
        let more = |workload: &Workload| speedup(results, workload, (OPT, machine), size);
        design(&format!("whole hierarchy over L1 alone, TLBs of {entries}"), stated.map(|_| 1.31), &more);
    }
    rows
}
