//! Real circles through networks and links: the report on the deadlock shows them.

use engine::{Cycles, Hertz, Inlet, Lane, Model, Outcome, Outlet, PortSpec, RunOptions, Scope, WaitReport};
use interconnect::{FlitLinkSpec, Freight, NetworkSpec, Station, Topology, Wire, flit_link, network};
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

/// Elements that send to the next without end, and take what comes only then.
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
        let spec = NetworkSpec { topology, latency: Cycles(1), capacity: 2, bytes_per_cycle: None };
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
fn links_with_flits_are_on_the_circle_of_those_they_join() {
    let report = report(|root| {
        let spec = FlitLinkSpec { flit: 16, header: 8, latency: Cycles(5), buffer: 2 };
        let scopes = [root.scope("left"), root.scope("right")];
        let ends: Vec<_> = (0..2u16)
            .map(|number| {
                let (here, there) = (&scopes[usize::from(number)], &scopes[1 - usize::from(number)]);
                let (near, far) = (here.scope("link"), there.scope("from_link"));
                let (out, from) = here.port::<Parcel>("out", PORT, &near);
                let (to, inlet) = far.port::<Parcel>("in", PORT, there);
                flit_link(spec, (from, &near), (to, &far));
                (out, inlet)
            })
            .collect();
        let (outs, mut inlets): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        inlets.reverse();
        for (number, (out, inlet)) in outs.into_iter().zip(inlets).enumerate() {
            element(number as u16, 2, &scopes[number], out, inlet);
        }
    });
    let mut circle = report.circle.clone();
    circle.sort();
    let expected = [
        "left.from_link.receive_request",
        "left.link.transmit",
        "left.run",
        "right.from_link.receive_request",
        "right.link.transmit",
        "right.run",
    ];
    assert_eq!(circle, expected, "{report}");
    assert!(report.to_string().contains("left.link.transmit waits for credits for the receiver's buffer, 0 left"));
}
