use crate::{
    tables::{BEHIND, Tables, phys, virt},
    world::{MMU, READ, WALKERS, World, finish, load, request, simulate, store, times},
};
use engine::{Lane, Outcome, Run};
use mem::{Access, Asid, PhysAddr, Request, VirtAddr};
use vm::{Mmu, MmuSpec};

/// 2 cycles to the walkers, one read per level, 3 cycles back.
const MISS: u64 = 2 + 4 * READ + 3;

type Sends = Vec<(u64, Lane, Request)>;

fn run(tables: Tables, spec: MmuSpec, sends: Sends) -> (Run, Vec<(u64, u64)>) {
    let (run, log) = finish(tables, move |world| world.mmu(spec, world.walkers(WALKERS, None), sends));
    (run, times(&log))
}

/// The message of a run that must fail.
fn failure(tables: Tables, build: impl FnOnce(&World) + Send + 'static) -> String {
    match simulate(tables, build).0.outcome {
        Outcome::Failed { message, .. } => message,
        other => panic!("it should have failed: {other:?}"),
    }
}

fn failure_of(tables: Tables, sends: Sends) -> String {
    failure(tables, |world| world.mmu(MMU, world.walkers(WALKERS, None), sends))
}

#[test]
fn a_miss_takes_its_wires_and_a_read_for_each_level_and_a_hit_nothing() {
    let (run, times) = run(Tables::of([5]), MMU, vec![load(10, 1, 5), load(200, 2, 5)]);
    assert_eq!(times, [(1, 10 + MISS), (2, 200)]);
    let total = run.total();
    assert_eq!((total.count("dtlb_mmu.dtlb.hits"), total.count("dtlb_mmu.dtlb.misses")), (1, 1));
    assert_eq!(total.count("walkers.entries_read"), 4);
    assert_eq!(total.sum("walkers.walk_cycles"), 4 * READ);
    assert_eq!(total.sum("dtlb_mmu.dtlb.miss_cycles"), MISS);
}

#[test]
fn requests_for_a_page_that_is_looked_up_wait_with_the_first() {
    let (run, times) = run(Tables::of([5]), MMU, vec![load(0, 1, 5), load(0, 2, 5), load(30, 3, 5)]);
    assert_eq!(times, [(1, MISS), (2, MISS), (3, MISS)]);
    assert_eq!(run.total().count("walkers.entries_read"), 4);
    assert_eq!(run.total().count("dtlb_mmu.dtlb.merged"), 2);
}

#[test]
fn a_hit_passes_a_miss() {
    let (_, times) = run(Tables::of([5, 6]), MMU, vec![load(0, 1, 5), load(100, 2, 6), load(101, 3, 5)]);
    assert_eq!(times, [(1, MISS), (3, 101), (2, 100 + MISS)]);
}

#[test]
fn stores_of_a_core_stay_in_order_while_one_misses() {
    let sends = vec![load(0, 1, 5), store(100, 2, 6), store(101, 3, 5), load(102, 4, 5)];
    let (_, times) = run(Tables::of([5, 6]), MMU, sends);
    assert_eq!(times, [(1, MISS), (4, 102), (2, 100 + MISS), (3, 100 + MISS)]);
}

#[test]
fn misses_of_stores_in_order_overlap() {
    let (_, times) = run(Tables::of([5, 6]), MMU, vec![store(0, 1, 5), store(1, 2, 6)]);
    assert_eq!(times, [(1, MISS), (2, 1 + MISS)]);
}

#[test]
fn a_miss_waits_while_the_maximum_number_of_misses_is_outstanding() {
    let spec = MmuSpec { misses: 1, ..MMU };
    let (_, times) = run(Tables::of([5, 6]), spec, vec![load(0, 1, 5), load(0, 2, 6), load(0, 3, 5)]);
    assert_eq!(times, [(1, MISS), (3, MISS), (2, 2 * MISS)], "3 is behind 2, and a hit by then");
}

#[test]
fn no_more_requests_wait_than_there_is_room_for() {
    let spec = MmuSpec { waiting: 2, ..MMU };
    let sends = (0..4).map(|id| load(0, id, 5)).chain([load(0, 4, 6)]).collect();
    let (run, times) = run(Tables::of([5, 6]), spec, sends);
    assert_eq!(times, [(0, MISS), (1, MISS), (2, MISS), (3, MISS), (4, 2 * MISS)]);
    assert_eq!(run.total().count("dtlb_mmu.dtlb.merged"), 1, "the others hit when the page has come");
}

#[test]
fn a_port_makes_at_most_as_many_look_ups_in_a_cycle_as_its_spec_says() {
    let sends = |from: u64| (0..4).map(move |id| load(from, from + id, 5));
    let spec = MmuSpec { lookups: 1, ..MMU };
    let all: Sends = [load(0, 1, 5)].into_iter().chain(sends(200)).collect();
    let (_, slow) = run(Tables::of([5]), spec, all.clone());
    assert_eq!(slow[1..], [(200, 200), (201, 201), (202, 202), (203, 203)]);
    let (_, quick) = run(Tables::of([5]), MMU, all);
    assert_eq!(quick[1..], [(200, 200), (201, 200), (202, 200), (203, 200)]);
}

#[test]
fn a_huge_page_takes_a_read_less_and_is_one_entry() {
    let mut tables = Tables::new();
    tables.map_huge(virt(0), phys(0));
    let (run, times) = run(tables, MMU, vec![load(0, 1, 7), load(100, 2, 511)]);
    assert_eq!(times, [(1, MISS - READ), (2, 100)]);
    assert_eq!(run.total().count("dtlb_mmu.dtlb.misses"), 1);
}

#[test]
fn an_order_for_all_lines_waits_for_earlier_messages() {
    let order = Request { virt: VirtAddr(0), phys: None, ..request(2, Access::Flush, 0) };
    let (_, times) = run(Tables::of([5]), MMU, vec![load(0, 1, 5), (1, Lane::Request, order), load(2, 3, 5)]);
    assert_eq!(times, [(1, MISS), (2, MISS), (3, MISS)]);
}

#[test]
fn a_request_gets_its_physical_address() {
    let blank = |id| Request { phys: None, ..request(id, Access::Load, 5) };
    let sends = vec![(0, Lane::Request, blank(1)), (200, Lane::Request, blank(2))];
    let (_, log) = finish(Tables::of([5]), |world| world.mmu(MMU, world.walkers(WALKERS, None), sends));
    let as_placed = |got: &Request, tlb_missed| *got == Request { tlb_missed, ..request(got.id.0, Access::Load, 5) };
    assert_eq!(log.len(), 2);
    assert!(log.iter().zip([true, false]).all(|((_, got), missed)| as_placed(got, missed)), "{log:?}");
}

#[test]
fn ports_have_tlbs_of_their_own_and_share_misses() {
    let (run, log) = finish(Tables::of([5]), |world| {
        let below = world.walkers(WALKERS, None);
        let ((code, fetch), (data, access)) = (world.port("itlb", 4), world.port("dtlb", 4));
        let scope = world.root.scope("mmu");
        let mmu = Mmu::new(MMU, vec![code, data], below, None, &world.roots, &scope);
        scope.serve("control", |cx| mmu.run(cx));
        world.requester(fetch, vec![load(0, 1, 5), load(300, 2, 5)]);
        world.requester(access, vec![load(10, 3, 5), load(301, 4, 5)]);
    });
    assert_eq!(times(&log), [(1, MISS), (3, MISS), (2, 300), (4, 301)]);
    assert_eq!(run.total().count("walkers.entries_read"), 4);
    assert_eq!((run.total().count("mmu.itlb.hits"), run.total().count("mmu.dtlb.merged")), (1, 1));
}

#[test]
fn a_write_to_what_was_read_only_looks_again_before_it_is_wrong() {
    let mut tables = Tables::new();
    tables.map_read_only(virt(5), phys(5));
    assert_eq!(
        failure_of(tables.clone(), vec![load(0, 1, 5), store(200, 2, 5)]),
        "a write to 0x7f0000005080 of address space 1, whose page is read-only in the page tables"
    );
    let (run, log) = finish(tables, |world| {
        world.mmu(MMU, world.walkers(WALKERS, None), vec![load(0, 1, 5), store(200, 2, 5), load(201, 3, 5)]);
        let (mut after, frames) = (Tables::of([]), std::rc::Rc::clone(&world.frames));
        after.map(virt(5), phys(5));
        world.place().spawn("kernel", |cx| async move {
            cx.pause(150).await;
            *frames.borrow_mut() = after.frames;
        });
    });
    assert_eq!(times(&log), [(1, MISS), (3, 200 + MISS), (2, 200 + MISS)], "loads stand before stores in a cycle");
    assert_eq!(run.total().count("walkers.entries_read"), 8);
}

#[test]
fn a_write_that_waits_with_a_read_of_a_read_only_page_looks_again() {
    let mut tables = Tables::new();
    tables.map_read_only(virt(5), phys(5));
    let (run, log) = finish(tables, |world| {
        world.mmu(MMU, world.walkers(WALKERS, None), vec![load(0, 1, 5), store(MISS - 1, 2, 5)]);
        let (mut after, frames) = (Tables::of([]), std::rc::Rc::clone(&world.frames));
        after.map(virt(5), phys(5));
        world.place().spawn("kernel", |cx| async move {
            cx.pause(MISS - 1).await;
            *frames.borrow_mut() = after.frames;
        });
    });
    assert_eq!(times(&log), [(1, MISS), (2, 2 * MISS)]);
    assert_eq!(run.total().count("walkers.entries_read"), 8);
}

#[test]
fn disagreements_of_tables_and_requesters_are_reported() {
    let mut moved = Tables::new();
    moved.map(virt(5), PhysAddr(BEHIND + 0x1234_5000));
    assert_eq!(
        failure_of(moved, vec![load(0, 1, 5)]),
        "0x7f0000005040 of address space 1 is 0x100005040 for the requester and 0x112345040 in its page of 4 KiB: the page has been \
         moved without a shootdown, or the tables that were read are stale"
    );
    let gone = failure_of(Tables::of([6]), vec![load(0, 1, 5)]);
    assert!(gone.starts_with("0x7f0000005000 of address space 1 is not mapped: the entry of level 0 at 0x"), "{gone}");
    let nothing = failure_of(Tables::new(), vec![load(0, 1, 5)]);
    assert!(nothing.contains("the entry of level 3 at 0x17f0 is 0x0, which is not present"), "{nothing}");
    let stranger = Request { asid: Asid(9), ..request(1, Access::Load, 5) };
    let unknown = failure_of(Tables::of([5]), vec![(0, Lane::Request, stranger)]);
    assert!(unknown.starts_with("address space 9 has no page tables"), "{unknown}");
    let mut giant = Tables::new();
    giant.map_giant(virt(0), phys(0));
    let giant = failure_of(giant, vec![load(0, 1, 5)]);
    assert!(giant.contains("is in a page larger than 2 MiB: the entry of level 2"), "{giant}");
}

#[test]
fn a_page_moved_without_a_shootdown_is_found_by_the_next_hit() {
    let elsewhere = Request { phys: Some(phys(77)), ..request(64, Access::Load, 5) };
    let message = failure_of(Tables::of([5]), vec![load(0, 1, 5), (200, Lane::Request, elsewhere)]);
    assert!(message.contains("is 0x10004d000 for the requester and 0x100005000 in its page"), "{message}");
}

#[test]
fn a_run_has_the_same_statistics_each_time() {
    let sends: Sends =
        (0..200).map(|n| if n % 3 == 0 { store(n, n, n * 7 % 31) } else { load(n, n, n * 5 % 31) }).collect();
    let once = || run(Tables::of(0..31), MMU, sends.clone());
    let ((first, first_times), (second, second_times)) = (once(), once());
    assert_eq!(first_times.len(), 200);
    assert_eq!((first.regions, first_times), (second.regions, second_times));
}
