//! The parallel engine: sixteen partitions of contexts that work and sometimes send each other messages.

use super::median;
use crate::ui::Ui;
use engine::{Hertz, Inlet, Lane, LinkSpec, Model, Outlet, Run, RunOptions, Time};
use serde::Serialize;
use std::{cell::Cell, hint::black_box, rc::Rc, time::Instant};

const PARTITIONS: usize = 16;
/// Latency between partitions in cycles: the window.
const WINDOW: u64 = 8;
/// One event in this many sends a message to another partition.
const EVENTS_PER_MESSAGE: u64 = 64;

/// One measurement.
#[derive(Serialize)]
pub struct Parallel {
    pub threads: usize,
    pub events_per_cycle: usize,
    /// The window in cycles.
    pub window: u64,
    /// Work of an event in nanoseconds on this computer.
    pub work_ns: u64,
    /// Speed-up over one thread.
    pub speedup: f64,
    /// Whether statistics and all other results equal those with one thread.
    pub identical: bool,
}

/// Measures models of the given sizes with 2, 4, .. up to `threads` threads against one.
pub fn measure(ui: &Ui, threads: usize, rounds: usize, sizes: &[usize], work_ns: u64) -> Vec<Parallel> {
    let spins = calibrate(work_ns);
    let counts: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n <= threads).collect();
    let mut measured = Vec::new();
    for &events_per_cycle in sizes {
        // About 0.15 s with one thread.
        let cycles = 150_000_000 / ((work_ns + 30) * events_per_cycle as u64);
        let mut times = vec![Vec::new(); counts.len()];
        let mut identical = vec![true; counts.len()];
        let mut expected: Option<Run> = None;
        for round in 0..rounds {
            ui.progress(&format!("{events_per_cycle} events a cycle of {work_ns} ns, round {} of {rounds}", round + 1));
            for (at, &threads) in counts.iter().enumerate() {
                let model = model(events_per_cycle, cycles, spins);
                let start = Instant::now();
                let run = model.run(&RunOptions { threads, ..RunOptions::default() });
                times[at].push(start.elapsed().as_nanos() as f64);
                identical[at] &= expected.get_or_insert_with(|| run.clone()) == &run;
            }
        }
        measured.extend(counts.iter().zip(&times).zip(&identical).skip(1).map(|((&threads, several), &identical)| {
            let speedup = median(times[0].iter().zip(several).map(|(one, several)| one / several));
            Parallel { threads, events_per_cycle, window: WINDOW, work_ns, speedup, identical }
        }));
    }
    measured
}

/// Work that the compiler can't remove.
fn work(spins: u64, mut value: u64) -> u64 {
    for _ in 0..spins {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    value
}

/// Number of spins that take this many nanoseconds on this computer.
fn calibrate(nanoseconds: u64) -> u64 {
    let spins = 1_000_000;
    let times = (0..5).map(|round| {
        let start = Instant::now();
        black_box(work(spins, round));
        start.elapsed().as_nanos() as f64
    });
    (nanoseconds as f64 * spins as f64 / median(times)) as u64
}

fn model(events_per_cycle: usize, cycles: u64, spins: u64) -> Model {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let spec = LinkSpec { latency: Time::nanos(WINDOW), capacity: 64, bytes_per_cycle: None };
    let mut senders: Vec<Vec<_>> = (0..PARTITIONS).map(|_| Vec::new()).collect();
    let mut receivers: Vec<Vec<_>> = (0..PARTITIONS).map(|_| Vec::new()).collect();
    for (from, senders) in senders.iter_mut().enumerate() {
        for to in (0..PARTITIONS).filter(|to| *to != from) {
            let (sender, receiver) = model.link::<u64>(format!("link{from}to{to}"), spec);
            senders.push(sender);
            receivers[to].push(receiver);
        }
    }
    for (index, (senders, receivers)) in senders.into_iter().zip(receivers).enumerate() {
        model.partition(move |partition| {
            let scope = partition.scope(clock).scope(("partition", index));
            let state = Rc::new(Cell::new(index as u64));
            let digest = scope.counter("digest");
            let outlets: Rc<[Outlet<u64>]> = senders.into_iter().map(|end| scope.sender(end)).collect();
            for (number, receiver) in receivers.into_iter().enumerate() {
                let (inlet, state): (Inlet<u64>, _) = (scope.receiver(receiver), Rc::clone(&state));
                scope.serve(("receiver", number), async move |_| {
                    loop {
                        let message = inlet.recv(Lane::Request).await;
                        state.set(state.get().rotate_left(5) ^ message);
                    }
                });
            }
            let contexts = (events_per_cycle / PARTITIONS).max(1);
            for number in 0..contexts {
                let (state, outlets, digest) = (Rc::clone(&state), Rc::clone(&outlets), digest.clone());
                scope.spawn(("worker", number), async move |cx| {
                    let mut value = number as u64 + 1;
                    for _ in 0..cycles {
                        value = work(spins, value).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                        state.set(state.get().wrapping_mul(31).wrapping_add(value));
                        if (value >> 32).is_multiple_of(EVENTS_PER_MESSAGE) {
                            let outlet = &outlets[(value >> 40) as usize % outlets.len()];
                            _ = outlet.try_send(Lane::Request, state.get(), 8);
                        }
                        cx.pause(1).await;
                    }
                    digest.add(state.get() >> 32);
                });
            }
        });
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Outcome;

    #[test]
    fn the_model_sends_messages_and_ends_the_same_with_any_number_of_threads() {
        let run = |threads| model(32, 2_000, 1).run(&RunOptions { threads, ..RunOptions::default() });
        let one = run(1);
        assert_eq!(one.outcome, Outcome::Finished);
        let statistics = one.total();
        let received = statistics.0.keys().filter(|path| path.ends_with("in.passed"));
        let messages: u64 = received.map(|path| statistics.count(path)).sum();
        assert!(messages > 500, "{messages} messages");
        assert_eq!(run(2), one);
        assert_eq!(run(3), one);
    }
}
