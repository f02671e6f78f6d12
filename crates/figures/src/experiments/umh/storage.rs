//! Storage cost of directories (`[umh 5]`): bits of entries (Fig. 7), sizes of SMDs and HMDs (Fig. 11), and area and
//! latency of their SRAM (Fig. 8).
//!
//! Bits follow from the text. Area and latency are fitted: the paper takes them from CACTI at 32 nm and shows them only
//! in a figure, but states that an SMD with blocks of 4 KB occupies 7 mm2 (5.4) and that an HMD answers within 0.5 ns
//! (5.2). Area is taken as proportional to the bits, and latency to their square root, as for wires across the array.

use crate::{Experiment, Options, Plan, Results, Row};

pub const EXPERIMENT: Experiment = Experiment {
    name: "umh-storage",
    about: "bits of directories by size of blocks and stacks, and a fitted model of the area and latency of their SRAM",
    source: "UMH, 5, Figs. 7, 8 and 11",
    plan,
};

/// Tag and state bits of an entry. The tag does not depend on the block size: the offset gains the bits that the index
/// loses.
const TAG: u64 = 32;
const STATE: u64 = 3;
const LINE: u64 = 64;
const STACK: u64 = 1 << 30;
/// Number of SMDs that an HMD serves with four GPUs, and the bits that name one of them or none.
const SMDS: u64 = 8;
const OWNER: u64 = 4;

const MIB: f64 = 8.0 * 1024.0 * 1024.0;

/// Bits of a stack's SMD.
fn smd(stack: u64, block: u64) -> u64 {
    // A stack of twice the size adds a bit to the index and removes one from the tag.
    let tag = TAG + u64::from(STACK.ilog2()) - u64::from(stack.ilog2());
    stack / block * (tag + STATE + block / LINE)
}

/// Bits of an HMD, which covers the blocks of two stacks of a GPU.
fn hmd(stack: u64, block: u64) -> u64 {
    2 * stack / block * (SMDS + OWNER)
}

/// Area in mm2, fitted to 7 for 1 GB in blocks of 4 KB.
fn area(bits: u64) -> f64 {
    7.0 * bits as f64 / smd(STACK, 4096) as f64
}

/// Latency in nanoseconds, fitted to 0.5 for an HMD.
fn latency(bits: u64) -> f64 {
    0.5 * (bits as f64 / hmd(STACK, 4096) as f64).sqrt()
}

fn plan(_: Options) -> Plan {
    let notes =
        vec!["computed, not simulated; area and latency are fitted to the two figures that the text states".to_owned()];
    Plan { jobs: Vec::new(), native: Vec::new(), alone: false, notes, rows: Box::new(rows) }
}

fn rows(_: &Results) -> Vec<Row> {
    let mut rows = vec![
        Row::new("SMD entry of a line, bits", 36.0, (smd(STACK, LINE) / (STACK / LINE)) as f64),
        Row::new("SMD entry of a block of 4 KB without its lines, bits", 35.0, (TAG + STATE) as f64),
        Row::new("SMD of 1 GB with an entry for each line, MiB", 72.0, smd(STACK, LINE) as f64 / MIB),
    ];
    for block in (6..=14).map(|log| 1_u64 << log) {
        let bits = smd(STACK, block);
        let paper = (block == 4096).then_some(7.0);
        rows.push(Row::new(format!("SMD of 1 GB, blocks of {block} B, mm2 (fitted)"), paper, area(bits)));
        rows.push(Row::new(format!("SMD of 1 GB, blocks of {block} B, ns (fitted)"), None, latency(bits)));
    }
    for gib in [1, 2, 4, 8] {
        let stack = gib * STACK;
        rows.push(Row::new(format!("SMD of {gib} GB, MiB"), None, smd(stack, 4096) as f64 / MIB));
        rows.push(Row::new(format!("HMD for stacks of {gib} GB, MiB"), None, hmd(stack, 4096) as f64 / MIB));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_and_latency_fall_as_blocks_grow_and_an_hmd_is_smaller_than_an_smd() {
        let bits: Vec<u64> = (6..=14).map(|log| smd(STACK, 1 << log)).collect();
        assert!(bits.windows(2).all(|pair| pair[1] < pair[0]));
        assert!(hmd(STACK, 4096) < smd(STACK, 4096));
        assert!(hmd(8 * STACK, 4096) - hmd(STACK, 4096) < smd(8 * STACK, 4096) - smd(STACK, 4096));
    }
}
