//! Programs that run functionally up to a point, and timed from there.

#[allow(dead_code, reason = "other tests need more of it")]
mod support;

use engine::{Outcome, Run, Value};
use machine::{Machine, Options, WARM_UP};
use os::{
    End,
    forward::{FastForward, Forwarded},
    process::Totals,
};
use support::{WORKLOADS, run_with};

fn machine(name: &str) -> Machine {
    let small = ["cpu.cores=2", "gpu.units_per_array=2"].map(str::to_owned);
    Machine::load(name, &small).expect("the machine is sound")
}

fn plan(to: &str, warm_up: &str) -> Option<FastForward> {
    let (to, warm_up) = (to.parse().expect("a point"), warm_up.parse().expect("a warm-up"));
    Some(FastForward::new(to, warm_up).expect("they go together"))
}

/// Runs a workload that launches six kernels and checks the result of each, with every read checked.
fn run(name: &str, forward: Option<FastForward>, threads: usize) -> (Totals, Run, String) {
    run_words(&["bfs", "--size", "256"], name, forward, threads)
}

fn run_words(words: &[&str], name: &str, forward: Option<FastForward>, threads: usize) -> (Totals, Run, String) {
    let how = Options { threads, check: true, forward, ..Options::default() };
    let (finish, run, out) = run_with(&machine(name), WORKLOADS, words, how);
    assert_eq!((&run.outcome, &finish.end), (&Outcome::Finished, &End::Exited { code: 0 }), "{name}: {out}");
    (finish.totals, run, out)
}

fn forwarded(totals: &Totals) -> Forwarded {
    totals.forwarded.expect("it was fast-forwarded")
}

/// Cycles and number of the kernels that a region of the run has measured.
fn kernels(run: &Run, region: &str) -> (u64, u64) {
    let regions = run.regions.iter().filter(|other| other.name == region);
    let values = regions.flat_map(|region| &region.statistics.0);
    let times = values.filter(|(path, _)| path.starts_with("front_end.kernels."));
    times.fold((0, 0), |(all, cycles), (_, value)| match value {
        Value::Histogram { count, sum, .. } => (all + count, cycles + sum),
        _ => (all, cycles),
    })
}

#[test]
fn a_fast_forwarded_run_has_the_result_of_the_whole_run_on_every_kind_of_machine() {
    for name in ["apu-c-l3", "apu-nc-l3", "apu-c-mc", "apu-nc-mc"] {
        let (_, whole, out) = run(name, None, 1);
        let all = kernels(&whole, "region_of_interest").0;
        for to in ["kernel:3", "roi", "instructions:30000"] {
            let (totals, part, told) = run(name, plan(to, "cold"), 1);
            assert_eq!(told, out, "{name}, {to}");
            assert!(part.end < whole.end && forwarded(&totals).reached, "{name}, {to}");
            let timed: u64 = part.regions.iter().map(|region| kernels(&part, &region.name).0).sum();
            assert_eq!(timed + forwarded(&totals).kernels, all, "{name}, {to}: no kernel is lost");
        }
    }
}

#[test]
fn a_run_that_is_forwarded_is_the_same_in_any_number_of_threads() {
    for (to, warm_up) in [("kernel:4", "kernels:2"), ("instructions:40k", "instructions:5k")] {
        let runs = [1, 2].map(|threads| run("apu-c-l3", plan(to, warm_up), threads));
        let [(totals, one, out), (others, two, printed)] = &runs;
        assert!((totals, &one.regions, out) == (others, &two.regions, printed), "{to}: threads change the run");
        let names: Vec<&str> = one.regions.iter().map(|region| region.name.as_str()).collect();
        assert_eq!(names[..3], ["start", WARM_UP, "measured"], "{to}");
    }
}

#[test]
fn after_one_kernel_of_warm_up_the_last_kernel_takes_as_long_as_in_the_whole_run() {
    // All four kernels of this program use the same data.
    let words = ["stencil", "--size", "tiny", "--no-check"];
    let last = |warm_up: &str| {
        let (totals, run, _) = run_words(&words, "apu-c-l3", plan("kernel:4", warm_up), 1);
        let (count, cycles) = kernels(&run, if warm_up == "cold" { "region_of_interest" } else { "measured" });
        assert!(forwarded(&totals).reached && count == 1, "{warm_up}: {count} kernels");
        cycles as f64
    };
    // With `kernels:3` all kernels before the last are timed.
    let (whole, warm, cold) = (last("kernels:3"), last("kernels:1"), last("cold"));
    assert!(cold > 1.2 * whole, "{cold} cycles with cold caches, {whole} in the whole run");
    assert!((warm / whole - 1.0).abs() < 0.02, "{warm} cycles, {whole} in the whole run");
}

#[test]
fn the_last_of_two_hundred_kernels_takes_as_long_after_one_kernel_of_warm_up() {
    let words = ["stencil", "--size", "32x16x8", "--iterations", "200", "--no-check"];
    let skeleton = Machine::load("skeleton", &[]).expect("the machine is sound");
    let last = |forward: Option<FastForward>| {
        let how = Options { forward, ..Options::default() };
        let (finish, run, out) = run_with(&skeleton, WORKLOADS, &words, how);
        assert_eq!((&run.outcome, &finish.end), (&Outcome::Finished, &End::Exited { code: 0 }), "{out}");
        let region = run.regions.last().expect("there is a region for each launch");
        match region.statistics.0.get("gpu0.dispatcher.kernel_cycles") {
            Some(Value::Histogram { count: 1, sum, .. }) => (run.regions.len(), *sum as f64),
            other => panic!("the last region is one kernel: {other:?}"),
        }
    };
    let (regions, whole) = last(None);
    let (few, warm) = last(plan("kernel:200", "kernels:1"));
    assert_eq!((regions, few), (201, 3), "199 kernels are timed before the last, or one");
    assert!((warm / whole - 1.0).abs() < 0.02, "{warm} cycles, {whole} in the whole run");
}

#[test]
fn a_point_that_is_never_reached_is_reported_and_the_program_ends_normally() {
    for warm_up in ["cold", "kernels:2"] {
        let (totals, run, _) = run("apu-c-l3", plan("kernel:1000", warm_up), 1);
        assert_eq!((forwarded(&totals).reached, totals.time.0), (false, 0), "{warm_up}");
        assert_eq!(kernels(&run, "region_of_interest").0, 0);
    }
}
