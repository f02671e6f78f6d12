//! A CPU and a GPU on one memory: random accesses to few lines by all testers at once.

mod support;

use engine::{Outcome, Run};
use machine::{Machine, Options, Stress, stress};

/// Caches of a few lines, and queues of one or two entries.
const SMALL: &[&str] = &[
    "cpu.cores=3",
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

fn run(name: &str, changes: &[&str], operations: u64, threads: usize) -> Run {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    // The list serves many machines: changes without effect on this one are accepted.
    let (machine, _) = Machine::examine(name, &changes).expect("the machine is sound");
    let what = Stress { operations, seed: 7, lines: 48, round: 500, outstanding: 12 };
    stress(&machine, what, &Options { threads, check: true, ..Options::default() })
}

const MACHINES: [&str; 4] = ["apu-c-l3", "apu-nc-l3", "apu-c-mc", "apu-nc-mc"];

#[test]
fn every_read_is_right_with_the_smallest_caches_and_queues() {
    for name in MACHINES {
        let runs = [1, 2].map(|threads| run(name, SMALL, 5_000, threads));
        assert_eq!(runs[0].outcome, Outcome::Finished, "{name}");
        assert!(runs[0].regions == runs[1].regions, "{name}: threads change statistics");
    }
}

#[test]
fn every_read_is_right_with_two_gpus_and_a_network_of_any_kind() {
    for (name, network) in [("apu-c-l3", "crossbar"), ("apu-c-mc", "mesh"), ("apu-nc-mc", "bus")] {
        let kind = format!("system.network.kind={network}");
        let more =
            ["gpus=2", &kind, "system.network.columns=2", "memory.kind=fixed", "cpu.l1d.ways=1", "cpu.l3.ways=1"];
        assert_eq!(run(name, &[SMALL, &more].concat(), 5_000, 1).outcome, Outcome::Finished, "{name} {network}");
    }
}

/// A request that finds no free entry must be refused. If it stayed on the wire, it would block messages that the
/// cache's own probes wait for.
#[test]
fn many_caches_that_share_a_wire_to_one_with_few_lines_make_progress() {
    let many = ["gpu.arrays=4", "gpu.units_per_array=4", "gpu.l2.mshrs=3", "cpu.cores=2"];
    assert_eq!(run("apu4-c-l3", &[SMALL, &many].concat(), 20_000, 1).outcome, Outcome::Finished);
}

#[test]
fn every_read_is_right_as_the_machine_is() {
    assert_eq!(run("apu-c-l3", &[], 10_000, 1).outcome, Outcome::Finished);
}

mod program {
    use super::*;
    use crate::support::{WORKLOADS, good};

    /// Programs of `os` that check themselves.
    const GUESTS: &[u8] = include_bytes!("../../os/tests/guests/guests");
    /// Built-in programs that use no GPU.
    const LITMUS: &[u8] = include_bytes!("../../workloads/guest/litmus.elf");
    const OPENMP: &[u8] = include_bytes!("../../workloads/guest/openmp.elf");

    fn machine(name: &str) -> Machine {
        Machine::load(name, &["cpu.cores=4".to_owned()]).expect("the machine is sound")
    }

    #[test]
    fn a_program_prints() {
        assert_eq!(good(&machine("apu-c-l3"), GUESTS, &["hello"], 1).0, "hello, world\n");
    }

    #[test]
    fn programs_are_right_on_every_machine() {
        for name in MACHINES {
            for words in [&["vecadd", "--size", "1024"][..], &["bfs", "--size", "256"]] {
                good(&machine(name), WORKLOADS, words, 1);
            }
        }
        // Several OpenCL calls follow each other directly here.
        good(&machine("apu-c-l3"), WORKLOADS, &["lud", "--size", "32"], 1);
    }

    #[test]
    fn cores_and_gpu_share_the_work() {
        let words = ["write", "--size", "4096", "--cpu-share", "50", "--threads", "3", "--copies", "none"];
        good(&machine("apu-c-l3"), WORKLOADS, &words, 1);
    }

    #[test]
    fn threads_of_a_program_run_on_cores_of_their_own() {
        for name in ["hotspot", "bfs"] {
            good(&machine("apu-c-l3"), OPENMP, &[name, "--threads", "3", "--size", "64"], 1);
        }
    }

    #[test]
    fn litmus_tests_see_what_total_store_order_allows_and_nothing_else() {
        // Threads start up to a thousand cycles apart, which random delays have to make up for.
        good(&machine("apu-c-l3"), LITMUS, &["SB", "--runs", "100", "--delay", "1500", "--expect-relaxed"], 1);
        for test in ["SB+mfence", "SB+lock", "MP", "LB", "IRIW", "2+2W", "R+mfence", "S"] {
            good(&machine("apu-c-l3"), LITMUS, &[test, "--runs", "20", "--delay", "100"], 1);
        }
    }

    #[test]
    fn all_translators_drop_pages_that_others_change() {
        for (cores, iommu) in [("tables", "tables"), ("flat", "flat")] {
            let kinds = [format!("cpu.mmu.kind={cores}"), format!("system.iommu.kind={iommu}"), "cpu.cores=4".into()];
            for (guest, says, least) in [("remap", "pages", 50), ("memory", "memory", 4), ("unprotect", "192", 4)] {
                let machine = Machine::load("apu-c-l3", &kinds).expect("the machine is sound");
                let (out, run) = good(&machine, GUESTS, &[guest], 1);
                assert!(out.starts_with(says), "{guest}: {out}");
                let total = run.total();
                let shot_down = total.count("cpu.core0.mmu.shootdowns");
                assert!(shot_down >= least, "{guest}: {shot_down}");
                for who in ["cpu.core3.mmu", "cpu.core3.walkers", "iommu.walkers", "gpu0.array0.cu0.mmu"] {
                    assert_eq!(total.count(&format!("{who}.shootdowns")), shot_down, "{guest}: {who}");
                }
                assert_eq!(total.count("cpu.core0.walkers.entries_read") > 0, cores == "tables");
            }
        }
    }

    #[test]
    fn a_kernel_finds_its_pages_by_way_of_the_iommu() {
        let cycles = |kind: &str| {
            let kinds = [
                format!("cpu.mmu.kind={kind}"),
                format!("gpu.mmu.kind={}", if kind == "none" { kind } else { "iommu" }),
            ];
            let machine = Machine::load("apu-c-l3", &kinds).expect("the machine is sound");
            let (_, run) = good(&machine, WORKLOADS, &["vecadd", "--size", "4096"], 1);
            let total = run.total();
            let sum = |end: &str| {
                total.0.keys().filter(|path| path.ends_with(end)).map(|path| total.count(path)).sum::<u64>()
            };
            (run.end, sum("mmu.vector.misses"), total.count("iommu.walkers.entries_read"))
        };
        let (without, none, never) = cycles("none");
        let (with, misses, read) = cycles("tables");
        assert_eq!((none, never), (0, 0));
        // Three arrays of four pages: each unit that works on a page misses once, and a walk reads four levels.
        assert!(misses >= 12 && read >= 4 * 12, "{misses} misses, {read} entries");
        assert!(with > without, "{with} with translation, {without} without");
    }

    #[test]
    fn statistics_do_not_depend_on_threads() {
        let [one, two] =
            [1, 2].map(|threads| good(&machine("apu-c-l3"), WORKLOADS, &["vecadd", "--size", "512"], threads).1);
        assert!(one.regions == two.regions && one.end == two.end);
    }
}

#[test]
fn a_run_that_is_checked_is_the_run_that_is_not() {
    for name in MACHINES {
        let changes: Vec<String> = SMALL.iter().map(|&change| change.to_owned()).collect();
        let machine = Machine::load(name, &changes).expect("the machine is sound");
        let what = Stress { operations: 1_000, seed: 7, lines: 48, round: 500, outstanding: 12 };
        let [one, other] = [true, false].map(|check| stress(&machine, what, &Options { check, ..Options::default() }));
        assert_eq!(one.outcome, Outcome::Finished, "{name}");
        assert!(one == other, "{name}: a check changes what happens");
    }
}

#[test]
fn a_wrong_byte_is_noticed_whichever_element_reads_it() {
    let of_gpu = ["gpu0.array0.cu0.l1v", "gpu0.array0.l1s", "gpu0.array0.l1i"];
    let others = ["cpu.core0.l1d", "cpu.core0.l1i", "iommu.l1d", "dma.l1"];
    for cache in of_gpu.into_iter().chain(others) {
        // If memory is not shared, a DMA engine copies.
        let (name, copies) =
            if cache == "dma.l1" { ("apu-nc-l3", "system.copies=dma") } else { ("apu-c-l3", "system.copies=core") };
        let changes = [copies, "cpu.cores=2", "gpu.units_per_array=1"].map(str::to_owned);
        let mut machine = Machine::load(name, &changes).expect("the machine is sound");
        machine.broken = Some(cache.to_owned());
        let words = ["vecadd", "--size", "512", "--copies", "explicit"];
        let outcome = support::run(&machine, support::WORKLOADS, &words, 1).1.outcome.to_string();
        let said = format!("a wrong value was read: {cache} has ");
        assert!(outcome.starts_with("check.golden_image failed at ") && outcome.contains(&said), "{cache}: {outcome}");
    }
}
