//! Figs. 4 and 5: the cost of translation relative to an ideal MMU, and how it depends on the look-ups per cycle of the
//! IOMMU's TLB (`[vcache 3.1]`, observations 3 and 4). Section 3.1 states 1.77 times the run time over all workloads,
//! while 5.2 states a loss of 32% of performance (1.47 times): both are shown.

use super::{ANY_RATE, Group, IDEAL, LARGE, SMALL, WORKLOADS, Workload, job, notes, over, pair, time_over};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const FIG4: Experiment = Experiment {
    name: "vc-fig4",
    about: "run time over an ideal MMU: small and large TLB of the IOMMU, with its rate and without limit",
    source: "GPU virtual caches, 3.1 and Fig. 4",
    plan: |options| plan(options, true),
};

pub const FIG5: Experiment = Experiment {
    name: "vc-fig5",
    about: "run time over an ideal MMU by look-ups a cycle of a large TLB of the IOMMU, high-bandwidth workloads",
    source: "GPU virtual caches, 3.1 and Fig. 5",
    plan: |options| plan(options, false),
};

fn plan(options: Options, by_entries: bool) -> Plan {
    let size = options.size;
    let designs = if by_entries { by_size(size) } else { by_rate() };
    let wanted = |workload: &&Workload| by_entries || workload.high;
    let of_design = |(machine, changes): (&'static str, Vec<String>)| {
        WORKLOADS.iter().filter(wanted).map(move |workload| job(workload, machine, size, &changes))
    };
    let all = std::iter::once((IDEAL, Vec::new()))
        .chain(designs.into_iter().map(|(_, machine, changes, _)| (machine, changes)));
    Plan {
        jobs: all.flat_map(of_design).collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size, by_entries)),
    }
}

/// A design: its name, its machine, changes, and the paper's mean run time relative to the ideal MMU.
type Design = (&'static str, &'static str, Vec<String>, Option<f64>);

fn by_size(size: Size) -> Vec<Design> {
    let any = || vec![ANY_RATE.to_owned()];
    let mut designs = vec![
        ("512 entries", SMALL, Vec::new(), Some(1.77)),
        ("16384 entries", LARGE, Vec::new(), None),
        ("512 entries, any number of look-ups a cycle", SMALL, any(), None),
    ];
    if !size.is_quick() {
        designs.push(("16384 entries, any number of look-ups a cycle", LARGE, any(), None));
    }
    designs
}

fn by_rate() -> Vec<Design> {
    let rate = |rate: &str| vec![format!("system.iommu.lookups={rate}")];
    vec![
        ("1 look-up a cycle", LARGE, Vec::new(), None),
        ("2 look-ups a cycle", LARGE, rate("2"), None),
        ("4 look-ups a cycle", LARGE, rate("4"), None),
        ("any number of look-ups a cycle", LARGE, rate("infinite"), None),
    ]
}

fn rows(results: &Results, size: Size, by_entries: bool) -> Vec<Row> {
    let (designs, group) = if by_entries { (by_size(size), Group::All) } else { (by_rate(), Group::High) };
    let mut rows = Vec::new();
    for (name, machine, changes, paper) in designs {
        let slowdown = |workload: &Workload| {
            let one: Job = job(workload, machine, size, &changes);
            pair(results, (&one, &job(workload, IDEAL, size, &[])), time_over)
        };
        for workload in WORKLOADS.iter().filter(|workload| group.has(workload)) {
            let value = slowdown(workload);
            rows.extend(value.map(|value| Row::new(format!("{}, {name}", workload.name), None, value)));
        }
        rows.extend(
            over(group, slowdown).map(|value| Row::new(format!("mean run time over ideal, {name}"), paper, value)),
        );
        if paper.is_some() {
            let lost = |group| over(group, |workload| Some(100.0 * (1.0 - 1.0 / slowdown(workload)?)));
            rows.extend(
                lost(Group::All).map(|lost| Row::new("% of performance lost, all workloads (5.2)", 32.0, lost)),
            );
            rows.extend(
                lost(Group::High)
                    .map(|lost| Row::new("% of performance lost, high-bandwidth workloads (5.2)", 42.0, lost)),
            );
        }
    }
    rows
}
