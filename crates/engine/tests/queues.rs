//! Queues, ports and credits: bounds, back-pressure, fairness, latency and bandwidth.

mod common;

use common::{Log, finished, simulate};
use engine::{Cycles, Lane, PortSpec};

#[test]
fn a_full_queue_holds_its_sender_up() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let queue = scope.queue::<u32>("queue", 2);
        let (sender, log) = (queue.clone(), noted.clone());
        scope.spawn("sender", async move |cx| {
            for item in 0..5 {
                sender.send(item).await;
                log.note(format!("+{item}@{}", cx.now().0));
            }
        });
        let log = noted.clone();
        scope.spawn("receiver", async move |cx| {
            for _ in 0..5 {
                cx.pause(10).await;
                log.note(format!("-{}@{}", queue.recv().await, cx.now().0));
            }
        });
    });
    finished(&run);
    assert_eq!(log.text(), "+0@0 +1@0 -0@10 +2@10 -1@20 +3@20 -2@30 +4@30 -3@40 -4@50");
    assert_eq!(run.total().count("queue.wait_cycles"), 30);
    assert_eq!(run.total().count("queue.passed"), 5);
    // Two items for 40 cycles, one for 10, over 51 cycles (the cycle of the last event counts).
    assert_eq!(run.total().average("queue.level"), Some(90.0 / 51.0));
}

#[test]
fn a_sender_that_waits_for_room_is_not_overtaken() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let queue = scope.queue::<&str>("queue", 1);
        for name in ["a", "b", "c"] {
            let queue = queue.clone();
            scope.spawn(name, async move |_| {
                queue.send(name).await;
                queue.send(name).await;
            });
        }
        // Tries in every cycle, before the woken senders run; it succeeds only when no sender waits.
        let pushy = queue.clone();
        scope.spawn("pushy", async move |cx| {
            for _ in 0..20 {
                _ = pushy.try_send("pushy");
                cx.pause(1).await;
            }
        });
        scope.spawn("receiver", async move |cx| {
            for _ in 0..7 {
                cx.pause(1).await;
                noted.note(queue.recv().await);
            }
        });
    });
    finished(&run);
    // `a` asks for its second place before `b` and `c` ask for their first.
    assert_eq!(log.text(), "a a b c b c pushy");
}

#[test]
fn several_receivers_take_in_the_order_of_waiting() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let queue = scope.queue::<u32>("queue", 8);
        for name in ["a", "b"] {
            let (queue, log) = (queue.clone(), noted.clone());
            scope.spawn(name, async move |_| log.note(format!("{name}{}", queue.recv().await)));
        }
        scope.spawn("sender", async move |cx| {
            cx.pause(1).await;
            queue.send(1).await;
            cx.pause(1).await;
            queue.send(2).await;
        });
    });
    finished(&run);
    assert_eq!(log.text(), "a1 b2");
}

#[test]
fn credits_go_first_come_first_served() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let registers = scope.credits("mshr", 2);
        for name in ["a", "b", "c", "d"] {
            let (registers, log) = (registers.clone(), noted.clone());
            scope.spawn(name, async move |cx| {
                registers.acquire().await;
                log.note(format!("{name}@{}", cx.now().0));
                cx.pause(10).await;
                registers.release();
            });
        }
    });
    finished(&run);
    assert_eq!(log.text(), "a@0 b@0 c@10 d@10");
    assert_eq!(run.total().count("mshr.wait_cycles"), 20);
}

#[test]
fn a_context_that_gives_up_waiting_for_a_credit_passes_its_turn_on() {
    use std::{future::Future, pin::pin, task::Poll};
    let run = simulate(|scope| {
        let (registers, served) = (scope.credits("mshr", 1), scope.counter("served"));
        let holder = registers.clone();
        scope.spawn("holder", async move |cx| {
            holder.acquire().await;
            cx.pause(10).await;
            holder.release();
        });
        let fickle = registers.clone();
        scope.spawn("fickle", async move |_| {
            // Polls an acquire once and drops it while it is pending.
            std::future::poll_fn(|context| {
                let asked = pin!(fickle.acquire()).as_mut().poll(context);
                assert!(asked.is_pending());
                Poll::Ready(())
            })
            .await;
        });
        scope.spawn("patient", async move |cx| {
            registers.acquire().await;
            assert_eq!(cx.now(), Cycles(10));
            served.increment();
        });
    });
    finished(&run);
    assert_eq!(run.total().count("served"), 1);
}

#[test]
fn a_port_serialises_by_its_bandwidth_and_delays_by_its_latency() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let spec = PortSpec { capacity: 8, latency: Cycles(4), bytes_per_cycle: Some(16) };
        let (outlet, inlet) = scope.port::<u32>("port", spec, &scope);
        scope.spawn("sender", async move |_| {
            outlet.send(Lane::Request, 1, 64).await; // 4 cycles on the wire: arrives at 8
            outlet.send(Lane::Request, 2, 8).await; // 1 more: arrives at 9
            outlet.send(Lane::Request, 3, 17).await; // 2 more: arrives at 11
        });
        scope.spawn("receiver", async move |cx| {
            for _ in 0..3 {
                let item = inlet.recv(Lane::Request).await;
                noted.note(format!("{item}@{}", cx.now().0));
            }
        });
    });
    finished(&run);
    assert_eq!(log.text(), "1@8 2@9 3@11");
}

#[test]
fn a_full_lane_does_not_hold_up_another() {
    let run = simulate(|scope| {
        let spec = PortSpec { capacity: 2, latency: Cycles(1), bytes_per_cycle: None };
        let (outlet, inlet) = scope.port::<u32>("port", spec, &scope);
        scope.spawn("sender", async move |cx| {
            outlet.send(Lane::Request, 1, 8).await;
            outlet.send(Lane::Request, 2, 8).await;
            assert!(!outlet.has_room(Lane::Request));
            assert_eq!(outlet.try_send(Lane::Request, 3, 8), Err(3));
            outlet.send(Lane::Reply, 4, 8).await;
            outlet.send(Lane::Coherence, 5, 8).await;
            assert_eq!(cx.now(), Cycles(0), "replies and coherence were not held up");
            outlet.send(Lane::Request, 6, 8).await;
            assert_eq!(cx.now(), Cycles(50), "room came when the first request was taken");
        });
        scope.spawn("receiver", async move |cx| {
            assert_eq!(inlet.recv(Lane::Reply).await, 4);
            assert_eq!(inlet.recv(Lane::Coherence).await, 5);
            cx.pause(49).await;
            for request in [1, 2, 6] {
                assert_eq!(inlet.recv(Lane::Request).await, request);
            }
            assert!(inlet.is_empty());
        });
    });
    finished(&run);
}

#[test]
fn a_port_without_latency_delivers_in_the_same_cycle() {
    let run = simulate(|scope| {
        let spec = PortSpec { capacity: 1, latency: Cycles(0), bytes_per_cycle: None };
        let (outlet, inlet) = scope.port::<u32>("port", spec, &scope);
        scope.spawn("receiver", async move |cx| {
            assert_eq!(inlet.recv(Lane::Request).await, 1);
            assert_eq!(cx.now(), Cycles(7));
        });
        scope.spawn("sender", async move |cx| {
            cx.pause(7).await;
            outlet.send(Lane::Request, 1, 64).await;
        });
    });
    finished(&run);
}

#[test]
#[should_panic(expected = "'queue' has no units")]
fn a_queue_without_room_is_refused() {
    simulate(|scope| drop(scope.queue::<u32>("queue", 0)));
}

#[test]
fn several_inlets_can_ring_one_bell() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let bell = scope.eventcount("bell");
        let mut inlets = Vec::new();
        for (index, latency) in [7, 3].into_iter().enumerate() {
            let spec = PortSpec { capacity: 1, latency: Cycles(latency), bytes_per_cycle: None };
            let (outlet, inlet) = scope.port::<usize>(("port", index), spec, &scope);
            inlet.ring(&bell);
            inlets.push(inlet);
            scope.spawn(("sender", index), async move |_| outlet.send(Lane::Reply, index, 8).await);
        }
        scope.spawn("switch", async move |cx| {
            for count in 1..=2 {
                bell.wait(count).await;
                let item = inlets.iter().find_map(|inlet| inlet.try_recv(Lane::Reply)).unwrap();
                noted.note(format!("{item}@{}", cx.now().0));
            }
        });
    });
    finished(&run);
    assert_eq!(log.text(), "1@3 0@7");
}

#[test]
fn an_inlet_can_ring_for_the_first_item_of_each_lane_only() {
    let log = Log::new();
    let noted = log.clone();
    let run = simulate(move |scope| {
        let bell = scope.eventcount("bell");
        let spec = PortSpec { capacity: 4, latency: Cycles(0), bytes_per_cycle: None };
        let (outlet, inlet) = scope.port::<usize>("port", spec, &scope);
        inlet.ring_if_empty(&bell);
        let (in_time, counted) = (noted.clone(), bell.clone());
        scope.spawn("sender", async move |cx| {
            for (lane, item) in [(Lane::Request, 1), (Lane::Request, 2), (Lane::Reply, 3), (Lane::Request, 4)] {
                outlet.send(lane, item, 0).await;
                in_time.note(format!("{item}@{}: {}", cx.now().0, counted.count()));
                cx.pause(1).await;
            }
        });
        scope.spawn("receiver", async move |cx| {
            // Item 1 waits until cycle 2, and 2 arrives behind it. When 4 arrives, its lane is empty again.
            cx.pause(2).await;
            while inlet.try_recv(Lane::Request).is_some() {}
            bell.wait(3).await;
            let items = [Lane::Reply, Lane::Request].map(|lane| inlet.try_recv(lane));
            noted.note(format!("{items:?}"));
        });
    });
    finished(&run);
    assert_eq!(log.text(), "1@0: 1 2@1: 1 3@2: 2 4@3: 3 [Some(3), Some(4)]");
}
