//! Statistics, regions, occupancy, energy and traces.

mod common;

use common::{finished, simulate, simulate_with};
use engine::{Activity, Outcome, RunOptions, Sample, Statistics, Time, TraceEvent, TraceSpec, Value};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

#[test]
fn phases_add_up_to_the_cycles_of_each_region() {
    let run = simulate(|scope| {
        let phases = scope.scope("unit").phases(&["idle", "busy", "stuck"]);
        scope.spawn("unit", async move |cx| {
            cx.pause(3).await;
            phases.enter(1);
            cx.pause(4).await;
            cx.region("second");
            phases.enter(2);
            phases.enter(0);
            cx.pause(5).await;
        });
    });
    let cycles = |region: usize| {
        ["idle", "busy", "stuck"].map(|phase| run.regions[region].statistics.count(&format!("unit.{phase}")))
    };
    let both: u64 = (0..2).flat_map(cycles).sum();
    assert_eq!((cycles(0)[1], cycles(1)[1], both), (4, 0, 13), "{:?} {:?}", cycles(0), cycles(1));
}

#[test]
fn regions_follow_each_other_without_a_gap() {
    let run = simulate(|scope| {
        let (hits, level, sizes) = (scope.counter("hits"), scope.level("level"), scope.histogram("sizes"));
        let states = scope.matrix("states", &["I", "S"], &["load", "store"]);
        scope.spawn("core", async move |cx| {
            level.set(2);
            for cycle in 0..10 {
                hits.increment();
                sizes.record(cycle);
                states.count(1, 0);
                cx.pause(1).await;
            }
            cx.region("second"); // takes effect after cycle 10
            cx.pause(1).await;
            states.count(0, 1);
            hits.add(5);
            level.set(4);
            cx.pause(9).await;
        });
    });
    finished(&run);
    let names: Vec<&str> = run.regions.iter().map(|region| region.name.as_str()).collect();
    assert_eq!(names, ["start", "second"]);
    let (first, second) = (&run.regions[0], &run.regions[1]);
    assert_eq!((first.start, first.end), (Time::ZERO, Time::nanos(11)));
    assert_eq!((second.start, second.end), (first.end, Time::nanos(20) + Time(1)));
    assert_eq!((first.statistics.count("hits"), second.statistics.count("hits")), (10, 5));
    assert_eq!((first.statistics.average("level"), second.statistics.average("level")), (Some(2.0), Some(4.0)));
    let expected = Value::Histogram { count: 10, sum: 45, min: 0, max: 9, buckets: vec![1, 1, 2, 4, 2] };
    assert_eq!(first.statistics.0["sizes"], expected);
    let Value::Matrix { counts, .. } = &run.total().0["states"] else { panic!("a matrix stays one") };
    assert_eq!(counts, &[0, 1, 10, 0]);
    assert_eq!(run.total().count("hits"), 15);
}

#[test]
fn an_occupied_context_serves_no_other_request() {
    let run = simulate(|scope| {
        let requests = scope.queue::<()>("requests", 4);
        let sender = requests.clone();
        scope.spawn("client", async move |cx| {
            for _ in 0..10 {
                cx.pause(10).await;
                sender.send(()).await;
            }
        });
        scope.serve("server", async move |cx| {
            loop {
                requests.recv().await;
                cx.pause(4).await; // busy 4 of every 10 cycles
            }
        });
    });
    finished(&run);
    assert_eq!(run.total().count("server.busy_cycles"), 40);
    assert_eq!(run.total().count("client.busy_cycles"), 100);
}

#[test]
fn occupancy_is_split_at_a_region_boundary() {
    let run = simulate(|scope| {
        let bell = scope.eventcount("bell");
        let waits = bell.clone();
        scope.spawn("waiter", async move |cx| {
            waits.wait(1).await; // idle from 0 to 15
            cx.pause(20).await; // busy from 15 to 35
        });
        scope.spawn("ringer", async move |cx| {
            cx.pause(9).await;
            cx.region("second"); // from cycle 10 on
            cx.pause(6).await;
            bell.advance();
            cx.pause(10).await;
            cx.region("third"); // from cycle 26 on
        });
    });
    finished(&run);
    let busy: Vec<u64> = run.regions.iter().map(|region| region.statistics.count("waiter.busy_cycles")).collect();
    assert_eq!(busy, [0, 11, 9]);
}

#[test]
fn energy_is_added_up_by_subtree() {
    let run = simulate(|scope| {
        for index in 0..2 {
            let element = scope.scope(("chip", index)).scope("switch");
            let energy = element.energy(3); // 3 fJ a cycle leak
            element.spawn("control", async move |cx| {
                for _ in 0..9 {
                    cx.pause(1).await;
                    energy.spend(100);
                }
            });
        }
        let idle = scope.scope("chip10").energy(1);
        scope.spawn("keep", async move |_| drop(idle));
    });
    finished(&run);
    // Cycles 0 to 9 were simulated: 10 of them.
    assert_eq!(run.total().energy("chip0"), (30, 900));
    assert_eq!(run.total().energy("chip1"), (30, 900), "chip10 is not below chip1");
    assert_eq!(run.total().energy("chip0.switch"), (30, 900));
    assert_eq!(run.total().energy(""), (70, 1_800));
}

#[test]
#[should_panic(expected = "two statistics are called 'chip.hits'")]
fn two_statistics_of_one_name_are_refused() {
    simulate(|scope| {
        let chip = scope.scope("chip");
        _ = (chip.counter("hits"), chip.counter("hits"));
    });
}

#[test]
fn a_trace_says_what_a_context_did_and_why_it_waited() {
    let options = RunOptions { trace: Some(TraceSpec::of(100)), ..RunOptions::default() };
    let run = simulate_with(&options, |scope| {
        let requests = scope.queue::<()>("requests", 1);
        let sender = requests.clone();
        scope.spawn("client", async move |cx| {
            cx.pause(3).await;
            cx.instant("sends");
            sender.send(()).await;
        });
        scope.spawn("server", async move |cx| {
            requests.recv().await;
            let _span = cx.span("serves");
            cx.pause(2).await;
        });
    });
    finished(&run);
    let ns = Time::nanos;
    let event = |time, context: &str, what| TraceEvent { time: ns(time), context: context.to_owned(), what };
    let expected = [
        event(0, "client", Activity::Busy { until: ns(3) }),
        event(0, "server", Activity::Waiting { until: ns(3), on: "requests.items".to_owned() }),
        event(3, "client", Activity::Instant { name: "sends".to_owned() }),
        event(3, "server", Activity::Busy { until: ns(5) }),
        event(3, "server", Activity::Span { until: ns(5), name: "serves".to_owned() }),
    ];
    assert_eq!(run.trace, expected);
}

#[test]
fn a_trace_keeps_to_its_limit() {
    let options = RunOptions { trace: Some(TraceSpec::of(10)), ..RunOptions::default() };
    let run = simulate_with(&options, |scope| {
        scope.spawn("ticker", async |cx| {
            for _ in 0..100 {
                cx.pause(1).await;
            }
        });
    });
    assert_eq!((run.trace.len(), run.trace[9].time), (10, Time::nanos(9)));
}

#[test]
fn a_trace_of_a_part_of_the_time_has_what_happened_then() {
    let sample = Some(Sample { length: Time::nanos(2), period: Time::nanos(10) });
    let options = RunOptions { trace: Some(TraceSpec { events: 5, sample }), ..RunOptions::default() };
    let run = simulate_with(&options, |scope| {
        scope.spawn("ticker", async |cx| {
            for _ in 0..100 {
                cx.pause(1).await;
            }
        });
    });
    let times: Vec<Time> = run.trace.iter().map(|event| event.time).collect();
    assert_eq!(times, [0, 1, 10, 11, 20].map(Time::nanos));
}

#[test]
fn the_model_can_end_the_run() {
    let run = simulate(|scope| {
        scope.spawn("ticker", async |cx| {
            loop {
                cx.pause(1).await;
                if cx.now().0 == 1_000 {
                    cx.stop();
                }
            }
        });
    });
    assert_eq!((run.outcome, run.end), (Outcome::Stopped, Time::nanos(1_001)));
}

#[test]
fn a_series_records_when_events_happened_and_restarts_with_each_region() {
    let run = simulate(|scope| {
        let (waves, issued) = (scope.series("waves"), scope.series("issued"));
        scope.spawn("core", async move |cx| {
            waves.set(3);
            cx.pause(64).await;
            issued.count(5);
            waves.set(1);
            cx.pause(64).await;
            cx.region("second"); // takes effect after cycle 128
            cx.pause(36).await;
            waves.set(0);
        });
    });
    finished(&run);
    let series = |region: usize, path: &str| match &run.regions[region].statistics.0[path] {
        Value::Series(spans) => spans.by_cycle().collect::<Vec<_>>(),
        other => panic!("a series stays one: {other:?}"),
    };
    assert_eq!(series(0, "waves"), [(0, 3 * 64), (64, 64), (128, 1)]);
    assert_eq!(series(0, "issued"), [(64, 5)]);
    assert_eq!(series(1, "waves"), [(128, 35)]);
    assert_eq!(series(1, "issued"), []);
    let Value::Series(total) = &run.total().0["waves"] else { panic!("a series stays one") };
    assert_eq!(total.sums, [192, 64, 36]);
}

#[test]
fn a_rate_is_how_the_counts_of_equal_spans_are_spread() {
    let run = simulate(|scope| {
        let accesses = scope.rate("accesses", Time::nanos(10));
        scope.spawn("core", async move |cx| {
            accesses.count(2);
            cx.pause(9).await;
            accesses.count(1); // 3 in the first span
            cx.pause(26).await;
            accesses.count(5); // none in two spans, 5 in the fourth
            cx.region("second"); // takes effect after cycle 35, in the middle of it
            cx.pause(20).await;
            accesses.count(4); // spans restart with the region: none in the first, 4 in the second
        });
    });
    finished(&run);
    let spread = |statistics: &Statistics| match &statistics.0["accesses"] {
        Value::Histogram { count, sum, min, max, .. } => {
            [*count, *sum, *min, *max, statistics.count("accesses.squares")]
        }
        other => panic!("a rate is a histogram: {other:?}"),
    };
    assert_eq!(spread(&run.regions[0].statistics), [4, 8, 0, 5, 9 + 25]);
    assert_eq!(spread(&run.regions[1].statistics), [2, 4, 0, 4, 16]);
    assert_eq!(spread(&run.total()), [6, 12, 0, 5, 50]);
}

#[test]
fn a_statistic_that_is_made_late_is_read_and_one_that_counts_nothing_is_left_out_of_later_regions() {
    let run = simulate(|scope| {
        let (early, never) = (scope.counter("early"), scope.histogram("never"));
        let own = scope.clone();
        scope.spawn("unit", async move |cx| {
            early.increment();
            cx.region("second");
            cx.pause(5).await;
            let late = own.scope("a").counter("late");
            late.add(3);
            cx.region("third");
            cx.pause(5).await;
            late.add(4);
            never.record(0);
        });
    });
    finished(&run);
    let paths = |region: usize| {
        let statistics = &run.regions[region].statistics.0;
        statistics.keys().map(|path| path.to_string()).filter(|path| !path.contains("busy")).collect::<Vec<_>>()
    };
    assert_eq!([paths(0), paths(1), paths(2)], [vec!["early", "never"], vec!["a.late"], vec!["a.late", "never"]]);
    assert_eq!((run.total().count("a.late"), run.total().count("early")), (7, 1));
}

#[test]
fn a_model_that_is_left_to_the_system_is_still_dropped_if_its_run_has_not_finished() {
    struct Told(Arc<AtomicBool>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let dropped = |leave: bool, until: Time| {
        let told = Arc::new(AtomicBool::new(false));
        let kept = Told(Arc::clone(&told));
        let run = simulate_with(&RunOptions { leave, until, ..RunOptions::default() }, move |scope| {
            let bell = scope.eventcount("bell");
            scope.serve("server", async move |_| {
                let _kept = kept;
                bell.next().await;
            });
            scope.spawn("unit", async move |cx| cx.pause(10).await);
        });
        (run.outcome == Outcome::Finished, told.load(Ordering::Relaxed))
    };
    assert_eq!(dropped(true, Time::NEVER), (true, false));
    assert_eq!(dropped(false, Time::NEVER), (true, true));
    assert_eq!(dropped(true, Time::nanos(5)), (false, true));
}
