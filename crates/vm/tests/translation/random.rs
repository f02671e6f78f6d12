//! Many requests, few resources, pages that move: no request is lost, ordered requests stay in order, and the run
//! ends.

use crate::{
    tables::{Tables, phys, virt},
    world::{SPACE, WALKERS, finish, request, tlb},
};
use engine::{Cycles, Lane, Run};
use mem::{Access, PhysAddr, Request, SplitMix64};
use std::{cell::RefCell, rc::Rc};
use vm::{IommuSpec, MmuSpec, PageSize, PageWalkCache, SharedTlbSpec, Shootdown, Shootdowns, Walk, WalkersSpec, iommu};

const UNITS: u64 = 3;
const PAGES: u64 = 12;
const REQUESTS: u64 = 400;
const MOVES: u64 = 12;

/// Units access random pages, while a kernel moves random pages and shoots them down.
fn run(seed: u64) -> (Run, Vec<(u64, Request)>) {
    finish(Tables::of(0..PAGES), move |world| {
        let (ours, theirs): (Vec<_>, Vec<_>) = (0..UNITS).map(|_| world.wires(3, 3)).unzip();
        let (to_iommu, control) = world.control(5);
        let cache = if seed.is_multiple_of(2) { PageWalkCache::Levels(tlb(4)) } else { PageWalkCache::Lines(tlb(4)) };
        let walk = Walk::Tables { memory: world.memory(), page_walk_cache: Some(cache) };
        let shared = SharedTlbSpec { tlb: tlb(6), lookups: Some(1), banks: 1, misses: 2, shootdown: Cycles(2) };
        let spec = IommuSpec { tlb: shared, walkers: WalkersSpec { queue: 1, shootdown: Cycles(3), ..WALKERS } };
        iommu(spec, walk, theirs, None, Some(control), &world.roots, &world.root.scope("iommu"));
        // The frame of each page, which requesters use. The kernel changes it together with the tables.
        let frames: Rc<RefCell<Vec<u64>>> = Rc::new(RefCell::new((0..PAGES).collect()));
        let mut to_mmus = Vec::new();
        for (unit, below) in ours.into_iter().enumerate() {
            let (order, control) = world.control(2);
            to_mmus.push(order);
            let (mut port, requester) = world.port(&format!("tlb{unit}"), 8);
            port.tlb = tlb(3);
            let spec = MmuSpec { lookups: 1, misses: 2, waiting: 3, shootdown: Cycles(1), lifetimes: false };
            let scope = world.root.scope(("mmu", unit));
            let mmu = vm::Mmu::new(spec, vec![port], below, Some(control), &world.roots, &scope);
            scope.serve("control", |cx| mmu.run(cx));
            let (frames, mut dice) = (Rc::clone(&frames), SplitMix64(seed * 1000 + unit as u64));
            world.place().spawn("unit", |cx| async move {
                for number in 0..REQUESTS {
                    cx.pause(dice.draw() % 12).await;
                    let (page, id) = (dice.draw() % PAGES, unit as u64 * REQUESTS + number);
                    let access = if dice.draw() % 3 == 0 { Access::Store } else { Access::Load };
                    let lane = lane(&request(id, access, page));
                    // The page could move while the unit waits for room, so the request is made after the wait.
                    while !requester.has_room(lane) {
                        cx.pause(1).await;
                    }
                    let request = request(id, access, page);
                    let place = phys(frames.borrow()[page as usize]).0 + request.virt.0 % 4096;
                    let request = Request { phys: Some(PhysAddr(place)), ..request };
                    assert!(requester.try_send(lane, request, 0).is_ok(), "there is room");
                }
            });
        }
        let shootdowns = Shootdowns::new(vec![vec![to_iommu], to_mmus], &world.roots, &world.root.scope("kernel"));
        let (memory, mut dice) = (Rc::clone(&world.frames), SplitMix64(seed));
        world.place().spawn("kernel", |cx| async move {
            for fresh in PAGES..PAGES + MOVES {
                cx.pause(100 + dice.draw() % 300).await;
                let page = dice.draw() % PAGES;
                frames.borrow_mut()[page as usize] = fresh;
                let tables = moved(&frames.borrow());
                *memory.borrow_mut() = tables.frames;
                shootdowns.shoot(Shootdown::Page { asid: SPACE, virt: virt(page) }).await;
            }
        });
    })
}

/// Stores travel in order.
fn lane(request: &Request) -> Lane {
    if request.access == Access::Store { Lane::Coherence } else { Lane::Request }
}

/// Tables that map each page to its current frame.
fn moved(frames: &[u64]) -> Tables {
    let mut tables = Tables::new();
    (0..).zip(frames).for_each(|(page, frame)| tables.map(virt(page), phys(*frame)));
    tables
}

#[test]
fn every_request_is_forwarded_once_and_in_order() {
    for seed in 0..30 {
        let (run, log) = run(seed);
        let mut ids: Vec<_> = log.iter().map(|(_, request)| request.id.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..UNITS * REQUESTS).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(run.total().count("iommu.tlb.shootdowns"), MOVES);
        let lanes = log.iter().map(|(_, request)| (lane(request), request.id.0 / REQUESTS, *request));
        for unit in 0..UNITS {
            let of = |lane| lanes.clone().filter(move |(other, of, _)| (*other, *of) == (lane, unit));
            let in_order: Vec<_> = of(Lane::Coherence).map(|(.., request)| request.id).collect();
            assert!(in_order.is_sorted(), "a core's stores stay in order (seed {seed}): {in_order:?}");
            for page in 0..PAGES {
                let of_page = |request: &Request| request.virt.align_down(PageSize::Small.bytes()) == virt(page);
                let ids = of(Lane::Request).filter(|(.., request)| of_page(request)).map(|(.., request)| request.id);
                assert!(ids.is_sorted(), "requests for a page stay in order (seed {seed}, page {page})");
            }
        }
    }
}

#[test]
fn a_run_with_shootdowns_has_the_same_statistics_each_time() {
    let ((first, one), (second, other)) = (run(7), run(7));
    assert_eq!((first.regions, one), (second.regions, other));
}
