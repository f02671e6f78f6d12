//! Regions, stops and failures take effect at a time that the model states, for any cut and any length of windows.

mod common;

use common::simulate;
use engine::{Context, Hertz, Lane, LinkSpec, Model, Outcome, Region, Run, RunOptions, Time};

/// Three islands in a ring of links, in one, two or three partitions. Two further islands only change the windows.
#[derive(Clone, Copy)]
struct Cut {
    partitions: usize,
    threads: usize,
    /// The latency of the link between the two further islands.
    beside: Option<Time>,
    until: Time,
}

const WHOLE: Cut = Cut { partitions: 1, threads: 1, beside: None, until: Time::NEVER };
/// Cuts and windows that must give the same result.
const CUTS: [Cut; 5] = [
    Cut { partitions: 2, ..WHOLE },
    Cut { partitions: 3, threads: 3, ..WHOLE },
    Cut { partitions: 2, threads: 2, beside: Some(Time::picos(3_700)), ..WHOLE },
    Cut { partitions: 3, threads: 2, beside: Some(Time::picos(1_300)), ..WHOLE },
    Cut { partitions: 1, beside: Some(Time::nanos(2)), ..WHOLE },
];
const LINK: Time = Time::nanos(10);

/// Each island counts its cycles and forwards a token. Island 1 calls `act` for each token that it receives.
fn run(cut: Cut, delay: Option<Time>, act: fn(&Context, u64)) -> Run {
    let mut model = Model::new();
    let clocks = [Hertz::giga(1), Hertz::mega(700), Hertz::giga(3)].map(|rate| model.clock(rate));
    delay.into_iter().for_each(|delay| model.control_delay(delay));
    let link = |latency| LinkSpec { latency, capacity: 2, bytes_per_cycle: None };
    let (to, mut from): (Vec<_>, Vec<_>) = (0..3).map(|n| model.link::<u64>(format!("link{n}"), link(LINK))).unzip();
    from.rotate_right(1);
    let mut islands: Vec<_> = to.into_iter().zip(from).enumerate().collect();
    for partition in 0..cut.partitions {
        let own: Vec<_> = islands.extract_if(.., |(n, _)| *n % cut.partitions == partition).collect();
        model.partition(move |built| {
            for (n, (to, from)) in own {
                let scope = built.scope(clocks[n]).scope(("island", n));
                let (to, from, cycles) = (scope.sender(to), scope.receiver(from), scope.counter("cycles"));
                scope.serve("clock", async move |cx| {
                    loop {
                        cycles.increment();
                        cx.pause(1).await;
                    }
                });
                scope.spawn("tokens", async move |cx| {
                    if n == 0 {
                        to.send(Lane::Request, 0, 8).await;
                    }
                    loop {
                        let token = from.recv(Lane::Request).await;
                        if n == 1 {
                            act(&cx, token);
                        }
                        cx.pause(1 + token % 5).await;
                        to.send(Lane::Request, token + 1, 8).await;
                    }
                });
            }
        });
    }
    if let Some(latency) = cut.beside {
        let (to, from) = model.link::<u64>("beside", link(latency));
        model.partition(move |built| {
            let to = built.scope(clocks[2]).sender(to);
            built.scope(clocks[2]).serve("restless", async move |cx| {
                loop {
                    cx.pause(5).await;
                    to.send(Lane::Request, 0, 8).await;
                }
            });
        });
        model.partition(move |built| {
            let from = built.scope(clocks[0]).receiver(from);
            built.scope(clocks[0]).serve("sink", async move |_| {
                loop {
                    from.recv(Lane::Request).await;
                }
            });
        });
    }
    model.run(&RunOptions { threads: cut.threads, until: cut.until, ..RunOptions::default() })
}

/// The regions, with the statistics of the three islands.
fn of_islands(mut run: Run) -> Vec<Region> {
    for region in &mut run.regions {
        region.statistics.0.retain(|path, _| path.starts_with("island"));
    }
    run.regions
}

/// Requests regions with tokens 3, 6 and 9 (at about 47, 85 and 125 ns), and the end with token 15.
fn mark(cx: &Context, token: u64) {
    match token {
        3 | 6 | 9 => cx.region(&format!("asked for at {}", cx.time())),
        15 => cx.stop(),
        _ => {}
    }
}

#[test]
fn neither_cuts_nor_windows_nor_threads_move_the_edges_of_regions() {
    for delay in [LINK, Time::picos(2_345), Time::nanos(77)] {
        let whole = run(WHOLE, Some(delay), mark);
        assert_eq!(whole.outcome, Outcome::Stopped);
        let whole = of_islands(whole);
        assert_eq!(whole.len(), 4);
        for region in &whole[1..] {
            let asked = Time(region.start.0 - delay.0);
            assert_eq!(region.name, format!("asked for at {asked}"), "it begins {delay} later");
        }
        // 1 GHz: a cycle begins at every nanosecond.
        let cycles = |time: Time| time.0.div_ceil(Time::nanos(1).0);
        for Region { start, end, statistics, name } in &whole {
            assert_eq!(statistics.count("island0.cycles"), cycles(*end) - cycles(*start), "{name}");
        }
        for cut in CUTS {
            let run = run(cut, Some(delay), mark);
            assert_eq!(run.outcome, Outcome::Stopped);
            let (partitions, beside) = (cut.partitions, cut.beside);
            assert_eq!(of_islands(run), whole, "{partitions} partitions, a link of {beside:?} beside, {delay} later");
        }
    }
}

#[test]
fn without_a_stated_delay_it_is_the_shortest_link() {
    let unstated = run(WHOLE, None, mark);
    assert_eq!(unstated, run(WHOLE, Some(LINK), mark));
    assert_eq!(of_islands(run(CUTS[1], None, mark)), of_islands(unstated));
}

#[test]
fn a_run_ends_at_the_requested_time_whatever_else_is_requested_meanwhile() {
    fn several(cx: &Context, token: u64) {
        if token == 3 {
            cx.stop();
            cx.region("last");
            cx.fail("too late: the run stops at this time");
        }
    }
    for cut in [WHOLE, CUTS[1], CUTS[3]] {
        let run = run(cut, Some(Time::nanos(25)), several);
        let Outcome::Failed { time, context, .. } = &run.outcome else { panic!("{}", run.outcome) };
        assert_eq!((run.end, context.as_str()), (*time + Time::nanos(25), "island1.tokens"));
        let last = &run.regions[1];
        assert_eq!((last.name.as_str(), last.start, last.end), ("last", run.end, run.end), "it is there, and empty");
    }
}

#[test]
fn a_failure_is_reported_even_if_the_time_limit_comes_first() {
    fn fail(cx: &Context, token: u64) {
        if token == 3 {
            cx.region("never");
            cx.fail("something is wrong");
        }
    }
    for cut in [WHOLE, CUTS[1], CUTS[3]] {
        let run = run(Cut { until: Time::nanos(50), ..cut }, Some(LINK), fail);
        assert!(matches!(run.outcome, Outcome::Failed { .. }), "{}", run.outcome);
        assert_eq!((run.end, run.regions.len()), (Time::nanos(50), 1));
    }
}

#[test]
fn a_run_continues_until_its_requests_have_taken_effect() {
    let region = simulate(|scope| {
        scope.spawn("core", async move |cx| {
            cx.pause(5).await;
            cx.region("last");
        });
    });
    assert_eq!(region.outcome, Outcome::Finished);
    assert_eq!((region.end, region.regions[1].start), (Time::nanos(6), Time::nanos(6)));
    let stop = simulate(|scope| scope.spawn("core", async move |cx| cx.stop()));
    assert_eq!((stop.outcome, stop.end), (Outcome::Stopped, Time::nanos(1)));
}
