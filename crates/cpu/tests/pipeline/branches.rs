//! The cost of mispredictions.

use crate::{
    rig::Latency,
    script::{LENGTH, Step, at, branch, compute, difference, fresh, load, play},
    structures::wide,
};
use cpu::{CoreSpec, Direction, PredictorSpec};
use engine::Cycles;
use x86::trace::{Branch, Class};

fn with(direction: Direction, penalty: u64) -> CoreSpec {
    let predictor = PredictorSpec { direction, penalty: Cycles(penalty), ..CoreSpec::default().predictor };
    CoreSpec { predictor, ..wide() }
}

/// A loop of eight instructions, taken `count` times.
fn turns(count: usize) -> Vec<Step> {
    let body = (0..count).flat_map(|turn| {
        let adds = (0..7).map(|n| at(0x1000 + LENGTH * n, fresh(Class::Integer, n as u8)));
        let next = if turn + 1 < count { 0x1000 } else { 0x1000 + 8 * LENGTH };
        adds.chain([branch(Branch::Conditional, 0, 0x1000 + 7 * LENGTH, next)])
    });
    body.collect()
}

#[test]
fn each_misprediction_costs_the_penalty() {
    let cost = |penalty| play(&with(Direction::Never, penalty), Latency::default(), turns(101)).cycles();
    assert_eq!(cost(10) - cost(0), 100 * 10);
    assert_eq!(cost(25) - cost(10), 100 * 15);
}

#[test]
fn a_misprediction_costs_the_way_from_fetch_to_execution() {
    // Fetched in cycle 0, decoded in 1 (the line has arrived), dispatched in 2, issued in 3, done in 4: fetch
    // continues.
    let turn = difference(&with(Direction::Never, 0), Latency::default(), turns(201), turns(101));
    // The seven instructions before the branch take one cycle more, as four are fetched per cycle.
    assert_eq!(turn, 100 * (4 + 1));
}

#[test]
fn a_loop_that_is_predicted_runs_at_the_width() {
    let report = play(&CoreSpec { ..with(Direction::Bimodal { counters: 1024 }, 20) }, Latency::default(), turns(1001));
    // Eight instructions in two cycles.
    assert!((2000..2050).contains(&report.cycles()), "{}", report.cycles());
    assert_eq!((report.count("branches"), report.count("mispredicted.direction")), (1001, 1));
    assert_eq!((report.count("misfetches"), report.count("code_lines")), (1, 1));
}

#[test]
fn fetch_waits_as_long_as_a_mispredicted_branch_waits_for_its_input() {
    let far = Latency { slow: (0x100_0000, 300), ..Latency::default() };
    let steps = |penalty: u64| {
        let after = (0..100).map(|n| fresh(Class::Integer, n % 8));
        let steps = [load(0, 15, 0x100_0000), branch(Branch::Conditional, 0, 0x1000, 0x2000)].into_iter().chain(after);
        play(&with(Direction::Never, penalty), far, steps.collect())
    };
    let report = steps(0);
    assert!((300 + 25..300 + 50).contains(&report.cycles()), "{}", report.cycles());
    assert!(report.phase("read_stall") > 280, "it was the load that held everything up");
    assert_eq!(steps(30).cycles() - report.cycles(), 30);
}

#[test]
fn a_jump_whose_target_is_not_known_waits_for_decode_only() {
    // A chain of jumps, each executed once.
    let jumps = |count: u64| -> Vec<Step> {
        (0..count).map(|n| branch(Branch::Direct, 0, 0x1000 + 64 * n, 0x1000 + 64 * (n + 1))).collect()
    };
    let report = play(&with(Direction::Never, 50), Latency::default(), jumps(100));
    assert_eq!((report.count("misfetches"), report.count("mispredicted.direction")), (100, 0));
    // Each line takes two cycles to arrive, then it is decoded.
    assert_eq!(difference(&with(Direction::Never, 50), Latency::default(), jumps(200), jumps(100)), 100 * 2);
}

#[test]
fn perfect_prediction_never_waits() {
    let report = play(&with(Direction::Perfect, 50), Latency::default(), turns(100));
    assert_eq!((report.count("mispredicted.direction"), report.count("misfetches")), (0, 0));
    assert!((200..230).contains(&report.cycles()), "{}", report.cycles());
}

#[test]
fn a_return_goes_where_its_call_came_from() {
    let calls = (0..50u64).flat_map(|n| {
        let from = 0x1000 + 64 * (n % 7);
        [
            branch(Branch::Call, 15, from, 0x8000),
            at(0x8000, compute(Class::Integer, 0, 1)),
            branch(Branch::Return, 15, 0x8004, from + LENGTH),
            branch(Branch::Direct, 15, from + LENGTH, 0x1000 + 64 * ((n + 1) % 7)),
        ]
    });
    let report = play(&with(Direction::Never, 0), Latency::default(), calls.collect());
    assert_eq!(report.count("mispredicted.return"), 0);
    assert_eq!(report.count("misfetches"), 14, "each place once");
    let shallow = with(Direction::Never, 0);
    let predictor = PredictorSpec { return_stack: 0, ..shallow.predictor };
    let calls = [branch(Branch::Call, 15, 0x1000, 0x8000), branch(Branch::Return, 15, 0x8000, 0x1004)];
    let report = play(&CoreSpec { predictor, ..shallow }, Latency::default(), calls.to_vec());
    assert_eq!(report.count("mispredicted.return"), 1);
}
