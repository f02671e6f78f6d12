use crate::{
    tables::{Tables, phys, virt},
    world::{MMU, READ, WALKERS, finish, load, request, simulate, store, times, tlb},
};
use engine::{Cycles, Lane, Outcome};
use mem::{Access, Asid, PhysAddr, Request};
use std::rc::Rc;
use vm::{PageTables, PageWalkCache, Roots, Walk, WalkersSpec, walkers};

#[test]
fn no_more_pages_are_walked_to_at_a_time_than_there_are_walkers() {
    let loads: Vec<_> = (0..6).map(|id| load(0, id, id)).collect();
    let (run, log) = finish(Tables::of(0..6), |world| world.mmu(MMU, world.walkers(WALKERS, None), loads));
    let ends = [1, 1, 2, 2, 3, 3].map(|round| 2 + round * 4 * READ + 3);
    assert_eq!(times(&log).iter().map(|(_, cycle)| *cycle).collect::<Vec<_>>(), ends);
    assert_eq!(run.total().average("walkers.active").map(|average| average > 1.8), Some(true));
}

#[test]
fn a_page_walk_cache_lets_a_walk_begin_lower() {
    let mut tables = Tables::of([0, 1, 600]);
    tables.map(virt(1 << 20), phys(1 << 20));
    let loads = vec![load(0, 1, 0), load(200, 2, 1), load(400, 3, 600), load(600, 4, 1 << 20)];
    let (run, log) =
        finish(tables, |world| world.mmu(MMU, world.walkers(WALKERS, Some(PageWalkCache::Levels(tlb(16)))), loads));
    let reads: Vec<_> =
        times(&log).iter().zip([0, 200, 400, 600]).map(|((_, cycle), at)| (cycle - at - 5) / READ).collect();
    assert_eq!(reads, [4, 1, 2, 3], "the same table of the lowest level; another one; another of the level above");
    assert_eq!(run.total().count("walkers.entries_read"), 10);
    assert_eq!(run.total().count("walkers.page_walk_cache_hits"), 3);
}

#[test]
fn a_page_walk_cache_is_as_small_as_it_is() {
    let loads = vec![load(0, 1, 0), load(200, 2, 600), load(400, 3, 1)];
    let (run, _) = finish(Tables::of([0, 1, 600]), |world| {
        world.mmu(MMU, world.walkers(WALKERS, Some(PageWalkCache::Levels(tlb(1)))), loads)
    });
    assert_eq!(
        run.total().count("walkers.entries_read"),
        4 + 4 + 4,
        "the one entry is that of the lowest level read last"
    );
}

#[test]
fn lines_of_tables_are_kept_by_physical_address() {
    let loads = vec![load(0, 1, 0), load(200, 2, 1), load(400, 3, 600)];
    let cache = Some(PageWalkCache::Lines(tlb(16)));
    let (run, log) = finish(Tables::of([0, 1, 600]), move |world| world.mmu(MMU, world.walkers(WALKERS, cache), loads));
    let walks: Vec<_> = times(&log).iter().zip([0, 200, 400]).map(|((_, cycle), at)| cycle - at - 5).collect();
    assert_eq!(walks, [4 * READ, 4, 3 + READ], "a cycle for each line that is kept");
    assert_eq!(run.total().count("walkers.entries_read"), 5);
    assert_eq!(run.total().count("walkers.entries_kept"), 7);
}

/// A page that is added, or may be written from now on, needs no shootdown.
#[test]
fn a_line_that_is_kept_is_read_again_if_it_lacks_a_page_or_a_right() {
    let mut before = Tables::of([0]);
    before.map_read_only(virt(1), phys(1));
    let after = Tables::of([0, 1, 2]);
    let sends = vec![load(0, 1, 0), load(300, 2, 2), store(600, 3, 1)];
    let (run, log) = finish(before, move |world| {
        let (frames, wire) = (Rc::clone(&world.frames), world.walkers(WALKERS, Some(PageWalkCache::Lines(tlb(16)))));
        world.place().spawn("kernel", |cx| async move {
            cx.pause(200).await;
            *frames.borrow_mut() = after.frames;
        });
        world.mmu(MMU, wire, sends);
    });
    let walks: Vec<_> = times(&log).iter().zip([0, 300, 600]).map(|((_, cycle), at)| cycle - at - 5).collect();
    assert_eq!(walks, [4 * READ, 3 + READ, 4], "the line of the new page has the new right, too");
    assert_eq!(run.total().count("walkers.entries_read"), 5);
}

#[test]
fn tables_of_a_host_lead_to_the_pages_that_were_entered() {
    let spaces = [(Asid(1), 7), (Asid(2), 9)];
    let (run, log) = finish(Tables::new(), move |world| {
        let (roots, scope) = (Roots::default(), world.root.scope("walkers"));
        let tables = PageTables::new(&roots);
        for (asid, frame) in spaces {
            tables.enter(asid, virt(0), phys(frame), true);
            tables.enter(asid, virt(1 << 20), phys(frame + 1), false);
        }
        let (wire, there) = world.wires(2, 3);
        let walk = Walk::Tables { memory: tables.memory(Cycles(READ), &scope), page_walk_cache: None };
        walkers(WALKERS, walk, vec![there], None, &roots, &scope);
        let of = |at, id, page, (asid, frame): (Asid, u64)| {
            let blank = Request { asid, phys: None, ..request(id, Access::Load, page) };
            (at, Lane::Request, Request { phys: Some(PhysAddr(phys(frame).0 + blank.virt.0 % 4096)), ..blank })
        };
        let [one, other] = spaces;
        let far = (other.0, other.1 + 1);
        world.mmu(MMU, wire, vec![of(0, 1, 0, one), of(0, 2, 0, other), of(300, 3, 1 << 20, far)]);
    });
    assert_eq!(times(&log), [(1, 5 + 4 * READ), (2, 5 + 4 * READ), (3, 305 + 4 * READ)]);
    assert_eq!(run.total().count("walkers.entries_read"), 12);
}

#[test]
fn a_flat_walk_takes_its_time_and_no_memory() {
    let flat = |sends: Vec<(u64, Lane, Request)>| {
        simulate(Tables::new(), |world| {
            let (wire, there) = world.wires(2, 3);
            let spec = WalkersSpec { walkers: 1, ..WALKERS };
            walkers(
                spec,
                Walk::Flat { latency: Cycles(50) },
                vec![there],
                None,
                &world.roots,
                &world.root.scope("walkers"),
            );
            world.mmu(MMU, wire, sends);
        })
    };
    let (run, log) = flat(vec![load(0, 1, 5), load(0, 2, 6), load(200, 3, 5)]);
    assert_eq!((run.outcome, times(&log)), (Outcome::Finished, vec![(1, 55), (2, 105), (3, 200)]));
    let blank = Request { phys: None, ..request(1, Access::Load, 5) };
    let Outcome::Failed { message, .. } = flat(vec![(0, Lane::Request, blank)]).0.outcome else {
        panic!("it can't know")
    };
    assert!(message.starts_with("a walk of constant latency reads no page tables"), "{message}");
}
