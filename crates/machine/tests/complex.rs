//! A CPU and a GPU on one memory: random accesses to few lines, by everybody at once.

use engine::{Outcome, Run};
use machine::{Machine, Options, Stress, stress};

/// Caches of a few lines, queues of one or two places.
const SMALL: &[&str] = &[
    "cpu.cores=3",
    "system.slices=2",
    "system.channels=2",
    "system.network.capacity=2",
    "system.hub.capacity=1",
    "cpu.l1d.size=512",
    "cpu.l1d.mshrs=2",
    "cpu.l1d.waiting=2",
    "cpu.l2.size=1KiB",
    "cpu.l2.mshrs=2",
    "cpu.l2.waiting=2",
    "cpu.l3.size=1KiB",
    "cpu.l3.ways=4",
    "cpu.l3.mshrs=2",
    "cpu.l3.waiting=2",
    "gpu.arrays=2",
    "gpu.units_per_array=1",
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "gpu.l2.size=2KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "wires.l1_l2.capacity=2",
];

fn run(changes: &[&str], operations: u64, threads: usize) -> Run {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/apu-c-l3.toml");
    let machine = Machine::load(file, &changes).expect("the machine is sound");
    let what = Stress { operations, seed: 7, lines: 48, round: 500, outstanding: 12 };
    stress(&machine, what, &Options { threads, check: true, ..Options::default() })
}

#[test]
fn every_read_is_right_with_the_smallest_caches_and_queues() {
    let runs = [1, 2].map(|threads| run(SMALL, 8_000, threads));
    assert_eq!(runs[0].outcome, Outcome::Finished);
    assert!(runs[0].regions == runs[1].regions, "threads change statistics");
}

#[test]
fn every_read_is_right_as_the_machine_is() {
    assert_eq!(run(&[], 10_000, 1).outcome, Outcome::Finished);
}
