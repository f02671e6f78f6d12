//! The link with flits: what a message takes on it, and what credits do.

use engine::{Cycles, Hertz, Lane, Model, Outcome, PortSpec, Run, RunOptions};
use interconnect::{FlitLinkSpec, Freight, flit_link};
use protocol::Node;
use std::sync::{Arc, Mutex};

/// So many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load(u64);

impl Freight for Load {
    fn to(&self) -> Node {
        Node(0)
    }

    fn bytes(&self) -> u64 {
        self.0
    }
}

/// Sends messages as fast as the link takes them; says when each came. `taken`: whether the receiver takes a lane.
fn run(spec: FlitLinkSpec, sends: Vec<(Lane, Load)>, taken: fn(Lane) -> bool) -> (Run, Vec<(u64, Lane, Load)>) {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let got: Arc<Mutex<Vec<(u64, Lane, Load)>>> = Arc::default();
    let result = Arc::clone(&got);
    model.partition(move |partition| {
        let (here, there) = (partition.scope(clock).scope("here"), partition.scope(clock).scope("there"));
        let port = PortSpec { capacity: 2, latency: Cycles(0), bytes_per_cycle: None };
        let (out, from) = here.port::<Load>("out", port, &here);
        let (to, inlet) = there.port::<Load>("in", port, &there);
        flit_link(spec, (from, &here), (to, &there));
        for lane in Lane::ALL {
            let sends: Vec<_> = sends.iter().copied().filter(|(other, _)| *other == lane).collect();
            let out = out.clone();
            here.spawn(("send", lane as usize), move |_| async move {
                for (lane, load) in sends {
                    out.send(lane, load, load.0).await;
                }
            });
            let (inlet, result) = (inlet.clone(), Arc::clone(&result));
            if taken(lane) {
                there.serve(("take", lane as usize), move |cx| async move {
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

/// As PCIe 3.0 x16 at 1 GHz: 16 bytes a cycle, a header of 16 bytes.
const LINK: FlitLinkSpec = FlitLinkSpec { flit: 16, header: 16, latency: Cycles(20), buffer: 64 };

#[test]
fn a_message_takes_its_flits_and_the_latency() {
    let (outcome, got) = run(LINK, vec![(Lane::Request, Load(8))], |_| true);
    assert_eq!(outcome.outcome, Outcome::Finished);
    assert_eq!(got, [(2 + 20, Lane::Request, Load(8))], "8 bytes and a header are two flits");
    assert_eq!(run(LINK, vec![(Lane::Reply, Load(72))], |_| true).1[0].0, 6 + 20);
}

#[test]
fn a_stream_is_as_fast_as_its_flits() {
    let (run, got) = run(LINK, vec![(Lane::Reply, Load(72)); 1000], |_| true);
    assert_eq!(run.outcome, Outcome::Finished);
    assert_eq!(got.last().map(|last| last.0), Some(1000 * 6 + 20), "the buffer covers the way there and back");
    assert_eq!(run.total().count("here.flits"), 6000);
    assert_eq!(run.total().count("here.transmit.busy_cycles"), 6000);
}

#[test]
fn a_small_buffer_is_as_slow_as_its_credits() {
    // Two messages fit; the next can go when the first's credits are back: its flits, there, and back.
    let (run, got) = run(FlitLinkSpec { buffer: 12, ..LINK }, vec![(Lane::Reply, Load(72)); 101], |_| true);
    assert_eq!(run.outcome, Outcome::Finished);
    let pairs: Vec<u64> = got.iter().step_by(2).map(|got| got.0).collect();
    assert!(pairs.windows(2).all(|pair| pair[1] - pair[0] == 6 + 20 + 20), "{pairs:?}");
    assert!(run.total().count("here.no_credit") > 0);
}

#[test]
fn a_message_longer_than_the_buffer_gets_through() {
    let (run, got) = run(FlitLinkSpec { buffer: 2, ..LINK }, vec![(Lane::Reply, Load(4096)); 3], |_| true);
    assert_eq!((run.outcome, got.len()), (Outcome::Finished, 3));
    assert_eq!(got[0].0, 257 + 20);
}

#[test]
fn a_lane_without_credits_holds_up_no_other() {
    let mut sends = vec![(Lane::Request, Load(72)); 100];
    sends.extend(vec![(Lane::Reply, Load(72)); 100]);
    let (_, got) = run(LINK, sends, |lane| lane == Lane::Reply);
    assert_eq!(got.len(), 100);
    assert!(got.iter().all(|got| got.1 == Lane::Reply));
}
