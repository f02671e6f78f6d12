//! Deadlocks through translation: the report shows the cycle of waits.

use crate::{
    tables::Tables,
    world::{MMU, SPACE, WALKERS, World, load, request, simulate, tlb},
};
use engine::{Cycles, Lane, Outcome, Run, WaitReport};
use mem::{Access, Reply, Request};
use std::rc::Rc;
use vm::{Mmu, SharedTlb, SharedTlbSpec, Shootdown, Shootdowns, Walk, WalkersSpec, walkers};

const ONE_WALKER: WalkersSpec = WalkersSpec { walkers: 1, ..WALKERS };

fn report(run: Run) -> WaitReport {
    match run.outcome {
        Outcome::Deadlock(report) => report,
        other => panic!("{other}"),
    }
}

/// The members of the circle, sorted.
fn circle(report: &WaitReport) -> Vec<&str> {
    let mut circle: Vec<&str> = report.circle.iter().map(String::as_str).collect();
    circle.sort_unstable();
    circle
}

/// A memory that must itself load something through the MMU before it answers the only walker.
fn memory_that_needs_the_mmu(world: &World, has_shared_tlb: bool) {
    let (memory, there) = world.wires::<Request, Reply>(10, 10);
    let (mut mmu_side, asker) = world.wires(2, 3);
    let walk = Walk::Tables { memory, page_walk_cache: None };
    walkers(ONE_WALKER, walk, vec![asker], None, &world.roots, &world.root.scope("walkers"));
    if has_shared_tlb {
        let (above, asker) = world.wires(2, 3);
        let spec = SharedTlbSpec { tlb: tlb(4), lookups: None, banks: 1, misses: 4, shootdown: Cycles(0) };
        let scope = world.root.scope("l2tlb");
        let shared = SharedTlb::new(spec, vec![asker], std::mem::replace(&mut mmu_side, above), None, None, &scope);
        scope.serve("control", |cx| shared.run(cx));
    }
    let ((data, core), (of_memory, loads)) = (world.port("data", 8), world.port("of_memory", 8));
    let scope = world.root.scope("mmu");
    let mmu = Mmu::new(MMU, vec![data, of_memory], mmu_side, None, &world.roots, &scope);
    scope.serve("control", |cx| mmu.run(cx));
    world.requester(core, vec![load(0, 1, 5)]);
    world.root.serve("memory", |cx| async move {
        there.from.recv(Lane::Request).await;
        loads.send(Lane::Request, request(2, Access::Load, 6), 8).await;
        let answer = cx.scope().eventcount("answer");
        while answer.rest(1).await {
            cx.needs_of_receiver("what it loads itself", &loads, Lane::Request);
        }
    });
}

#[test]
fn a_walker_whose_memory_waits_for_a_walker_is_on_a_circle() {
    let (run, _) = simulate(Tables::of([5, 6]), |world| memory_that_needs_the_mmu(world, false));
    let report = report(run);
    assert_eq!(circle(&report), ["memory", "mmu.control", "walkers.accept", "walkers.walker0"], "{report}");
    let text = report.to_string();
    assert!(text.contains("walkers.walker0 waits for the entry of a page table at 0x"), "{text}");
    assert!(text.contains("mmu.control waits for 2 translations since"), "{text}");
    assert!(text.contains("walkers.accept waits for the end of the walk to page 0x"), "{text}");
}

#[test]
fn a_shared_tlb_between_them_is_on_the_circle_too() {
    let (run, _) = simulate(Tables::of([5, 6]), |world| memory_that_needs_the_mmu(world, true));
    let report = report(run);
    let expected = ["l2tlb.control", "memory", "mmu.control", "walkers.accept", "walkers.walker0"];
    assert_eq!(circle(&report), expected, "{report}");
    assert!(report.to_string().contains("l2tlb.control waits for 2 translations since"), "{report}");
}

/// A memory that waits for a shootdown before it answers the only walker. `kernel`: another shootdown has started by
/// then.
fn memory_that_shoots(kernel: bool) -> WaitReport {
    let (run, _) = simulate(Tables::of([5]), move |world| {
        let (memory, there) = world.wires::<Request, Reply>(10, 10);
        let (below, asker) = world.wires(2, 3);
        let (wire, control) = world.control(4);
        let walk = Walk::Tables { memory, page_walk_cache: None };
        walkers(ONE_WALKER, walk, vec![asker], Some(control), &world.roots, &world.root.scope("walkers"));
        world.mmu(MMU, below, vec![load(0, 1, 5)]);
        let shootdowns = Rc::new(Shootdowns::new(vec![vec![wire]], &world.roots, &world.root.scope("shootdowns")));
        if kernel {
            let shootdowns = Rc::clone(&shootdowns);
            world.root.spawn("kernel", |cx| async move {
                cx.pause(4).await;
                shootdowns.shoot(Shootdown::Space { asid: SPACE }).await;
            });
        }
        world.root.serve("memory", |_| async move {
            let read = there.from.recv(Lane::Request).await;
            shootdowns.shoot(Shootdown::Space { asid: SPACE }).await;
            let reply = Reply { id: read.id, data: read.data, stamp: 0 };
            there.to.send(Lane::Reply, reply, 8).await;
        });
    });
    report(run)
}

#[test]
fn a_shootdown_that_waits_for_a_walk_is_on_the_circle_of_the_memory_that_the_walk_waits_for() {
    let report = memory_that_shoots(false);
    assert_eq!(circle(&report), ["memory", "walkers.shootdown", "walkers.walker0"], "{report}");
    assert!(report.to_string().contains("walkers.shootdown waits for the end of the walk to page 0x"), "{report}");
}

#[test]
fn a_shootdown_that_waits_for_another_names_the_context_that_has_begun_it() {
    let report = memory_that_shoots(true);
    let expected = ["kernel", "memory", "walkers.shootdown", "walkers.walker0"];
    assert_eq!(circle(&report), expected, "{report}");
    assert!(report.to_string().contains("memory waits for shootdowns.turn.room"), "{report}");
}
