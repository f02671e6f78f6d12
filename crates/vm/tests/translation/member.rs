//! A forward-backward table below a member of a directory, between a scripted cache and a scripted directory: probes
//! are translated or filtered, and pages change their names.

use crate::{
    tables::{Tables, phys, virt},
    world::{SPACE, WALKERS, World, finish, simulate, tlb},
};
use engine::{Context, Cycles, Inlet, Lane, Outcome, Outlet, Run};
use interconnect::{HEADER, Packet, Side, Wire, lane};
use mem::{Block, Interleave, LINE, LineAddr};
use protocol::{
    Kind, Msg, Node,
    roles::{Parameters, Role},
};
use std::rc::Rc;
use vm::{
    Above, DriverTables, Fbt, FbtPlace, FbtTables, IommuSpec, Membership, SharedTlbSpec, Shootdown, Shootdowns, Walk,
    iommu,
};

const L2: Node = Node(2);
const HOME: Node = Node(3);
const FBT: Node = Node(4);
const CORE: Node = Node(5);

/// Both ends of the table.
struct Ends {
    up: (Outlet<Packet>, Inlet<Packet>),
    down: (Outlet<Packet>, Inlet<Packet>),
    tables: DriverTables,
    shootdowns: Rc<Shootdowns>,
    cx: Context,
}

fn tag(page: u64, line: u64) -> LineAddr {
    LineAddr(u64::from(SPACE.0) << 48 | (virt(page).0 + 64 * line))
}

fn place(page: u64, line: u64) -> LineAddr {
    LineAddr(phys(page).0 + 64 * line)
}

fn msg(from: Node, to: Node, kind: Kind, line: LineAddr) -> Msg<LINE> {
    Msg::new(from, to, kind, line, Block::EMPTY)
}

impl Ends {
    /// The cache sends a message.
    async fn cache(&self, to: Node, kind: Kind, line: LineAddr) {
        let msg = msg(L2, to, kind, line);
        self.up.0.send(lane(&msg), msg.into(), HEADER).await;
    }

    /// The directory, or a core's cache, sends a message on behalf of a core.
    async fn other(&self, from: Node, kind: Kind, line: LineAddr) {
        let msg = Msg { of: Some(CORE), ..msg(from, L2, kind, line) };
        self.down.0.send(lane(&msg), msg.into(), HEADER).await;
    }

    /// Expects the next message for the cache.
    async fn at_cache(&self, lane: Lane, kind: Kind, line: LineAddr) {
        let found = self.up.1.recv(lane).await.msg;
        assert_eq!((found.kind, found.line), (kind, line));
    }

    /// Expects the next message for the directory or a core's cache.
    async fn at_other(&self, to: Node, kind: Kind, line: LineAddr) {
        let found = self.down.1.recv(lane(&msg(HOME, to, kind, line))).await.msg;
        assert_eq!((found.to, found.kind, found.line), (to, kind, line));
    }

    /// The cache requests a line and gets it.
    async fn get(&self, kind: Kind, (page, line): (u64, u64), frame: u64) {
        self.cache(HOME, kind, tag(page, line)).await;
        self.at_other(HOME, kind, place(frame, line)).await;
        let answer = if kind == Kind::GetS { Kind::PutS } else { Kind::PutX };
        self.other(HOME, answer, place(frame, line)).await;
        self.at_cache(Lane::Reply, answer, tag(page, line)).await;
    }

    /// The cache is ordered to give up a line, and does so.
    async fn gives_up(&self, line: LineAddr) {
        self.at_cache(Lane::Reply, Kind::CoreFlush, line).await;
        self.cache(HOME, Kind::Evicted, line).await;
    }
}

/// Builds a table of 8 entries over a driver's tables that map page n to physical page n.
fn build<F: Future<Output = ()> + 'static>(world: &World, script: impl FnOnce(Ends) -> F + 'static) {
    let tables = DriverTables::default();
    (0..20).for_each(|page| tables.insert(SPACE, virt(page), phys(page), page != 9));
    let (from_l2, l2) = world.wires::<Packet, Packet>(3, 3);
    let (to_home, home) = world.wires::<Packet, Packet>(3, 3);
    let (below, asked) = world.wires(2, 2);
    let ((to_fbt, fbt_control), (to_iommu, control)) = (world.control(5), world.control(5));
    let walk = Walk::Driver { latency: Cycles(10), tables: tables.clone() };
    let shared = SharedTlbSpec { tlb: tlb(2), lookups: Some(1), banks: 1, misses: 8, shootdown: Cycles(0) };
    let spec = IommuSpec { tlb: shared, walkers: WALKERS };
    iommu(spec, walk, vec![asked], None, Some(control), &world.roots, &world.root.scope("iommu"));
    let parameters = Parameters { claims: true, ..Parameters::default() };
    let cache = protocol::mesi::seats(Role::L2, &parameters).expect("mesi has such a cache");
    let above = Above::Member(Membership { cache, homes: Interleave::One(HOME) });
    let (banks, line) = (Interleave::One(L2), mem::Bytes(LINE as u64));
    let place = FbtPlace { me: FBT, banks, first_level: Vec::new(), line, above, tells_names: false };
    let side = Side { from: vec![l2.from, to_home.from], to: vec![(vec![L2], l2.to), (vec![HOME, CORE], to_home.to)] };
    let scope = world.root.scope("fbt");
    let fbt = Fbt::new(FbtTables::new(tlb(8)), place, side, below, (Some(fbt_control), &world.roots), &scope);
    scope.serve("control", |cx| fbt.run(cx));
    let kernel = world.root.scope("kernel");
    let shootdowns = Rc::new(Shootdowns::new(vec![vec![to_iommu], vec![to_fbt]], &world.roots, &kernel));
    let (Wire { from: up_from, to: up_to }, Wire { from: down_from, to: down_to }) = (from_l2, home);
    world
        .place()
        .spawn("ends", |cx| script(Ends { up: (up_to, up_from), down: (down_to, down_from), tables, shootdowns, cx }));
}

fn runs<F: Future<Output = ()> + 'static>(script: impl FnOnce(Ends) -> F + Send + 'static) -> Run {
    finish(Tables::new(), move |world| build(world, script)).0
}

fn fails<F: Future<Output = ()> + 'static>(script: impl FnOnce(Ends) -> F + Send + 'static) -> String {
    let (run, _) = simulate(Tables::new(), move |world| build(world, script));
    let Outcome::Failed { message, .. } = run.outcome else { panic!("{}", run.outcome) };
    message
}

#[test]
fn a_probe_reaches_the_cache_under_the_leading_name_and_its_answers_have_physical_addresses() {
    let run = runs(|ends| async move {
        ends.get(Kind::GetX, (5, 1), 5).await;
        ends.other(HOME, Kind::GetFwd, place(5, 1)).await;
        ends.at_cache(Lane::Coherence, Kind::GetFwd, tag(5, 1)).await;
        ends.cache(CORE, Kind::PutS, tag(5, 1)).await;
        ends.cache(HOME, Kind::FwdAck, tag(5, 1)).await;
        ends.at_other(CORE, Kind::PutS, place(5, 1)).await;
        ends.at_other(HOME, Kind::FwdAck, place(5, 1)).await;
    });
    assert_eq!((run.total().count("fbt.probes"), run.total().count("fbt.filtered_probes")), (1, 0));
}

#[test]
fn probes_of_lines_that_the_cache_does_not_hold_are_answered_by_the_table() {
    let run = runs(|ends| async move {
        ends.get(Kind::GetS, (5, 1), 5).await;
        ends.other(HOME, Kind::Inval, place(5, 2)).await;
        ends.at_other(CORE, Kind::InvAck, place(5, 2)).await;
        ends.at_other(HOME, Kind::InvAck, place(5, 2)).await;
        ends.other(HOME, Kind::GetXFwd, place(7, 1)).await;
        ends.at_other(HOME, Kind::FwdNackX, place(7, 1)).await;
        // The cache reports that it has lost the line: from then on the table answers for it.
        ends.cache(HOME, Kind::Evicted, tag(5, 1)).await;
        ends.cx.pause(10).await;
        ends.other(HOME, Kind::CoreFlush, place(5, 1)).await;
        ends.at_other(HOME, Kind::Flushed, place(5, 1)).await;
        assert!(ends.up.1.is_empty(), "the cache is not asked");
    });
    assert_eq!((run.total().count("fbt.probes"), run.total().count("fbt.filtered_probes")), (3, 3));
}

#[test]
fn a_page_that_is_shot_down_stays_translated_until_its_write_backs_and_probes_are_over() {
    runs(|ends| async move {
        ends.get(Kind::GetX, (5, 1), 5).await;
        let (own, what) = (Rc::clone(&ends.shootdowns), Shootdown::Page { asid: SPACE, virt: virt(5) });
        let over = ends.cx.scope().eventcount("over");
        let told = over.clone();
        ends.cx.scope().scope("shooting").spawn("shoot", |_| async move {
            own.shoot(what).await;
            told.advance();
        });
        ends.at_cache(Lane::Reply, Kind::CoreFlush, tag(5, 1)).await;
        // A core requests the line at this moment; the cache answers from its write-back queue.
        ends.other(HOME, Kind::GetXFwd, place(5, 1)).await;
        ends.at_cache(Lane::Coherence, Kind::GetXFwd, tag(5, 1)).await;
        ends.cache(HOME, Kind::Evicted, tag(5, 1)).await;
        ends.cx.pause(100).await;
        assert_eq!(over.count(), 0, "a probe is not answered");
        ends.cache(CORE, Kind::PutX, tag(5, 1)).await;
        ends.cache(HOME, Kind::FwdAckX, tag(5, 1)).await;
        ends.at_other(CORE, Kind::PutX, place(5, 1)).await;
        ends.at_other(HOME, Kind::FwdAckX, place(5, 1)).await;
        over.wait(1).await;
        ends.tables.remove(SPACE, virt(5));
        ends.tables.insert(SPACE, virt(5), phys(15), true);
        ends.get(Kind::GetS, (5, 1), 15).await;
    });
}

#[test]
fn a_page_that_is_read_under_another_name_loses_its_lines_and_takes_that_name() {
    let run = runs(|ends| async move {
        ends.tables.insert(SPACE, virt(30), phys(5), true);
        ends.get(Kind::GetS, (5, 1), 5).await;
        ends.cache(HOME, Kind::GetS, tag(30, 1)).await;
        ends.gives_up(tag(5, 1)).await;
        ends.at_other(HOME, Kind::GetS, place(5, 1)).await;
        ends.other(HOME, Kind::PutS, place(5, 1)).await;
        ends.at_cache(Lane::Reply, Kind::PutS, tag(30, 1)).await;
        ends.other(HOME, Kind::Inval, place(5, 1)).await;
        ends.at_cache(Lane::Coherence, Kind::Inval, tag(30, 1)).await;
        ends.cache(CORE, Kind::InvAck, tag(30, 1)).await;
        ends.cache(HOME, Kind::InvAck, tag(30, 1)).await;
    });
    assert_eq!(run.total().count("fbt.synonyms"), 1);
}

#[test]
fn a_page_with_two_names_that_is_written_is_a_fault_beside_a_cpu_too() {
    let written_first = |ends: Ends| async move {
        ends.tables.insert(SPACE, virt(30), phys(5), true);
        ends.get(Kind::GetX, (5, 1), 5).await;
        ends.cache(HOME, Kind::GetS, tag(30, 1)).await;
        ends.cx.pause(200).await;
    };
    let read_first = |ends: Ends| async move {
        ends.tables.insert(SPACE, virt(30), phys(5), true);
        ends.get(Kind::GetS, (5, 1), 5).await;
        ends.cache(HOME, Kind::GetS, tag(30, 1)).await;
        ends.gives_up(tag(5, 1)).await;
        ends.at_other(HOME, Kind::GetS, place(5, 1)).await;
        ends.other(HOME, Kind::PutS, place(5, 1)).await;
        ends.cache(HOME, Kind::GetX, tag(30, 1)).await;
        ends.cx.pause(200).await;
    };
    for message in [fails(written_first), fails(read_first)] {
        assert!(message.contains("names of one page of memory") && message.contains("which is written"), "{message}");
    }
}

#[test]
fn a_line_of_a_page_that_may_only_be_read_is_not_requested_for_writing() {
    runs(|ends| async move {
        ends.get(Kind::GetS, (9, 1), 9).await;
        ends.cache(HOME, Kind::GetX, tag(9, 1)).await;
        ends.cx.pause(200).await;
        assert!(ends.down.1.is_empty(), "it waits for the driver");
        ends.tables.insert(SPACE, virt(9), phys(9), true);
        ends.tables.answer(SPACE, virt(9), Ok(()));
        ends.at_other(HOME, Kind::GetX, place(9, 1)).await;
    });
}
