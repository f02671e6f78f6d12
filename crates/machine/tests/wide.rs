//! Machines with many elements: up to 128 cores beside a GPU (`[giles Table 2.1]`).

use engine::{Outcome, Value};
use machine::{Machine, Options, Stress, stress};

/// Many cores with small caches, which are quick to build.
fn wide(cores: usize, changes: &[&str]) -> Result<Machine, machine::MachineError> {
    let sized = [format!("cpu.cores={cores}"), format!("system.slices={cores}")];
    let small = ["cpu.l1d.size=1KiB", "cpu.l1i.size=1KiB", "cpu.l2.size=2KiB", "cpu.l3.size=4KiB", "gpu.l2.size=16KiB"];
    let changes = small.iter().chain(changes).map(|change| (*change).to_owned());
    Machine::load("apu-c-l3", &sized.into_iter().chain(changes).collect::<Vec<_>>())
}

#[test]
fn lines_that_128_cores_and_a_gpu_share_hold_what_was_written_last() {
    let machine = wide(128, &[]).expect("128 cores are allowed");
    // Few lines, so that a store has to invalidate copies of nearly all cores.
    let what = Stress { operations: 1_000, seed: 5, lines: 12, round: 8, outstanding: 2 };
    let run = stress(&machine, what, &Options { threads: 1, check: true, ..Options::default() });
    assert_eq!(run.outcome, Outcome::Finished);
    let total = run.total();
    let answered = |core: usize, kind: &str| match &total.0[format!("cpu.core{core}.l1d.{kind}_cycles").as_str()] {
        Value::Histogram { count, .. } => *count,
        other => panic!("the cycles of accesses are a histogram, not {other:?}"),
    };
    let idle: Vec<usize> = (0..128).filter(|core| answered(*core, "load") + answered(*core, "store") == 0).collect();
    assert!(idle.is_empty(), "the data caches of cores {idle:?} were never accessed");
}

#[test]
fn more_caches_than_a_directory_knows_are_refused() {
    // The IOMMU has one cache, and the GPU's L2 two banks.
    wide(189, &[]).expect("192 caches are allowed");
    let error = wide(190, &[]).err().expect("193 caches are too many").to_string();
    assert!(error.contains("cores") && error.contains("192 second-level caches at most"), "{error}");
}

#[test]
fn more_elements_than_there_are_numbers_for_are_refused() {
    let error = wide(1, &["gpu.arrays=64", "gpu.units_per_array=64"]).err().expect("these are too many").to_string();
    assert!(error.contains("can be 4096 together"), "{error}");
}
