//! `cohesim repro knightsim-engine` and `knightsim-parallel`: the measurements of [`bench engine`](super) beside what
//! the paper reports of its engine (`[giles 2.6.3]`, `[giles 2.6.4]`).
//!
//! The figures depend on the computer on which the command runs, so they are not stored.

use super::{EngineBench, Figure, Single};
use crate::ui::Ui;
use figures::{Findings, Row, mean};

/// An experiment that measures this program's engine, not a simulated machine.
pub struct EngineExperiment {
    pub name: &'static str,
    pub about: &'static str,
    pub source: &'static str,
    figure: Figure,
    rows: fn(&super::EngineReport) -> Vec<Row>,
}

pub static ALL: [EngineExperiment; 2] = [
    EngineExperiment {
        name: "knightsim-engine",
        about: "time of other engines over this one's, 16 to 1024 events a cycle, one thread",
        source: "KnightSim and M2S-CGM, 2.6.3 and Fig. 2.3",
        figure: Figure::SingleThreaded,
        rows: engine,
    },
    EngineExperiment {
        name: "knightsim-parallel",
        about: "speed of 2, 4, 8 and 16 threads over one, events with work",
        source: "KnightSim and M2S-CGM, 2.6.4 and Fig. 2.5",
        figure: Figure::WithWork,
        rows: parallel,
    },
];

pub fn find(name: &str) -> Option<&'static EngineExperiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

/// The paper's speed-up of Parallel KnightSim by number of threads; its section 2.7 has the second figure of each.
const PARALLEL: [(usize, f64, f64); 4] = [(2, 1.89, 1.78), (4, 3.33, 3.30), (8, 5.84, 5.84), (16, 9.24, 9.16)];

impl EngineExperiment {
    pub fn run(&self, quick: bool, ui: &Ui) -> Findings {
        let bench = EngineBench { figure: Some(self.figure), rounds: if quick { 5 } else { 9 }, threads: None };
        let report = bench.measure(ui);
        ui.progress_done();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let notes = vec![
            format!("of this computer, which has {cores} processors: other work on it makes parallel figures worse"),
            "rivals are built here: `binned` in the manner of gem5's queue, `heap` of Multi2Sim's Esim, `stackful` of the \
             Threads Package and of KnightSim itself; the paper measured the original programs"
                .to_owned(),
        ];
        let Self { name, about, source, .. } = *self;
        Findings { experiment: name, about, source, rows: (self.rows)(&report), notes }
    }
}

/// The paper's ratios are of KnightSim, an engine with stacks of its own; here that engine is a rival, too.
fn engine(report: &super::EngineReport) -> Vec<Row> {
    let over = |name: &str, paper, ratio: fn(&Single) -> f64, most: usize| {
        let ratios: Vec<f64> = report.pause1.iter().filter(|single| single.contexts <= most).map(ratio).collect();
        mean(&ratios).map(|ratio| Row::new(name, paper, ratio))
    };
    let rows = [
        over("contexts with stacks (Threads Package), mean", Some(3.51), |single| single.ratio_stackful, usize::MAX),
        over("a heap of callbacks (Esim), mean", Some(11.95), |single| single.ratio_heap, usize::MAX),
        over("a binned queue (gem5), mean", Some(2.8), |single| single.ratio_binned, usize::MAX),
        over("a binned queue (gem5), 16 to 128 events", Some(4.0), |single| single.ratio_binned, 128),
    ];
    let times = report
        .pause1
        .iter()
        .map(|single| Row::new(format!("ns an event, {} events a cycle", single.contexts), None, single.ns));
    rows.into_iter().flatten().chain(times).collect()
}

fn parallel(report: &super::EngineReport) -> Vec<Row> {
    let of = |threads: usize| {
        let speedups = report.parallel.iter().filter(|measured| measured.threads == threads);
        mean(&speedups.map(|measured| measured.speedup).collect::<Vec<f64>>())
    };
    let rows = PARALLEL.into_iter().filter_map(|(threads, paper, other)| {
        let speedup = of(threads)?;
        let row = |section: &str, paper| Row::new(format!("{threads} threads, mean ({section})"), paper, speedup);
        Some([row("2.6.4", paper), row("2.7", other)])
    });
    let differ = report.parallel.iter().filter(|measured| !measured.identical).count();
    rows.flatten().chain([Row::new("runs whose results differ from one thread's", 0.0, differ as f64)]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{EngineReport, PeakMemory, parallel::Parallel};
    use super::*;

    fn report(ratio: f64, threads: usize) -> EngineReport {
        let single = |contexts| Single {
            kind: None,
            contexts,
            ns: 5.0,
            ratio_binned: ratio,
            ratio_heap: 2.0 * ratio,
            ratio_stackful: ratio,
        };
        let of =
            |speedup| Parallel { threads, events_per_cycle: 16, window: 8, work_ns: 500, speedup, identical: true };
        EngineReport {
            pause1: vec![single(16), single(1024)],
            wake: Vec::new(),
            parallel: vec![of(1.0), of(2.0)],
            trace_off_percent: 0.0,
            memory: PeakMemory { contexts: 0, peak_mb: 0 },
        }
    }

    #[test]
    fn each_row_has_the_papers_ratio_beside_the_mean_that_was_measured() {
        let rows = engine(&report(2.5, 2));
        let found: Vec<_> = rows.iter().take(4).map(|row| (row.paper, row.measured)).collect();
        assert_eq!(found, [(Some(3.51), 2.5), (Some(11.95), 5.0), (Some(2.8), 2.5), (Some(4.0), 2.5)]);
        let rows = parallel(&report(2.5, 2));
        assert_eq!((rows.len(), rows[0].paper, rows[0].measured), (3, Some(1.89), 1.5), "more threads were not there");
    }
}
