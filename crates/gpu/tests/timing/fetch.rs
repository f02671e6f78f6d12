//! Instruction fetch: the first line, the lines after it, and branches.

use crate::{
    code::{S_ENDPGM, S_NOP, branch},
    rig::{LINK, Rig, VECTOR},
};

/// From the issue of the last instruction to the end of the kernel: the report, and the order to flush caches.
const END: u64 = LINK + LINK + VECTOR + LINK;

/// `words` instructions, the last of which ends the kernel; each takes a cycle.
fn straight(words: usize) -> Vec<u32> {
    let mut code = vec![S_NOP; words - 1];
    code.push(S_ENDPGM);
    code
}

/// The first of 32 instructions is issued in cycle 114. The second line is requested when the first arrives, in 113,
/// and is there in 121, before the 16 instructions of the first have been issued: 114 + 31 = 145 for the last.
#[test]
fn the_next_line_arrives_while_the_instructions_of_the_one_before_are_issued() {
    let report = Rig::default().run(&straight(32));
    assert_eq!(report.code, [[(105, 0), (113, 1)]]);
    assert_eq!(report.ends, [145 + END]);
    assert_eq!(report.count("wave_instructions"), 32);
}

/// A line of code takes 30 cycles: requested in 105, it arrives in 135, and the next one, requested then, in 165. From
/// 136 on 15 instructions are issued, up to 150. The 16th is at the end of its line and might be eight bytes long, so
/// it waits for the second line and is issued in 166, the last, 16 instructions later, in 182. The code cache is now
/// the slowest to carry out the order at the end: 10 cycles more than the vector cache.
#[test]
fn a_wavefront_waits_for_a_line_that_arrives_late() {
    let report = Rig { code: 30, ..Rig::default() }.run(&straight(32));
    assert_eq!(report.code, [[(105, 0), (135, 1)]]);
    assert_eq!(report.ends, [182 + END + 10]);
    // 105 to 134, and 151 to 164.
    assert_eq!(report.count("cycles.code"), 30 + 14);
}

/// The buffer holds four lines. Each of the first six is requested when the one before arrives, every 8 cycles. In 153
/// the buffer holds lines 2 to 5 and is full. It is not when the last instruction of line 2, the 48th, is issued, in
/// 114 + 47 = 161: then line 6 is requested.
#[test]
fn a_full_instruction_buffer_fetches_no_more_until_a_line_has_been_used() {
    let report = Rig::default().run(&straight(7 * 16));
    assert_eq!(report.code, [[(105, 0), (113, 1), (121, 2), (129, 3), (137, 4), (145, 5), (161, 6)]]);
    assert_eq!(report.ends, [114 + 7 * 16 - 1 + END]);
}

/// The branch to the sixth line is issued in 114 and takes 2 + 4 cycles: 120. The request for the second line, sent in
/// 113, is answered in 121; only then the target's line is requested, which arrives in 129: 130 for its first
/// instruction, the last of the kernel.
#[test]
fn a_branch_out_of_the_buffer_waits_for_the_line_in_flight_and_then_for_its_own() {
    let mut code = straight(5 * 16 + 1);
    code[0] = branch(5 * 16 - 1);
    let report = Rig::default().run(&code);
    assert_eq!(report.code, [[(105, 0), (113, 1), (121, 5)]]);
    assert_eq!(report.ends, [130 + END]);
}

/// A branch to the next instruction is issued in 114 and takes 2 + 4 cycles: 120. If branches empty the buffer, the
/// line is requested again in 114, arrives in 122, and the next instruction is issued in 123.
#[test]
fn a_branch_within_the_buffer_fetches_nothing_unless_branches_empty_it() {
    let code = [branch(0), S_ENDPGM];
    let report = Rig::default().run(&code);
    assert_eq!((report.code, report.ends), (vec![vec![(105, 0)]], vec![120 + END]));
    let mut rig = Rig::default();
    rig.unit.refetch = true;
    let report = rig.run(&code);
    assert_eq!((report.code, report.ends), (vec![vec![(105, 0), (114, 0)]], vec![123 + END]));
}
