use crate::{
    tables::{Tables, phys, virt},
    world::{MMU, READ, WALKERS, finish, load, request, simulate, times, tlb},
};
use engine::{Cycles, Lane, Outcome};
use mem::{Access, Request};
use vm::{Walk, WalkersSpec, walkers};

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
    let (run, log) = finish(tables, |world| world.mmu(MMU, world.walkers(WALKERS, Some(tlb(16))), loads));
    let reads: Vec<_> =
        times(&log).iter().zip([0, 200, 400, 600]).map(|((_, cycle), at)| (cycle - at - 5) / READ).collect();
    assert_eq!(reads, [4, 1, 2, 3], "the same table of the lowest level; another one; another of the level above");
    assert_eq!(run.total().count("walkers.entries_read"), 10);
    assert_eq!(run.total().count("walkers.page_walk_cache_hits"), 3);
}

#[test]
fn a_page_walk_cache_is_as_small_as_it_is() {
    let loads = vec![load(0, 1, 0), load(200, 2, 600), load(400, 3, 1)];
    let (run, _) = finish(Tables::of([0, 1, 600]), |world| world.mmu(MMU, world.walkers(WALKERS, Some(tlb(1))), loads));
    assert_eq!(
        run.total().count("walkers.entries_read"),
        4 + 4 + 4,
        "the one entry is that of the lowest level read last"
    );
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
