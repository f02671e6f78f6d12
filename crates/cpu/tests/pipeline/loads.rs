//! Loads: from memory, from older stores, across lines.

use crate::{
    rig::Latency,
    script::{Insn, Step, compute, difference, load, load_bytes, play, store, store_bytes, touch},
    structures::wide,
};
use cpu::CoreSpec;
use mem::Access;
use x86::trace::Class;

const HERE: u64 = 0x8000;
const FAR: u64 = 0x100_0000;

fn far() -> Latency {
    Latency { slow: (FAR, 200), ..Latency::default() }
}

fn quiet() -> CoreSpec {
    CoreSpec { store_prefetch: false, ..wide() }
}

#[test]
fn a_load_takes_the_time_of_its_address_and_of_memory() {
    // Each address depends on the load before: two cycles to compute it, then memory.
    let chase = |count| (0..count).map(|n| load(0, 0, HERE + 64 * n)).collect::<Vec<_>>();
    for hit in [2, 5, 30] {
        let latency = Latency { hit, ..Latency::default() };
        assert_eq!(difference(&wide(), latency, chase(200), chase(100)), 100 * (2 + hit));
    }
}

#[test]
fn independent_loads_overlap() {
    let loads = (0..64).map(|n| load((n % 8) as u8, 15, FAR + 64 * n)).collect();
    let cycles = play(&wide(), far(), loads).cycles();
    assert!((200..240).contains(&cycles), "{cycles}");
}

#[test]
fn a_load_takes_its_bytes_from_an_older_store_that_has_them_all() {
    // The store is to a slow line, so it is performed much later.
    let steps = vec![store(0, 15, FAR + 8), load(1, 15, FAR + 8), load_bytes(2, 15, FAR + 12, 4)];
    let report = play(&quiet(), far(), steps);
    assert_eq!((report.count("loads"), report.count("loads_forwarded"), report.count("loads_blocked")), (2, 2, 0));
    assert!(report.log.iter().all(|performed| performed.request.access == Access::Store));
}

#[test]
fn the_youngest_older_store_counts() {
    // The first store covers the load, but the younger second one overlaps it too, so that one must be performed first.
    let steps = vec![store(0, 15, HERE), store_bytes(1, 15, HERE + 4, 2), load(2, 15, HERE)];
    let report = play(&quiet(), Latency::default(), steps);
    assert_eq!((report.count("loads_forwarded"), report.count("loads_blocked")), (0, 1));
    let order: Vec<_> = report.log.iter().map(|performed| performed.request.access).collect();
    assert_eq!(order, [Access::Store, Access::Store, Access::Load]);
}

#[test]
fn a_younger_store_does_not_count() {
    let report = play(&quiet(), Latency::default(), vec![load(2, 15, HERE), store(0, 15, HERE)]);
    assert_eq!((report.count("loads"), report.count("loads_forwarded"), report.count("loads_blocked")), (1, 0, 0));
}

#[test]
fn other_bytes_of_the_same_line_do_not_count() {
    let report = play(&quiet(), far(), vec![store(0, 15, FAR), load(1, 15, FAR + 8)]);
    assert_eq!((report.count("loads_forwarded"), report.count("loads_blocked")), (0, 0));
}

#[test]
fn a_forwarded_load_waits_for_the_value() {
    // The value comes from a chain of a hundred additions; then it is forwarded and used.
    let steps = |adds: usize| {
        let adds = (0..adds).map(|_| compute(Class::Integer, 0, 0));
        adds.chain([store(0, 15, HERE), load(1, 15, HERE), compute(Class::Integer, 1, 1)]).collect()
    };
    let report = play(&quiet(), Latency::default(), steps(100));
    assert_eq!(report.count("loads_forwarded"), 1);
    assert_eq!(difference(&quiet(), Latency::default(), steps(200), steps(100)), 100);
}

#[test]
fn a_partial_overlap_waits_until_the_store_is_performed() {
    let steps = |bytes| vec![store_bytes(0, 15, FAR, bytes), load_bytes(1, 15, FAR, 8)];
    let report = play(&quiet(), far(), steps(4));
    assert_eq!((report.count("loads_blocked"), report.count("loads_forwarded")), (1, 0));
    // First the store, then the load.
    assert!((400..430).contains(&report.cycles()), "{}", report.cycles());
    assert!((200..230).contains(&play(&quiet(), far(), steps(8)).cycles()));
}

#[test]
fn loads_overtake_stores_with_unknown_addresses_unless_told_to_wait() {
    // The store's address depends on a slow load; the loads after it do not.
    let steps = || {
        let loads = (0..10).map(|n| load(1, 15, FAR + 0x1000 + 64 * n));
        [load(0, 15, FAR), store(2, 0, HERE)].into_iter().chain(loads).collect()
    };
    assert!((200..230).contains(&play(&wide(), far(), steps()).cycles()));
    let careful = CoreSpec { wait_for_addresses: true, ..wide() };
    assert!((400..430).contains(&play(&careful, far(), steps()).cycles()));
}

#[test]
fn a_load_across_lines_waits_for_both() {
    let Step::Do(mut across) = load_bytes(0, 0, HERE + 60, 4) else { unreachable!("a load is an instruction") };
    across.accesses.push(touch(false, FAR, 4));
    let report = play(&wide(), far(), vec![Step::Do(across), compute(Class::Integer, 0, 0)]);
    assert_eq!((report.count("loads"), report.count("instructions")), (2, 2));
    assert!(report.cycles() > 200);
}

#[test]
fn a_part_of_a_string_moves_whole_lines() {
    // Thirty-two bytes from one line to another, byte by byte.
    let bytes = (0..32).flat_map(|n| [touch(false, HERE + n, 1), touch(true, HERE + 0x100 + n, 1)]);
    let (Step::Do(from), Step::Do(to)) = (load(0, 14, HERE), store(0, 15, HERE)) else { unreachable!("instructions") };
    let mut outline = from.outline;
    outline.micro_ops.extend(to.outline.micro_ops);
    outline.repeats = true;
    let part = Insn { outline, at: Some(0x1000), next: Some(0x1000), taken: false, accesses: bytes.collect() };
    let last = Insn { next: Some(0x1002), ..part.clone() };
    let (report, events) =
        crate::script::play_all(&quiet(), Latency::default(), vec![vec![Step::Do(part), Step::Do(last)]]);
    assert_eq!((report.count("loads"), report.count("stores")), (2, 2));
    assert_eq!(report.ordered(), [(Access::Store, HERE + 0x100, 0xffff_ffff); 2]);
    let performed = events.iter().filter(|(_, event)| *event == crate::script::Event::Performed).count();
    assert_eq!(performed, 64, "the program is told of each of its stores");
    assert_eq!(report.count("instructions"), 1, "only with its last part is it done");
}
