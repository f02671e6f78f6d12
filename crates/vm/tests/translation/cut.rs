//! MMUs in one partition, their IOMMU in another.

use crate::{
    tables::Tables,
    world::{Log, MMU, WALKERS, World, load, store, tlb},
};
use engine::{Cycles, Hertz, LinkSpec, Model, Outcome, RunOptions, Statistics, Time};
use interconnect::Wire;
use vm::{IommuSpec, PageWalkCache, SharedTlbSpec, Translate, Translated, Walk, iommu};

const UNITS: usize = 3;

fn run(threads: usize, cut: bool) -> Statistics {
    let mut model = Model::new();
    let (clock, slow) = (model.clock(Hertz::giga(1)), model.clock(Hertz(700_000_000)));
    let spec = LinkSpec { latency: Time::nanos(9), capacity: 4, bytes_per_cycle: None };
    let (mut units, mut ends) = (Vec::new(), Vec::new());
    for unit in 0..UNITS {
        let (ask, asked) = model.link::<Translate>(format!("ask{unit}"), spec);
        let (answer, answers) = model.link::<Translated>(format!("answer{unit}"), spec);
        units.push((ask, answers));
        ends.push((answer, asked));
    }
    let build_units = move |root: engine::Scope| {
        let world = World::new(root, Tables::of(0..40), Log::default());
        for (unit, (ask, answers)) in units.into_iter().enumerate() {
            let scope = world.root.scope(("unit", unit));
            let below = Wire { from: scope.receiver(answers), to: scope.sender(ask) };
            let page = |n: u64| n * (7 + unit as u64) % 40;
            let sends = (0..300).map(|n| if n % 4 == 0 { store(n, n, page(n)) } else { load(n, n, page(n)) });
            world.mmu_with(MMU, &format!("tlb{unit}"), below, None, sends.collect());
        }
    };
    let build_iommu = move |root: engine::Scope| {
        let world = World::new(root, Tables::of(0..40), Log::default());
        let scope = world.root.scope("iommu");
        let askers = ends.into_iter().enumerate().map(|(unit, (answer, asked))| {
            let scope = scope.scope(("unit", unit));
            Wire { from: scope.receiver(asked), to: scope.sender(answer) }
        });
        let shared = SharedTlbSpec { tlb: tlb(16), lookups: Some(1), banks: 1, misses: 8, shootdown: Cycles(0) };
        let walk = Walk::Tables { memory: world.memory(), page_walk_cache: Some(PageWalkCache::Levels(tlb(8))) };
        iommu(IommuSpec { tlb: shared, walkers: WALKERS }, walk, askers.collect(), None, None, &world.roots, &scope);
    };
    if cut {
        model.partition(move |partition| build_units(partition.scope(clock).scope("units")));
        model.partition(move |partition| build_iommu(partition.scope(slow).scope("host")));
    } else {
        model.partition(move |partition| {
            build_units(partition.scope(clock).scope("units"));
            build_iommu(partition.scope(slow).scope("host"));
        });
    }
    let run = model.run(&RunOptions { threads, ..RunOptions::default() });
    assert_eq!(run.outcome, Outcome::Finished);
    run.total()
}

#[test]
fn statistics_depend_neither_on_threads_nor_on_the_cut() {
    let whole = run(1, false);
    assert!(whole.count("host.iommu.tlb.misses") > 40, "pages are forgotten and asked for again");
    for (threads, cut) in [(1, true), (2, true)] {
        assert_eq!(whole, run(threads, cut), "{threads} threads, cut: {cut}");
    }
}
