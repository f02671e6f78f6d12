//! Guest programs that check themselves.

use crate::support::{GUESTS, run, run_program};
use os::End;
use std::io::Cursor;

#[test]
fn hello_world() {
    let outcome = run(&["hello"]);
    assert_eq!(outcome.totals.threads, 1);
    assert_eq!(outcome.good(), "hello, world\n");
}

#[test]
fn arguments_and_environment_arrive() {
    let outcome = run_program(GUESTS, &["arguments", "a b", ""], |options| {
        options.environment = vec![b"COLOUR=blue".to_vec(), b"EMPTY=".to_vec()];
    });
    assert_eq!(outcome.end, End::Exited { code: 3 });
    let expected = "argument 0: arguments\nargument 1: a b\nargument 2: \nvariable: COLOUR=blue\nvariable: EMPTY=\n";
    assert_eq!(outcome.out, expected);
}

#[test]
fn musl_prints_floats_through_the_x87() {
    assert_eq!(run(&["floats"]).good(), "0.333333333333333 2.5 0x1.2688b70e62bp-1030\n");
}

#[test]
fn input_passes_through() {
    let outcome = run_program(GUESTS, &["echo"], |options| {
        let input = Cursor::new(b"what goes in\ncomes out\n".to_vec());
        let stdio = std::mem::replace(&mut options.stdio, os::files::Stdio::inherit());
        options.stdio = stdio.with_input(input);
    });
    assert_eq!(outcome.good(), "what goes in\ncomes out\n");
}

#[test]
fn threads_wait_for_each_other_with_futexes() {
    let outcome = run(&["threads"]);
    assert_eq!(outcome.totals.threads, 8);
    assert_eq!(outcome.good(), "sum 80000\n");
}

#[test]
fn a_run_with_threads_is_the_same_every_time() {
    assert_eq!(run(&["threads"]), run(&["threads"]));
}

#[test]
fn a_handler_of_sigsegv_can_open_pages() {
    assert_eq!(run(&["unprotect"]).good(), "192 reads and 192 writes repaired\n");
}

#[test]
fn signals_are_delivered_as_linux_does() {
    assert_eq!(run(&["signals"]).good(), "signals as they should be\n");
}

#[test]
fn mappings_behave_as_linux_has_them() {
    assert_eq!(run(&["memory"]).good(), "memory as it should be\n");
}

#[test]
fn pipes_carry_bytes_between_threads() {
    assert_eq!(run(&["pipes"]).good(), "through a copy\npipes as they should be\n");
}

#[test]
fn clocks_run_in_simulated_time_and_random_numbers_repeat() {
    let (first, second) = (run(&["clocks"]), run(&["clocks"]));
    assert!(first.totals.instructions < 100_000, "sleeping costs no instructions");
    assert_eq!(first.good(), second.good());
}

#[test]
fn a_locked_access_may_cross_lines_where_there_are_none() {
    assert_eq!(run(&["split"]).good(), "added across two lines\n");
}

#[test]
fn an_unknown_call_returns_enosys() {
    run(&["unknown"]).good();
}

#[test]
fn no_arguments_of_system_calls_make_the_simulator_panic() {
    let mut calls = 0;
    for seed in 1..100 {
        let seed = seed.to_string();
        // Whatever the guest does, it must end.
        let outcome = run_program(GUESTS, &["fuzz", &seed], |options| {
            options.max_instructions = 5_000_000;
            options.memory = mem::Bytes(64 << 20);
        });
        calls += outcome.totals.system_calls;
    }
    assert!(calls > 10_000, "only {calls} calls were made");
}
