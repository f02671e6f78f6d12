//! HALCONE's sensitivity to the lengths of its leases (`[halcone 5.4]`).

use super::{HALCONE, vectors, xtreme};
use crate::{Experiment, Job, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-leases",
    about: "Xtreme1 to 3 with six pairs of leases (read, write): time over that with (10, 5)",
    source: "HALCONE, 5.4",
    plan,
};

/// The paper's pairs; 5.1 uses (10, 5), although 5.4 says that (5, 10) was used.
const PAIRS: [(u32, u32); 6] = [(2, 10), (10, 2), (5, 10), (10, 5), (20, 10), (10, 20)];
const USED: (u32, u32) = (10, 5);

fn leased(number: usize, (read, write): (u32, u32), size: Size) -> Job {
    let changes = [format!("memory.read_lease={read}"), format!("memory.write_lease={write}")];
    // The machine file already has the used pair.
    xtreme(number, vectors(size)[0], HALCONE, size, if (read, write) == USED { &[] } else { &changes })
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let jobs = (1..=3).flat_map(|number| PAIRS.map(|pair| leased(number, pair, size)));
    Plan {
        jobs: jobs.collect(),
        native: Vec::new(),
        alone: false,
        notes: vec!["vectors of 192 KB, which all caches hold: there leases matter most".to_owned()],
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut farthest: Option<f64> = None;
    for number in 1..=3 {
        let Some(base) = results.get(&leased(number, USED, size)) else { continue };
        for pair in PAIRS {
            let Some(run) = results.get(&leased(number, pair, size)) else { continue };
            let time = base.speedup_over(run);
            rows.push(Row::new(format!("Xtreme{number}, leases {} and {}", pair.0, pair.1), None, time));
            let apart = time.max(1.0 / time);
            farthest = Some(farthest.map_or(apart, |most| most.max(apart)));
        }
    }
    rows.extend(farthest.map(|most| Row::new("farthest from (10, 5), of all (at most 3%)", 1.03, most)));
    rows
}
