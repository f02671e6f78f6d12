//! Write-backs and requests that were refused.

use crate::rig::{first_level, load, second_level, spec, store, ways};
use cache::CacheSpec;
use protocol::{Kind, mesi::l1::L1D, wb_l2::WriteBackL2};

/// A core's data cache with one way.
fn data_cache() -> CacheSpec {
    let mut spec = spec(L1D);
    spec.bank.shape = ways(1);
    spec
}

/// The store brings line 0. The load of line 1 is looked up in cycle 102: line 0 moves to the write-back queue in the
/// same cycle, and the load takes as long as any miss, 25 cycles. The cache sends line 0 below when it has nothing else
/// to do: in cycle 103, so that memory sees it in 113, a cycle after the load.
#[test]
fn an_eviction_does_not_delay_the_miss_that_caused_it() {
    let report = first_level(data_cache(), 0, vec![store(0, 0), load(100, 1)]);
    assert_eq!(report.replies, [(0, 25), (1, 125)]);
    assert_eq!(report.messages, [(12, Kind::GetX, 0), (112, Kind::Get, 1), (113, Kind::WriteBack, 0)]);
    assert_eq!(report.count("evictions"), 1);
}

/// The line leaves for memory in cycle 103 and is acknowledged in 123. A load of it that comes in between waits, is
/// tried again in 124, and takes 20 cycles to memory and back and 3 to the requester: 147.
#[test]
fn a_load_of_a_line_whose_write_back_is_in_flight_waits_for_the_acknowledgement() {
    let report = first_level(data_cache(), 0, vec![store(0, 0), load(100, 1), load(110, 0)]);
    assert_eq!(report.replies, [(0, 25), (1, 125), (0, 147)]);
    assert_eq!(report.messages[3], (134, Kind::Get, 0));
}

/// The load of line 2 evicts line 0 in cycle 102. The load of line 0 is looked up in 103, when the line is in the
/// write-back queue and has not been sent, because requests come before write-backs. The line is taken back, and the
/// reply comes 3 cycles later.
#[test]
fn a_line_that_waits_to_be_written_back_is_taken_back_by_a_load_in_no_time() {
    let mut spec = data_cache();
    spec.bank.shape = ways(2);
    let fill = [store(0, 0), store(1, 1)];
    let report = first_level(spec, 0, fill.into_iter().chain([load(100, 2), load(101, 0)]).collect());
    assert_eq!(report.replies, [(0, 25), (1, 26), (0, 106), (2, 125)]);
    // Line 1 had to leave for it, and line 0 was never written back.
    assert_eq!(report.messages[2..], [(112, Kind::Get, 2), (114, Kind::WriteBack, 1)]);
}

/// Writes of three lines that share the only way are looked up in cycles 2, 3 and 4. The second evicts the first line,
/// whose write-back leaves in 3 and is acknowledged in 23. The third needs the queue's only place for the second line:
/// the request is retried in 24, and the reply arrives 3 cycles later.
#[test]
fn a_write_waits_while_the_write_back_queue_has_no_place_for_the_line_it_evicts() {
    let mut limited = spec(WriteBackL2::ALONE);
    (limited.bank.shape, limited.bank.write_back_queue) = (ways(1), 1);
    let writes = || vec![(0, Kind::Write, 0), (0, Kind::Write, 1), (0, Kind::Write, 2)];
    let report = second_level(limited.clone(), writes());
    assert_eq!(report.replies, [(0, 5), (1, 6), (2, 27)]);
    assert_eq!(report.messages, [(13, Kind::Write, 0), (34, Kind::Write, 1)]);
    assert_eq!(report.count("write_back_full"), 1);

    limited.bank.write_back_queue = 2;
    let report = second_level(limited, writes());
    assert_eq!(report.replies, [(0, 5), (1, 6), (2, 7)]);
    assert_eq!(report.messages, [(13, Kind::Write, 0), (14, Kind::Write, 1)]);
}

/// Memory's refusal arrives in cycle 22. The delay is 8 cycles and up to 63 more, by Knuth's generator: the first
/// number of node 0 is 1442695040888963407 / 2^33 = 167951807, and 167951807 mod 64 = 63. The request leaves again in
/// 22 + 8 + 63 = 93: 93 + 20 + 3 = 116.
#[test]
fn a_refused_request_is_sent_again_after_its_delay() {
    let report = first_level(data_cache(), 1, vec![load(0, 0)]);
    assert_eq!(report.messages, [(12, Kind::Get, 0), (103, Kind::Get, 0)]);
    assert_eq!(report.replies, [(0, 116)]);
}

/// The second number of the generator is 218396424, which is 8 mod 64 (the first is in
/// [`a_refused_request_is_sent_again_after_its_delay`]). Refused in 22, sent again in 93, refused in 93 + 20 = 113,
/// sent again in 113 + 8 + 8 = 129: 129 + 20 + 3 = 152.
#[test]
fn each_refusal_draws_a_delay_of_its_own() {
    let report = first_level(data_cache(), 2, vec![load(0, 0)]);
    assert_eq!(report.messages, [(12, Kind::Get, 0), (103, Kind::Get, 0), (139, Kind::Get, 0)]);
    assert_eq!(report.replies, [(0, 152)]);
}
