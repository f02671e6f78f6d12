//! Fig. 9: the cost of coherence for programs that need it, by the size of their vectors (`[halcone 5.3]`).

use super::{HALCONE, SM_WT, vectors, xtreme};
use crate::{Experiment, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-fig9",
    about: "Xtreme1 to 3 on four GPUs: how much slower HALCONE is than the same system without coherence, in percent",
    source: "HALCONE, 5.3 and Fig. 9",
    plan,
};

fn plan(options: Options) -> Plan {
    let size = options.size;
    let mut jobs = Vec::new();
    for number in 1..=3 {
        for kib in vectors(size) {
            jobs.extend([HALCONE, SM_WT].map(|machine| xtreme(number, *kib, machine, size, &[])));
        }
    }
    let mut notes = vec![
        "each workgroup is bound to a compute unit of its own".to_owned(),
        "without coherence Xtreme3 computes with stale data, so its result is not checked here".to_owned(),
    ];
    if size == Size::Scaled {
        notes.push("an eighth of each GPU, its L2 and every wire between chips, and of the vectors; rows name the paper's vectors".to_owned());
    }
    if size != Size::Paper {
        notes.push("the largest vectors of the paper (96 MB) are left out".to_owned());
    }
    Plan { jobs, native: Vec::new(), alone: false, notes, rows: Box::new(move |results| rows(results, size)) }
}

/// Slowdowns in per cent stated in the text: by program and vector size in KB, and (`WORST`) the largest of each
/// program.
const STATED: [(usize, usize, f64); 2] = [(1, 192, 14.3), (1, 98_304, 0.6)];
const WORST: [(usize, f64); 3] = [(1, 14.3), (2, 12.1), (3, 16.8)];

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, worst) in WORST {
        let mut all = Vec::new();
        for kib in vectors(size) {
            let run = |machine| results.get(&xtreme(number, *kib, machine, size, &[]));
            let (Some(coherent), Some(base)) = (run(HALCONE), run(SM_WT)) else { continue };
            let slower = (1.0 - coherent.speedup_over(base)) * 100.0;
            let stated = STATED.iter().find(|(of, at, _)| (*of, *at) == (number, *kib)).map(|(.., paper)| *paper);
            rows.push(Row::new(format!("Xtreme{number}, {kib} KB, % slower"), stated, slower));
            all.push(slower);
        }
        let most = all.into_iter().reduce(f64::max);
        rows.extend(most.map(|most| Row::new(format!("Xtreme{number}, most, % slower"), worst, most)));
    }
    rows
}
