//! Cyclic waits through networks and links: the report on the deadlock shows them.

use engine::{Cycles, Hertz, Inlet, Lane, Model, Outcome, Outlet, PortSpec, RunOptions, Scope, WaitReport};
use interconnect::{ChannelSpec, FabricWire, Freight, NetworkSpec, Station, Topology, Wire, fabric, network};
use protocol::Node;

struct Parcel(Node);

impl Freight for Parcel {
    fn to(&self) -> Node {
        self.0
    }

    fn bytes(&self) -> u64 {
        8
    }
}

const PORT: PortSpec = PortSpec { capacity: 2, latency: Cycles(0), bytes_per_cycle: None };

/// An element that sends to the next 1000 times before it receives anything.
fn element(number: u16, of: u16, scope: &Scope, out: Outlet<Parcel>, inlet: Inlet<Parcel>) {
    scope.serve("run", move |cx| async move {
        cx.takes(&inlet);
        for _ in 0..1000 {
            out.send(Lane::Request, Parcel(Node((number + 1) % of)), 8).await;
        }
        inlet.recv(Lane::Request).await;
    });
}

fn report(build: impl FnOnce(&Scope) + Send + 'static) -> WaitReport {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    model.partition(move |partition| build(&partition.scope(clock)));
    match model.run(&RunOptions::default()).outcome {
        Outcome::Deadlock(report) => report,
        other => panic!("{other}"),
    }
}

fn over(topology: Topology, elements: u16) -> WaitReport {
    report(move |root| {
        let net = root.scope("network");
        let mut stations = Vec::new();
        for number in 0..elements {
            let scope = root.scope(("element", usize::from(number)));
            let (out, from) = scope.port::<Parcel>("out", PORT, &net);
            let (to, inlet) = net.port::<Parcel>(("in", usize::from(number)), PORT, &scope);
            stations.push(Station { nodes: vec![Node(number)], wire: Wire { from, to } });
            element(number, elements, &scope, out, inlet);
        }
        let spec = NetworkSpec { topology, latency: Cycles(1), capacity: 2, bytes_per_cycle: None, cut_through: false };
        network(spec, stations, &net).expect("the network can be built");
    })
}

#[test]
fn elements_that_send_and_do_not_take_are_on_a_circle_with_the_network_between_them() {
    for topology in [Topology::Crossbar, Topology::Bus] {
        let report = over(topology, 3);
        let elements = report.circle.iter().filter(|context| context.starts_with("element")).count();
        assert!(elements > 0 && report.circle.contains(&"network.control".to_owned()), "{topology:?}: {report}");
        let text = report.to_string();
        let room = "network.control waits for room for a message to node 1 since";
        assert!(text.contains(room) && text.contains("could be provided by element1.run"), "{topology:?}: {text}");
        assert!(text.contains("element0.run waits for element0.out.request.room"), "{topology:?}: {text}");
    }
}

#[test]
fn every_switch_on_the_way_is_on_the_circle() {
    for topology in [Topology::Ring, Topology::Mesh { columns: 2 }] {
        let report = over(topology, 4);
        let switches = report.circle.iter().filter(|context| context.starts_with("network")).count();
        assert!(switches > 0 && switches < report.circle.len(), "{topology:?}: {report}");
        assert!(!report.to_string().contains("no context is known"), "{topology:?}: {report}");
    }
}

#[test]
fn nodes_of_a_fabric_are_on_the_circle_of_those_they_join() {
    let report = report(|root| {
        let scopes = [root.scope("left"), root.scope("right")];
        let channel = [("there".to_owned(), ChannelSpec { bandwidth: 16_000_000_000, header: 8 })];
        let ports = || scopes[0].port::<Parcel>("cable", PORT, &scopes[1]);
        let ((right, at_right), (left, at_left)) = (ports(), scopes[1].port::<Parcel>("cable", PORT, &scopes[0]));
        for (number, cable) in [(right, at_left), (left, at_right)].into_iter().enumerate() {
            let scope = &scopes[number];
            let node = scope.scope("node");
            let (out, from) = scope.port::<Parcel>("out", PORT, &node);
            let (to, inlet) = node.port::<Parcel>("in", PORT, scope);
            let wires = [(number, Wire { from, to }, None), (1 - number, Wire { from: cable.1, to: cable.0 }, Some(0))];
            let wires = wires.map(|(number, wire, channel)| FabricWire {
                station: Station { nodes: vec![Node(number as u16)], wire },
                channel,
                outside: false,
            });
            fabric(&channel, Hertz::giga(1), wires.into(), false, &node).unwrap();
            element(number as u16, 2, scope, out, inlet);
        }
    });
    assert!(report.circle.iter().any(|context| context.ends_with("node.control")), "{report}");
    assert!(report.to_string().contains("left.node.control waits for room for a message to wire 1"), "{report}");
}
