//! Memories in a model: when their answers come, and that blocked probes do not delay answers.

use dram::{DramSpec, FixedSpec, Memory, MemorySpec, Store, Timing, standards};
use engine::{Cycles, Hertz, Lane, LinkSpec, Model, Outcome, Run, RunOptions, Time};
use interconnect::{Packet, Side, Wire};
use mem::{Block, LINE, LineAddr, PhysAddr, Share};
use protocol::{Controller, Kind, Msg, Node, Roster, memory, mesi::directory};
use std::sync::Arc;

const MEMORY: Node = Node(9);

/// A requester: sends these messages in order as the wire accepts them, and records what comes back and when.
struct Script {
    node: Node,
    sends: Vec<(u64, Kind, u64, Block<LINE>)>,
    /// Whether it leaves probes on the wire.
    deaf: bool,
}

type Heard = Vec<(u64, Kind, u64)>;

/// Runs requesters on a memory, all in one clock domain; returns what each of them received in which cycle.
fn run(
    controller: impl Controller<LINE> + 'static,
    timing: Timing,
    store: Store,
    scripts: Vec<Script>,
) -> (Run, Vec<Heard>) {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let spec = LinkSpec { latency: Time::nanos(1), capacity: 4, bytes_per_cycle: None };
    let heard: Vec<_> = scripts.iter().map(|_| std::sync::Arc::new(std::sync::Mutex::new(Heard::new()))).collect();
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for number in 0..scripts.len() {
        let (to, from_above) = model.link::<Packet>(format!("down{number}"), spec);
        let (up, from_below) = model.link::<Packet>(format!("up{number}"), spec);
        here.push((to, from_below));
        there.push((up, from_above));
    }
    let results = heard.clone();
    model.partition(move |partition| {
        let root = partition.scope(clock);
        let scope = root.scope("memory");
        let mut above = Side { from: Vec::new(), to: Vec::new() };
        for (script, (up, down)) in scripts.iter().zip(there) {
            above.from.push(scope.receiver(down));
            above.to.push((vec![script.node], scope.sender(up)));
        }
        let spec = MemorySpec {
            controller: Arc::new(controller),
            me: MEMORY,
            above: Arc::new(Roster::row(Node(0), 9)),
            beside: None,
            watch_first: false,
            share: Share::ALL,
            timing,
            room: None,
            history: 8,
        };
        let memory = Memory::new(spec, above, store, None, &scope);
        scope.serve("control", |cx| memory.run(cx));
        for ((script, (to, from)), heard) in scripts.into_iter().zip(here).zip(results) {
            let scope = root.scope(("cache", usize::from(script.node.0)));
            let wire = Wire { to: scope.sender(to), from: scope.receiver(from) };
            let (inlet, lanes) = (wire.from.clone(), if script.deaf { &Lane::ALL[1..2] } else { &Lane::ALL[..] });
            scope.serve("listen", move |cx| async move {
                loop {
                    for lane in lanes {
                        while let Some(Packet { msg, .. }) = inlet.try_recv(*lane) {
                            heard.lock().unwrap().push((cx.now().0, msg.kind, msg.line.0));
                        }
                    }
                    inlet.arrivals().next().await;
                }
            });
            scope.spawn("speak", move |cx| async move {
                for (at, kind, line, data) in script.sends {
                    if at > cx.now().0 {
                        cx.pause(at - cx.now().0).await;
                    }
                    let msg = Msg::new(script.node, MEMORY, kind, LineAddr(line * LINE as u64), data);
                    wire.to.send(interconnect::lane(&msg), msg.into(), 0).await;
                }
            });
        }
    });
    let run = model.run(&RunOptions::default());
    let heard = heard.iter().map(|heard| heard.lock().unwrap().clone()).collect();
    (run, heard)
}

fn ask(at: u64, kind: Kind, line: u64) -> (u64, Kind, u64, Block<LINE>) {
    (at, kind, line, Block::EMPTY)
}

const FIXED: Timing = Timing::Fixed(FixedSpec { latency: Cycles(30), interval: Cycles(2), outstanding: 2 });

/// Two wires of one cycle each, and the memory's latency.
#[test]
fn a_fixed_memory_takes_its_latency_and_keeps_its_interval() {
    let sends = (0..4).map(|line| ask(0, Kind::Read, line)).collect();
    let (run, heard) = run(memory::Memory, FIXED, Store::default(), vec![Script { node: Node(0), sends, deaf: false }]);
    assert_eq!(run.outcome, Outcome::Finished);
    // Two may be in flight: the third answer comes one latency after the first.
    assert_eq!(heard[0].iter().map(|heard| heard.0).collect::<Vec<_>>(), [32, 34, 62, 64]);
}

#[test]
fn dram_answers_when_it_has_read_and_takes_writes_at_once() {
    let standard = &standards::HBM2;
    let t = &standard.timings;
    let timing = Timing::Dram(DramSpec { latency: Cycles(5), ..DramSpec::new(standard) });
    let write = (0, Kind::Write, 7, Block::full([3; LINE]));
    let sends = vec![ask(0, Kind::Read, 0), (100, write.1, write.2, write.3), ask(300, Kind::Read, 7)];
    let store = Store::default();
    let (run, heard) = run(memory::Memory, timing, store.clone(), vec![Script { node: Node(0), sends, deaf: false }]);
    assert_eq!(run.outcome, Outcome::Finished);
    let wires = 2 + 5;
    let column = t.cl + t.ccd_l + standard.burst();
    let line = LINE as u64;
    assert_eq!(
        heard[0],
        [
            (wires + t.rcd_read + column, Kind::Data, 0),
            (100 + wires, Kind::Ack, 7 * line),
            (300 + wires + column, Kind::Data, 7 * line)
        ]
    );
    let total = run.total();
    let count = |name: &str| total.count(&format!("memory.channel0.{name}"));
    assert_eq!((count("row_closed"), count("row_hits"), count("bytes_read"), count("bytes_written")), (2, 1, 128, 64));
    let mut bytes = [0; LINE];
    store.lock().read(PhysAddr(7 * line), &mut bytes);
    assert_eq!(bytes, [3; LINE], "the owner of the store sees what was written");
}

#[test]
fn the_channels_of_a_memory_work_side_by_side() {
    let standard = &standards::DDR4_2400;
    let cycles = |channels| {
        let timing = Timing::Dram(DramSpec { channels, ..DramSpec::new(standard) });
        let sends = (0..2000).map(|line| ask(0, Kind::Read, line)).collect();
        // Four requesters share the work, so that the wires are not the bottleneck.
        let mut scripts: Vec<Script> = vec![Script { node: Node(0), sends, deaf: false }];
        for node in 1..4 {
            let sends = (0..2000).map(|line| ask(0, Kind::Read, 2000 * u64::from(node) + line)).collect();
            scripts.push(Script { node: Node(node), sends, deaf: false });
        }
        let (run, heard) = run(memory::Memory, timing, Store::default(), scripts);
        assert_eq!(run.outcome, Outcome::Finished);
        assert!(heard.iter().all(|heard| heard.len() == 2000));
        run.end.0 / 1_000_000
    };
    let (one, two) = (cycles(1), cycles(2));
    assert!(one > 8000 * standard.burst(), "a bus moves a line in {} cycles", standard.burst());
    assert!((one as f64 / two as f64) > 1.8, "{one} and {two} cycles");
}

/// A cache that accepts no probes still gets its answers, and so do others. Here it is sent more invalidations than
/// its wire holds.
#[test]
fn probes_that_cannot_go_out_hold_up_no_answer() {
    for timing in [FIXED, Timing::Dram(DramSpec::new(&standards::DDR3_1600))] {
        let lines = 40;
        let holds = (0..lines).map(|line| ask(0, Kind::GetS, line)).chain([ask(9000, Kind::Get, 1000)]);
        let takes = (0..lines).map(|line| ask(4000, Kind::GetX, line));
        let scripts = vec![
            Script { node: Node(0), sends: holds.collect(), deaf: true },
            Script { node: Node(1), sends: takes.collect(), deaf: false },
        ];
        let (run, heard) = run(directory::MC, timing, Store::default(), scripts);
        let told = heard[0].iter().filter(|heard| heard.1 == Kind::Inval).count();
        assert_eq!(told, 0, "it does not listen");
        assert_eq!(heard[0].iter().filter(|heard| heard.1 == Kind::PutS).count(), lines as usize);
        assert_eq!(heard[0].last().map(|heard| heard.1), Some(Kind::PutClnX), "what it asks for is answered");
        assert_eq!(heard[1].iter().filter(|heard| heard.1 == Kind::PutX).count(), lines as usize);
        assert!(matches!(run.outcome, Outcome::Deadlock(_)), "the probes are still there: {}", run.outcome);
    }
}
