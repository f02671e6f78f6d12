//! What fetch waits for: fences, locks, lines, the kernel.

use crate::{
    rig::Latency,
    script::{Event, Step, compute, load, play, play_all, store},
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

fn add() -> Step {
    compute(Class::Integer, 0, 1)
}

#[test]
fn behind_a_fence_nothing_is_executed_before_all_stores_are_performed() {
    let (report, events) = play_all(&quiet(), far(), vec![vec![store(0, 15, FAR), Step::Drain, add()]]);
    let events: Vec<_> = events.into_iter().map(|(_, event)| event).collect();
    assert_eq!(events, [Event::Executed(0, true), Event::Performed, Event::Executed(2, true)]);
    assert_eq!(report.count("fetch_waits.drain"), 2, "at the fence and at the end");
    assert!(report.phase("write_stall") > 180, "{}", report.phase("write_stall"));
}

#[test]
fn behind_a_fence_nothing_is_executed_before_all_loads_are_committed() {
    let (report, events) = play_all(&quiet(), far(), vec![vec![load(0, 15, FAR), Step::Drain, add()]]);
    assert!(matches!(events[1], (200.., Event::Executed(2, true))), "{events:?}");
    assert!(report.phase("read_stall") > 180);
}

#[test]
fn an_atomic_access_holds_its_line_from_before_it_is_executed_until_its_store() {
    let steps = vec![store(0, 15, HERE), Step::Lock(FAR), load(0, 15, FAR), store(0, 15, FAR), add()];
    let (report, events) = play_all(&quiet(), far(), vec![steps]);
    let expected = [(Access::Store, HERE, 0xff), (Access::Lock, FAR, 0), (Access::Store, FAR, 0xff)];
    // The lock is for the load. Its store is a separate instruction here, so the line is also unlocked in between.
    let mut ordered = report.ordered();
    ordered.remove(2);
    assert_eq!(ordered, expected);
    let (executed, _) = events.iter().find(|(_, event)| *event == Event::Executed(2, true)).expect("when quiet");
    assert!(*executed > 200, "the line must come first");
    assert_eq!(report.count("fetch_waits.lock"), 1);
}

#[test]
fn an_atomic_access_that_stores_nothing_lets_its_line_go_by_an_empty_store() {
    let report = play(&quiet(), Latency::default(), vec![Step::Lock(HERE), load(0, 15, HERE), add()]);
    assert_eq!(report.ordered(), [(Access::Lock, HERE, 0), (Access::Store, HERE, 0)]);
    assert_eq!(report.count("instructions"), 2);
}

#[test]
fn an_atomic_access_that_stores_lets_its_line_go_by_that() {
    let report = play(&quiet(), Latency::default(), vec![Step::Lock(HERE), store(0, 15, HERE + 8), add()]);
    assert_eq!(report.ordered(), [(Access::Lock, HERE, 0), (Access::Store, HERE, 0xff00)]);
}

#[test]
fn a_lock_that_is_not_used_is_let_go() {
    let (report, _) = play_all(&quiet(), Latency::default(), vec![vec![Step::Lock(HERE), Step::System(10, vec![])]]);
    assert_eq!(report.ordered(), [(Access::Lock, HERE, 0), (Access::Store, HERE, 0)]);
}

#[test]
fn two_lines_can_be_held() {
    let steps = vec![Step::Lock(HERE), Step::Lock(HERE + 64), store(0, 15, HERE + 64), add()];
    let report = play(&quiet(), Latency::default(), steps);
    let expected = [
        (Access::Lock, HERE, 0),
        (Access::Lock, HERE + 64, 0),
        (Access::Store, HERE + 64, 0xff),
        (Access::Store, HERE, 0),
    ];
    assert_eq!(report.ordered(), expected);
}

#[test]
fn a_missing_line_is_loaded_before_the_instruction_is_executed() {
    let (report, events) = play_all(&quiet(), far(), vec![vec![add(), Step::Missing(FAR + 8), load(0, 15, FAR + 8)]]);
    assert!(matches!(events[1], (200.., Event::Executed(2, _))), "{events:?}");
    assert_eq!(report.log[0].request.line().0, FAR);
    assert_eq!(report.count("fetch_waits.missing_line"), 1);
    assert!(report.phase("read_stall") > 180);
}

#[test]
fn the_kernel_takes_its_time_and_then_stores() {
    let steps = |cycles| vec![add(), Step::System(cycles, vec![HERE, HERE + 64]), add()];
    let (report, events) = play_all(&quiet(), Latency::default(), vec![steps(1000)]);
    assert_eq!(report.phase("system"), 999, "in the first of its cycles an addition is still committed");
    assert_eq!(report.ordered(), [(Access::Store, HERE, 0xff), (Access::Store, HERE + 64, 0xff)]);
    assert!(report.log.iter().all(|performed| performed.cycle > 1000));
    let told: Vec<_> = events.iter().map(|(_, event)| *event).collect();
    let expected = [Event::Executed(0, true), Event::Performed, Event::Performed, Event::Executed(2, true)];
    assert_eq!(told, expected);
    let shorter = play(&quiet(), Latency::default(), steps(400));
    assert_eq!(report.cycles() - shorter.cycles(), 600);
}
