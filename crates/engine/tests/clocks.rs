//! Several clocks in one model.

mod common;

use common::{Log, finished};
use engine::{Cycles, Lane};
use engine::{Hertz, Model, PortSpec, RunOptions, Time};

#[test]
fn eight_clocks_keep_their_rates_together() {
    let rates = [700, 800, 1000, 1200, 1700, 2000, 3000, 4000].map(Hertz::mega);
    let mut model = Model::new();
    let clocks = rates.map(|rate| model.clock(rate));
    model.partition(move |partition| {
        for (index, clock) in clocks.into_iter().enumerate() {
            let scope = partition.scope(clock);
            let ticks = scope.counter(("ticks", index));
            scope.spawn(("ticker", index), async move |cx| {
                loop {
                    ticks.increment();
                    cx.pause(1).await;
                }
            });
        }
    });
    let run = model.run(&RunOptions { until: Time::micros(10), ..RunOptions::default() });
    for (index, rate) in rates.iter().enumerate() {
        // Edges 0, 1, 2.. before 10 us: rate * 10^-5 of them, a whole number for each of these rates.
        assert_eq!(run.total().count(&format!("ticks{index}")), rate.0 / 100_000, "{rate}");
    }
}

#[test]
fn the_earliest_edge_runs_first_and_ties_go_to_the_first_clock() {
    let log = Log::new();
    let noted = log.clone();
    let mut model = Model::new();
    let clocks = [model.clock(Hertz::giga(1)), model.clock(Hertz::giga(2)), model.clock(Hertz::mega(500))];
    model.partition(move |partition| {
        // The domains are built in another order than their clocks are declared: the order of building does not matter.
        for index in [2, 0, 1] {
            let log = noted.clone();
            partition.scope(clocks[index]).spawn(("ticker", index), async move |cx| {
                loop {
                    log.note(format!("{index}@{}", cx.time().0 / 1000));
                    cx.pause(1).await;
                }
            });
        }
    });
    model.run(&RunOptions { until: Time::nanos(2) + Time(1), ..RunOptions::default() });
    assert_eq!(log.text(), "0@0 1@0 2@0 1@500 0@1000 1@1000 1@1500 0@2000 1@2000 2@2000");
}

#[test]
fn a_wake_up_across_clocks_reaches_the_next_edge_whatever_other_contexts_run() {
    // A slow and a fast clock, both ways, with and without an uninvolved context in the woken domain.
    for bystander in [false, true] {
        let log = Log::new();
        let noted = log.clone();
        let mut model = Model::new();
        let (slow, fast) = (model.clock(Hertz::giga(1)), model.clock(Hertz::giga(3)));
        model.partition(move |partition| {
            let (slow, fast) = (partition.scope(slow), partition.scope(fast));
            if bystander {
                for scope in [&slow, &fast] {
                    scope.spawn("bystander", async |cx| {
                        for _ in 0..50 {
                            cx.pause(1).await;
                        }
                    });
                }
            }
            let (to_fast, to_slow) = (fast.eventcount("to_fast"), slow.eventcount("to_slow"));
            let (log, rings, waits) = (noted.clone(), to_fast.clone(), to_slow.clone());
            slow.spawn("slow", async move |cx| {
                for round in 1..4 {
                    cx.pause(2).await;
                    log.note(format!("s{}", cx.time()));
                    rings.advance();
                    waits.wait(round).await;
                    log.note(format!("s{}", cx.time()));
                }
            });
            let log = noted.clone();
            fast.spawn("fast", async move |cx| {
                for round in 1..4 {
                    to_fast.wait(round).await;
                    log.note(format!("f{}", cx.time()));
                    to_slow.advance();
                }
            });
        });
        let run = model.run(&RunOptions::default());
        finished(&run);
        // The fast clock is declared later, so at one time it runs after the slow clock. A wake-up of the slow domain
        // by the fast one therefore takes effect one slow edge later.
        assert_eq!(log.text(), "s2 ns f2 ns s3 ns s5 ns f5 ns s6 ns s8 ns f8 ns s9 ns", "bystander: {bystander}");
    }
}

#[test]
#[should_panic(expected = "of another clock domain")]
fn waiting_across_clocks_is_refused() {
    let mut model = Model::new();
    let (a, b) = (model.clock(Hertz::giga(1)), model.clock(Hertz::giga(2)));
    model.partition(move |partition| {
        let bell = partition.scope(a).eventcount("bell");
        partition.scope(b).spawn("waiter", async move |_| bell.wait(1).await);
    });
    model.run(&RunOptions::default());
}

#[test]
fn a_port_between_clocks_delivers_at_the_first_edge_after_its_latency() {
    let log = Log::new();
    let noted = log.clone();
    let mut model = Model::new();
    let (cpu, memory) = (model.clock(Hertz::giga(2)), model.clock(Hertz::mega(700)));
    model.partition(move |partition| {
        let (cpu, memory) = (partition.scope(cpu), partition.scope(memory));
        let spec = PortSpec { capacity: 4, latency: Cycles(3), bytes_per_cycle: None };
        let (requests, arrivals) = cpu.port::<u32>("bus", spec, &memory);
        cpu.spawn("cpu", async move |cx| {
            cx.pause(1).await; // 0.5 ns; arrives at 2 ns; the edges of 700 MHz are at 1.428 and 2.857 ns
            requests.send(Lane::Request, 7, 8).await;
        });
        memory.spawn("memory", async move |cx| {
            let request = arrivals.recv(Lane::Request).await;
            noted.note(format!("{request} at {}", cx.time()));
        });
    });
    finished(&model.run(&RunOptions::default()));
    assert_eq!(log.text(), "7 at 2.857 ns");
}
