//! Runs that make no progress or fail: deadlocks, livelocks, failures, interruptions, panics.

mod common;

use common::{simulate, simulate_with};
use engine::{Hertz, Lane, LinkSpec, Model, Monitor, Outcome, RunOptions, Time};

#[test]
fn a_deadlock_is_explained() {
    // Two servers that send each other two messages for each one they receive: their queues fill up.
    let run = simulate(|scope| {
        let chip = scope.scope("chip");
        let (east, west) = (chip.queue::<u32>("east", 2), chip.queue::<u32>("west", 2));
        for (name, from, to) in [("left", west.clone(), east.clone()), ("right", east.clone(), west.clone())] {
            chip.serve(name, async move |cx| {
                loop {
                    let message = from.recv().await;
                    cx.pause(1).await;
                    to.send(message).await;
                    to.send(message).await;
                }
            });
        }
        chip.spawn("source", async move |_| {
            east.send(1).await;
            west.send(2).await;
        });
    });
    let Outcome::Deadlock(report) = run.outcome else { panic!("{}", run.outcome) };
    assert_eq!(report.circle, ["chip.left", "chip.right"]);
    let held_up: Vec<_> = report.waiting.iter().filter(|waits| waits.held_up).collect();
    assert_eq!(held_up.len(), 2);
    assert_eq!((held_up[0].context.as_str(), held_up[0].on.as_str()), ("chip.left", "chip.east.room"));
    assert_eq!(held_up[0].wakers, ["chip.right"]);
    assert!(!held_up[0].last_advances.is_empty(), "right has taken from east before");
    let text = report.to_string();
    assert!(text.contains("chip.left -> chip.right -> chip.left"), "{text}");
    assert!(text.contains("chip.right advanced chip.east.room"), "{text}");
}

#[test]
fn an_answer_that_never_comes_is_a_deadlock() {
    let run = simulate(|scope| {
        let requests = scope.queue::<u32>("requests", 4);
        let answers = scope.queue::<u32>("answers", 4);
        let (ask, answer) = (requests.clone(), answers.clone());
        scope.spawn("client", async move |_| {
            for question in 0..3 {
                ask.send(question).await;
                answers.recv().await;
            }
        });
        scope.serve("server", async move |_| {
            loop {
                let question = requests.recv().await;
                if question < 2 {
                    answer.send(question).await; // the third question gets no answer
                }
            }
        });
    });
    let Outcome::Deadlock(report) = run.outcome else { panic!("{}", run.outcome) };
    assert_eq!(report.circle, ["client", "server"]);
    assert_eq!(report.waiting[0].advances, 2, "two answers had come");
}

#[test]
fn a_server_at_rest_is_no_deadlock_but_a_context_that_should_end_is() {
    let resting = simulate(|scope| {
        let work = scope.queue::<()>("work", 1);
        scope.serve("server", async move |_| work.recv().await);
    });
    assert_eq!(resting.outcome, Outcome::Finished);
    let waiting = simulate(|scope| {
        let work = scope.queue::<()>("work", 1);
        scope.spawn("client", async move |_| work.recv().await);
    });
    let Outcome::Deadlock(report) = waiting.outcome else { panic!("{}", waiting.outcome) };
    assert_eq!(report.circle, [""; 0]);
    assert!(report.to_string().contains("no context is known that could provide it"), "{report}");
}

#[test]
fn a_deadlock_across_a_link_is_explained_too() {
    for threads in [1, 2] {
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        let spec = LinkSpec { latency: Time::nanos(5), capacity: 1, bytes_per_cycle: None };
        let (to_right, at_right) = model.link::<u32>("east", spec);
        let (to_left, at_left) = model.link::<u32>("west", spec);
        for (name, outgoing, incoming) in [("left", to_right, at_left), ("right", to_left, at_right)] {
            model.partition(move |partition| {
                let scope = partition.scope(clock);
                let (outlet, inlet) = (scope.sender(outgoing), scope.receiver(incoming));
                scope.serve(name, async move |cx| {
                    cx.takes(&inlet);
                    for item in 0.. {
                        outlet.send(Lane::Request, item, 8).await;
                        outlet.send(Lane::Request, item, 8).await;
                        inlet.recv(Lane::Request).await;
                    }
                });
            });
        }
        let run = model.run(&RunOptions { threads, ..RunOptions::default() });
        let Outcome::Deadlock(report) = run.outcome else { panic!("{}", run.outcome) };
        assert_eq!(report.circle, ["left", "right"], "{report}");
        assert!(report.to_string().contains("left waits for east.out.request.room"), "{report}");
    }
}

#[test]
fn the_sender_of_a_wire_is_known_before_anything_has_arrived() {
    for threads in [1, 2] {
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        let spec = LinkSpec { latency: Time::nanos(5), capacity: 1, bytes_per_cycle: None };
        let (to_right, at_right) = model.link::<u32>("east", spec);
        let (to_left, at_left) = model.link::<u32>("west", spec);
        // Each side waits for the other to begin.
        for (name, outgoing, incoming) in [("left", to_right, at_left), ("right", to_left, at_right)] {
            model.partition(move |partition| {
                let scope = partition.scope(clock);
                let (outlet, inlet) = (scope.sender(outgoing), scope.receiver(incoming));
                scope.spawn(name, async move |cx| {
                    cx.sends(&outlet);
                    let item = inlet.recv(Lane::Request).await;
                    outlet.send(Lane::Request, item, 8).await;
                });
            });
        }
        let run = model.run(&RunOptions { threads, ..RunOptions::default() });
        let Outcome::Deadlock(report) = run.outcome else { panic!("{}", run.outcome) };
        assert_eq!(report.circle, ["left", "right"], "{report}");
    }
}

#[test]
fn contexts_that_wake_each_other_without_end_are_named() {
    let options = RunOptions { delta_limit: 10_000, ..RunOptions::default() };
    let run = simulate_with(&options, |scope| {
        let (ping, pong) = (scope.eventcount("ping"), scope.eventcount("pong"));
        let (a, b) = (ping.clone(), pong.clone());
        scope.spawn("a", async move |cx| {
            cx.pause(7).await;
            for round in 1.. {
                a.advance();
                b.wait(round).await;
            }
        });
        scope.spawn("b", async move |_| {
            for round in 1.. {
                ping.wait(round).await;
                pong.advance();
            }
        });
        scope.spawn("innocent", async |cx| cx.pause(20).await);
    });
    let Outcome::Livelock { contexts, .. } = &run.outcome else { panic!("{}", run.outcome) };
    assert_eq!(contexts, &["a", "b"]);
}

#[test]
fn pauses_of_zero_without_end_are_a_livelock() {
    let options = RunOptions { delta_limit: 10_000, ..RunOptions::default() };
    let run = simulate_with(&options, |scope| {
        scope.spawn("spinner", async |cx| {
            loop {
                cx.pause(0).await;
            }
        });
    });
    assert!(matches!(run.outcome, Outcome::Livelock { .. }), "{}", run.outcome);
}

#[test]
fn a_run_without_progress_is_stopped_by_the_watchdog() {
    let options = RunOptions { watchdog: Some(10_000), ..RunOptions::default() };
    let run = simulate_with(&options, |scope| {
        let answer = scope.eventcount("answer");
        scope.spawn("core", async move |cx| {
            for _ in 0..1_000 {
                cx.pause(100).await;
                cx.progress();
            }
            answer.wait(1).await; // never comes
        });
        scope.serve("retry", async |cx| {
            loop {
                cx.pause(10).await; // never succeeds
            }
        });
    });
    let Outcome::Stuck(report) = &run.outcome else { panic!("{}", run.outcome) };
    assert_eq!(report.waiting[0].context, "core");
    // The last progress was at 100 us; after that there are 100 retries per microsecond.
    assert!(run.end > Time::micros(195) && run.end < Time::micros(210), "{}", run.end);
}

#[test]
fn idle_time_is_skipped_and_is_no_lack_of_progress() {
    let options = RunOptions { watchdog: Some(100), ..RunOptions::default() };
    let run = simulate_with(&options, |scope| {
        scope.spawn("sleeper", async |cx| cx.pause(20_000_000_000).await);
    });
    assert_eq!(run.outcome, Outcome::Finished);
    assert!(run.end >= Time::micros(20_000_000), "{}", run.end);
    assert_eq!(run.events, 2);
}

#[test]
fn limits_of_waits_that_are_over_keep_no_run_going() {
    let run = simulate(|scope| {
        let bell = scope.eventcount("bell");
        let rung = bell.clone();
        scope.spawn("timer", async move |_| assert!(bell.wait_for(1, 10_000_000_000).await));
        scope.spawn("ringer", async move |cx| {
            cx.pause(5).await;
            rung.advance();
        });
    });
    assert_eq!(run.outcome, Outcome::Finished);
    assert!(run.end < Time::nanos(10), "{}", run.end);
}

#[test]
fn a_wait_with_a_limit_is_no_deadlock_and_the_one_behind_it_is() {
    let run = simulate(|scope| {
        let (bell, answer) = (scope.eventcount("bell"), scope.eventcount("answer"));
        scope.spawn("client", async move |_| {
            assert!(!bell.wait_for(1, 3_000_000).await);
            answer.wait(1).await;
        });
    });
    let Outcome::Deadlock(report) = run.outcome else { panic!("{}", run.outcome) };
    assert_eq!((report.waiting[0].on.as_str(), report.waiting[0].since), ("answer", Time::micros(3000)));
}

#[test]
fn a_model_whose_builder_gives_up_does_not_run() {
    for threads in [1, 2] {
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        let spec = LinkSpec { latency: Time::nanos(5), capacity: 1, bytes_per_cycle: None };
        let (tx, rx) = model.link::<u32>("link", spec);
        model.partition(move |partition| {
            let _outlet = partition.scope(clock).sender(tx);
            partition.scope(clock).spawn("bomb", async |_| panic!("it must not run"));
        });
        model.partition(move |partition| {
            drop(rx);
            partition.give_up();
        });
        let run = model.run(&RunOptions { threads, ..RunOptions::default() });
        assert_eq!((run.outcome, run.events), (Outcome::Stopped, 0));
    }
}

#[test]
fn a_context_that_rests_says_what_it_needs_and_from_which_element() {
    for threads in [1, 2] {
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        let spec = LinkSpec { latency: Time::nanos(5), capacity: 4, bytes_per_cycle: None };
        let (asks, asked) = model.link::<u32>("asks", spec);
        // Each serves the other and, in the middle of that, sends a request of its own.
        model.partition(move |partition| {
            let scope = partition.scope(clock);
            let (outlet, bell) = (scope.sender(asks), scope.scope("cache").eventcount("work"));
            scope.scope("cache").serve("control", async move |cx| {
                cx.known_as("node 1");
                outlet.send(Lane::Request, 7, 8).await;
                let seen = bell.count();
                while bell.rest(seen + 1).await {
                    cx.needs("line 0x40", "node 2");
                }
            });
            scope.spawn("client", async |cx| cx.scope().eventcount("answer").next().await);
        });
        model.partition(move |partition| {
            let scope = partition.scope(clock);
            let (inlet, bell) = (scope.receiver(asked), scope.scope("memory").eventcount("work"));
            let idle = scope.eventcount("idle");
            scope.scope("memory").serve("control", async move |cx| {
                cx.known_as("node 2");
                inlet.recv(Lane::Request).await;
                while bell.rest(1).await {
                    cx.needs("an acknowledgement", "node 1");
                }
            });
            scope.serve("at_rest", async move |_| while idle.rest(1).await {});
        });
        let run = model.run(&RunOptions { threads, ..RunOptions::default() });
        let Outcome::Deadlock(report) = run.outcome else { panic!("{}", run.outcome) };
        assert_eq!(report.circle, ["cache.control", "memory.control"]);
        let text = report.to_string();
        assert!(
            text.contains("cache.control waits for line 0x40 since 0 fs; could be provided by memory.control"),
            "{text}"
        );
        assert!(
            text.contains("memory.control waits for an acknowledgement since 5 ns; could be provided by cache.control"),
            "{text}"
        );
    }
}

#[test]
fn a_failure_says_where_and_why() {
    let run = simulate(|scope| {
        scope.scope("gpu").spawn("decoder", async |cx| {
            cx.pause(3).await;
            cx.fail("unknown instruction 0xdeadbeef");
            cx.pause(1_000_000).await;
        });
    });
    assert_eq!(run.outcome.to_string(), "gpu.decoder failed at 3 ns: unknown instruction 0xdeadbeef");
    assert!(run.end < Time::nanos(10));
}

/// Independent of the order of building: a partition without work does not hold back the time of the run.
#[test]
fn a_run_is_as_far_as_its_partition_that_is_furthest() {
    for busy in [0, 1] {
        let options = RunOptions::default();
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        for number in 0..2 {
            model.partition(move |partition| {
                let cycles = if number == busy { 5_000 } else { 1 };
                partition.scope(clock).spawn("worker", async move |cx| cx.pause(cycles).await);
            });
        }
        model.run(&options);
        assert!(options.monitor.time() >= Time::nanos(5_000), "{}", options.monitor.time());
    }
}

#[test]
fn an_interrupted_run_still_has_its_statistics() {
    let monitor = Monitor::default();
    let options = RunOptions { monitor: monitor.clone(), ..RunOptions::default() };
    let watcher = std::thread::spawn(move || {
        while monitor.time() < Time::micros(100) {
            std::thread::yield_now();
        }
        monitor.stop();
    });
    let run = simulate_with(&options, |scope| {
        let ticks = scope.counter("ticks");
        scope.spawn("ticker", async move |cx| {
            loop {
                ticks.increment();
                cx.pause(1).await;
            }
        });
    });
    watcher.join().unwrap();
    assert_eq!(run.outcome, Outcome::Interrupted);
    assert_eq!(run.total().count("ticks"), run.end.0.div_ceil(Time::nanos(1).0), "one tick a cycle until the end");
}

#[test]
fn a_panic_in_one_partition_ends_the_run_of_all() {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let spec = LinkSpec { latency: Time::nanos(5), capacity: 1, bytes_per_cycle: None };
    let (tx, rx) = model.link::<u32>("link", spec);
    model.partition(move |partition| {
        let scope = partition.scope(clock);
        let _outlet = scope.sender(tx);
        scope.spawn("ticker", async |cx| {
            loop {
                cx.pause(1).await;
            }
        });
    });
    model.partition(move |partition| {
        let scope = partition.scope(clock);
        let _inlet = scope.receiver(rx);
        scope.spawn("bomb", async |cx| {
            cx.pause(1_000).await;
            panic!("boom");
        });
    });
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.run(&options))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
}

#[test]
#[should_panic(expected = "the receiving end of link 'link' is in no partition")]
fn a_loose_end_of_a_link_is_refused() {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let spec = LinkSpec { latency: Time::nanos(5), capacity: 1, bytes_per_cycle: None };
    let (tx, _rx) = model.link::<u32>("link", spec);
    model.partition(move |partition| drop(partition.scope(clock).sender(tx)));
    model.run(&RunOptions::default());
}

#[test]
fn a_model_of_nothing_finishes() {
    assert_eq!(Model::new().run(&RunOptions { threads: 4, ..RunOptions::default() }).outcome, Outcome::Finished);
}
