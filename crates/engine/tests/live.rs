//! Runs that are observed, paused and stopped while they are in progress.

use engine::{Hertz, Model, Monitor, Outcome, Run, RunOptions, Snapshot, Time};
use std::{thread, time::Duration};

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a model until `until`: in each of two partitions, a slow consumer holds up a producer.
fn run(monitor: &Monitor, until: Time) -> Run {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    for chip in ["left", "right"] {
        model.partition(move |partition| {
            let chip = partition.scope(clock).scope(chip);
            let items = chip.queue::<u64>("items", 4);
            let sender = items.clone();
            chip.serve("producer", async move |_| {
                for item in 0.. {
                    sender.send(item).await;
                }
            });
            chip.serve("consumer", async move |cx| {
                loop {
                    _ = items.recv().await;
                    cx.pause(10).await;
                }
            });
            chip.spawn("clock", async |cx| {
                loop {
                    cx.pause(1).await;
                }
            });
        });
    }
    model.run(&RunOptions { threads: 2, until, monitor: monitor.clone(), ..RunOptions::default() })
}

/// Starts a run without end, lets `watch` see it, and stops it.
fn watched(watch: impl FnOnce(&Monitor)) -> Run {
    let monitor = Monitor::default();
    let running = thread::spawn({
        let monitor = monitor.clone();
        move || run(&monitor, Time::NEVER)
    });
    watch(&monitor);
    monitor.stop();
    running.join().expect("the run ends")
}

#[test]
fn a_look_shows_the_producer_that_a_full_queue_holds_up() {
    let mut seen = None;
    let run = watched(|monitor| {
        while monitor.time() < Time::nanos(100) {
            thread::yield_now();
        }
        seen = monitor.look(PATIENCE);
    });
    let Snapshot { time, waits, events, levels } = seen.expect("the run answers");
    assert!(time >= Time::nanos(100) && events > 0, "{time}, {events} events");
    let producer = waits.waiting.iter().find(|waits| waits.context == "left.producer").expect("it is held up");
    assert!(producer.held_up && producer.wakers.contains(&"left.consumer".to_owned()), "{producer:?}");
    assert!(waits.waiting.iter().any(|waits| waits.context == "right.producer"));
    assert!(levels.iter().any(|(path, level)| path.starts_with("left.items") && *level == 4), "{levels:?}");
    assert_eq!(run.outcome, Outcome::Interrupted);
}

#[test]
fn time_stands_still_while_a_run_is_paused() {
    watched(|monitor| {
        monitor.pause();
        // Each thread comes to its next round, and stays there.
        let reached = monitor.look(PATIENCE).expect("a paused run answers").time;
        thread::sleep(Duration::from_millis(60));
        let later = monitor.look(PATIENCE).expect("a paused run answers").time;
        thread::sleep(Duration::from_millis(60));
        assert_eq!(monitor.look(PATIENCE).expect("a paused run answers").time, later);
        assert!(later >= reached);
        monitor.resume();
        while monitor.time() <= later {
            thread::yield_now();
        }
    });
}

#[test]
fn a_run_that_is_watched_has_the_statistics_of_one_that_is_not() {
    let until = Time::micros(300);
    let alone = run(&Monitor::default(), until);
    let monitor = Monitor::default();
    let watched = thread::scope(|scope| {
        let running = scope.spawn(|| run(&monitor, until));
        while !running.is_finished() {
            _ = monitor.look(Duration::from_millis(50));
            thread::sleep(Duration::from_millis(1));
        }
        running.join().expect("the run ends")
    });
    assert_eq!(watched, alone);
}

#[test]
fn a_run_that_has_ended_gives_no_answer() {
    let monitor = Monitor::default();
    run(&monitor, Time::nanos(10));
    assert_eq!(monitor.look(Duration::from_millis(10)), None);
}
