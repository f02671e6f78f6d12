//! A forward-backward table between a scripted second-level cache and memory: synonyms, address spaces, rights,
//! removal of pages, and errors that must be detected.

use crate::{
    tables::{Tables, phys, virt},
    world::{SPACE, WALKERS, World, finish, simulate, tlb},
};
use engine::{Context, Cycles, Inlet, Lane, Outcome, Outlet, Run};
use interconnect::{HEADER, Packet, Side, Wire, is_order};
use mem::{Asid, Block, Interleave, LINE, LineAddr, PAGE};
use protocol::{Kind, Msg, Node};
use std::{cell::RefCell, rc::Rc};
use vm::{
    Above, DriverTables, Fbt, FbtPlace, FbtTables, IommuSpec, SecondLevel, SharedTlbSpec, Shootdown, Shootdowns, Walk,
    iommu,
};

const L1: Node = Node(1);
const L2: Node = Node(2);
const MEMORY: Node = Node(3);
const FBT: Node = Node(4);

/// The second-level cache, driven by a script.
struct Cache {
    to: Outlet<Packet>,
    from: Inlet<Packet>,
    tables: DriverTables,
    shootdowns: Rc<Shootdowns>,
    /// Pages that the table has ordered the first-level cache to drop.
    heard: Rc<RefCell<Vec<LineAddr>>>,
    cx: Context,
}

/// The tag of a line of a page.
fn tag(asid: Asid, page: u64, line: u64) -> LineAddr {
    LineAddr(u64::from(asid.0) << 48 | (virt(page).0 + 64 * line))
}

/// The content of a line of memory: its own address.
fn bytes(line: LineAddr) -> Block<LINE> {
    let mut bytes = [0; LINE];
    bytes[..8].copy_from_slice(&line.0.to_le_bytes());
    Block::full(bytes)
}

/// The physical address of a line of a physical page.
fn place(page: u64, line: u64) -> LineAddr {
    LineAddr(phys(page).0 + 64 * line)
}

impl Cache {
    async fn send(&self, msg: Msg<LINE>) {
        self.to.send(Lane::Request, msg.into(), HEADER).await;
    }

    async fn ask(&self, kind: Kind, line: LineAddr) {
        self.send(Msg::new(L2, MEMORY, kind, line, Block::EMPTY)).await;
    }

    async fn next(&self) -> Packet {
        self.from.recv(Lane::Reply).await
    }

    /// Reads a line; returns the physical address found in its data, and whether the line may be kept.
    async fn read(&self, line: LineAddr) -> (LineAddr, bool) {
        self.ask(Kind::Read, line).await;
        let packet = self.next().await;
        assert_eq!((packet.msg.kind, packet.msg.line), (Kind::Data, line));
        let place = packet.msg.data.bytes()[..8].try_into().map(u64::from_le_bytes).unwrap();
        (LineAddr(place), !packet.once)
    }

    async fn claim(&self, line: LineAddr) {
        self.ask(Kind::Upgrade, line).await;
        let packet = self.next().await;
        assert_eq!((packet.msg.kind, packet.msg.line), (Kind::UpgradeAck, line));
    }

    /// Writes a line through, or has it modified below; returns the line of the answer.
    async fn pass(&self, kind: Kind, line: LineAddr) -> LineAddr {
        self.send(Msg::new(L2, MEMORY, kind, line, bytes(line))).await;
        let packet = self.next().await;
        assert_eq!(packet.msg.kind, if kind == Kind::Write { Kind::Ack } else { Kind::Modified });
        packet.msg.line
    }

    /// Expects a recall of this line and gives the line up.
    async fn give_up(&self, line: LineAddr) {
        let packet = self.next().await;
        assert_eq!((packet.msg.kind, packet.msg.line), (Kind::CoreFlush, line));
        self.send(Msg { of: Some(L2), ..Msg::new(L2, MEMORY, Kind::Evicted, line, Block::EMPTY) }).await;
    }

    fn shoot(&self, page: u64) {
        let own = Rc::clone(&self.shootdowns);
        let what = Shootdown::Page { asid: SPACE, virt: virt(page) };
        self.cx.scope().scope("shooting").spawn("shoot", |_| async move { own.shoot(what).await });
    }
}

/// Builds a table of `entries` over a driver's tables that map page n to physical page n, and runs a script. With
/// `writes_through` the script is a first-level cache and the table its own; with `tells_names` the table sends leading
/// names to the first-level cache.
fn build<F: Future<Output = ()> + 'static>(
    world: &World,
    (entries, writes_through, tells_names): (usize, bool, bool),
    script: impl FnOnce(Cache) -> F + 'static,
) {
    let tables = DriverTables::default();
    (0..20).for_each(|page| tables.insert(SPACE, virt(page), phys(page), page != 9));
    let ((from_l2, l2), (from_l1, l1)) = (world.wires::<Packet, Packet>(3, 3), world.wires::<Packet, Packet>(3, 3));
    let (to_memory, memory) = world.wires::<Packet, Packet>(3, 3);
    let (below, asked) = world.wires(2, 2);
    let ((to_fbt, fbt_control), (to_iommu, control)) = (world.control(5), world.control(5));
    let pages = FbtTables::new(tlb(entries));
    let walk = Walk::Driver { latency: Cycles(10), tables: tables.clone() };
    let shared = SharedTlbSpec { tlb: tlb(2), lookups: Some(1), banks: 1, misses: 8, shootdown: Cycles(0) };
    let second = SecondLevel { tables: pages.clone(), latency: Cycles(5) };
    let spec = IommuSpec { tlb: shared, walkers: WALKERS };
    iommu(spec, walk, vec![asked], Some(second), Some(control), &world.roots, &world.root.scope("iommu"));
    let (banks, line) = (Interleave::One(L2), mem::Bytes(LINE as u64));
    let above = if writes_through { Above::WritesThrough } else { Above::Claims };
    let place = FbtPlace { me: FBT, banks, first_level: vec![L1], line, above, tells_names };
    let side = Side {
        from: vec![l2.from, l1.from, to_memory.from],
        to: vec![(vec![L2], l2.to), (vec![L1], l1.to), (vec![MEMORY], to_memory.to)],
    };
    let scope = world.root.scope("fbt");
    let fbt = Fbt::new(pages, place, side, below, (Some(fbt_control), &world.roots), &scope);
    scope.serve("control", |cx| fbt.run(cx));
    world.place().serve("memory", |_| async move {
        loop {
            let Packet { msg, .. } = memory.from.recv(Lane::Request).await;
            let (kind, data) = match msg.kind {
                Kind::Read => (Kind::Data, bytes(msg.line)),
                Kind::Modify => (Kind::Modified, bytes(msg.line)),
                _ => (Kind::Ack, msg.data),
            };
            memory.to.send(Lane::Reply, Msg::new(MEMORY, L2, kind, msg.line, data).into(), HEADER).await;
        }
    });
    let heard = Rc::new(RefCell::new(Vec::new()));
    let own = Rc::clone(&heard);
    let Wire { from, to } = from_l1;
    world.place().serve("l1", |_| async move {
        loop {
            let Packet { msg, .. } = from.recv(Lane::Coherence).await;
            assert!(msg.kind == Kind::Inval && is_order(msg.line));
            own.borrow_mut().push(msg.line);
            if !msg.data.mask().is_empty() {
                continue;
            }
            to.send(Lane::Reply, Msg::new(L1, FBT, Kind::Done, msg.line, Block::EMPTY).into(), HEADER).await;
        }
    });
    let kernel = world.root.scope("kernel");
    let shootdowns = Rc::new(Shootdowns::new(vec![vec![to_iommu], vec![to_fbt]], &world.roots, &kernel));
    let Wire { from, to } = from_l2;
    world.place().spawn("l2", |cx| script(Cache { to, from, tables, shootdowns, heard, cx }));
}

fn runs<F: Future<Output = ()> + 'static>(entries: usize, script: impl FnOnce(Cache) -> F + Send + 'static) -> Run {
    finish(Tables::new(), move |world| build(world, (entries, false, false), script)).0
}

/// Variant of [`runs`] below a first-level cache, where first-level caches alone are virtual.
fn runs_below_first_level<F: Future<Output = ()> + 'static>(
    entries: usize,
    script: impl FnOnce(Cache) -> F + Send + 'static,
) -> Run {
    finish(Tables::new(), move |world| build(world, (entries, true, false), script)).0
}

fn fails<F: Future<Output = ()> + 'static>(script: impl FnOnce(Cache) -> F + Send + 'static) -> String {
    fails_with(false, script)
}

fn fails_with<F: Future<Output = ()> + 'static>(
    writes_through: bool,
    script: impl FnOnce(Cache) -> F + Send + 'static,
) -> String {
    let (run, _) = simulate(Tables::new(), move |world| build(world, (8, writes_through, false), script));
    let Outcome::Failed { message, .. } = run.outcome else { panic!("{}", run.outcome) };
    message
}

#[test]
fn pages_that_are_read_under_two_names_are_right_and_kept_under_one() {
    let run = runs(8, |cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        assert_eq!(cache.read(tag(SPACE, 5, 1)).await, (place(5, 1), true));
        assert_eq!(cache.read(tag(SPACE, 30, 1)).await, (place(5, 1), false), "the line is known as that of page 5");
        assert_eq!(cache.read(tag(SPACE, 30, 2)).await, (place(5, 2), false), "its page is");
        assert_eq!(cache.read(tag(SPACE, 5, 2)).await, (place(5, 2), true));
    });
    assert_eq!(run.total().count("fbt.synonyms"), 2);
}

#[test]
fn a_page_with_two_names_that_is_written_is_a_fault_whichever_comes_first() {
    let written_first = |cache: Cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        cache.claim(tag(SPACE, 5, 1)).await;
        cache.read(tag(SPACE, 30, 1)).await;
    };
    let read_first = |cache: Cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        cache.read(tag(SPACE, 5, 1)).await;
        cache.read(tag(SPACE, 30, 1)).await;
        cache.claim(tag(SPACE, 5, 1)).await;
    };
    let written_by_the_other = |cache: Cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        cache.read(tag(SPACE, 5, 1)).await;
        cache.claim(tag(SPACE, 30, 1)).await;
    };
    for message in [fails(written_first), fails(read_first), fails(written_by_the_other)] {
        assert!(message.contains("names of one page of memory") && message.contains("which is written"), "{message}");
    }
}

#[test]
fn one_name_in_two_address_spaces_is_two_pages() {
    runs(8, |cache| async move {
        cache.tables.insert(Asid(2), virt(5), phys(6), true);
        assert_eq!(cache.read(tag(SPACE, 5, 1)).await, (place(5, 1), true));
        assert_eq!(cache.read(tag(Asid(2), 5, 1)).await, (place(6, 1), true));
        cache.claim(tag(Asid(2), 5, 1)).await;
        assert_eq!(cache.read(tag(SPACE, 5, 2)).await, (place(5, 2), true));
    });
}

#[test]
fn a_line_of_a_page_that_may_only_be_read_is_claimed_when_the_driver_allows_it() {
    runs(8, |cache| async move {
        assert_eq!(cache.read(tag(SPACE, 9, 1)).await, (place(9, 1), true));
        cache.ask(Kind::Upgrade, tag(SPACE, 9, 1)).await;
        cache.cx.pause(200).await;
        let faults = cache.tables.take_faults();
        assert_eq!(faults.iter().map(|fault| (fault.page, fault.write)).collect::<Vec<_>>(), [(virt(9), true)]);
        assert!(cache.from.is_empty(), "it waits for the driver");
        cache.tables.insert(SPACE, virt(9), phys(9), true);
        cache.tables.answer(SPACE, virt(9), Ok(()));
        assert_eq!(cache.next().await.msg.kind, Kind::UpgradeAck);
    });
}

#[test]
fn a_page_that_is_shot_down_leaves_all_caches_before_it_is_read_again() {
    runs(8, |cache| async move {
        let line = tag(SPACE, 5, 1);
        cache.claim(line).await;
        cache.read(tag(SPACE, 6, 1)).await;
        cache.tables.remove(SPACE, virt(5));
        cache.tables.insert(SPACE, virt(5), phys(15), true);
        cache.shoot(5);
        // A request for another line of the page waits; the recalled line is written back first.
        let recall = cache.next().await;
        assert_eq!((recall.msg.kind, recall.msg.line), (Kind::CoreFlush, line));
        cache.ask(Kind::Read, tag(SPACE, 5, 2)).await;
        cache.cx.pause(300).await;
        assert!(cache.from.is_empty() && cache.heard.borrow().is_empty(), "the entry is locked");
        cache.send(Msg::new(L2, MEMORY, Kind::Write, line, bytes(line))).await;
        cache.send(Msg { of: Some(L2), ..Msg::new(L2, MEMORY, Kind::Evicted, line, Block::EMPTY) }).await;
        assert_eq!(cache.next().await.msg.kind, Kind::Ack);
        let data = cache.next().await.msg;
        assert_eq!((data.kind, data.line), (Kind::Data, tag(SPACE, 5, 2)));
        assert_eq!(data.data.bytes()[..8], place(15, 2).0.to_le_bytes(), "it lies elsewhere now");
        assert_eq!(cache.heard.borrow().as_slice(), [LineAddr((tag(SPACE, 5, 0).0 / PAGE * PAGE) | 1)]);
        assert_eq!(cache.read(tag(SPACE, 6, 2)).await, (place(6, 2), true), "others are as they were");
    });
}

#[test]
fn a_shootdown_of_a_page_that_no_cache_holds_probes_no_cache() {
    let run = runs(8, |cache| async move {
        cache.read(tag(SPACE, 5, 1)).await;
        cache.shoot(7);
        cache.cx.pause(200).await;
        assert!(cache.heard.borrow().is_empty());
    });
    assert_eq!(run.total().count("fbt.filtered_shootdowns"), 1);
}

#[test]
fn an_entry_is_evicted_for_another_when_its_lines_are_gone() {
    let run = runs(1, |cache| async move {
        let lines = [1, 7].map(|line| tag(SPACE, 5, line));
        for line in lines {
            cache.read(line).await;
        }
        cache.ask(Kind::Read, tag(SPACE, 6, 1)).await;
        for line in lines {
            cache.give_up(line).await;
        }
        let data = cache.next().await.msg;
        assert_eq!((data.kind, data.line), (Kind::Data, tag(SPACE, 6, 1)));
        assert_eq!(cache.heard.borrow().len(), 1);
    });
    assert_eq!((run.total().count("fbt.evictions"), run.total().count("fbt.recalled_lines")), (1, 2));
}

#[test]
fn pages_with_an_entry_are_found_there_when_the_tlb_has_forgotten_them() {
    let run = runs(8, |cache| async move {
        for page in [1, 2, 3, 1] {
            cache.read(tag(SPACE, page, page)).await;
            cache.ask(Kind::Evicted, tag(SPACE, page, page)).await;
        }
    });
    assert_eq!(run.total().count("iommu.tlb.second_level.hits"), 1);
    assert_eq!(run.total().count("iommu.tlb.second_level.misses"), 3);
}

#[test]
fn a_line_that_the_table_does_not_include_is_noticed() {
    let message = fails(|cache| async move {
        cache.read(tag(SPACE, 5, 1)).await;
        cache.send(Msg::new(L2, MEMORY, Kind::Write, tag(SPACE, 5, 2), bytes(place(5, 2)))).await;
    });
    assert!(message.contains("passes between virtual and physical caches"), "{message}");
    let (page, line) = (tag(SPACE, 7, 1), tag(SPACE, 5, 2));
    for clean in [page, line] {
        let message = fails(move |cache| async move {
            cache.read(tag(SPACE, 5, 1)).await;
            cache.ask(Kind::Evicted, clean).await;
        });
        assert!(message.contains("passes between virtual and physical caches"), "{message}");
    }
}

#[test]
fn a_page_that_moves_without_a_shootdown_is_noticed() {
    let message = fails(|cache| async move {
        cache.read(tag(SPACE, 5, 1)).await;
        // These two pages evict the translation from the TLB, which has two entries.
        for page in [1, 2] {
            cache.read(tag(SPACE, page, 1)).await;
        }
        cache.tables.remove(SPACE, virt(5));
        cache.tables.insert(SPACE, virt(5), phys(15), true);
        let packet = Packet {
            frame: Some(phys(15)).into(),
            ..Msg::new(L2, MEMORY, Kind::Read, tag(SPACE, 5, 2), Block::EMPTY).into()
        };
        cache.to.send(Lane::Request, packet, HEADER).await;
        cache.next().await;
    });
    assert!(message.contains("the page has been moved without a shootdown"), "{message}");
}

#[test]
fn a_first_level_cache_that_alone_is_virtual_writes_through_under_its_tags() {
    let run = runs_below_first_level(8, |cache| async move {
        assert_eq!(cache.read(tag(SPACE, 5, 1)).await, (place(5, 1), true));
        assert_eq!(cache.pass(Kind::Write, tag(SPACE, 5, 1)).await, tag(SPACE, 5, 1));
        assert_eq!(cache.pass(Kind::Modify, tag(SPACE, 6, 2)).await, tag(SPACE, 6, 2));
        assert_eq!(cache.read(tag(SPACE, 6, 2)).await, (place(6, 2), true));
    });
    assert_eq!(run.total().count("fbt.requests"), 4);
    assert_eq!(run.total().count("iommu.tlb.hits") + run.total().count("iommu.tlb.misses"), 4, "each is translated");
}

#[test]
fn a_first_level_cache_that_alone_is_virtual_keeps_pages_under_one_name() {
    let run = runs_below_first_level(8, |cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        assert_eq!(cache.read(tag(SPACE, 30, 1)).await, (place(5, 1), true), "the first name leads");
        assert_eq!(cache.read(tag(SPACE, 5, 1)).await, (place(5, 1), false));
    });
    assert_eq!(run.total().count("fbt.synonyms"), 1);
    let written_first = |cache: Cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        cache.pass(Kind::Write, tag(SPACE, 5, 1)).await;
        cache.read(tag(SPACE, 30, 1)).await;
    };
    let read_first = |cache: Cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        cache.read(tag(SPACE, 5, 1)).await;
        cache.read(tag(SPACE, 30, 1)).await;
        cache.pass(Kind::Modify, tag(SPACE, 5, 1)).await;
    };
    for message in [fails_with(true, written_first), fails_with(true, read_first)] {
        assert!(message.contains("names of one page of memory") && message.contains("which is written"), "{message}");
    }
}

#[test]
fn a_page_is_evicted_below_a_first_level_cache_which_must_drop_it() {
    let run = runs_below_first_level(1, |cache| async move {
        cache.read(tag(SPACE, 5, 1)).await;
        assert_eq!(cache.read(tag(SPACE, 6, 1)).await, (place(6, 1), true));
        assert_eq!(cache.heard.borrow().as_slice(), [LineAddr((tag(SPACE, 5, 0).0 / PAGE * PAGE) | 1)]);
    });
    assert_eq!((run.total().count("fbt.evictions"), run.total().count("fbt.recalled_lines")), (1, 0));
}

#[test]
fn first_level_caches_know_a_leading_name_until_one_of_the_names_is_shot_down() {
    let order = |page| LineAddr((tag(SPACE, page, 0).0 / PAGE * PAGE) | 1);
    let script = move |cache: Cache| async move {
        cache.tables.insert(SPACE, virt(30), phys(5), true);
        cache.read(tag(SPACE, 5, 1)).await;
        for line in [1, 2] {
            assert_eq!(cache.read(tag(SPACE, 30, line)).await, (place(5, line), false));
        }
        assert_eq!(cache.heard.borrow().as_slice(), [order(30)], "they are told once");
        // The other name has no entry, but they may use the leading one in its place.
        cache.shoot(30);
        cache.give_up(tag(SPACE, 5, 1)).await;
        cache.cx.pause(100).await;
        assert_eq!(cache.heard.borrow().as_slice(), [order(30), order(5)]);
        assert_eq!(cache.read(tag(SPACE, 30, 1)).await, (place(5, 1), true), "now it leads");
    };
    finish(Tables::new(), move |world| build(world, (8, false, true), script));
}
