//! Walks of a driver's tables, and faults that the driver handles.

use crate::{
    tables::{Tables, phys, virt},
    world::{MMU, SPACE, WALKERS, World, finish, request, simulate, times, tlb},
};
use engine::{Cycles, Lane, Outcome};
use mem::{Access, Request};
use vm::{DriverTables, IommuSpec, SharedTlbSpec, Shootdown, Shootdowns, Walk, iommu};

/// Latency of a walk; the wires add 2 cycles there and 3 back.
const WALK: u64 = 10;
const FOUND: u64 = 2 + WALK + 3;

/// A request without a physical address.
fn unplaced(at: u64, id: u64, access: Access, page: u64) -> (u64, Lane, Request) {
    (at, Lane::Request, Request { phys: None, ..request(id, access, page) })
}

/// An MMU over an IOMMU that walks the driver's tables, and the shootdowns that reach both.
fn faulting(world: &World, tables: &DriverTables, sends: Vec<(u64, Lane, Request)>) -> Shootdowns {
    let (mmu, there) = world.wires(2, 3);
    let ((to_mmu, mmu_control), (to_iommu, control)) = (world.control(5), world.control(5));
    let walk = Walk::Driver { latency: Cycles(WALK), tables: tables.clone() };
    let tlb = SharedTlbSpec { tlb: tlb(16), lookups: None, banks: 1, misses: 4, shootdown: Cycles(0) };
    iommu(
        IommuSpec { tlb, walkers: WALKERS },
        walk,
        vec![there],
        None,
        Some(control),
        &world.roots,
        &world.root.scope("iommu"),
    );
    world.mmu_with(MMU, "dtlb", mmu, Some(mmu_control), sends);
    Shootdowns::new(vec![vec![to_iommu], vec![to_mmu]], &world.roots, &world.root.scope("kernel"))
}

#[test]
fn a_page_that_is_there_is_found_without_the_driver() {
    let (run, log) = finish(Tables::new(), |world| {
        let tables = DriverTables::default();
        tables.insert(SPACE, virt(5), phys(55), true);
        faulting(world, &tables, vec![unplaced(0, 1, Access::Load, 5)]);
    });
    assert_eq!(times(&log), [(1, FOUND)]);
    assert_eq!(log[0].1.phys, Some(mem::PhysAddr(phys(55).0 + 64)));
    assert_eq!(run.total().count("iommu.walkers.faults"), 0);
}

#[test]
fn a_request_waits_until_the_driver_has_mapped_its_page() {
    let (run, log) = finish(Tables::new(), |world| {
        let tables = DriverTables::default();
        let sends =
            vec![unplaced(0, 1, Access::Load, 5), unplaced(1, 2, Access::Load, 5), unplaced(2, 3, Access::Load, 6)];
        tables.insert(SPACE, virt(6), phys(6), true);
        faulting(world, &tables, sends);
        world.place().spawn("driver", |cx| async move {
            cx.pause(100).await;
            let faults = tables.take_faults();
            assert_eq!(faults.iter().map(|fault| (fault.page, fault.write)).collect::<Vec<_>>(), [(virt(5), false)]);
            tables.insert(SPACE, virt(5), phys(77), true);
            tables.answer(SPACE, virt(5), Ok(()));
        });
    });
    assert_eq!(times(&log), [(3, 2 + FOUND), (1, 103), (2, 103)], "others pass those that wait");
    assert_eq!(run.total().count("iommu.walkers.faults"), 1, "the second waited with the first");
}

#[test]
fn a_write_to_a_page_that_can_only_be_read_faults() {
    let (_, log) = finish(Tables::new(), |world| {
        let tables = DriverTables::default();
        tables.insert(SPACE, virt(5), phys(5), false);
        let sends = vec![unplaced(0, 1, Access::Load, 5), unplaced(50, 2, Access::Store, 5)];
        faulting(world, &tables, sends);
        world.place().spawn("driver", |cx| async move {
            cx.pause(200).await;
            let faults: Vec<_> = tables.take_faults().iter().map(|fault| (fault.page, fault.write)).collect();
            assert_eq!(faults, [(virt(5), true)]);
            tables.insert(SPACE, virt(5), phys(5), true);
            tables.answer(SPACE, virt(5), Ok(()));
        });
    });
    assert_eq!(times(&log), [(1, FOUND), (2, 203)]);
}

#[test]
fn a_page_can_be_removed_while_its_neighbour_is_outstanding() {
    // Pages 5 and 6 lie in one huge page, so the shootdown of one affects both.
    let (_, log) = finish(Tables::new(), |world| {
        let tables = DriverTables::default();
        tables.insert(SPACE, virt(5), phys(5), true);
        let sends =
            vec![unplaced(0, 1, Access::Load, 5), unplaced(40, 2, Access::Load, 6), unplaced(300, 3, Access::Load, 5)];
        let shootdowns = faulting(world, &tables, sends);
        world.place().spawn("driver", |cx| async move {
            cx.pause(100).await;
            tables.remove(SPACE, virt(5));
            shootdowns.shoot(Shootdown::Page { asid: SPACE, virt: virt(5) }).await;
            assert!(cx.now().0 < 200, "the shootdown does not wait for the fault");
            tables.insert(SPACE, virt(6), phys(66), true);
            tables.answer(SPACE, virt(6), Ok(()));
            cx.pause(300).await;
            tables.insert(SPACE, virt(5), phys(55), true);
            tables.answer(SPACE, virt(5), Ok(()));
        });
    });
    let ids: Vec<u64> = log.iter().map(|(_, request)| request.id.0).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(log[2].1.phys, Some(mem::PhysAddr(phys(55).0 + 3 * 64)), "the old page is forgotten");
}

#[test]
fn an_access_that_the_driver_refuses_ends_the_run() {
    let (run, _) = simulate(Tables::new(), |world| {
        let tables = DriverTables::default();
        faulting(world, &tables, vec![unplaced(0, 1, Access::Load, 5)]);
        world.place().spawn("driver", |cx| async move {
            cx.pause(50).await;
            tables.answer(SPACE, virt(5), Err("nothing is there".to_owned()));
        });
    });
    assert!(matches!(run.outcome, Outcome::Failed { ref message, .. } if message == "nothing is there"));
}

#[test]
fn a_page_can_be_removed_while_requests_for_it_wait_behind_others() {
    // Two requests can wait in the MMU. Requests behind them, among them the one for the page that is unmapped, stay
    // queued until one of the two goes on.
    let (_, log) = finish(Tables::new(), |world| {
        let tables = DriverTables::default();
        tables.insert(SPACE, virt(5), phys(5), true);
        let sends = (6..9).map(|page| unplaced(40, page, Access::Load, page)).chain([unplaced(41, 5, Access::Load, 5)]);
        let (mmu, there) = world.wires(2, 3);
        let ((to_mmu, mmu_control), (to_iommu, control)) = (world.control(5), world.control(5));
        let walk = Walk::Driver { latency: Cycles(WALK), tables: tables.clone() };
        let tlb = SharedTlbSpec { tlb: tlb(16), lookups: None, banks: 1, misses: 4, shootdown: Cycles(0) };
        let spec = IommuSpec { tlb, walkers: WALKERS };
        iommu(spec, walk, vec![there], None, Some(control), &world.roots, &world.root.scope("iommu"));
        let few = vm::MmuSpec { waiting: 2, ..MMU };
        world.mmu_with(few, "dtlb", mmu, Some(mmu_control), sends.collect());
        let shootdowns = Shootdowns::new(vec![vec![to_iommu], vec![to_mmu]], &world.roots, &world.root.scope("kernel"));
        world.place().spawn("driver", |cx| async move {
            cx.pause(100).await;
            tables.remove(SPACE, virt(5));
            shootdowns.shoot(Shootdown::Page { asid: SPACE, virt: virt(5) }).await;
            for page in [6, 7, 8, 5] {
                tables.insert(SPACE, virt(page), phys(page + 50), true);
                tables.answer(SPACE, virt(page), Ok(()));
            }
        });
    });
    let mut ids: Vec<u64> = log.iter().map(|(_, request)| request.id.0).collect();
    ids.sort_unstable();
    assert_eq!(ids, [5, 6, 7, 8]);
}
