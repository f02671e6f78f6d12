use crate::{
    tables::Tables,
    world::{MMU, READ, WALKERS, World, finish, load, times, tlb},
};
use engine::{Cycles, Run, Value};
use interconnect::Wire;
use mem::Request;
use vm::{IommuSpec, SharedTlbSpec, Translate, Translated, Walk, iommu};

fn spec(lookups: Option<usize>) -> IommuSpec {
    let tlb = SharedTlbSpec { tlb: tlb(64), lookups, banks: 1, misses: 16, shootdown: Cycles(0) };
    IommuSpec { tlb, walkers: WALKERS }
}

/// An IOMMU at the end of wires of 7 cycles from each of `askers` requesters.
fn iommu_for(world: &World, spec: IommuSpec, askers: usize) -> Vec<Wire<Translated, Translate>> {
    let (ours, theirs): (Vec<_>, Vec<_>) = (0..askers).map(|_| world.wires(7, 7)).unzip();
    let walk = Walk::Tables { memory: world.memory(), page_walk_cache: None };
    iommu(spec, walk, theirs, None, None, &world.roots, &world.root.scope("iommu"));
    ours
}

const MISS: u64 = 7 + 4 * READ + 7;

/// One unit first accesses every page, so that all are walked; then sixteen units request one page each, in one cycle.
fn sixteen(lookups: Option<usize>) -> (Run, Vec<u64>) {
    let (run, log) = finish(Tables::of(0..16), move |world| {
        for (unit, below) in iommu_for(world, spec(lookups), 17).into_iter().enumerate() {
            let loads = match unit {
                16 => (0..16).map(|page| load(0, 100 + page, page)).collect(),
                _ => vec![load(2000, unit as u64, unit as u64)],
            };
            world.mmu_with(MMU, &format!("tlb{unit}"), below, None, loads);
        }
    });
    let hits = log.iter().filter(|(_, request): &&(u64, Request)| request.id.0 < 100);
    (run, hits.map(|(cycle, _)| cycle - 2000).collect())
}

#[test]
fn the_iommu_makes_no_more_look_ups_in_a_cycle_than_its_spec_says() {
    let (run, one) = sixteen(Some(1));
    assert_eq!(one, (14..30).collect::<Vec<_>>(), "one each cycle, after the way there and back");
    assert_eq!(run.total().count("iommu.tlb.hits"), 16);
    assert_eq!(sixteen(Some(4)).1, (0..16).map(|unit| 14 + unit / 4).collect::<Vec<_>>());
    assert_eq!(sixteen(None).1, [14; 16]);
}

#[test]
fn a_page_that_several_ask_for_is_walked_to_once() {
    let (run, log) = finish(Tables::of([5]), |world| {
        for (unit, below) in iommu_for(world, spec(Some(1)), 3).into_iter().enumerate() {
            world.mmu_with(MMU, &format!("tlb{unit}"), below, None, vec![load(0, unit as u64, 5)]);
        }
    });
    assert_eq!(times(&log), [(0, MISS), (1, MISS), (2, MISS)]);
    let total = run.total();
    assert_eq!((total.count("iommu.tlb.misses"), total.count("iommu.tlb.merged")), (1, 2));
    assert_eq!(total.count("iommu.walkers.entries_read"), 4);
}

#[test]
fn accesses_are_counted_in_each_microsecond() {
    // At 1 GHz: three accesses in the first microsecond, none in the second, one in the third.
    let loads = vec![load(0, 1, 0), load(10, 2, 1), load(900, 3, 2), load(2500, 4, 3)];
    let (run, _) = finish(Tables::of(0..4), |world| {
        let below = iommu_for(world, spec(Some(1)), 1).remove(0);
        world.mmu(MMU, below, loads);
    });
    let total = run.total();
    let Some(Value::Histogram { count, sum, max, .. }) = total.0.get("iommu.tlb.accesses_per_us") else {
        panic!("none")
    };
    assert_eq!((*count, *sum, *max), (3, 4, 3));
    assert_eq!(total.count("iommu.tlb.accesses_per_us.squares"), 9 + 1);
}

#[test]
fn a_shared_tlb_can_stand_between_a_core_and_its_walkers() {
    use vm::SharedTlb;
    // Nine pages do not fit the first level's eight entries, and fit the second's.
    let loads = (0..27).map(|n| load(n * 200, n, n % 9)).collect();
    let (run, log) = finish(Tables::of(0..9), |world| {
        let (mmu, there) = world.wires(3, 4);
        let scope = world.root.scope("l2tlb");
        let below = world.walkers(WALKERS, None);
        let second = SharedTlb::new(spec(None).tlb, vec![there], below, None, None, &scope);
        scope.serve("control", |cx| second.run(cx));
        world.mmu(MMU, mmu, loads);
    });
    let taken: Vec<_> = times(&log).iter().map(|(id, cycle)| cycle - id * 200).collect();
    assert_eq!(taken[..9], [3 + 2 + 4 * READ + 3 + 4; 9]);
    assert_eq!(taken[9..], [3 + 4; 18], "in a TLB that forgets the oldest, a page is gone when it is asked for again");
    assert_eq!(run.total().count("l2tlb.hits"), 18);
}
