//! Network traffic added by timestamps (`[halcone 3.2.6]`), computed from the field sizes that the paper assumes.

use crate::{Experiment, Options, Plan, Row};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-traffic",
    about: "bytes that timestamps add to a read and to a write, in percent",
    source: "HALCONE, 3.2.6",
    plan,
};

/// Field sizes in bytes as the paper assumes: a block, an address, metadata, an acknowledgement, and the two timestamps
/// of an answer.
pub const BLOCK: f64 = 64.0;
pub const ADDRESS: f64 = 8.0;
pub const METADATA: f64 = 4.0;
pub const ACK: f64 = 4.0;
pub const TIMESTAMPS: f64 = 4.0;

fn plan(_: Options) -> Plan {
    Plan {
        jobs: Vec::new(),
        native: Vec::new(),
        alone: false,
        notes: vec![
            "by arithmetic: wires here carry a header of 8 bytes for each message, whatever it says".to_owned(),
        ],
        rows: Box::new(|_| rows()),
    }
}

fn rows() -> Vec<Row> {
    // A request carries address and metadata; the answer carries the block and metadata.
    let read = ADDRESS + METADATA + BLOCK + METADATA;
    let write = ADDRESS + BLOCK + ACK;
    vec![
        Row::new("a read, % more", 5.0, TIMESTAMPS / read * 100.0),
        Row::new("a write, % more", 5.26, TIMESTAMPS / write * 100.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_that_the_paper_assumes_give_its_figures() {
        let rows = rows();
        assert_eq!(rows.len(), 2, "a read and a write");
        assert!(rows.iter().all(|row| row.ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 0.01)));
    }
}
