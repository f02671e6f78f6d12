use crate::{
    tables::{Tables, phys, virt},
    world::{MMU, READ, SPACE, WALKERS, World, finish, load, request, times, tlb},
};
use engine::{Cycles, Lane};
use interconnect::Wire;
use mem::{Access, PhysAddr, Request, VirtAddr};
use std::{
    rc::Rc,
    sync::{Arc, Mutex},
};
use vm::{
    Forgotten, IommuSpec, MmuSpec, PageWalkCache, SharedTlbSpec, Shootdown, Shootdowns, Walk, WalkersSpec, iommu,
    walkers,
};

const MISS: u64 = 2 + 4 * READ + 3;
const PAGE: Shootdown = Shootdown::Page { asid: SPACE, virt: VirtAddr(virt_of(5)) };

const fn virt_of(page: u64) -> u64 {
    0x7f00_0000_0000 + page * 4096
}

/// A load of `page` whose physical address lies in `frame`.
fn load_at(at: u64, id: u64, page: u64, frame: u64) -> (u64, Lane, Request) {
    let request = request(id, Access::Load, page);
    (at, Lane::Request, Request { phys: Some(PhysAddr(phys(frame).0 + 64 * id)), ..request })
}

/// Changes the tables at cycle `at` and shoots them down; records when that is complete.
fn kernel(
    world: &World,
    at: u64,
    after: Tables,
    what: Shootdown,
    stages: Vec<Vec<Wire<Forgotten, Shootdown>>>,
) -> Arc<Mutex<Option<u64>>> {
    let shootdowns = Shootdowns::new(stages, &world.roots, &world.root.scope("kernel"));
    let (frames, done) = (Rc::clone(&world.frames), Arc::new(Mutex::new(None)));
    let result = Arc::clone(&done);
    world.place().spawn("kernel", |cx| async move {
        cx.pause(at).await;
        *frames.borrow_mut() = after.frames;
        shootdowns.shoot(what).await;
        *result.lock().unwrap() = Some(cx.now().0);
    });
    done
}

/// An MMU over walkers, 10 cycles from a kernel that shoots down `what` at cycle `at`.
fn shot(at: u64, cost: u64, what: Shootdown, sends: Vec<(u64, Lane, Request)>) -> (Vec<(u64, u64)>, u64, u64) {
    let done = Arc::new(Mutex::new(None));
    let result = Arc::clone(&done);
    let mut after = Tables::of([5, 6]);
    after.map(virt(5), phys(55));
    let (run, log) = finish(Tables::of([5, 6]), move |world| {
        let (wire, control) = world.control(10);
        let spec = MmuSpec { shootdown: Cycles(cost), ..MMU };
        world.mmu_with(spec, "dtlb", world.walkers(WALKERS, None), Some(control), sends);
        *result.lock().unwrap() = Some(kernel(world, at, after, what, vec![vec![wire]]));
    });
    let done = done.lock().unwrap().take().unwrap().lock().unwrap().expect("the shootdown ended");
    let dropped =
        run.total().0.iter().find(|(path, _)| path.ends_with(".shot_down")).map(|(path, _)| run.total().count(path));
    (times(&log), done, dropped.unwrap())
}

#[test]
fn a_page_that_is_shot_down_is_forgotten_and_nothing_else() {
    let sends = vec![load(0, 1, 5), load(0, 2, 6), load_at(300, 3, 5, 55), load(300, 4, 6)];
    let (times, done, dropped) = shot(200, 0, PAGE, sends);
    assert_eq!((done, dropped), (220, 1), "there and back");
    assert_eq!(times, [(1, MISS), (2, MISS), (4, 300), (3, 300 + MISS)]);
}

#[test]
fn a_shootdown_keeps_an_mmu_busy_as_long_as_it_costs() {
    let sends = vec![load(0, 1, 5), load(0, 2, 6), load(215, 3, 6)];
    let (times, done, _) = shot(200, 25, PAGE, sends);
    assert_eq!((done, times[2]), (245, (3, 235)));
}

#[test]
fn whole_address_spaces_are_forgotten_at_once() {
    for what in [Shootdown::Space { asid: SPACE }, Shootdown::All] {
        let sends = vec![load(0, 1, 5), load(0, 2, 6), load(300, 4, 6)];
        let (times, _, dropped) = shot(200, 0, what, sends);
        assert_eq!((dropped, times[2]), (2, (4, 300 + MISS)));
    }
}

#[test]
fn a_page_that_is_looked_up_during_a_shootdown_is_waited_for_and_not_cached() {
    // The page moves at 60. Its entry is read after that, for a request that uses the old address.
    let (times, done, dropped) = shot(60, 0, PAGE, vec![load(50, 1, 5), load_at(200, 2, 5, 55)]);
    assert_eq!((times[0], done, dropped), ((1, 50 + MISS), 50 + MISS + 10, 0), "answered when the walk has ended");
    assert_eq!(times[1], (2, 200 + MISS));
}

#[test]
fn a_page_that_is_removed_while_it_is_looked_up_is_detected() {
    let mut after = Tables::of([5]);
    after.unmap(virt(5));
    let (_, log) = finish(Tables::of([5]), move |world| {
        let (wire, control) = world.control(10);
        world.mmu_with(MMU, "dtlb", world.walkers(WALKERS, None), Some(control), vec![load(50, 1, 5)]);
        kernel(world, 60, after, PAGE, vec![vec![wire]]);
    });
    assert_eq!(times(&log), [(1, 50 + MISS)]);
}

#[test]
fn until_all_elements_have_dropped_a_page_requests_may_use_the_old_page_or_the_new_one() {
    // Changed at 200, dropped at 210: in between, one request uses the new page and one the old page.
    let sends = vec![load(0, 1, 5), load_at(203, 2, 5, 55), load(204, 3, 5), load_at(400, 4, 5, 55)];
    let (times, done, _) = shot(200, 0, PAGE, sends);
    assert_eq!(times, [(1, MISS), (2, 203 + MISS), (3, 203 + MISS), (4, 400 + MISS)]);
    assert_eq!(done, 203 + MISS + 10);
}

#[test]
fn page_walk_caches_are_shot_down_too() {
    // The kernel moves the table itself: an entry in the page-walk cache would lead to the old one.
    let mut after = Tables::new();
    after.map(virt(9000), phys(9000));
    after.map(virt(5), phys(55));
    let reads = |cache: PageWalkCache, shoot: bool| {
        let after = after.clone();
        let (run, _) = crate::world::simulate(Tables::of([5]), move |world| {
            let (mmu, there) = world.wires(2, 3);
            let ((to_mmu, mmu_control), (to_walkers, control)) = (world.control(1), world.control(1));
            let walk = Walk::Tables { memory: world.memory(), page_walk_cache: Some(cache) };
            let spec = WalkersSpec { shootdown: Cycles(4), ..WALKERS };
            walkers(spec, walk, vec![there], Some(control), &world.roots, &world.root.scope("walkers"));
            world.mmu_with(MMU, "dtlb", mmu, Some(mmu_control), vec![load(0, 1, 5), load_at(300, 2, 5, 55)]);
            let stages = if shoot { vec![vec![to_walkers], vec![to_mmu]] } else { vec![vec![to_mmu]] };
            kernel(world, 200, after, PAGE, stages);
        });
        assert_eq!(run.outcome, engine::Outcome::Finished);
        run.total().count("walkers.entries_read")
    };
    let (levels, lines) = (PageWalkCache::Levels(tlb(16)), PageWalkCache::Lines(tlb(16)));
    assert_eq!([reads(levels, true), reads(lines, true)], [8, 8], "both walks read every level");
    assert_eq!(reads(levels, false), 5, "the second begins at a table that is none any more");
    assert_eq!(reads(lines, false), 4, "the second goes by lines that have changed");
}

#[test]
fn whom_others_ask_forgets_first() {
    let mut after = Tables::of([5]);
    after.map(virt(5), phys(55));
    let done = Arc::new(Mutex::new(None));
    let result = Arc::clone(&done);
    let (run, log) = finish(Tables::of([5]), move |world| {
        let (mmu, there) = world.wires(7, 7);
        let ((to_mmu, mmu_control), (to_iommu, control)) = (world.control(10), world.control(20));
        let walk = Walk::Tables { memory: world.memory(), page_walk_cache: Some(PageWalkCache::Levels(tlb(16))) };
        let tlb = SharedTlbSpec { tlb: tlb(16), lookups: Some(1), banks: 1, misses: 4, shootdown: Cycles(3) };
        let spec = IommuSpec { tlb, walkers: WalkersSpec { shootdown: Cycles(4), ..WALKERS } };
        iommu(spec, walk, vec![there], None, Some(control), &world.roots, &world.root.scope("iommu"));
        world.mmu_with(MMU, "dtlb", mmu, Some(mmu_control), vec![load(0, 1, 5), load_at(300, 2, 5, 55)]);
        *result.lock().unwrap() = Some(kernel(world, 200, after, PAGE, vec![vec![to_iommu], vec![to_mmu]]));
    });
    let done = done.lock().unwrap().take().unwrap().lock().unwrap().expect("the shootdown ended");
    assert_eq!(done, 200 + 20 + 4 + 3 + 20 + 10 + 10);
    assert_eq!(times(&log)[1], (2, 300 + 14 + 4 * READ));
    assert_eq!(run.total().count("iommu.tlb.shot_down"), 1);
    assert_eq!(run.total().count("iommu.walkers.shot_down"), 3, "one for each upper level");
}
