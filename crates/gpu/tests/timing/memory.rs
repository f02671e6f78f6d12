//! Vector accesses: how lanes become requests for lines, and when these are sent.
//!
//! All kernels here begin alike: two vector instructions, issued in 114 and 120, of 2 + 4 cycles each; the load, issued
//! in 126, reaches the coalescer after 2 + 3 cycles, in 131, and its first request is sent in 132. The vector cache
//! takes 20 cycles: 152. The wavefront waits for the reply, and ends in the cycle in which it comes.

use crate::{
    code::{V2_ZERO, loads, shifted},
    rig::{LINK, Rig, VECTOR},
};
use gpu::Coalescer;

/// From the end of the last wavefront to the end of the kernel: the report, and the order to flush caches.
const END: u64 = LINK + LINK + VECTOR + LINK;

/// Words one after the other, and words 64 bytes apart.
const WORDS: u32 = 2;
const LINES: u32 = 6;

/// 64 lanes load one word: one request in 132, answered in 152.
#[test]
fn lanes_that_load_one_word_make_one_request() {
    let report = Rig::default().run(&loads(V2_ZERO, 1));
    assert_eq!(report.vector, [(132, 0, 1)]);
    assert_eq!(report.ends, [152 + END]);
}

/// 64 words are four lines of 16: requests in 132 to 135, one a cycle, the last answered in 155.
#[test]
fn lanes_that_load_consecutive_words_make_four_requests_one_a_cycle() {
    let report = Rig::default().run(&loads(shifted(WORDS), 1));
    assert_eq!(report.vector, [(132, 0, 1), (133, 64, 1), (134, 128, 1), (135, 192, 1)]);
    assert_eq!(report.ends, [155 + END]);
    assert_eq!(report.count("lines_requested"), 4);
}

/// Every lane has a line of its own: 64 requests in 132 to 195, the last answered in 215.
#[test]
fn lanes_that_load_a_line_each_make_a_request_each() {
    let report = Rig::default().run(&loads(shifted(LINES), 1));
    assert_eq!(report.vector.len(), 64);
    assert_eq!((report.vector[63], report.ends[0]), ((195, 63 * 64, 1), 215 + END));
}

/// The wavefront continues in 132, when its first load has been split, and issues the second, which reaches the
/// coalescer in 137. The first one's requests have been sent by 135, so those of the second are sent in 138 to 141:
/// answered in 161. With four slots for lines, it has to wait until all four of the first are free, in 155: requests in
/// 156 to 159, answered in 179.
#[test]
fn a_second_load_is_split_when_there_are_slots_for_all_its_lines() {
    let report = Rig::default().run(&loads(shifted(WORDS), 2));
    assert_eq!(report.vector[4..], [(138, 0, 1), (139, 64, 1), (140, 128, 1), (141, 192, 1)]);
    assert_eq!(report.ends, [161 + END]);
    let mut rig = Rig::default();
    rig.unit.line_slots = 4;
    let report = rig.run(&loads(shifted(WORDS), 2));
    assert_eq!(report.vector[4..], [(156, 0, 1), (157, 64, 1), (158, 128, 1), (159, 192, 1)]);
    assert_eq!(report.ends, [179 + END]);
}

/// The wavefronts of a workgroup share the unit's port to its cache. The search for a wavefront to fetch for begins at
/// slot 1, so the second wavefront fetches its code in 105 and the first in 106. They run on different SIMDs, a cycle
/// apart: the first one's load reaches the coalescer in 132. The other's requests are sent in 132 to 135, and its own
/// in 136 to 139: answered in 159.
#[test]
fn wavefronts_share_the_port_to_the_vector_cache() {
    let report = Rig { items: 128, ..Rig::default() }.run(&loads(shifted(WORDS), 1));
    let (cycles, lines): (Vec<u64>, Vec<u64>) = report.vector.iter().map(|(cycle, line, _)| (*cycle, *line)).unzip();
    assert_eq!(cycles, [132, 133, 134, 135, 136, 137, 138, 139]);
    // The second wavefront's first work-item is number 64, which loads address 256.
    assert_eq!(lines, [256, 320, 384, 448, 0, 64, 128, 192]);
    assert_eq!(report.ends, [159 + END]);
}

/// Lanes that are coalesced in the cache are sent one a cycle. Of the 16 lanes of a line the first has a request of its
/// own and the others share one: in 132 and 133 for the first line, then, 16 cycles later, in 148 and 149, in 164 and
/// 165, in 180 and 181. The last is answered in 201.
#[test]
fn uncoalesced_lanes_take_a_cycle_each() {
    let mut rig = Rig::default();
    rig.unit.coalescer = Coalescer::Cache;
    let report = rig.run(&loads(shifted(WORDS), 1));
    let expected = [132, 148, 164, 180].into_iter().zip([0, 64, 128, 192]);
    let expected: Vec<_> = expected.flat_map(|(at, line)| [(at, line, 1), (at + 1, line, 15)]).collect();
    assert_eq!(report.vector, expected);
    assert_eq!(report.ends, [201 + END]);
}
