//! Storage cost of HALCONE's timestamps (`[halcone 3.2.5 and 3.2.6]`).

use crate::{Experiment, Options, Plan, Row};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-storage",
    about: "bytes of timestamps for each GPU: in the TSU, the L2, and the times of caches",
    source: "HALCONE, 3.2.5 and 3.2.6",
    plan,
};

/// The paper's values, in the order in which the protocol lists its storage.
const PAPER: [f64; 4] = [65536.0, 131_072.0, 1024.0, 320.0];

fn plan(_: Options) -> Plan {
    Plan {
        jobs: Vec::new(),
        native: Vec::new(),
        alone: false,
        notes: vec![
            "3.2.6 has 1 KB for an L1 \"of size 256 KB\"; it is what Table 2's of 16 KB needs".to_owned(),
            "the TSU here also keeps when a line was written, which takes as much again as memts (docs/protocols/halcone.md)"
                .to_owned(),
        ],
        rows: Box::new(|_| rows()),
    }
}

fn rows() -> Vec<Row> {
    let storage = protocol::catalogue::find("halcone").and_then(|halcone| halcone.storage);
    let kept = storage.map(|storage| storage()).unwrap_or_default();
    kept.iter()
        .zip(PAPER)
        .map(|(kept, paper)| Row::new(format!("{}, bytes", kept.what), paper, kept.bytes.0 as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_figures_come_out() {
        assert_eq!(rows().len(), PAPER.len());
        assert!(rows().iter().all(|row| row.ratio == Some(1.0)));
    }
}
