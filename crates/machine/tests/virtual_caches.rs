//! Caches with virtual tags, under random accesses: entries of the forward-backward table are evicted all the time,
//! pages move while they are accessed, and every read is right. Machines that can't have such caches are rejected with
//! the reason.

mod support;

use engine::{Outcome, Run};
use machine::{Forgotten, Machine, Options, Stress, stress, stress_pages};
use support::{WORKLOADS, good};

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
        assert!(counted.iter().all(|(_, count)| *count > 10), "{name}: {counted:?} is too low");
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
    assert!(counted.iter().all(|(_, count)| *count > 10), "{counted:?} is too low");
}

/// A core and the GPU of a coherent chip, with caches, queues and tables as small as they can be.
const BESIDE_CPU: &[&str] = &[
    "gpu.l2.tags=virtual",
    "gpu.fbt.part=virtual-cache",
    "gpu.fbt.capacity=1",
    "system.iommu.entries=4",
    "system.iommu.ways=4",
    "system.iommu.misses=2",
    "cpu.cores=2",
    "system.slices=2",
    "system.channels=2",
    "system.network.capacity=2",
    "system.hub.capacity=1",
    "cpu.l1d.size=512",
    "cpu.l1d.mshrs=2",
    "cpu.l1d.waiting=2",
    "cpu.l1i.size=256",
    "cpu.l1i.mshrs=2",
    "cpu.l1i.waiting=2",
    "cpu.l2.size=1KiB",
    "cpu.l2.mshrs=2",
    "cpu.l2.waiting=2",
    "cpu.l3.size=1KiB",
    "cpu.l3.ways=4",
    "cpu.l3.mshrs=2",
    "cpu.l3.waiting=2",
    "gpu.arrays=2",
    "gpu.units_per_array=2",
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "gpu.l2.size=2KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "wires.l1_l2.capacity=1",
];

fn beside_cpu(changes: &[&str]) -> Machine {
    let changes: Vec<String> = BESIDE_CPU.iter().chain(changes).map(|change| (*change).to_owned()).collect();
    Machine::load("apu-c-l3", &changes).unwrap_or_else(|error| panic!("{changes:?}: {error}"))
}

/// Testers of cores and compute units write and read the same lines, pages are shot down, and entries are evicted.
#[test]
fn every_read_is_right_beside_a_cpu_that_probes_virtual_caches() {
    let two_gpus = [TINY, &["gpus=2", "gpu.fbt.second_level=false"]].concat();
    for (fbt, lines) in [(TINY, 1024), (AMPLE, 48), (&two_gpus, 256)] {
        let machine = beside_cpu(fbt);
        let run =
            |threads| stress(&machine, what(8_000, lines), &Options { check: true, threads, ..Options::default() });
        let one = run(1);
        assert_eq!(one.outcome, Outcome::Finished, "{fbt:?}");
        assert!(one.regions == run(2).regions, "{fbt:?}: threads change statistics");
        // The smallest table has little left to be shot down.
        let goes = if lines == 1024 { "fbt.evictions" } else { "fbt.shot_down" };
        let counted = ["fbt.recalled_lines", "fbt.probes", "fbt.filtered_probes", goes];
        let counted = counted.map(|end| (end, count(&one, end)));
        assert!(counted.iter().all(|(_, count)| *count > 10), "{fbt:?}: {counted:?} is too low");
    }
}

/// The kernel's page tables are walked for virtual caches; of a page of 2 MiB the table has an entry for each 4 KiB used.
#[test]
fn programs_are_right_beside_a_cpu_with_pages_of_both_sizes() {
    let misses = |huge: &str, threads| {
        let changes = [
            "gpu.l2.tags=virtual",
            "gpu.fbt.part=virtual-cache",
            "system.iommu.entries=512",
            "system.iommu.ways=16",
            "system.iommu.page_walk_cache=1024",
            "cpu.cores=1",
            huge,
        ];
        let machine = Machine::load("apu-c-l3", &changes.map(str::to_owned)).unwrap_or_else(|error| panic!("{error}"));
        // A buffer of 2 MiB.
        let (_, run) = good(&machine, WORKLOADS, &["write", "--size", "524288"], threads);
        let counted = ["fbt.requests", "fbt.probes", "fbt.filtered_probes", "iommu.walkers.entries_read"];
        let counted = counted.map(|end| (end, count(&run, end)));
        assert!(counted.iter().all(|(_, count)| *count > 0), "{huge}: {counted:?}");
        count(&run, "iommu.tlb.misses")
    };
    let (small, huge) = (misses("cpu.kernel.huge_pages=false", 1), misses("cpu.kernel.huge_pages=true", 2));
    assert!(small > 500 && huge < small / 10, "{small} and {huge} misses");
}

/// Walkers read the tables of a host outside, and keep lines of them.
#[test]
fn walkers_read_page_tables_of_a_host_outside() {
    for (name, threads) in [("vc-baseline-512", 1), ("vc-opt", 2), ("vc-l1only-32", 1)] {
        let walks = |changes: &[&str]| {
            let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
            let machine = Machine::load(name, &changes).unwrap_or_else(|error| panic!("{error}"));
            let (_, run) = good(&machine, WORKLOADS, &["vecadd", "--size", "16384"], threads);
            ["iommu.tlb.misses", "iommu.walkers.entries_read", "iommu.walkers.entries_kept"].map(|end| count(&run, end))
        };
        let [misses, read, kept] = walks(&[]);
        assert!(misses >= 48 && read > 3 && read + kept >= 4 * misses, "{name}: {misses}, {read}, {kept}");
        let [alone, all, none] = walks(&["system.iommu.page_walk_lines=0"]);
        assert!(all == 4 * alone && none == 0, "{name}: {alone}, {all}, {none}");
        assert_eq!(walks(&["system.iommu.kind=flat"])[1..], [0, 0], "{name}");
    }
}

/// A quarter of the pages are never written and have two names.
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
        // The smallest table seldom has a page under one name when it is read under the other.
        let often = if fbt == AMPLE { ".fbt.synonyms" } else { ".fbt.evictions" };
        let counted = [".driver.migrations", ".driver.faults", ".fbt.shot_down", often];
        let counted = counted.map(|end| (end, count(&run, end)));
        assert!(counted.iter().all(|(_, count)| *count > 10), "{fbt:?}: {counted:?} is too low");
    }
    assert!(moving(AMPLE, None, 1).regions == moving(AMPLE, None, 2).regions, "threads change statistics");
}

#[test]
fn reads_under_leading_names_in_place_of_others_are_right_while_pages_move() {
    for fbt in [TINY, AMPLE] {
        let run = moving(&[fbt, &["gpu.fbt.remaps=4"]].concat(), None, 1);
        assert_eq!(run.outcome, Outcome::Finished, "{fbt:?}");
        let replaced = count(&run, ".l1v.remapped");
        assert!(fbt == TINY || replaced > 10, "{fbt:?}: {replaced} are replaced");
    }
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
        Machine::load(name, &changes).err().unwrap_or_else(|| panic!("{name} {changes:?} is accepted")).to_string()
    };
    let tags = "gpu.l2.tags=virtual";
    let fbt = "gpu.fbt.part=virtual-cache";
    let entries = "system.iommu.entries=1";
    let all = [
        (refused("apu-c-l3", &[tags]), "gpu.fbt"),
        (refused("apu-c-l3", &[tags, fbt]), "asks the TLB of the IOMMU"),
        (refused("apu-c-mc", &[tags, fbt, entries]), "set system.join to l3"),
        (refused("apu-nc-l3", &[tags, fbt, entries]), "system.memory to shared"),
        (refused("apu-c-l3", &[tags, fbt, entries, "system.slices=3"]), "system.slices must be a power of two"),
        (
            refused("apu-c-l3", &[tags, fbt, entries, "protocol=mesi_alone"]),
            "mesi_alone has no second-level cache for a forward-backward table",
        ),
        (refused("apu-c-l3", &[tags, fbt, entries, "gpus=2"]), "set gpu.fbt.second_level to false"),
        (refused("multi-shared-cores", &["gpus=2", tags, fbt]), "over a fabric"),
        (refused("apu-c-mc", &["protocol=wb_nc", "system.flush=kernels", tags, fbt, entries]), "set protocol to mesi"),
        (refused("apu-c-l3", &[tags, fbt, entries, "gpu.mmu.entries=64"]), "compute units have no TLBs"),
        (refused("apu-c-l3", &["gpu.l1v.tags=virtual", "gpu.names.entries=16", "gpu.names.ways=16"]), "only wb_nc"),
        (refused("multi-shared", &["gpus=2", tags, fbt]), "with several GPUs or a fabric"),
        (refused("vc-opt", &["gpus=2"]), "with several GPUs or a fabric"),
        (refused("vc-opt", &["protocol=wt_nc"]), "only wb_nc has an L2"),
        (refused("vc-opt", &["gpu.mmu.part=virtual-cache"]), "compute units have no TLBs"),
        (refused("vc-opt", &["gpu.l2.interleave=4KiB"]), "must lie in one bank"),
        (refused("vc-opt", &["gpu.l1v.tags=physical"]), "first-level caches must have them, too"),
        (refused("vc-baseline-512", &["gpu.l1v.tags=virtual"]), "gpu.names"),
        (refused("vc-l1only-32", &["system.iommu.kind=driver"]), "in a physical L2 as well"),
        (refused("vc-l1only-32", &["gpus=2"]), "with several GPUs or a fabric"),
        (refused("vc-l1only-32", &["protocol=wt_nc"]), "only wb_nc has first-level caches"),
        (refused("vc-l1only-32", &["system.iommu.entries=0"]), "at least 1"),
        (refused("vc-opt", &["gpu.names.entries=16"]), "gpu.names"),
        (refused("vc-baseline-512", &[tags]), "gpu.fbt"),
        (refused("vc-opt", &["gpu.l1s.tags=virtual"]), "only gpu.l1v and gpu.l2"),
        (refused("vc-baseline-512", &["system.iommu.lookups=0"]), "must be at least 1"),
    ];
    for (message, reason) in &all {
        assert!(message.contains(reason), "{message} is not about: {reason}");
    }
}
