//! The area of the virtual-cache design, by arithmetic, and the number of pages that its table must track, from runs on
//! `vc-opt` (`[vcache 4.3]`).
//!
//! The paper states sizes and only a few fields. Assumed here: virtual and physical addresses of 48 bits, so page
//! numbers of 36 bits; lines of 128 bytes, 32 per page.
//!
//! - Backward table: physical page number, leading virtual page number, a bit for each line, rights (2), written,
//!   valid, locked. Without the bits of the page number that select the set (10 for 1024 sets of 16 ways): 26 + 36 +
//!   32 + 5 = 99 bits.
//! - Forward table: the tag of a virtual page number (26 bits), an index of 14 bits into the backward table, valid: 41
//!   bits.
//! - Filter of an L1: a virtual page number (36 bits) without the bits that select one of 32 sets of 8 ways (5), and a
//!   counter up to the 32 lines of a page (6). It has one entry for each line of the cache, because all lines may be of
//!   different pages.

use super::{Group, OPT, PAGES_MOST, WORKLOADS, Workload, count, job, jobs, notes, over, pair, time_over};
use crate::{Experiment, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "vc-area",
    about: "storage of the forward-backward table and the filters; pages with lines in the L2",
    source: "GPU virtual caches, 4.3",
    plan,
};

const PAGE_NUMBER: u64 = 36;
const LINE: u64 = 128;
const LINES_OF_A_PAGE: u64 = 4096 / LINE;
const KIB: u64 = 1024;
const TABLE_ENTRIES: u64 = 16384;
const TABLE_SET_BITS: u64 = 10;
const L1_BYTES: u64 = 32 * KIB;
const L2_BYTES: u64 = 2048 * KIB;
const L1S: u64 = 16;
const RIGHTS: u64 = 2;

/// The change to half of the entries, which "can eliminate most of the invalidation overhead".
const HALF: &str = "gpu.fbt.entries=8192";

/// Bits of an entry of both tables with half of the sets: page numbers have one bit more, and the index has one less.
fn half_bits() -> u64 {
    backward_bits() + 1 + forward_bits()
}

fn backward_bits() -> u64 {
    (PAGE_NUMBER - TABLE_SET_BITS) + PAGE_NUMBER + LINES_OF_A_PAGE + RIGHTS + 3
}

fn forward_bits() -> u64 {
    (PAGE_NUMBER - TABLE_SET_BITS) + 14 + 1
}

fn filter_bits() -> u64 {
    (PAGE_NUMBER - 5) + 6
}

fn kib(bits: u64) -> f64 {
    bits as f64 / 8.0 / KIB as f64
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    Plan {
        jobs: jobs(OPT, size, &[]).chain(jobs(OPT, size, &[HALF.to_owned()])).collect(),
        native: Vec::new(),
        alone: false,
        notes: notes(size),
        rows: Box::new(move |results| rows(results, size)),
    }
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let mut rows = storage();
    let run = |workload: &Workload| results.get(&job(workload, OPT, size, &[]));
    let most = |workload: &Workload| Some(count(run(workload)?, PAGES_MOST));
    for workload in &WORKLOADS {
        rows.extend(
            most(workload).map(|most| Row::new(format!("pages in the L2, {}, most", workload.name), None, most)),
        );
    }
    let name = "pages in the L2, mean of the most (paper: mean over time)";
    rows.extend(over(Group::All, most).map(|mean| Row::new(name, 6000.0, mean)));
    let half = |workload: &Workload| {
        let (half, whole) = (job(workload, OPT, size, &[HALF.to_owned()]), job(workload, OPT, size, &[]));
        pair(results, (&half, &whole), time_over)
    };
    let name = "run time with 8192 entries over that with 16384, mean (paper: no overhead to speak of)";
    rows.extend(over(Group::All, half).map(|ratio| Row::new(name, 1.0, ratio)));
    let above = over(Group::All, |workload| Some(100.0 * f64::from(most(workload)? > 12_000.0)));
    rows.extend(
        above.map(|share| Row::new("workloads with more than 12,000 pages at some time, % (paper: few)", None, share)),
    );
    rows
}

fn storage() -> Vec<Row> {
    let table = backward_bits() * TABLE_ENTRIES;
    let forward = forward_bits() * TABLE_ENTRIES;
    let filter = filter_bits() * (L1_BYTES / LINE);
    let caches = (L2_BYTES + L1S * L1_BYTES) as f64 / KIB as f64;
    let tags = (L2_BYTES + L1S * L1_BYTES) / LINE;
    // A line has its data, a tag without the bits of set and offset, its state and its age. A virtual tag is not longer
    // than a physical one here; the additional bits are the rights to read and to write, and an address space of 8
    // bits.
    let added = (RIGHTS + 8) as f64 / (LINE * 8 + 29 + 2 + 4) as f64;
    let lines = tags as f64 * (LINE * 8 + 29 + 2 + 4) as f64 / 8.0 / KIB as f64;
    vec![
        Row::new("backward table of 16384 entries, KiB", 190.0, kib(table)),
        Row::new("forward table, KiB", 80.0, kib(forward)),
        Row::new("both, KiB", 270.0, kib(table + forward)),
        Row::new("both with 8192 entries, KiB", None, kib(half_bits() * TABLE_ENTRIES / 2)),
        Row::new("both, % of the L1s and the L2 with their tags", 7.5, 100.0 * kib(table + forward) / lines),
        Row::new("both, % of the data of the L1s and the L2", None, 100.0 * kib(table + forward) / caches),
        Row::new("filter of an L1 of 32 KiB, KiB", 1.0, kib(filter)),
        Row::new("filter, % of its L1 (paper: less than 3)", 3.0, 100.0 * kib(filter) / (L1_BYTES / KIB) as f64),
        Row::new("what lines have more, % of the caches", 1.0, 100.0 * added),
    ]
}

#[cfg(test)]
mod tests {
    use super::{backward_bits, filter_bits, forward_bits, half_bits, kib};

    #[test]
    fn fields_add_up() {
        assert_eq!((backward_bits(), forward_bits(), filter_bits()), (99, 41, 37));
        assert_eq!(
            half_bits(),
            27 + 36 + 32 + 5 + 27 + 13 + 1,
            "the forward table's index is one bit shorter, its tag one longer"
        );
        assert_eq!(kib(8 * 1024 * 3), 3.0);
    }
}
