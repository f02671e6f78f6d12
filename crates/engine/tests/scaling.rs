//! A bound of the speedup follows from the model, not from the computer or the number of threads of the run.

use engine::{Hertz, Lane, LinkSpec, Model, Outcome, RunOptions, Scaling, Share, Time};

/// Partition n has `contexts[n]` contexts that run in every cycle, for 1000 cycles. The links form a ring; `links` has
/// their latencies.
fn scaling(contexts: &[usize], shares: &[Share], links: &[u64], threads: usize) -> Vec<Scaling> {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    model.control_delay(Time::nanos(100));
    let link = |nanos: &u64| LinkSpec { latency: Time::nanos(*nanos), capacity: 4, bytes_per_cycle: None };
    let ends = links.iter().enumerate().map(|(n, nanos)| model.link::<u64>(format!("link{n}"), link(nanos)));
    let (to, mut from): (Vec<_>, Vec<_>) = ends.unzip();
    from.rotate_right(1);
    for (number, ((to, from), contexts)) in to.into_iter().zip(from).zip(contexts.to_vec()).enumerate() {
        model.partition_with(shares[number], move |partition| {
            let scope = partition.scope(clock).scope(("part", number));
            let (to, _from) = (scope.sender(to), scope.receiver(from));
            for n in 0..contexts {
                let to = to.clone();
                scope.spawn(("worker", n), async move |cx| {
                    _ = to.try_send(Lane::Request, 1, 8);
                    for _ in 1..1000 {
                        cx.pause(1).await;
                    }
                });
            }
        });
    }
    let options = RunOptions { threads, scaling: vec![1, 2, 3, 4], ..RunOptions::default() };
    let run = model.run(&options);
    assert_eq!(run.outcome, Outcome::Finished);
    assert!(run.scaling.iter().all(|scaling| scaling.work == run.events), "{:?} of {}", run.scaling, run.events);
    run.scaling
}

fn bounds(scaling: &[Scaling]) -> Vec<f64> {
    scaling.iter().map(|scaling| (scaling.bound() * 100.0).round() / 100.0).collect()
}

#[test]
fn all_wait_for_the_thread_that_has_most() {
    let equal = [Share::default(); 4];
    let links = [10; 4];
    assert_eq!(bounds(&scaling(&[2; 4], &equal, &links, 1)), [1.0, 2.0, 2.0, 4.0]);
    // With equal weights, the heavy partition shares a thread; dealt by weight, it has a thread of its own.
    assert_eq!(bounds(&scaling(&[3, 1, 1, 1], &equal, &links, 1)), [1.0, 1.5, 1.5, 2.0]);
    let by_weight: Vec<Share> = [3, 1, 1, 1].iter().map(|&weight| Share { weight, group: 0 }).collect();
    assert_eq!(bounds(&scaling(&[3, 1, 1, 1], &by_weight, &links, 1)), [1.0, 2.0, 2.0, 2.0]);
}

#[test]
fn the_number_of_threads_that_run_makes_no_difference() {
    let shares: Vec<Share> =
        [5, 1, 2, 1].iter().zip([0, 0, 1, 1]).map(|(&weight, group)| Share { weight, group }).collect();
    let one = scaling(&[5, 1, 2, 1], &shares, &[3, 100, 7, 200], 1);
    for threads in [2, 3, 4] {
        assert_eq!(scaling(&[5, 1, 2, 1], &shares, &[3, 100, 7, 200], threads), one);
    }
}
