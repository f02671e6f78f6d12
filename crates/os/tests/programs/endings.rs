//! Programs that do not end normally, and the reports about them.

use crate::support::{GUESTS, run, run_program};
use engine::Time;
use mem::Bytes;
use os::End;

#[test]
fn a_crash_is_reported_with_its_place() {
    let outcome = run(&["crash"]);
    assert_eq!(outcome.out, "about to crash\n");
    let End::Killed { signal: 11, report } = &outcome.end else { panic!("{}", outcome.end) };
    assert!(report.contains("SIGSEGV"), "{report}");
    assert!(report.contains("thread 1000 can't write address 0x10: nothing is mapped there"), "{report}");
    assert!(report.contains(" in crash+0x"), "{report}");
    assert!(report.contains("code bytes c7 04 25 10 00 00 00"), "{report}");
    assert_eq!(outcome.end.exit_code(), 139);
}

#[test]
fn a_deadlock_names_each_thread_and_what_it_waits_for() {
    let outcome = run(&["deadlock"]);
    let End::Deadlock { threads } = &outcome.end else { panic!("{}", outcome.end) };
    assert_eq!(threads.len(), 2);
    for (_, what) in threads {
        assert!(what.contains("the futex at 0x"), "{what}");
    }
    assert!(threads[0].1.contains("(other+") && threads[1].1.contains("(lock+"), "{threads:?}");
}

#[test]
fn a_program_that_takes_all_memory_is_stopped() {
    let outcome = run_program(GUESTS, &["hog"], |options| options.memory = Bytes(16 << 20));
    assert_eq!(outcome.end, End::OutOfMemory { limit: Bytes(16 << 20) });
    assert!(outcome.totals.memory <= Bytes(16 << 20));
}

#[test]
fn a_program_that_never_ends_is_stopped_after_the_maximum_number_of_instructions() {
    let outcome = run_program(GUESTS, &["spin"], |options| options.max_instructions = 1_000_000);
    assert_eq!(outcome.end, End::InstructionLimit { instructions: 1_000_000 });
}

#[test]
fn a_program_that_sleeps_forever_is_stopped_at_the_time_limit() {
    let outcome = run_program(GUESTS, &["doze"], |options| options.max_time = Time::micros(10_000_000));
    assert_eq!(outcome.end, End::TimeLimit { time: Time::micros(10_000_000) });
    assert!(outcome.totals.instructions < 1_000_000);
}
