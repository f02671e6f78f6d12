//! Stores: when and in which order they are sent, and prefetches.

use crate::{
    rig::Latency,
    script::{Step, compute, load, play, play_for, store},
    structures::wide,
};
use cpu::{CoreSpec, Jitter};
use engine::{Cycles, RunOptions, Time};
use mem::Access;
use x86::trace::Class;

const HERE: u64 = 0x8000;
const FAR: u64 = 0x100_0000;

fn far() -> Latency {
    Latency { slow: (FAR, 200), ..Latency::default() }
}

#[test]
fn stores_are_performed_in_the_order_of_the_program() {
    // The value of the first store comes late, and the third store is to a slow line.
    let steps = vec![
        load(0, 15, FAR),
        store(0, 15, HERE),
        store(1, 15, HERE + 64),
        store(1, 15, FAR + 64),
        store(1, 15, HERE + 128),
    ];
    let report = play(&wide(), far(), steps);
    let lines: Vec<_> = report.ordered().iter().map(|(_, line, _)| *line).collect();
    assert_eq!(lines, [HERE, HERE + 64, FAR + 64, HERE + 128]);
    assert!(report.log.iter().filter(|performed| performed.ordered).all(|performed| performed.cycle > 200));
}

#[test]
fn stores_are_sent_one_after_the_other_without_waiting_for_answers() {
    let stores = (0..16).map(|n| store(0, 15, FAR + 64 * n)).collect();
    let report = play(&wide(), far(), stores);
    assert!((200..240).contains(&report.cycles()), "{}", report.cycles());
    assert!(report.phase("busy") < 40);
}

#[test]
fn a_line_to_store_to_is_requested_when_its_address_is_known() {
    // The value comes late; the prefetch does not wait for it.
    let late = || (0..100).map(|_| compute(Class::Integer, 0, 0));
    let steps = || late().chain([store(0, 15, HERE), store(0, 15, HERE + 8), store(0, 15, HERE + 64)]).collect();
    let report = play(&wide(), Latency::default(), steps());
    assert_eq!((report.count("store_prefetches"), report.count("stores")), (2, 3));
    let ahead: Vec<_> = report.log.iter().filter(|performed| !performed.ordered).collect();
    assert!(ahead.iter().all(|performed| performed.request.access == Access::Store && performed.cycle < 60));
    assert!(ahead.iter().all(|performed| performed.request.data.mask().is_empty()));
    assert_eq!(ahead.iter().map(|performed| performed.request.line().0).collect::<Vec<_>>(), [HERE, HERE + 64]);
    let without = play(&CoreSpec { store_prefetch: false, ..wide() }, Latency::default(), steps());
    assert_eq!((without.count("store_prefetches"), without.log.len()), (0, 3));
}

#[test]
fn a_full_queue_of_stores_is_a_write_stall() {
    let stores = (0..40).map(|n| store(0, 15, FAR + 64 * n)).collect();
    let report = play(&CoreSpec { store_queue: 2, ..wide() }, far(), stores);
    assert!(report.phase("write_stall") > 3000, "{} of {}", report.phase("write_stall"), report.cycles());
    assert_eq!(report.phase("read_stall"), 0);
}

#[test]
fn random_delays_depend_on_their_seed_only() {
    let steps = || (0..100).flat_map(|n| [store(0, 15, HERE + 64 * n), load(1, 15, HERE + 0x4000 + 64 * n)]).collect();
    let with = |seed| {
        let jitter = Some(Jitter { seed, most: Cycles(50) });
        play(&CoreSpec { jitter, ..wide() }, Latency::default(), steps())
    };
    let (one, again, other) = (with(1), with(1), with(2));
    assert_eq!((&one.run, &one.log), (&again.run, &again.log));
    assert_ne!(one.log, other.log);
    assert!(one.cycles() > 2 * play(&wide(), Latency::default(), steps()).cycles());
    let lines: Vec<_> = other.ordered().iter().map(|(_, line, _)| *line).collect();
    assert!(lines.is_sorted(), "delayed or not, stores stay in order");
}

/// All stores are sent within a microsecond and performed one by one, which takes more than ten times as long.
#[test]
fn a_call_of_the_kernel_whose_stores_take_longer_than_the_watchdog_waits_still_makes_progress() {
    let lines = (0..200).map(|number| HERE + 64 * number).collect();
    let latency = Latency { apart: 50, ..Latency::default() };
    let options = RunOptions { watchdog: Some(100), ..RunOptions::default() };
    let (report, _) = play_for(&wide(), latency, vec![vec![Step::System(10, lines)]], options);
    assert!(report.run.end > Time::micros(9), "{}", report.run.end);
    assert_eq!(report.ordered().len(), 200);
}
