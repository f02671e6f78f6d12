//! Statistics and traces do not depend on the number of threads or on where a model is cut.
//!
//! Random models of islands and links are run whole by one thread, and then in random cuts by 1, 2, 3 and 8 threads.
//! Within an island contexts share state and use every feature of the engine; between islands there are only links.

mod common;

use engine::{
    Context, EventCount, Hertz, Inlet, Lane, LinkSpec, Model, Outcome, Outlet, Queue, Run, RunOptions, Scope, Share,
    Time, TraceSpec,
};
use proptest::prelude::*;
use std::{cell::Cell, collections::BTreeSet, rc::Rc};

#[derive(Clone, Debug)]
struct Spec {
    seed: u64,
    /// The clock of each island.
    islands: Vec<usize>,
    links: Vec<Wire>,
}

#[derive(Clone, Debug)]
struct Wire {
    from: usize,
    to: usize,
    latency: u64,
    capacity: usize,
    bytes_per_cycle: Option<u64>,
}

const RATES: [Hertz; 3] = [Hertz::giga(1), Hertz::mega(700), Hertz::giga(3)];

fn specs() -> impl Strategy<Value = Spec> {
    (any::<u64>(), prop::collection::vec(0..RATES.len(), 2..7)).prop_flat_map(|(seed, islands)| {
        let n = islands.len();
        let wire = (0..n, 0..n, 2_000u64..20_000, 1usize..5, prop::option::of(1u64..64));
        prop::collection::vec(wire, 1..2 * n).prop_map(move |wires| Spec {
            seed,
            islands: islands.clone(),
            links: wires
                .into_iter()
                .map(|(from, to, latency, capacity, bytes_per_cycle)| Wire {
                    from,
                    to,
                    latency,
                    capacity,
                    bytes_per_cycle,
                })
                .collect(),
        })
    })
}

/// A cut: the partition of each island.
fn cuts(islands: usize) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..islands, islands)
}

#[derive(Clone, Copy)]
struct Message {
    value: u64,
    hops: u64,
}

/// State shared by the contexts of an island.
struct Island {
    state: Cell<u64>,
    outlets: Vec<Outlet<Message>>,
    bell: EventCount,
    buffer: Queue<Message>,
    index: usize,
    seed: u64,
}

impl Island {
    /// The next pseudo-random number; it depends on everything that has happened on the island so far, and in which
    /// order.
    fn next(&self, input: u64) -> u64 {
        let state = (self.state.get() ^ input).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        self.state.set(state);
        state >> 7
    }

    async fn send(&self, message: Message) {
        let choice = self.next(message.value);
        if let Some(outlet) = self.outlets.get(choice as usize % self.outlets.len().max(1)) {
            let lane = Lane::ALL[choice as usize / 64 % 3];
            outlet.send(lane, message, 1 + choice % 100).await;
        }
    }
}

/// Sends messages at irregular intervals.
async fn source(island: Rc<Island>, cx: Context) {
    for count in 0..12 {
        cx.pause(island.next(count) % 50 + u64::from(count % 5 == 0) * 3_000).await;
        island.send(Message { value: island.next(7), hops: island.next(3) % 6 }).await;
        cx.progress();
        if island.index == 0 && count == 6 {
            cx.region("second");
        }
    }
}

/// Receives from one lane, does some work on each message, and forwards it.
async fn relay(island: Rc<Island>, inlet: Inlet<Message>, lane: Lane, cx: Context) {
    loop {
        let message = inlet.recv(lane).await;
        cx.instant("received");
        cx.pause(island.next(message.value) % 9).await;
        island.bell.advance();
        if island.next(1).is_multiple_of(4) {
            let child = Rc::clone(&island);
            cx.scope().spawn("child", async move |cx| {
                cx.pause(child.next(2) % 5).await;
                child.bell.advance();
            });
        }
        match message.hops {
            0 => _ = island.buffer.try_send(message),
            hops => island.send(Message { value: island.next(5), hops: hops - 1 }).await,
        }
    }
}

/// Arbitrates once everything else in a cycle has run.
async fn arbiter(island: Rc<Island>, cx: Context) {
    loop {
        island.bell.next().await;
        cx.settle().await;
        let _span = cx.span("arbitrates");
        island.next(island.bell.count());
        cx.pause(2).await;
    }
}

/// Drains the buffer, using timed waits.
async fn drain(island: Rc<Island>, cx: Context) {
    loop {
        let message = island.buffer.recv().await;
        let rung = island.bell.wait_for(island.bell.count() + 1, message.value % 40).await;
        island.next(u64::from(rung));
        cx.pause(1).await;
    }
}

fn build(scope: &Scope, index: usize, seed: u64, outlets: Vec<Outlet<Message>>, inlets: Vec<Inlet<Message>>) {
    let island = Rc::new(Island {
        state: Cell::new(seed ^ index as u64),
        outlets,
        bell: scope.eventcount("bell"),
        buffer: scope.queue("buffer", 2),
        index,
        seed,
    });
    scope.spawn("source", |cx| source(Rc::clone(&island), cx));
    for (number, inlet) in inlets.into_iter().enumerate() {
        for lane in Lane::ALL {
            scope.serve(("relay", number * 3 + lane as usize), |cx| relay(Rc::clone(&island), inlet.clone(), lane, cx));
        }
    }
    scope.serve("arbiter", |cx| arbiter(Rc::clone(&island), cx));
    scope.serve("drain", |cx| drain(Rc::clone(&island), cx));
    // The final state is a digest of the whole history of the island.
    let digest = scope.counter("digest");
    scope.serve("digest", async move |cx| {
        loop {
            cx.pause(1_000 + island.seed % 7).await;
            digest.add(island.state.get() >> 40);
        }
    });
}

fn run(spec: &Spec, cut: &[usize], threads: usize) -> Run {
    let (watchdog, trace) = (Some(150), Some(TraceSpec::of(300)));
    let options = RunOptions { threads, watchdog, trace, ..RunOptions::default() };
    model(spec, cut, &[Share::default(); 7], None).run(&options)
}

/// The model with this cut, the share of each partition and the control delay.
fn model(spec: &Spec, cut: &[usize], shares: &[Share], delay: Option<Time>) -> Model {
    let mut model = Model::new();
    delay.into_iter().for_each(|delay| model.control_delay(delay));
    let clocks = RATES.map(|rate| model.clock(rate));
    let mut senders: Vec<Vec<_>> = spec.islands.iter().map(|_| Vec::new()).collect();
    let mut receivers: Vec<Vec<_>> = spec.islands.iter().map(|_| Vec::new()).collect();
    for (number, wire) in spec.links.iter().enumerate() {
        let link = LinkSpec {
            latency: Time::picos(wire.latency),
            capacity: wire.capacity,
            bytes_per_cycle: wire.bytes_per_cycle,
        };
        let (sender, receiver) = model.link::<Message>(format!("link{number}"), link);
        senders[wire.from].push(sender);
        receivers[wire.to].push(receiver);
    }
    for partition in cut.iter().copied().collect::<BTreeSet<usize>>() {
        let mut islands = Vec::new();
        for (index, clock) in spec.islands.iter().enumerate().filter(|(index, _)| cut[*index] == partition) {
            let ends = (std::mem::take(&mut senders[index]), std::mem::take(&mut receivers[index]));
            islands.push((index, clocks[*clock], ends));
        }
        let seed = spec.seed;
        model.partition_with(shares[partition], move |partition| {
            for (index, clock, (senders, receivers)) in islands {
                let scope = partition.scope(clock).scope(("island", index));
                let outlets = senders.into_iter().map(|end| scope.sender(end)).collect();
                let inlets = receivers.into_iter().map(|end| scope.receiver(end)).collect();
                build(&scope, index, seed, outlets, inlets);
            }
        });
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn neither_threads_nor_cuts_change_anything(
        (spec, cut, other) in specs().prop_flat_map(|spec| {
            let islands = spec.islands.len();
            (Just(spec), cuts(islands), cuts(islands))
        })
    ) {
        let whole = run(&spec, &vec![0; spec.islands.len()], 1);
        let apart: Vec<usize> = (0..spec.islands.len()).collect();
        for (cut, threads) in [(&cut, 1), (&cut, 2), (&other, 3), (&apart, 8), (&apart, 1)] {
            let mut run = run(&spec, cut, threads);
            prop_assert_eq!(&run.regions, &whole.regions, "statistics, cut {:?}, {} threads", cut, threads);
            prop_assert_eq!(&run.trace, &whole.trace, "trace, cut {:?}, {} threads", cut, threads);
            // The peak of events at one time depends on what a partition contains, and is not a statistic.
            for (pressure, of_whole) in run.pressure.iter_mut().zip(&whole.pressure) {
                prop_assert!(pressure.most <= of_whole.most);
                pressure.most = of_whole.most;
            }
            prop_assert_eq!(&run, &whole, "cut {:?}, {} threads", cut, threads);
        }
    }
}

/// Latencies from 2 to 200 ns, so that some partitions must synchronise much more often than others.
fn mixed() -> impl Strategy<Value = (Spec, Vec<usize>, Vec<Share>, u64)> {
    let stretched = (specs(), prop::collection::vec(0u32..3, 12)).prop_map(|(mut spec, stretches)| {
        let stretches = stretches.into_iter().map(|stretch| [1, 4, 10][stretch as usize]);
        spec.links.iter_mut().zip(stretches).for_each(|(wire, stretch)| wire.latency *= stretch);
        spec
    });
    stretched.prop_flat_map(|spec| {
        let share = (0u64..9, 0usize..4).prop_map(|(weight, group)| Share { weight, group });
        let (islands, shares) = (spec.islands.len(), prop::collection::vec(share, 7));
        (Just(spec), cuts(islands), shares, 2_000u64..300_000)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn neither_weights_nor_groups_nor_long_delays_change_anything((spec, cut, shares, delay) in mixed()) {
        let run = |cut: &[usize], shares: &[Share], threads| {
            let trace = Some(TraceSpec::of(300));
            let options = RunOptions { threads, until: Time::micros(12), trace, ..RunOptions::default() };
            let mut run = model(&spec, cut, shares, Some(Time::picos(delay))).run(&options);
            run.pressure.iter_mut().for_each(|pressure| pressure.most = 0);
            run
        };
        let whole = run(&vec![0; spec.islands.len()], &shares, 1);
        prop_assert_eq!(&whole.outcome, &Outcome::TimeLimit);
        let apart: Vec<usize> = (0..spec.islands.len()).collect();
        let own_groups: Vec<Share> = (0..7).map(|group| Share { weight: 1, group }).collect();
        for (cut, shares, threads) in
            [(&cut, &shares, 2), (&apart, &shares, 3), (&apart, &own_groups, 4), (&cut, &shares, 1)]
        {
            let run = run(cut, shares, threads);
            prop_assert_eq!(&run.regions, &whole.regions, "statistics, cut {:?}, {} threads", cut, threads);
            prop_assert_eq!(&run, &whole, "cut {:?}, {} threads", cut, threads);
        }
        // The watchdog checks at the end of each round. Rounds depend on groups, but not on threads.
        let ends = |threads| {
            let options = RunOptions { threads, watchdog: Some(150), ..RunOptions::default() };
            model(&spec, &apart, &shares, Some(Time::picos(delay))).run(&options)
        };
        let one = ends(1);
        prop_assert_eq!(&ends(2), &one, "ended by the watchdog, 2 threads");
        prop_assert_eq!(&ends(4), &one, "ended by the watchdog, 4 threads");
    }
}

#[test]
fn the_random_models_end_in_different_ways_and_meet_regions() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut stuck, mut regions, mut messages, mut events) = (0, 0, 0, 0);
    for _ in 0..40 {
        let spec = specs().new_tree(&mut runner).unwrap().current();
        let run = run(&spec, &vec![0; spec.islands.len()], 1);
        // The digest context never ends, so the watchdog ends every run; runs differ in which contexts are blocked.
        let Outcome::Stuck(report) = &run.outcome else { panic!("{}", run.outcome) };
        stuck += usize::from(report.anybody_held_up());
        regions += run.regions.len() - 1;
        events += run.events;
        messages += run.total().0.keys().filter(|path| path.ends_with("in.passed")).count();
    }
    assert!(stuck > 0 && stuck < 40, "{stuck} of 40 runs end with a context held up");
    assert!(regions > 20 && messages > 40, "{regions} regions, {messages} links");
    assert!(events > 10_000, "{events} events");
}
