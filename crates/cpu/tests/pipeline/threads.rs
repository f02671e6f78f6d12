//! Hardware threads share a core, and runs are reproducible.

use crate::{
    rig::{Latency, run_for},
    script::{Step, compute, fresh, load, play, play_all, store},
    structures::wide,
};
use cpu::{CoreSpec, Executed, Fetch, Program, SpecError};
use engine::{RunOptions, Time};
use mem::Access;
use std::{cell::Cell, rc::Rc};
use x86::trace::{Class, MicroOp, RegisterSet, Work};

fn chain(count: usize) -> Vec<Step> {
    (0..count).map(|_| compute(Class::Integer, 0, 1)).collect()
}

fn independent(count: usize) -> Vec<Step> {
    (0..count).map(|n| fresh(Class::Integer, (n % 8) as u8)).collect()
}

fn cycles(scripts: Vec<Vec<Step>>) -> u64 {
    play_all(&wide(), Latency::default(), scripts).0.cycles()
}

#[test]
fn two_chains_take_as_long_as_one() {
    let (one, two) = (cycles(vec![chain(1000)]), cycles(vec![chain(1000), chain(1000)]));
    assert!(two < one + 10, "{one} and {two}");
}

#[test]
fn two_threads_share_the_width() {
    let (one, two) = (cycles(vec![independent(2000)]), cycles(vec![independent(2000), independent(2000)]));
    assert!((2 * one - 20..2 * one + 20).contains(&two), "{one} and {two}");
}

#[test]
fn a_thread_continues_while_another_waits_for_memory() {
    let far = Latency { slow: (0x100_0000, 500), ..Latency::default() };
    let (report, _) = play_all(&wide(), far, vec![vec![load(0, 15, 0x100_0000)], chain(400)]);
    assert!((500..520).contains(&report.cycles()), "{}", report.cycles());
    assert!(report.phase("read_stall") < 110 && report.phase("busy") > 390);
}

#[test]
fn threads_forward_from_their_own_stores_only() {
    let far = Latency { slow: (0x100_0000, 500), ..Latency::default() };
    let steps = || (0..40).map(|_| compute(Class::Integer, 0, 1)).chain([load(0, 15, 0x100_0000)]).collect();
    let (report, _) = play_all(&wide(), far, vec![vec![store(0, 15, 0x100_0000)], steps()]);
    assert_eq!(report.count("loads_forwarded"), 0);
}

#[test]
fn threads_of_a_core_lock_one_after_the_other() {
    let atomic = || vec![Step::Lock(0x8000), store(0, 15, 0x8000), compute(Class::Integer, 0, 1)];
    let spec = CoreSpec { store_prefetch: false, ..wide() };
    let (report, _) = play_all(&spec, Latency::default(), vec![atomic(), atomic()]);
    let accesses: Vec<_> = report.ordered().iter().map(|(access, ..)| *access).collect();
    assert_eq!(accesses, [Access::Lock, Access::Store, Access::Lock, Access::Store]);
}

#[test]
fn a_thread_does_not_store_while_another_holds_a_line() {
    // The atomic access takes long because its value does. If the core let the other thread's store to the line pass,
    // that store would unlock the line.
    let value = (0..8).map(|_| compute(Class::Integer, 0, 1));
    let atomic = || {
        let Step::Do(mut add) = store(0, 15, 0x8000) else { unreachable!("a store is an instruction") };
        add.outline.micro_ops.insert(0, slow_value());
        vec![Step::Lock(0x8000), Step::Do(add)]
    };
    let spec = CoreSpec { store_prefetch: false, ..wide() };
    let (report, _) =
        play_all(&spec, Latency::default(), vec![atomic(), value.chain([store(1, 15, 0x8008)]).collect()]);
    let expected = [(Access::Lock, 0x8000, 0), (Access::Store, 0x8000, 0xff), (Access::Store, 0x8000, 0xff00)];
    assert_eq!(report.ordered(), expected);
}

/// A slow micro-operation that writes register 0.
fn slow_value() -> MicroOp {
    MicroOp { work: Work::Compute(Class::Divide), reads: RegisterSet::NONE, writes: RegisterSet(1) }
}

#[test]
fn a_run_can_be_repeated_to_the_cycle() {
    let steps = || -> Vec<Step> {
        let mix = (0..500u64).flat_map(|n| {
            let far = 0x100_0000 + 64 * (n * 7 % 13);
            [load((n % 5) as u8, 6, far), compute(Class::Multiply, (n % 3) as u8, 4), store(1, 2, 0x8000 + 8 * n)]
        });
        mix.collect()
    };
    let latency = Latency { slow: (0x100_0000, 37), ..Latency::default() };
    let (one, again) =
        (play_all(&wide(), latency, vec![steps(), steps()]), play_all(&wide(), latency, vec![steps(), steps()]));
    assert_eq!((&one.0.run, &one.0.log, &one.1), (&again.0.run, &again.0.log, &again.1));
    assert_eq!(play(&CoreSpec::default(), latency, steps()).run, play(&CoreSpec::default(), latency, steps()).run);
}

/// Sleeps until it is woken, then runs an instruction.
struct Sleeper {
    awake: Rc<Cell<bool>>,
    done: bool,
}

impl Program for Sleeper {
    fn next(&mut self, _: usize, _: bool, executed: &mut Executed, _: Time) -> Fetch {
        if !self.awake.get() || self.done {
            return Fetch::Idle;
        }
        self.done = true;
        executed.accesses.clear();
        Fetch::Executed
    }

    fn performed(&mut self, _: usize) {
        unreachable!("it stores nothing")
    }
}

#[test]
fn an_idle_core_sleeps_until_the_bell() {
    let report = run_for(
        &wide(),
        1,
        Latency::default(),
        |scope, bell| {
            let awake = Rc::new(Cell::new(false));
            let (own, ring) = (Rc::clone(&awake), bell.clone());
            scope.spawn("waker", move |cx| async move {
                cx.pause(1000).await;
                own.set(true);
                ring.advance();
            });
            Sleeper { awake, done: false }
        },
        RunOptions::default(),
    );
    assert_eq!(report.count("instructions"), 1);
    assert_eq!(report.phase("idle").min(1000), 1000);
    assert!(report.run.events < 100, "it slept: {} events", report.run.events);
}

#[test]
fn impossible_cores_are_refused_in_words() {
    let refused = |spec: CoreSpec, threads| spec.check(threads).expect_err("it can't be built").to_string();
    let zero = refused(CoreSpec { rob: 0, ..wide() }, 1);
    assert_eq!(zero, "`rob` of a core is 0: it must be at least 1, or nothing gets through");
    assert!(refused(CoreSpec { store_queue: 1, ..wide() }, 2).contains("2 hardware threads share it"));
    assert_eq!(
        CoreSpec::default().check(3),
        Err(SpecError::FewRegisters { kind: "xmm", count: 40, threads: 3, needed: 51 })
    );
    assert_eq!(CoreSpec::default().check(0), Err(SpecError::Threads { threads: 0, most: 8 }));
    assert_eq!(CoreSpec::default().check(2), Ok(()));
}
