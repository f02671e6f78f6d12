//! Caches that go by virtual addresses, under random accesses: entries of the forward-backward table go all the time, pages move while they are accessed,
//! and every read is right. What can't have such caches says why.

use engine::{Outcome, Run};
use machine::{Forgotten, Machine, Options, Stress, stress, stress_pages};

/// Four compute units and two banks, with caches and queues as small as they can be.
const SMALL: &[&str] = &[
    "gpu.arrays=2",
    "gpu.units_per_array=2",
    "gpu.l2.banks=2",
    "gpu.l2.size=2KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "gpu.fbt.capacity=1",
    "system.iommu.entries=4",
    "system.iommu.ways=4",
    "system.iommu.misses=2",
    "wires.l1_l2.capacity=1",
    "wires.l2_memory.capacity=1",
];

fn machine(name: &str, changes: &[&str]) -> Machine {
    let changes: Vec<String> = SMALL.iter().chain(changes).map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).unwrap_or_else(|error| panic!("{name} {changes:?}: {error}"))
}

const TINY: &[&str] = &["gpu.fbt.entries=4", "gpu.fbt.ways=2"];
/// Pages stay until they are shot down.
const AMPLE: &[&str] = &["gpu.fbt.entries=64", "gpu.fbt.ways=16"];

fn what(operations: u64, lines: u64) -> Stress {
    Stress { operations, seed: 11, lines, round: 125, outstanding: 8 }
}

fn count(run: &Run, end: &str) -> u64 {
    let total = run.total();
    total.0.keys().filter(|path| path.ends_with(end)).map(|path| total.count(path)).sum()
}

#[test]
fn every_read_is_right_while_entries_go_with_any_number_of_threads() {
    for name in ["vc-opt", "vc-noopt"] {
        let machine = machine(name, TINY);
        let run =
            |threads| stress(&machine, what(6_000, 1024), &Options { check: true, threads, ..Options::default() });
        let one = run(1);
        assert_eq!(one.outcome, Outcome::Finished, "{name}");
        assert!(one.regions == run(2).regions, "{name}: threads change statistics");
        let counted = ["fbt.evictions", "fbt.recalled_lines", "page_orders_filtered", "page_orders_forgetting"];
        let counted = counted.map(|end| (end, count(&one, end)));
        assert!(counted.iter().all(|(_, count)| *count > 10), "{name}: {counted:?} is no stress");
    }
}

#[test]
fn first_level_caches_that_alone_are_virtual_read_right_while_pages_go() {
    let small: Vec<&str> = SMALL.iter().copied().filter(|change| !change.starts_with("gpu.fbt")).collect();
    let changes =
        ["gpu.names.entries=4", "gpu.names.ways=2", "gpu.mmu.entries=2", "gpu.mmu.ways=2", "gpu.mmu.misses=2"];
    let changes: Vec<String> = small.iter().chain(&changes).map(|change| (*change).to_owned()).collect();
    let machine = Machine::load("vc-l1only-32", &changes).unwrap_or_else(|error| panic!("{changes:?}: {error}"));
    let run = |threads| stress(&machine, what(6_000, 1024), &Options { check: true, threads, ..Options::default() });
    let one = run(1);
    assert_eq!(one.outcome, Outcome::Finished);
    assert!(one.regions == run(2).regions, "threads change statistics");
    let counted = [".names.evictions", "page_orders_filtered", "page_orders_forgetting", ".names_tlb.misses"];
    let counted = counted.map(|end| (end, count(&one, end)));
    assert!(counted.iter().all(|(_, count)| *count > 10), "{counted:?} is no stress");
}

fn moving(fbt: &[&str], forgets: Option<Forgotten>, threads: usize) -> Run {
    let changes: Vec<&str> = fbt.iter().copied().chain(["system.iommu.kind=driver"]).collect();
    let machine = machine("vc-opt", &changes);
    stress_pages(&machine, what(8_000, 96), forgets, &Options { check: true, threads, ..Options::default() })
}

#[test]
fn every_read_is_right_while_pages_move_and_rights_change() {
    for fbt in [TINY, AMPLE] {
        let run = moving(fbt, None, 1);
        assert_eq!(run.outcome, Outcome::Finished, "{fbt:?}");
        let counted = [".driver.migrations", ".driver.faults", ".fbt.shot_down"].map(|end| (end, count(&run, end)));
        assert!(counted.iter().all(|(_, count)| *count > 10), "{fbt:?}: {counted:?} is no stress");
    }
    assert!(moving(AMPLE, None, 1).regions == moving(AMPLE, None, 2).regions, "threads change statistics");
}

#[test]
fn a_forgotten_shootdown_is_noticed() {
    let Outcome::Failed { message, .. } = moving(AMPLE, Some(Forgotten::Shootdown), 1).outcome else {
        panic!("it is not noticed");
    };
    let noticed = ["a wrong value was read", "are names of one page of memory", "moved without a shootdown"];
    assert!(noticed.iter().any(|what| message.contains(what)), "{message}");
}

#[test]
fn a_machine_that_can_not_have_virtual_tags_says_why() {
    let refused = |name: &str, changes: &[&str]| {
        let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        Machine::load(name, &changes).err().unwrap_or_else(|| panic!("{name} {changes:?} is no error")).to_string()
    };
    let tags = "gpu.l2.tags=virtual";
    let fbt = "gpu.fbt.part=virtual-cache";
    let all = [
        (refused("apu-c-l3", &[tags, fbt]), "beside a CPU"),
        (refused("multi-shared", &["gpus=2", tags, fbt]), "with several GPUs or a fabric"),
        (refused("vc-opt", &["gpus=2"]), "with several GPUs or a fabric"),
        (refused("vc-opt", &["protocol=wt_nc"]), "only wb_nc has an L2"),
        (refused("vc-opt", &["gpu.l2.interleave=4KiB"]), "must lie in one bank"),
        (refused("vc-opt", &["gpu.l1v.tags=physical"]), "first-level caches must have them, too"),
        (refused("vc-baseline-512", &["gpu.l1v.tags=virtual"]), "gpu.names"),
        (refused("vc-l1only-32", &["system.iommu.kind=driver"]), "in a physical L2 as well"),
        (refused("vc-l1only-32", &["gpus=2"]), "with several GPUs or a fabric"),
        (refused("vc-l1only-32", &["protocol=wt_nc"]), "only wb_nc has first-level caches"),
        (refused("vc-l1only-32", &["system.iommu.entries=0"]), "at least 1"),
        (refused("vc-opt", &["gpu.names.entries=16"]), "gpu.names"),
        (refused("vc-baseline-512", &[tags]), "gpu.fbt"),
        (refused("vc-baseline-512", &[tags, fbt]), "have no TLBs"),
        (refused("vc-opt", &["gpu.l1s.tags=virtual"]), "only gpu.l1v and gpu.l2"),
        (refused("vc-baseline-512", &["system.iommu.lookups=0"]), "must be at least 1"),
    ];
    for (message, reason) in &all {
        assert!(message.contains(reason), "{message} is not about: {reason}");
    }
}
