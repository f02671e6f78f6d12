use crate::{
    tables::{Tables, phys, virt},
    world::{READ, SPACE, WALKERS, World, simulate, tlb},
};
use engine::{Cycles, Lane, Outcome, Run};
use interconnect::{Packet, WHOLE, Wire};
use mem::{Block, LineAddr};
use protocol::{Kind, Msg, Node};
use std::sync::{Arc, Mutex};
use vm::{IommuSpec, Passage, PassageSpec, SharedTlbSpec, Shootdown, Shootdowns, Walk, iommu};

const MISS: u64 = 1 + 4 * READ + 1;
const HIT: u64 = 1 + 1;

/// What came out on either side, when.
type Seen = Vec<(u64, Kind, u64)>;

fn message(kind: Kind, line: u64) -> Packet {
    Msg::new(Node(0), Node(1), kind, LineAddr(line), Block::EMPTY).into()
}

fn lines(page: u64, line: u64) -> (u64, u64) {
    (virt(page).0 + line * 64, phys(page).0 + line * 64)
}

/// Sends packets down and up at their times through a passage with an IOMMU a cycle away; what came out below and above.
fn run(tables: Tables, down: Vec<(u64, Packet)>, up: Vec<(u64, Packet)>, shoot_at: Option<u64>) -> (Run, Seen, Seen) {
    let seen: [Arc<Mutex<Seen>>; 2] = Default::default();
    let [below, above] = seen.clone();
    let (run, _) = simulate(tables, move |world| {
        let ((caches, from_caches), (memory, from_memory)) = (world.wires(0, 0), world.wires(0, 0));
        let (ask, asked) = world.wires(1, 1);
        let tlb_spec = SharedTlbSpec { tlb: tlb(16), lookups: Some(1), misses: 4, shootdown: Cycles(0) };
        let spec = IommuSpec { tlb: tlb_spec, walkers: WALKERS };
        let walk = Walk::Tables { memory: world.memory(), page_walk_cache: None };
        iommu(spec, walk, vec![asked], None, &world.roots, &world.root.scope("iommu"));
        let scope = world.root.scope("passage");
        let (order, control) = world.control(1);
        let spec = PassageSpec { asid: SPACE, waiting: 4 };
        let passage = Passage::new(spec, from_caches, from_memory, ask, Some(control), &scope);
        scope.serve("control", |cx| passage.run(cx));
        end(world, caches, down, above);
        end(world, memory, up, below);
        if let Some(at) = shoot_at {
            let shootdowns = Shootdowns::new(vec![vec![order]], &world.roots, &world.root.scope("kernel"));
            world.place().spawn("kernel", |cx| async move {
                cx.pause(at).await;
                shootdowns.shoot(Shootdown::Space { asid: SPACE }).await;
            });
        }
    });
    let [below, above] = seen.map(|seen| seen.lock().unwrap().clone());
    (run, below, above)
}

fn end(world: &World, wire: Wire<Packet, Packet>, sends: Vec<(u64, Packet)>, seen: Arc<Mutex<Seen>>) {
    let (inlet, outlet) = (wire.from, wire.to);
    world.place().serve("listen", |cx| async move {
        loop {
            for lane in Lane::ALL {
                while let Some(packet) = inlet.try_recv(lane) {
                    seen.lock().unwrap().push((cx.now().0, packet.msg.kind, packet.msg.line.0));
                }
            }
            inlet.arrivals().next().await;
        }
    });
    world.place().spawn("send", |cx| async move {
        for (at, packet) in sends {
            if at > cx.now().0 {
                cx.pause(at - cx.now().0).await;
            }
            outlet.send(interconnect::lane(&packet.msg), packet, 0).await;
        }
    });
}

fn failure(tables: Tables, down: Vec<(u64, Packet)>, up: Vec<(u64, Packet)>) -> String {
    match run(tables, down, up, None).0.outcome {
        Outcome::Failed { message, .. } => message,
        other => panic!("it should have failed: {other:?}"),
    }
}

#[test]
fn requests_are_translated_in_passing_and_answers_and_probes_back() {
    let (a, b) = (lines(5, 3), lines(5, 9));
    let down = vec![
        (0, message(Kind::Get, a.0)),
        (1, message(Kind::GetX, b.0)),
        (200, message(Kind::Get, b.0)),
        (310, message(Kind::InvAck, a.0)),
        (320, message(Kind::WriteBack, b.0)),
    ];
    let up =
        vec![(250, message(Kind::PutX, a.1)), (300, message(Kind::Inval, a.1)), (330, message(Kind::Flush, WHOLE.0))];
    let (run, below, above) = run(Tables::of([5]), down, up, None);
    assert_eq!(run.outcome, Outcome::Finished);
    assert_eq!(
        below,
        [
            (MISS, Kind::Get, a.1),
            (MISS, Kind::GetX, b.1),
            (200 + HIT, Kind::Get, b.1),
            (310, Kind::InvAck, a.1),
            (320, Kind::WriteBack, b.1)
        ]
    );
    assert_eq!(above, [(250, Kind::PutX, a.0), (300, Kind::Inval, a.0), (330, Kind::Flush, WHOLE.0)]);
    let total = run.total();
    assert_eq!((total.count("passage.translated_down"), total.count("passage.translated_up")), (5, 3));
    assert_eq!(total.count("iommu.tlb.misses"), 1);
}

#[test]
fn a_request_whose_page_is_known_passes_one_whose_page_is_not() {
    let down = [(0, 5), (200, 6), (201, 5)].map(|(at, page)| (at, message(Kind::Get, lines(page, 0).0)));
    let (_, below, _) = run(Tables::of([5, 6]), down.to_vec(), vec![], None);
    let expected = [(MISS, 5), (201 + HIT, 5), (200 + MISS, 6)];
    assert_eq!(below, expected.map(|(at, page)| (at, Kind::Get, lines(page, 0).1)));
}

#[test]
fn two_pages_that_are_one_are_refused() {
    let mut tables = Tables::of([5]);
    tables.map(virt(6), phys(5));
    let down = [5, 6].map(|page| (0, message(Kind::Get, virt(page).0)));
    let message = failure(tables, down.to_vec(), vec![]);
    assert!(message.contains("are both the page 0x100005000 of memory"), "{message}");
}

#[test]
fn a_line_of_a_page_that_nobody_asked_for_is_told() {
    let probe = failure(Tables::of([5]), vec![], vec![(0, message(Kind::Inval, phys(5).0))]);
    assert!(probe.starts_with("line 0x100005000 passes between virtual and physical caches"), "{probe}");
    let down = vec![(0, message(Kind::WriteBack, virt(5).0))];
    assert!(failure(Tables::of([5]), down, vec![]).starts_with("line 0x7f0000005000 passes"));
}

#[test]
fn a_shootdown_waits_for_requests_and_forgets_their_pages() {
    let down = vec![(0, message(Kind::Get, virt(5).0)), (10, message(Kind::Get, virt(6).0))];
    let (run, below, _) = run(Tables::of([5, 6]), down, vec![(300, message(Kind::PutS, phys(5).0))], Some(5));
    assert_eq!(below[0].0, MISS);
    assert_eq!(below[1].0, 2 * MISS, "a new request waits for the shootdown");
    assert!(matches!(run.outcome, Outcome::Failed { .. }), "its page is not known any more: {:?}", run.outcome);
    assert_eq!(run.total().sum("kernel.shootdown_cycles"), MISS + 1 - 5);
}
