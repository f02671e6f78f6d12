//! Fabric nodes: the time of a message on a channel, sharing of channels, and independence of lanes.

use engine::{Hertz, Lane, LinkSpec, Model, Outcome, Run, RunOptions, Time};
use interconnect::{ChannelSpec, FabricWire, Freight, Station, Wire, fabric};
use protocol::Node;
use std::sync::{Arc, Mutex};

/// A message for a node, with its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load(u16, u64);

impl Freight for Load {
    fn to(&self) -> Node {
        Node(self.0)
    }

    fn bytes(&self) -> u64 {
        self.1
    }
}

/// The arrival of a message: time in nanoseconds, lane, message.
type Came = (u64, Lane, Load);

/// A node at 1 GHz with senders and receivers, each on a wire of its own; node n is receiver n. `channel` returns the
/// channel in front of a receiver.
fn run(
    channels: &[ChannelSpec],
    channel: fn(u16) -> Option<usize>,
    senders: Vec<Vec<(Lane, Load)>>,
    (receivers, taken, capacity): (u16, fn(Lane) -> bool, usize),
) -> (Run, Vec<Came>) {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let spec = LinkSpec { latency: Time::nanos(20), capacity, bytes_per_cycle: None };
    let ends = |model: &mut Model, name: String| {
        let (there, at) = (model.link::<Load>(format!("{name}.there"), spec), model.link(format!("{name}.back"), spec));
        ((there.0, at.1), (at.0, there.1))
    };
    let senders: Vec<_> = (0..).zip(senders).map(|(n, sends)| (ends(&mut model, format!("s{n}")), sends)).collect();
    let ((senders, wires), receivers): ((Vec<_>, Vec<_>), Vec<_>) = (
        senders.into_iter().map(|((own, node), sends)| ((own, sends), (node, None))).unzip(),
        (0..receivers).map(|n| (n, ends(&mut model, format!("r{n}")))).collect(),
    );
    let mut wires = wires;
    let got: Arc<Mutex<Vec<Came>>> = Arc::default();
    let (result, channels) = (Arc::clone(&got), channels.to_vec());
    let mut takers = Vec::new();
    for (number, (node, own)) in receivers {
        wires.push((node, Some(number)));
        takers.push(own);
    }
    model.partition(move |partition| {
        let root = partition.scope(clock);
        let scope = root.scope("node");
        let wires =
            wires.into_iter().map(|((sender, receiver), number): ((engine::LinkSender<Load>, _), Option<u16>)| {
                let wire = Wire { from: scope.receiver(receiver), to: scope.sender(sender) };
                FabricWire {
                    station: Station { nodes: number.map(Node).into_iter().collect(), wire },
                    channel: number.and_then(channel),
                    outside: false,
                }
            });
        let channels: Vec<_> = channels.iter().enumerate().map(|(n, spec)| (format!("channel{n}"), *spec)).collect();
        fabric(&channels, Hertz::giga(1), wires.collect(), false, &scope).unwrap();
        for (number, ((out, back), sends)) in senders.into_iter().enumerate() {
            let scope = root.scope(("sender", number));
            let (out, _) = (scope.sender(out), scope.receiver(back));
            for lane in Lane::ALL {
                let sends: Vec<_> = sends.iter().copied().filter(|(other, _)| *other == lane).collect();
                let out = out.clone();
                scope.spawn(("send", lane as usize), move |_| async move {
                    for (lane, load) in sends {
                        out.send(lane, load, load.1).await;
                    }
                });
            }
        }
        for (number, (out, inlet)) in takers.into_iter().enumerate() {
            let scope = root.scope(("receiver", number));
            let (_, inlet) = (scope.sender(out), scope.receiver(inlet));
            for lane in Lane::ALL.into_iter().filter(|lane| taken(*lane)) {
                let (inlet, result) = (inlet.clone(), Arc::clone(&result));
                scope.serve(("take", lane as usize), move |cx| async move {
                    loop {
                        let load = inlet.recv(lane).await;
                        result.lock().unwrap().push((cx.now().0, lane, load));
                    }
                });
            }
        }
    });
    let run = model.run(&RunOptions::default());
    let got = got.lock().unwrap().clone();
    (run, got)
}

/// PCI Express 3.0 with 16 lanes, and a header of 16 bytes.
const PCIE: ChannelSpec = ChannelSpec { bandwidth: 16_000_000_000, header: 16 };
const ALL: (u16, fn(Lane) -> bool, usize) = (2, |_| true, 256);

#[test]
fn a_message_takes_its_bytes_its_header_and_the_wires() {
    let one = |bytes| run(&[PCIE], |_| Some(0), vec![vec![(Lane::Reply, Load(0, bytes))]], ALL).1;
    assert_eq!(one(16), [(20 + 2 + 20, Lane::Reply, Load(0, 16))], "32 bytes at 16 in a nanosecond");
    assert_eq!(one(72)[0].0, 20 + 6 + 20, "88 bytes take 5.5 ns, and leave at the next edge of the clock");
}

#[test]
fn a_stream_has_the_bandwidth_to_the_fraction_of_a_cycle() {
    for (bandwidth, takes) in [(16_000_000_000, 5500), (12_800_000_000, 6875), (256_000_000_000, 344)] {
        let channel = ChannelSpec { bandwidth, ..PCIE };
        let (run, got) = run(&[channel], |_| Some(0), vec![vec![(Lane::Reply, Load(0, 72)); 1000]], ALL);
        assert_eq!(run.outcome, Outcome::Finished);
        let last = got.last().unwrap().0 * 1000;
        assert!(last.abs_diff(40_000 + 1000 * takes) < 2000, "{bandwidth}: {last} ps");
    }
}

#[test]
fn edges_that_share_a_channel_share_its_bandwidth_and_others_do_not() {
    let sends = || vec![vec![(Lane::Reply, Load(0, 72)); 100], vec![(Lane::Reply, Load(1, 72)); 100]];
    let bus = run(&[PCIE], |_| Some(0), sends(), ALL).1;
    let apart = run(&[PCIE, PCIE], |node| Some(node.into()), sends(), ALL).1;
    assert!(bus.last().unwrap().0.abs_diff(40 + 1100) < 3 && apart.last().unwrap().0.abs_diff(40 + 550) < 3);
    let first_half = bus.iter().take(100).filter(|(.., load)| load.0 == 0).count();
    assert_eq!(first_half, 50, "they take turns");
}

#[test]
fn without_a_channel_any_number_pass() {
    let (_, got) = run(&[], |_| None, vec![vec![(Lane::Request, Load(1, 8)); 50]], ALL);
    assert!(got.iter().all(|(time, ..)| *time == 40) && got.len() == 50);
}

#[test]
fn a_lane_that_is_not_taken_holds_up_no_other_even_with_room_for_one() {
    let sends = vec![vec![(Lane::Request, Load(0, 72)); 10], vec![(Lane::Reply, Load(0, 72)); 10]];
    let (run, got) = run(&[PCIE], |_| Some(0), sends, (1, |lane| lane == Lane::Reply, 1));
    assert!(matches!(run.outcome, Outcome::Deadlock(_)), "the requests are never taken");
    assert_eq!(got.iter().filter(|(_, lane, _)| *lane == Lane::Reply).count(), 10);
}

#[test]
fn what_is_carried_is_counted_with_headers() {
    let (run, _) = run(&[PCIE], |_| Some(0), vec![vec![(Lane::Reply, Load(0, 72)); 3]], ALL);
    let carried = format!("{:?}", run.total().0.get("node.channel0"));
    assert!(carried.contains("counts: [3, 264,"), "{carried}");
}
