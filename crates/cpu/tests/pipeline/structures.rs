//! Widths, queues, registers and units each limit the throughput as they should.

use crate::{
    rig::Latency,
    script::{Step, compute, difference, fresh, load, play, store},
};
use cpu::{CoreSpec, Registers, Timing, Unit};
use x86::trace::Class;

/// A core with ample resources, so that a resource made small in a test is the only limit.
pub fn wide() -> CoreSpec {
    CoreSpec {
        rob: 256,
        issue_queue: 256,
        load_queue: 256,
        store_queue: 256,
        micro_op_queue: 64,
        fetch_queue: 64,
        registers: Registers { integer: 512, x87: 512, xmm: 512 },
        ..CoreSpec::default()
    }
}

fn with_unit(class: Class, timing: Timing) -> CoreSpec {
    CoreSpec { units: vec![Unit::new(&[class], timing)], ..wide() }
}

fn independent(count: usize) -> Vec<Step> {
    (0..count).map(|n| fresh(Class::Integer, (n % 8) as u8)).collect()
}

fn chain(class: Class, count: usize) -> Vec<Step> {
    (0..count).map(|_| compute(class, 0, 1)).collect()
}

const FAR: u64 = 0x100_0000;
const LATENCY: u64 = 100;

/// Lines from `FAR` on are slow.
fn far() -> Latency {
    Latency { slow: (FAR, LATENCY), ..Latency::default() }
}

/// Loads of different slow lines into registers in turn.
fn far_loads(count: u64) -> Vec<Step> {
    (0..count).map(|n| load((n % 8) as u8, 15, FAR + 64 * n)).collect()
}

/// Checks that `count` slow accesses, `most` of them in parallel, take as long as they should.
fn assert_at_once(spec: &CoreSpec, steps: Vec<Step>, count: u64, most: u64) {
    let cycles = play(spec, far(), steps).cycles();
    let expected = count / most * LATENCY;
    assert!((expected..expected + expected / 8).contains(&cycles), "{cycles} cycles, expected {expected}");
}

#[test]
fn a_chain_of_additions_runs_at_its_latency() {
    for latency in [1, 3] {
        let spec = with_unit(Class::Integer, Timing::new(4, latency, 1));
        let longer = chain(Class::Integer, 2000);
        assert_eq!(difference(&spec, Latency::default(), longer, chain(Class::Integer, 1000)), 1000 * latency);
    }
}

#[test]
fn independent_additions_run_at_the_width() {
    assert_eq!(difference(&wide(), Latency::default(), independent(4000), independent(2000)), 500);
}

#[test]
fn every_stage_limits_the_flow_by_its_width() {
    let narrow: [fn(&mut CoreSpec) -> &mut usize; 5] = [
        |spec| &mut spec.fetch_width,
        |spec| &mut spec.decode_width,
        |spec| &mut spec.dispatch_width,
        |spec| &mut spec.issue_width,
        |spec| &mut spec.commit_width,
    ];
    for (stage, width) in narrow.into_iter().enumerate() {
        let mut spec = wide();
        *width(&mut spec) = 2;
        let taken = difference(&spec, Latency::default(), independent(4000), independent(2000));
        assert_eq!(taken, 1000, "stage {stage}");
    }
}

#[test]
fn a_unit_that_is_not_pipelined_takes_one_after_the_other() {
    let divide = |count| (0..count).map(|n| fresh(Class::Divide, (n % 8) as u8)).collect();
    for (count, interval, expected) in [(1, 20, 2000), (2, 20, 1000), (1, 1, 100)] {
        let spec = with_unit(Class::Divide, Timing::new(count, 20, interval));
        assert_eq!(difference(&spec, Latency::default(), divide(200), divide(100)), expected);
    }
}

#[test]
fn the_rob_limits_what_is_in_flight() {
    let spec = CoreSpec { rob: 8, ..wide() };
    assert_at_once(&spec, far_loads(80), 80, 8);
    assert_eq!(play(&spec, far(), far_loads(80)).most_in_rob(), 8);
}

#[test]
fn the_load_queue_limits_loads_in_flight() {
    assert_at_once(&CoreSpec { load_queue: 4, ..wide() }, far_loads(80), 80, 4);
}

#[test]
fn the_store_queue_limits_stores_in_flight() {
    let stores = (0..80).map(|n| store(0, 15, FAR + 64 * n)).collect();
    assert_at_once(&CoreSpec { store_queue: 4, ..wide() }, stores, 80, 4);
}

#[test]
fn the_issue_queue_limits_what_waits_for_inputs() {
    // Each addition depends on a different load.
    let pairs =
        (0..80).flat_map(|n| [load((n % 8) as u8, 15, FAR + 64 * n), compute(Class::Integer, (n % 8) as u8, 14)]);
    assert_at_once(&CoreSpec { issue_queue: 4, ..wide() }, pairs.collect(), 80, 4);
}

#[test]
fn physical_registers_limit_results_in_flight() {
    let registers = Registers { integer: 17 + 4, ..wide().registers };
    assert_at_once(&CoreSpec { registers, ..wide() }, far_loads(80), 80, 4);
}

#[test]
fn a_queue_of_one_instruction_lets_one_through_in_a_cycle() {
    for spec in [CoreSpec { fetch_queue: 1, ..wide() }, CoreSpec { micro_op_queue: 1, ..wide() }] {
        let taken = difference(&spec, Latency::default(), independent(4000), independent(2000));
        assert!((2000..2300).contains(&taken), "{taken}");
    }
}

#[test]
fn far_code_stalls_fetch_and_asking_for_the_next_line_helps() {
    let latency = Latency { code: 40, ..Latency::default() };
    // A line has 16 instructions; the fetch queue holds one line.
    let spec = CoreSpec { fetch_queue: 16, ..wide() };
    let alone = play(&spec, latency, independent(1600));
    assert!(alone.cycles() > 100 * 40 && alone.phase("fetch_stall") > 100 * 30, "{} cycles", alone.cycles());
    let ahead = play(&CoreSpec { next_line: true, ..spec }, latency, independent(1600));
    assert!(ahead.cycles() * 3 < alone.cycles() * 2, "{} and {}", ahead.cycles(), alone.cycles());
}

#[test]
fn every_cycle_has_one_reason() {
    let steps = far_loads(20).into_iter().chain(independent(100)).collect();
    let report = play(&CoreSpec::default(), far(), steps);
    assert_eq!(report.all_cycles(), report.run.end.0.div_ceil(engine::Time::nanos(1).0));
    assert!(report.phase("read_stall") > LATENCY / 2);
    assert_eq!((report.count("instructions"), report.count("micro_ops"), report.count("loads")), (120, 120, 20));
}
