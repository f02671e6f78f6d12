//! An auditor sees all entries in order, does not change the run, and ends a run in which it finds an error.

use engine::{Auditor, Entry, Hertz, Journal, Lane, LinkSpec, Model, Outcome, Run, RunOptions, Share, Time};
use std::sync::{Arc, Mutex};

type Seen = Arc<Mutex<Vec<Entry<u64>>>>;

/// Copies what it reads, and reports one number as an error.
struct Clerk(Seen, Option<u64>);

impl Auditor<u64> for Clerk {
    fn audit(&mut self, entries: &mut dyn Iterator<Item = Entry<u64>>) -> Result<(), (Time, String)> {
        for entry in entries {
            if Some(entry.item) == self.1 {
                return Err((entry.time, format!("{} is wrong", entry.item)));
            }
            self.0.lock().expect("nothing panics here").push(entry);
        }
        Ok(())
    }
}

/// Four islands in a ring forward a number and write it into the journal; regions begin on the way. Two pairs of
/// islands have short links, so that teams of threads run several windows in a round.
fn run(partitions: usize, threads: usize, audit: Option<Option<u64>>) -> (Run, Vec<Entry<u64>>) {
    let seen = Seen::default();
    let mut model = Model::new();
    let clocks = [Hertz::giga(1), Hertz::mega(700)].map(|rate| model.clock(rate));
    let journal = audit.map(|wrong| {
        let journal = Journal::default();
        model.audit("clerk", journal.clone(), Clerk(Arc::clone(&seen), wrong));
        journal
    });
    model.control_delay(Time::nanos(12));
    let spec = |n: usize| LinkSpec { latency: Time::nanos([3, 12][n % 2]), capacity: 2, bytes_per_cycle: None };
    let (mut to, mut from): (Vec<_>, Vec<_>) = (0..4).map(|n| model.link::<u64>(format!("link{n}"), spec(n))).unzip();
    from.rotate_right(1);
    let mut islands: Vec<_> = to.drain(..).zip(from).enumerate().collect();
    for partition in 0..partitions {
        let own: Vec<_> = islands.extract_if(.., |(n, _)| *n * partitions / 4 == partition).collect();
        let journal = journal.clone();
        let share = Share { weight: 1, group: partition * 2 / partitions };
        model.partition_with(share, move |built| {
            for (n, (to, from)) in own {
                let scope = built.scope(clocks[n % 2]).scope(("island", n));
                let (to, from) = (scope.sender(to), scope.receiver(from));
                let pen = journal.as_ref().map(|journal| scope.pen(journal, n as u32));
                let counter = scope.counter("passed");
                scope.spawn("run", |cx| async move {
                    for round in 0..20 {
                        let number = if n == 0 && round == 0 { 0 } else { from.recv(Lane::Request).await };
                        pen.iter().for_each(|pen| pen.write(number));
                        counter.increment();
                        if number % 10 == 0 {
                            cx.region(&format!("from {number} on"));
                        }
                        if number < 79 {
                            to.send(Lane::Request, number + 1, 8).await;
                        }
                    }
                });
            }
        });
    }
    let run = model.run(&RunOptions { threads, ..RunOptions::default() });
    let seen = std::mem::take(&mut *seen.lock().expect("nothing panics here"));
    (run, seen)
}

#[test]
fn a_run_with_an_auditor_is_the_run_without_one() {
    let (alone, nothing) = run(1, 1, None);
    assert_eq!((alone.outcome.clone(), nothing.len()), (Outcome::Finished, 0));
    let (_, whole) = run(1, 1, Some(None));
    assert_eq!(whole.iter().map(|entry| entry.item).collect::<Vec<_>>(), (0..80).collect::<Vec<_>>());
    for (partitions, threads) in [(1, 1), (2, 2), (4, 1), (4, 3)] {
        let (audited, seen) = run(partitions, threads, Some(None));
        assert_eq!((&audited.outcome, audited.end), (&alone.outcome, alone.end));
        assert_eq!((audited.events, audited.regions), (alone.events, alone.regions.clone()));
        assert_eq!(seen, whole, "{partitions} partitions, {threads} threads");
    }
}

#[test]
fn what_an_auditor_finds_ends_the_run_even_in_its_last_window() {
    for wrong in [0, 1, 40, 79] {
        let runs = [(1, 1), (2, 2), (4, 3)].map(|(partitions, threads)| run(partitions, threads, Some(Some(wrong))).0);
        let Outcome::Failed { time, context, message } = &runs[0].outcome else { panic!("{}", runs[0].outcome) };
        assert_eq!((context.as_str(), message.as_str()), ("clerk", format!("{wrong} is wrong").as_str()));
        assert!(*time <= runs[0].end, "{time} lies before {}", runs[0].end);
        for other in &runs[1..] {
            assert_eq!((&other.outcome, other.end), (&runs[0].outcome, runs[0].end));
        }
    }
}
