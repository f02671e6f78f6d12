//! What contexts can do, and in which order they run.

mod common;

use common::{Log, finished, simulate, simulate_with};
use engine::{Cycles, EventCount, Run, RunOptions, TraceSpec};
use std::{future::Future, pin::Pin, task::Poll};

#[test]
fn contexts_run_in_the_order_of_their_requests() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        for (name, pauses) in [("a", [3, 1]), ("b", [1, 3]), ("c", [2, 2])] {
            let log = noted.clone();
            scope.spawn(name, async move |cx| {
                for cycles in pauses {
                    cx.pause(cycles).await;
                    log.note(format!("{name}{}", cx.now().0));
                }
            });
        }
    });
    finished(&run);
    // In cycle 4: `a` paused for one cycle, so it runs first; `b` asked in cycle 1, `c` in cycle 2.
    assert_eq!(log.text(), "b1 c2 a3 a4 b4 c4");
}

#[test]
fn a_pause_of_any_length_ends_on_time() {
    let lengths = [1, 2, 63, 64, 1023, 1024, 1025, 4096, 1 << 20, 1 << 40];
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        for (index, length) in lengths.into_iter().enumerate() {
            let log = noted.clone();
            scope.spawn(("sleeper", index), async move |cx| {
                for _ in 0..3 {
                    let start = cx.now().0;
                    cx.pause(length).await;
                    assert_eq!(cx.now(), Cycles(start + length));
                }
                log.note(format!("{length}"));
            });
        }
    });
    finished(&run);
    assert_eq!(log.lines(), lengths.map(|length| length.to_string()));
}

#[test]
fn a_pause_of_zero_lets_the_others_run_but_takes_no_time() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        for name in ["a", "b"] {
            let log = noted.clone();
            scope.spawn(name, async move |cx| {
                for _ in 0..3 {
                    log.note(format!("{name}{}", cx.now().0));
                    cx.pause(0).await;
                }
            });
        }
    });
    finished(&run);
    assert_eq!(log.text(), "a0 b0 a0 b0 a0 b0");
}

/// Contexts that wait for a time or a bell, among others that come to every cycle and leave it again and ring. They either
/// look at the bell in every cycle, or leave that to the engine.
fn watching_bells(by_engine: bool, options: &RunOptions) -> (Run, Vec<String>) {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate_with(options, move |scope| {
        let bells: Vec<EventCount> = (0..4).map(|number| scope.eventcount(("bell", number))).collect();
        for number in 0..6_u64 {
            let (log, watched) = (noted.clone(), bells.clone());
            scope.spawn(("watcher", number as usize), async move |cx| {
                for round in 0..40_u64 {
                    let bell = &watched[(number + round) as usize % 4];
                    let (seen, until) = (bell.count(), cx.now().0 + 1 + (7 * round + 3 * number) % 9);
                    match by_engine {
                        true => cx.pause_until(until, bell, seen).await,
                        false => {
                            cx.pause(1).await;
                            while cx.now().0 < until && bell.count() == seen {
                                cx.pause(1).await;
                            }
                        }
                    }
                    log.note(format!("{number}:{}", cx.now().0));
                    if round % 5 == number % 5 {
                        cx.pause(round % 3 * 2).await;
                    }
                }
            });
            let (log, bells) = (noted.clone(), bells.clone());
            scope.spawn(("ringer", number as usize), async move |cx| {
                for round in 0..30_u64 {
                    cx.pause(1 + (round * 5 + number) % 4).await;
                    bells[(round + 2 * number) as usize % 4].advance();
                    log.note(format!("ring{number}:{}", cx.now().0));
                }
            });
        }
    });
    finished(&run);
    (run, log.lines())
}

#[test]
fn a_pause_until_a_bell_rings_is_a_loop_of_short_pauses() {
    for trace in [None, Some(TraceSpec::of(100_000))] {
        let options = RunOptions { trace, ..RunOptions::default() };
        assert_eq!(watching_bells(true, &options), watching_bells(false, &options));
    }
}

#[test]
fn idle_time_is_skipped() {
    // One second of simulated time with only two events.
    let run = simulate(|scope| {
        scope.spawn("sleeper", async |cx| {
            cx.pause(500_000_000).await;
            cx.pause(500_000_000).await;
            assert_eq!(cx.now(), Cycles(1_000_000_000));
        });
    });
    finished(&run);
    assert_eq!(run.events, 3);
}

#[test]
fn an_advance_wakes_in_the_same_cycle_and_in_the_order_of_waiting() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let bell = scope.eventcount("bell");
        for (name, value) in [("a", 2), ("b", 1), ("c", 1), ("d", 2)] {
            let (log, bell) = (noted.clone(), bell.clone());
            scope.spawn(name, async move |cx| {
                bell.wait(value).await;
                log.note(format!("{name}{}", cx.now().0));
            });
        }
        scope.spawn("ringer", async move |cx| {
            cx.pause(5).await;
            bell.advance();
            cx.pause(5).await;
            bell.advance();
        });
    });
    finished(&run);
    assert_eq!(log.text(), "b5 c5 a10 d10");
}

#[test]
fn a_wait_for_what_has_happened_is_over_at_once() {
    let run = simulate(|scope| {
        let bell = scope.eventcount("bell");
        scope.spawn("context", async move |cx| {
            bell.advance();
            bell.advance();
            bell.wait(0).await;
            bell.wait(2).await;
            assert_eq!((bell.count(), cx.now()), (2, Cycles(0)));
        });
    });
    finished(&run);
    assert_eq!(run.events, 1);
}

#[test]
fn settling_comes_last_in_a_cycle_and_in_the_order_of_creation() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let bell = scope.eventcount("bell");
        // The arbiters are created in the order x, y and woken in the order y, x.
        for (name, pause) in [("x", 2), ("y", 1)] {
            let log = noted.clone();
            scope.spawn(name, async move |cx| {
                cx.pause(pause).await;
                cx.pause(5 - pause).await;
                cx.settle().await;
                log.note(format!("{name}{}", cx.now().0));
            });
        }
        let log = noted.clone();
        let ringer = bell.clone();
        scope.spawn("late", async move |cx| {
            cx.pause(5).await;
            ringer.advance();
            log.note(format!("late{}", cx.now().0));
        });
        let log = noted.clone();
        scope.spawn("woken", async move |cx| {
            bell.wait(1).await;
            log.note(format!("woken{}", cx.now().0));
        });
    });
    finished(&run);
    assert_eq!(log.text(), "late5 woken5 x5 y5");
}

#[test]
fn a_context_that_a_settled_one_wakes_runs_in_the_next_cycle() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let bell = scope.eventcount("bell");
        let (log, waits) = (noted.clone(), bell.clone());
        scope.spawn("woken", async move |cx| {
            waits.wait(1).await;
            log.note(format!("woken{}", cx.now().0));
        });
        let log = noted.clone();
        scope.spawn("arbiter", async move |cx| {
            cx.settle().await;
            bell.advance();
            log.note(format!("arbiter{}", cx.now().0));
            cx.settle().await; // settles again, in the next cycle
            log.note(format!("arbiter{}", cx.now().0));
        });
    });
    finished(&run);
    assert_eq!(log.text(), "arbiter0 woken1 arbiter1");
}

#[test]
fn contexts_start_and_end_during_the_run() {
    let run = simulate(|scope| {
        let done = scope.counter("done");
        scope.spawn("parent", async move |cx| {
            for generation in 0..100u64 {
                for child in 0..10u64 {
                    let done = done.clone();
                    cx.scope().spawn("child", async move |cx| {
                        assert_eq!(cx.now(), Cycles(generation * 3)); // started in this very cycle
                        cx.pause(child + 1).await;
                        done.increment();
                    });
                }
                cx.pause(3).await;
            }
        });
    });
    finished(&run);
    assert_eq!(run.total().count("done"), 1_000);
    // All children share a name, so their busy cycles, 1 + 2 + .. + 10 per generation, are added up.
    assert_eq!(run.total().count("parent.child.busy_cycles"), 5_500);
}

#[test]
fn a_wait_with_a_limit_ends_at_the_first_of_both() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let bell = scope.eventcount("bell");
        let (log, waits) = (noted.clone(), bell.clone());
        scope.spawn("waiter", async move |cx| {
            for limit in [3, 10, 2000, 0] {
                let there = waits.wait_for(waits.count() + 1, limit).await;
                log.note(format!("{there}@{}", cx.now().0));
            }
            // The limit of a wait that was satisfied does not affect later waits.
            assert!(waits.wait_for(3, 1_000_000).await);
            log.note(format!("last@{}", cx.now().0));
        });
        scope.spawn("ringer", async move |cx| {
            cx.pause(7).await;
            bell.advance();
            cx.pause(5).await;
            bell.advance();
            cx.pause(10_000).await;
            bell.advance();
        });
    });
    finished(&run);
    assert_eq!(log.text(), "false@3 true@7 true@12 false@12 last@10012");
}

#[test]
fn a_limit_and_an_advance_in_one_cycle_wake_once() {
    let run = simulate(|scope| {
        let bell = scope.eventcount("bell");
        let waits = bell.clone();
        scope.spawn("ringer", async move |cx| {
            cx.pause(5).await;
            bell.advance();
        });
        scope.spawn("waiter", async move |cx| {
            waits.wait_for(1, 5).await;
            let start = cx.now().0;
            cx.pause(1).await;
            assert_eq!(cx.now().0, start + 1, "a second wake-up would have ended the pause early");
            cx.pause(10).await;
            assert_eq!(cx.now().0, start + 11);
        });
    });
    finished(&run);
}

/// Polls a wait once and drops it.
struct GiveUp<'a>(&'a EventCount);

impl Future for GiveUp<'_> {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<()> {
        let mut wait = Box::pin(self.0.wait(1));
        assert!(wait.as_mut().poll(context).is_pending());
        Poll::Ready(())
    }
}

#[test]
fn an_abandoned_wait_has_no_effect() {
    let run = simulate(|scope| {
        let bell = scope.eventcount("bell");
        let waits = bell.clone();
        scope.spawn("fickle", async move |cx| {
            GiveUp(&waits).await;
            cx.pause(10).await; // the full pause, although the bell rings in cycle 5
            assert_eq!(cx.now(), Cycles(10));
        });
        scope.spawn("ringer", async move |cx| {
            cx.pause(5).await;
            bell.advance();
        });
    });
    finished(&run);
}

#[test]
fn giving_up_in_a_crowd_leaves_the_others_waiting() {
    let run = simulate(|scope| {
        let (bell, rung) = (scope.eventcount("bell"), scope.counter("rung"));
        for index in 0..3 {
            let (bell, rung) = (bell.clone(), rung.clone());
            scope.spawn(("waiter", index), async move |_| {
                bell.wait(1).await;
                rung.increment();
            });
        }
        let waits = bell.clone();
        scope.spawn("fickle", async move |_| GiveUp(&waits).await);
        scope.spawn("ringer", async move |cx| {
            cx.pause(1).await;
            bell.advance();
        });
    });
    finished(&run);
    assert_eq!(run.total().count("rung"), 3);
}

/// Waits for two eventcounts in one poll, as a `select` would.
struct Both<'a>(engine::Wait<'a>, engine::Wait<'a>);

impl Future for Both<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<()> {
        _ = Pin::new(&mut self.0).poll(context);
        _ = Pin::new(&mut self.1).poll(context);
        Poll::Pending
    }
}

#[test]
#[should_panic(expected = "waits for two things at once")]
fn a_context_waits_for_one_thing_at_a_time() {
    simulate(|scope| {
        let (a, b) = (scope.eventcount("a"), scope.eventcount("b"));
        scope.spawn("greedy", async move |_| Both(a.wait(1), b.wait(1)).await);
    });
}

#[test]
#[should_panic(expected = "context 'lost' awaits something that is not of the engine")]
fn a_context_that_awaits_something_foreign_is_named() {
    simulate(|scope| scope.spawn("lost", async |_| std::future::pending().await));
}

#[test]
#[should_panic(expected = "outlasts every run")]
fn an_endless_pause_is_refused() {
    simulate(|scope| scope.spawn("sleeper", async |cx| cx.pause(u64::MAX).await));
}

#[test]
fn a_run_inside_a_context_is_a_run_of_its_own() {
    let run = simulate(|scope| {
        scope.spawn("outer", async |cx| {
            cx.pause(3).await;
            let inner = simulate(|scope| scope.spawn("inner", async |cx| cx.pause(100).await));
            finished(&inner);
            cx.pause(3).await;
            assert_eq!(cx.now(), Cycles(6));
        });
    });
    finished(&run);
}

#[test]
fn a_million_contexts_run_in_less_than_a_gigabyte() {
    let run = simulate(|scope| {
        for index in 0..1_000_000 {
            scope.spawn(("context", index), async move |cx| {
                cx.pause(1 + index as u64 % 7).await;
                cx.pause(1).await;
            });
        }
    });
    finished(&run);
    assert_eq!(run.events, 3_000_000);
    // The peak memory of this process, including other tests that ran in it.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 1_000_000, "{peak_kib} KiB for a million contexts");
}
