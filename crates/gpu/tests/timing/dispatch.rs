//! The launch of a kernel, its workgroups, its end.

use crate::{
    code::{FIRST_WORKGROUP, S_ENDPGM, SKIP_ONE_IF_NOT, SLEEP_64},
    rig::{LINK, Rig, VECTOR},
};
use engine::Cycles;
use gpu::{DispatcherSpec, Placement};
use mem::Access;

/// A kernel that ends at once.
const EMPTY: [u32; 1] = [S_ENDPGM];

/// An order to a vector cache, there and back: 5 + 20 + 5.
const ORDER: u64 = LINK + VECTOR + LINK;

fn dispatcher() -> DispatcherSpec {
    Rig::default().dispatcher
}

/// Issued in cycle 114, `s_endpgm` ends the workgroup, and the dispatcher learns of it in 119. The order to flush
/// first-level caches arrives in 124; the vector cache, the slowest, has carried it out in 144: 149.
#[test]
fn a_kernel_of_one_workgroup_ends_when_its_stores_have_left_first_level_caches() {
    let report = Rig::default().run(&EMPTY);
    assert_eq!(report.code, [[(105, 0)]]);
    assert_eq!(report.orders, [(124, Access::Flush)]);
    assert_eq!(report.ends, [149]);
}

/// Invalidating before the kernel and flushing the shared caches after it are an order each, of 30 cycles; `finish`
/// adds its 40 at the end: 149 + 30 + 30 + 40.
#[test]
fn orders_around_a_kernel_and_its_finish_add_to_its_time() {
    assert_eq!(ORDER, 30);
    let invalidating = Rig { dispatcher: DispatcherSpec { invalidate: true, ..dispatcher() }, ..Rig::default() };
    let report = invalidating.clone().run(&EMPTY);
    assert_eq!(report.orders, [(105, Access::Invalidate), (154, Access::Flush)]);
    assert_eq!(report.ends, [149 + 30]);
    let report = Rig { flush: true, ..invalidating.clone() }.run(&EMPTY);
    assert_eq!(report.orders[1..], [(154, Access::Flush), (184, Access::Flush)]);
    assert_eq!(report.ends, [149 + 60]);
    let dispatcher = DispatcherSpec { finish: Cycles(40), ..invalidating.dispatcher };
    assert_eq!(Rig { dispatcher, flush: true, ..invalidating }.run(&EMPTY).ends, [149 + 100]);
}

/// The first launch takes 100 cycles, the next one 50; all else is equal: 149, and 149 + 99.
#[test]
fn the_first_launch_of_a_dispatcher_takes_longer_than_the_next() {
    assert_eq!(Rig { launches: 2, ..Rig::default() }.run(&EMPTY).ends, [149, 248]);
}

/// A workgroup every 10 cycles from cycle 100 on; each fetches its code 5 cycles later.
#[test]
fn workgroups_start_an_interval_apart() {
    let dispatcher = DispatcherSpec { interval: Cycles(10), ..dispatcher() };
    let report = Rig { dispatcher, workgroups: 4, ..Rig::default() }.run(&EMPTY);
    assert_eq!(report.code, [[(105, 0), (115, 0), (125, 0), (135, 0)]]);
}

/// Two workgroups at a time, and then 10 cycles. On one unit their wavefronts fetch one after the other, a line a
/// cycle; on two units, at the same time.
#[test]
fn a_burst_of_workgroups_starts_together() {
    let dispatcher = DispatcherSpec { interval: Cycles(10), burst: 2, ..dispatcher() };
    let rig = Rig { dispatcher, workgroups: 4, ..Rig::default() };
    assert_eq!(rig.clone().run(&EMPTY).code, [[(105, 0), (106, 0), (115, 0), (116, 0)]]);
    assert_eq!(Rig { units: 2, ..rig }.run(&EMPTY).code, [[(105, 0), (115, 0)], [(105, 0), (115, 0)]]);
}

/// A unit with place for one wavefront. The first workgroup fetches in 105 and ends in 114; the dispatcher learns of it
/// in 119, and the next one fetches in 124, 19 cycles after the first. With place for two, the first two fetch in 105
/// and 106, end in 114 and 115, and the next two fetch in 124 and 125.
#[test]
fn a_workgroup_waits_until_the_dispatcher_has_learnt_of_the_end_of_another() {
    let rig = |waves_per_simd| {
        let mut rig = Rig { workgroups: 4, ..Rig::default() };
        (rig.unit.simds, rig.unit.waves_per_simd) = (1, waves_per_simd);
        rig
    };
    let report = rig(1).run(&EMPTY);
    assert_eq!(report.code, [[(105, 0), (124, 0), (143, 0), (162, 0)]]);
    assert_eq!(report.ends, [149 + 3 * 19]);
    assert_eq!(rig(2).run(&EMPTY).code, [[(105, 0), (106, 0), (124, 0), (125, 0)]]);
}

/// Two units with place for one wavefront, and three workgroups. Each compares its number in 114 (2 + 1 cycles) and
/// branches in 117 (2 + 4): the second ends in 123, which the dispatcher learns in 128. The first sleeps for 64 cycles
/// and ends in 187, reported in 192. A third workgroup that may go anywhere is sent to the second unit in 128 and fetches
/// in 133. One that is bound waits for the first unit: 192 and 197.
#[test]
fn a_bound_workgroup_waits_for_its_unit_while_another_is_free() {
    let run = |placement| {
        let mut rig = Rig { units: 2, workgroups: 3, ..Rig::default() };
        (rig.unit.simds, rig.unit.waves_per_simd, rig.dispatcher.placement) = (1, 1, placement);
        rig.run(&[FIRST_WORKGROUP, SKIP_ONE_IF_NOT, SLEEP_64, S_ENDPGM]).code
    };
    assert_eq!(run(Placement::Free), [vec![(105, 0)], vec![(105, 0), (133, 0)]]);
    assert_eq!(run(Placement::Bound), [vec![(105, 0), (197, 0)], vec![(105, 0)]]);
}
