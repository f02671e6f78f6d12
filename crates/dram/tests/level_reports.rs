//! A cyclic wait through a level of the hierarchy: the report on the deadlock shows the cycle.

use dram::{Extent, FixedSpec, Level, LevelSpec, RoomSpec, Timing};
use engine::{Cycles, Hertz, Lane, LinkSpec, Model, Outcome, RunOptions, Time};
use interconnect::{Packet, Side, name_of};
use mem::{Block, LineAddr};
use protocol::{
    Kind, Msg, Node, Roster,
    nmoesi::{smd::Smd, store::Store},
};
use std::sync::Arc;

const L2: Node = Node(0);
const LEVEL: Node = Node(4);
const HOST: Node = Node(8);

/// The host's memory asks the L2 for something before it answers the level, which the L2 has asked.
#[test]
fn a_level_is_on_the_circle_of_those_above_and_below_it() {
    for threads in [1, 3] {
        let mut model = Model::new();
        let clock = model.clock(Hertz::giga(1));
        let spec = LinkSpec { latency: Time::nanos(3), capacity: 4, bytes_per_cycle: None };
        let mut link = |name: &str| model.link::<Packet>(name, spec);
        let [(from_l2, at_level), (to_l2, at_l2)] = [link("l2_down"), link("l2_up")];
        let [(to_host, at_host), (from_host, from_below)] = [link("host_down"), link("host_up")];
        model.partition(move |partition| {
            let scope = partition.scope(clock).scope("l2");
            let (to, from) = (scope.sender(from_l2), scope.receiver(at_l2));
            scope.spawn("control", async move |cx| {
                cx.known_as(name_of(L2));
                cx.takes(&from);
                let msg = Msg::new(L2, LEVEL, Kind::Get, LineAddr(0x1040), Block::EMPTY);
                to.send(Lane::Request, msg.into(), 8).await;
                let filled = cx.scope().eventcount("filled");
                while filled.rest(1).await {
                    cx.needs("line 0x1040", name_of(LEVEL));
                }
            });
        });
        model.partition(move |partition| {
            let scope = partition.scope(clock).scope("level");
            let neighbours = Side {
                from: vec![scope.receiver(at_level), scope.receiver(from_below)],
                to: vec![(vec![L2], scope.sender(to_l2)), (vec![HOST], scope.sender(to_host))],
            };
            let spec = LevelSpec {
                directory: Arc::new(Smd { lines: 4, releases_home: true }),
                store: Arc::new(Store),
                me: LEVEL,
                below: HOST,
                above: Arc::new(Roster::new([L2])),
                timing: Timing::Fixed(FixedSpec { latency: Cycles(10), interval: Cycles(1), outstanding: 4 }),
                history: 0,
            };
            let extent = Extent::Cache(RoomSpec { sets: 2, ways: 2, block: 256, share: mem::Share::ALL });
            let level = Level::new(spec, extent, neighbours, &scope);
            scope.serve("control", |cx| level.run(cx));
        });
        model.partition(move |partition| {
            let scope = partition.scope(clock).scope("host");
            let (from, _to) = (scope.receiver(at_host), scope.sender(from_host));
            scope.serve("control", async move |cx| {
                cx.known_as(name_of(HOST));
                from.recv(Lane::Request).await;
                let answer = cx.scope().eventcount("answer");
                while answer.rest(1).await {
                    cx.needs("an acknowledgement", name_of(L2));
                }
            });
        });
        let run = model.run(&RunOptions { threads, ..RunOptions::default() });
        let Outcome::Deadlock(report) = run.outcome else { panic!("{}", run.outcome) };
        let mut circle = report.circle.clone();
        circle.sort();
        assert_eq!(circle, ["host.control", "l2.control", "level.control"], "{report}");
        let text = report.to_string();
        assert!(text.contains("level.control waits for block 0x1000, which is in state"), "{text}");
    }
}
