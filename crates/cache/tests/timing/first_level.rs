//! Hits, misses, and what makes a request wait: the port, the miss registers, the line, its bytes in flight.

use crate::rig::{BELOW, DOWN, Report, UP, first_level, load, spec, store};
use cache::CacheSpec;
use mem::Request;
use protocol::{Kind, vi_l1::ViL1};

/// A hit: the wires to the cache and back.
const HIT: u64 = DOWN + UP;
/// A miss: in addition, the wires to memory and back.
const MISS: u64 = DOWN + 2 * BELOW + UP;

/// A GPU's first-level cache: write-through, no allocation on a store.
fn cache() -> CacheSpec {
    spec(ViL1::ANY_ORDER)
}

fn run(spec: CacheSpec, requests: Vec<(u64, Request)>) -> Report {
    first_level(spec, 0, requests)
}

/// 2 cycles down, 10 to memory, 10 back, 3 up: 25. The second load finds the line: 2 down and 3 up.
#[test]
fn a_hit_takes_its_wires_and_a_miss_the_way_to_memory_too() {
    let report = run(cache(), vec![load(0, 7), load(100, 7)]);
    assert_eq!((MISS, HIT), (25, 5));
    assert_eq!(report.replies, [(7, 25), (7, 105)]);
    assert_eq!(report.messages, [(12, Kind::Read, 7)]);
    // The cache counts from the look-up to its reply: 20 cycles and none.
    assert_eq!((report.sum("load_cycles"), report.loads()), (20, [1, 1, 0]));
}

/// Three loads that hit arrive in cycle 102. One port: they are looked up in 102, 103 and 104, and answered 3 cycles
/// later. Two ports: two of them in 102.
#[test]
fn hits_that_arrive_at_one_bank_together_are_looked_up_one_per_port_and_cycle() {
    let fill = [load(0, 0), load(0, 1), load(0, 2)];
    let hits = || fill.into_iter().chain([load(100, 0), load(100, 1), load(100, 2)]).collect();
    let one = run(cache(), hits());
    assert_eq!(one.replies[3..], [(0, 105), (1, 106), (2, 107)]);
    let two = run(CacheSpec { ports: 2, ..cache() }, hits());
    assert_eq!(two.replies[3..], [(0, 105), (1, 105), (2, 106)]);
}

/// Four lanes that share a request occupy the look-up for four cycles, 102 to 105: the load behind them is looked up in
/// 106. Their own reply does not wait for that.
#[test]
fn a_request_of_four_lanes_occupies_the_look_up_for_four_cycles() {
    let (at, four) = load(100, 0);
    let four = (at, Request { lanes: 4, ..four });
    let report = run(cache(), vec![load(0, 0), load(0, 1), four, load(100, 1)]);
    assert_eq!(report.replies[2..], [(0, 105), (1, 109)]);
    // Two loads, and four lanes and a load.
    assert_eq!(report.count("requests"), 7);
}

/// Loads of three lines arrive in cycle 2 and are looked up in 2, 3 and 4. Without a limit their replies come in 25, 26
/// and 27. With two miss registers, the third finds none in 4. Answers come first: lines 0 and 1 arrive in 22 and 23,
/// and the port is taken. In 24 the third load is tried again and asks memory: 24 + 20 + 3 = 47.
#[test]
fn a_miss_that_finds_no_mshr_is_tried_again_when_the_port_is_free_after_an_answer() {
    let loads = || vec![load(0, 0), load(0, 1), load(0, 2)];
    let report = run(cache(), loads());
    assert_eq!(report.replies, [(0, 25), (1, 26), (2, 27)]);
    assert_eq!(report.count("mshr_full"), 0);

    let mut limited = cache();
    limited.bank.mshrs = 2;
    let report = run(limited, loads());
    assert_eq!(report.replies, [(0, 25), (1, 26), (2, 47)]);
    assert_eq!(report.messages, [(12, Kind::Read, 0), (13, Kind::Read, 1), (34, Kind::Read, 2)]);
    assert_eq!(report.count("mshr_full"), 1);
}

/// The second load is looked up in cycle 3 and waits for the line, which arrives in 22. The port serves the first load
/// in 22 and the second in 23: replies arrive in 25 and 26, and memory gets one request.
#[test]
fn a_load_of_a_line_in_flight_waits_for_it_and_is_served_a_cycle_after_the_first() {
    let report = run(cache(), vec![load(0, 7), load(1, 7)]);
    assert_eq!(report.replies, [(7, 25), (7, 26)]);
    assert_eq!(report.messages.len(), 1);
    assert_eq!(report.loads(), [0, 1, 1]);
}

/// One load may wait for the line. The third finds the join queue full in cycle 104 and stays on its wire, and so does
/// the hit of another line behind it. The line comes in 122, and the waiting load is served in 123. By its own step
/// that load has woken the line's queue once more: the port spends 124 on finding it empty. The third load is served in
/// 125 and the hit in 126. Each reply takes 3 cycles.
#[test]
fn a_full_join_queue_stops_the_wire_and_a_hit_behind_it() {
    let mut limited = cache();
    limited.bank.join_queue = 1;
    let report = run(limited, vec![load(0, 1), load(100, 7), load(100, 7), load(100, 7), load(100, 1)]);
    assert_eq!(report.replies[1..], [(7, 125), (7, 126), (7, 128), (1, 129)]);
    assert_eq!((report.count("join_full"), report.count("refused")), (1, 1));
}

/// A store is written through and performed when memory has acknowledged it: 2 + 10 + 10 + 3 = 25. It does not bring
/// the line: a load of it misses.
#[test]
fn a_store_is_answered_when_memory_has_acknowledged_it() {
    let report = run(cache(), vec![store(0, 7), load(100, 7)]);
    assert_eq!(report.replies, [(7, 25), (7, 125)]);
    assert_eq!(report.messages, [(12, Kind::Write, 7), (112, Kind::Read, 7)]);
    assert_eq!(report.sum("store_cycles"), 20);
}

/// On a network that may reorder messages, a store to a byte in flight waits until that byte is acknowledged, in cycle
/// 22. It is tried again in 23 and takes 20 cycles to memory and back and 3 to the requester: 46. Where the network
/// keeps their order, it goes ahead in cycle 3: 3 + 20 + 3 = 26.
#[test]
fn a_second_store_to_a_byte_in_flight_waits_unless_the_network_keeps_their_order() {
    let stores = || vec![store(0, 7), store(1, 7)];
    assert_eq!(run(cache(), stores()).replies, [(7, 25), (7, 46)]);
    assert_eq!(run(spec(ViL1::IN_ORDER), stores()).replies, [(7, 25), (7, 26)]);
}
