//! Networks: latency, throughput, fairness; and that no message is lost, overtaken or stuck.

use engine::{Cycles, Hertz, Lane, Model, Outcome, PortSpec, Run, RunOptions};
use interconnect::{Freight, NetworkError, NetworkSpec, Station, Topology, Wire, network};
use protocol::Node;
use rand_pcg::{Pcg64Mcg, rand_core::RngCore};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// A message with its source and its sequence number at that source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parcel {
    from: u16,
    to: u16,
    number: u32,
    bytes: u64,
}

impl Freight for Parcel {
    fn to(&self) -> Node {
        Node(self.to)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Messages that an element sends, each with its earliest cycle and its lane.
type Plan = Vec<(u64, Lane, Parcel)>;
/// Messages that arrived, each with its cycle and lane.
type Got = Vec<(u64, Lane, Parcel)>;

/// How an element receives messages.
#[derive(Clone, Copy)]
enum Taking {
    /// As they arrive.
    All,
    /// One message every n cycles, from all lanes in turn.
    Slowly(u64),
    /// Only messages of this lane.
    Only(Lane),
}

/// Runs elements over a network whose queues hold `capacity` messages of each lane.
fn run(
    spec: NetworkSpec,
    plans: Vec<Plan>,
    taking: impl Fn(usize) -> Taking + Send + Sync + 'static,
) -> (Run, Vec<Got>) {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let results: Vec<Arc<Mutex<Got>>> = plans.iter().map(|_| Arc::default()).collect();
    let got = results.clone();
    model.partition(move |partition| {
        let root = partition.scope(clock);
        let net = root.scope("network");
        let port = PortSpec { capacity: spec.capacity, latency: Cycles(0), bytes_per_cycle: None };
        let mut stations = Vec::new();
        for (number, (plan, got)) in plans.into_iter().zip(got).enumerate() {
            let scope = root.scope(("element", number));
            let (out, from) = scope.port::<Parcel>("out", port, &net);
            let (to, inlet) = net.port::<Parcel>(("in", number), port, &scope);
            stations.push(Station { nodes: vec![Node(number as u16)], wire: Wire { from, to } });
            for lane in Lane::ALL {
                let plan: Plan = plan.iter().copied().filter(|(_, other, _)| *other == lane).collect();
                let out = out.clone();
                scope.spawn(("send", lane as usize), move |cx| async move {
                    for (at, lane, parcel) in plan {
                        if at > cx.now().0 {
                            cx.pause(at - cx.now().0).await;
                        }
                        out.send(lane, parcel, parcel.bytes).await;
                    }
                });
            }
            let taking = taking(number);
            scope.serve("take", move |cx| async move {
                let mut turn = 0;
                loop {
                    let seen = inlet.arrivals().count();
                    let mut took = false;
                    for step in 0..3 {
                        let lane = Lane::ALL[(turn + step) % 3];
                        if matches!(taking, Taking::Only(only) if only != lane)
                            || (took && matches!(taking, Taking::Slowly(_)))
                        {
                            continue;
                        }
                        while let Some(parcel) = inlet.try_recv(lane) {
                            got.lock().unwrap().push((cx.now().0, lane, parcel));
                            took = true;
                            if matches!(taking, Taking::Slowly(_)) {
                                break;
                            }
                        }
                    }
                    turn += 1;
                    match taking {
                        Taking::Slowly(cycles) if took => cx.pause(cycles).await,
                        _ => inlet.arrivals().wait(seen + 1).await,
                    }
                }
            });
        }
        network(spec, stations, &net).expect("the network can be built");
    });
    let run = model.run(&RunOptions::default());
    let got = results.iter().map(|got| got.lock().unwrap().clone()).collect();
    (run, got)
}

fn spec(topology: Topology) -> NetworkSpec {
    NetworkSpec { topology, latency: Cycles(3), capacity: 4, bytes_per_cycle: None, cut_through: false }
}

const MESH: Topology = Topology::Mesh { columns: 4 };
const ALL: [Topology; 4] = [Topology::Crossbar, Topology::Ring, MESH, Topology::Bus];

fn parcel(from: usize, to: usize, number: u32, bytes: u64) -> Parcel {
    Parcel { from: from as u16, to: to as u16, number, bytes }
}

/// Every element sends to every other, one message at a time, far apart. Returns the latency for each pair.
fn latencies(spec: NetworkSpec, elements: usize, bytes: u64) -> BTreeMap<(usize, usize), u64> {
    let mut plans: Vec<Plan> = vec![Vec::new(); elements];
    let sent_at = |from: usize, to: usize| 10 + 1000 * (from * elements + to) as u64;
    for (from, plan) in plans.iter_mut().enumerate() {
        let others = (0..elements).filter(|to| *to != from);
        plan.extend(others.map(|to| (sent_at(from, to), Lane::Request, parcel(from, to, 0, bytes))));
    }
    let (run, got) = run(spec, plans, |_| Taking::All);
    assert_eq!(run.outcome, Outcome::Finished);
    let arrivals =
        got.into_iter().enumerate().flat_map(|(to, got)| got.into_iter().map(move |(at, _, parcel)| (to, at, parcel)));
    arrivals.map(|(to, at, parcel)| ((parcel.from.into(), to), at - sent_at(parcel.from.into(), to))).collect()
}

#[test]
fn a_message_takes_the_latency_of_every_switch_on_the_shorter_way_round_a_ring() {
    let latencies = latencies(spec(Topology::Ring), 12, 8);
    assert_eq!(latencies.len(), 12 * 11);
    for ((from, to), cycles) in latencies {
        let apart = (to / 2).abs_diff(from / 2);
        assert_eq!(cycles, 3 * (apart.min(6 - apart) as u64 + 1), "{from} to {to}");
    }
}

#[test]
fn a_message_takes_the_latency_of_every_switch_along_row_and_column_of_a_mesh() {
    // The last row has two of four switches.
    let latencies = latencies(spec(MESH), 14, 8);
    assert_eq!(latencies.len(), 14 * 13);
    for ((from, to), cycles) in latencies {
        let apart = (to % 4).abs_diff(from % 4) + (to / 4).abs_diff(from / 4);
        assert_eq!(cycles, 3 * (apart as u64 + 1), "{from} to {to}");
    }
}

#[test]
fn a_crossbar_takes_its_latency_and_a_bus_the_time_to_move_the_bytes() {
    let narrow = NetworkSpec { bytes_per_cycle: Some(16), ..spec(Topology::Bus) };
    for (spec, expected) in [(spec(Topology::Crossbar), 3), (narrow, 5)] {
        let latencies = latencies(spec, 5, 72);
        assert_eq!(latencies.len(), 5 * 4);
        assert!(latencies.values().all(|cycles| *cycles == expected), "{expected} cycles: {latencies:?}");
    }
}

#[test]
fn between_switches_bytes_take_their_time() {
    // Two wires, each for ceil(72 / 16) cycles, and three switches.
    let narrow = NetworkSpec { bytes_per_cycle: Some(16), ..spec(Topology::Ring) };
    assert_eq!(latencies(narrow, 12, 72)[&(0, 4)], 3 * 3 + 2 * 5);
    let plan = (0..200).map(|number| (0, Lane::Reply, parcel(0, 4, number, 72))).collect();
    let (run, got) = run(narrow, [vec![plan], vec![Vec::new(); 11]].concat(), |_| Taking::All);
    assert_eq!(run.outcome, Outcome::Finished);
    let (first, last) = (got[4][0].0, got[4][199].0);
    assert_eq!(last - first, 199 * 5, "a wire moves a message in five cycles, and a switch is quicker");
}

#[test]
fn a_switch_links_all_its_ports_at_once() {
    // Each element of a crossbar sends to the next: all at the same time, one message every three cycles.
    let elements = 6;
    let plans = (0..elements).map(|from| {
        (0..100).map(|number| (0, Lane::Request, parcel(from, (from + 1) % elements, number, 8))).collect()
    });
    let (run, got) = run(spec(Topology::Crossbar), plans.collect(), |_| Taking::All);
    assert_eq!(run.outcome, Outcome::Finished);
    assert!(got.iter().all(|got| got.len() == 100 && got[99].0 == 300));
    assert_eq!(run.total().count("network.forwarded"), 600);
    assert_eq!(run.total().count("network.control.busy_cycles"), 300);
}

#[test]
fn senders_to_one_receiver_are_served_in_turn() {
    for topology in [Topology::Crossbar, Topology::Bus] {
        let plans = (0..5).map(|from| {
            if from == 4 {
                Vec::new()
            } else {
                (0..100).map(|number| (0, Lane::Request, parcel(from, 4, number, 8))).collect()
            }
        });
        let (_, got) = run(spec(topology), plans.collect(), |_| Taking::All);
        assert_eq!(got[4].len(), 400, "{topology:?}");
        for turns in got[4].chunks(4) {
            let mut senders: Vec<u16> = turns.iter().map(|(.., parcel)| parcel.from).collect();
            senders.sort_unstable();
            assert_eq!(senders, [0, 1, 2, 3], "{topology:?}");
        }
    }
}

/// Every element sends to random elements on random lanes.
fn random_plans(elements: usize, messages: u32, seed: u128) -> Vec<Plan> {
    let mut random = Pcg64Mcg::new(seed);
    let mut below = move |most: u64| random.next_u64() % most;
    let mut plan = |from: usize| {
        let mut at = 0;
        let sends = (0..messages).map(|number| {
            let to = (from + 1 + below(elements as u64 - 1) as usize) % elements;
            at += below(3);
            (at, Lane::ALL[below(3) as usize], parcel(from, to, number, 8 + below(2) * 64))
        });
        sends.collect()
    };
    (0..elements).map(&mut plan).collect()
}

#[test]
fn nothing_is_lost_overtaken_or_stuck_in_the_smallest_queues() {
    for topology in ALL {
        for seed in 0..4 {
            // A ring needs one buffer more, which is kept free.
            let capacity = if topology == Topology::Ring { 2 } else { 1 };
            let narrow = NetworkSpec {
                topology,
                latency: Cycles(1 + seed % 2),
                capacity,
                bytes_per_cycle: Some(16),
                cut_through: false,
            };
            let (elements, messages) = (11, 300);
            let plans = random_plans(elements, messages, seed.into());
            let taking = |number| if number % 3 == 0 { Taking::Slowly(7) } else { Taking::All };
            let (run, got) = run(narrow, plans.clone(), taking);
            assert_eq!(run.outcome, Outcome::Finished, "{topology:?}");
            for (to, got) in got.iter().enumerate() {
                let mut sent: BTreeMap<(u16, Lane), Vec<u32>> = BTreeMap::new();
                let mut came = sent.clone();
                for (_, lane, parcel) in plans.iter().flatten().filter(|(.., parcel)| usize::from(parcel.to) == to) {
                    sent.entry((parcel.from, *lane)).or_default().push(parcel.number);
                }
                for (_, lane, parcel) in got {
                    came.entry((parcel.from, *lane)).or_default().push(parcel.number);
                }
                assert_eq!(sent, came, "{topology:?}");
            }
        }
    }
}

/// Every element sends half way round, all in one direction, as fast as possible. Without a free buffer, all messages
/// would soon wait for each other.
#[test]
fn a_ring_full_of_messages_still_turns() {
    let elements = 12;
    let ring = NetworkSpec { capacity: 2, latency: Cycles(1), ..spec(Topology::Ring) };
    let plans = (0..elements).map(|from| {
        (0..500).map(|number| (0, Lane::Request, parcel(from, (from + 6) % elements, number, 8))).collect()
    });
    let (run, got) = run(ring, plans.collect(), |_| Taking::All);
    assert_eq!(run.outcome, Outcome::Finished);
    assert!(got.iter().all(|got| got.len() == 500));
}

#[test]
fn a_lane_that_is_not_received_blocks_no_other() {
    for topology in ALL {
        let elements = 8;
        let requests = |from: usize| (0..50).map(move |number| (0, Lane::Request, parcel(from, 5, number, 8)));
        let replies = |from: usize| (0..50).map(move |number| (100, Lane::Reply, parcel(from, 5, number, 8)));
        let plans = (0..elements).map(|from| match from {
            5 => Vec::new(),
            _ => requests(from).chain(replies(from)).collect(),
        });
        let (run, got) = run(spec(topology), plans.collect(), |_| Taking::Only(Lane::Reply));
        assert_eq!(got[5].len(), 50 * (elements - 1), "{topology:?}: all replies come, and no request");
        assert!(!matches!(run.outcome, Outcome::Finished), "{topology:?}: the requests are still there");
    }
}

#[test]
fn a_network_that_cannot_be_says_why() {
    let build = |topology: Topology, capacity: usize, nodes: Vec<u16>| {
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        let said: Arc<Mutex<Option<NetworkError>>> = Arc::default();
        let result = Arc::clone(&said);
        model.partition(move |partition| {
            let net = partition.scope(clock).scope("network");
            let port = PortSpec { capacity: 2, latency: Cycles(0), bytes_per_cycle: None };
            let stations = nodes.into_iter().enumerate().map(|(number, node)| {
                let (_, from) = net.port::<Parcel>(("out", number), port, &net);
                let (to, _) = net.port::<Parcel>(("in", number), port, &net);
                Station { nodes: vec![Node(node)], wire: Wire { from, to } }
            });
            let spec = NetworkSpec { capacity, ..spec(topology) };
            *result.lock().unwrap() = network(spec, stations.collect(), &net).err();
        });
        model.run(&RunOptions::default());
        said.lock().unwrap().take()
    };
    assert_eq!(build(Topology::Ring, 1, vec![0, 1]), Some(NetworkError::NarrowRing { capacity: 1 }));
    assert_eq!(build(MESH, 1, vec![0, 7, 7]), Some(NetworkError::Twice(Node(7))));
    let many = build(Topology::Crossbar, 1, (0..50).collect());
    assert_eq!(many.unwrap().to_string(), "a switch has 50 ports, and can have 42 at most");
}
