//! Cores beside GPUs whose memories are levels above the host's: the last-level cache is a member of NMOESI.

mod support;

use engine::{Outcome, Run, Value};
use machine::{Machine, Options, Stress, stress};
use support::{WORKLOADS, good};

/// Built-in programs that use no GPU.
const LITMUS: &[u8] = include_bytes!("../../workloads/guest/litmus.elf");

/// Caches of a few lines, and queues of one or two entries.
const SMALL: &[&str] = &[
    "cpu.cores=2",
    "system.network.capacity=2",
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
    "gpu.arrays=1",
    "gpu.units_per_array=2",
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "gpu.l2.size=2KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "gpu.memory.kind=fixed",
    "gpu.memory.ways=2",
    "fabric.credits=2",
    "wires.l1_l2.capacity=2",
    "wires.l2_memory.capacity=1",
];

fn machine(name: &str, changes: &[&str]) -> Machine {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).unwrap_or_else(|error| panic!("{name} {changes:?}: {error}"))
}

fn refused(changes: &[&str]) -> String {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    match Machine::load("umh-nvlink-cores", &changes) {
        Ok(_) => panic!("{changes:?} is accepted"),
        Err(error) => error.to_string(),
    }
}

fn stressed(machine: &Machine, threads: usize) -> Run {
    let what = Stress { operations: 2_500, seed: 11, lines: 96, round: 100, outstanding: 6 };
    stress(machine, what, &Options { check: true, threads, ..Options::default() })
}

#[test]
fn every_read_of_cores_and_gpus_is_right_with_the_smallest_caches_and_queues() {
    let variants: [&[&str]; 5] = [
        &["gpus=2", "gpu.memory.size=32KiB"],
        &["gpus=1", "gpu.memory.block=256B", "gpu.memory.size=8KiB", "system.slices=1"],
        &["gpus=3", "gpu.memory.block=256B", "gpu.memory.size=8KiB", "gpu.memory.synchronise=final"],
        &[
            "gpus=2",
            "gpu.memory.block=1KiB",
            "gpu.memory.size=32KiB",
            "gpu.memory.peer_transfer=false",
            "system.channels=1",
        ],
        &[
            "gpus=2",
            "gpu.memory.block=64B",
            "gpu.l2.interleave=64B",
            "system.interleave=64B",
            "gpu.memory.size=4KiB",
            "gpu.memory.mask=4",
            "system.copies=dma",
        ],
    ];
    for (number, variant) in variants.into_iter().enumerate() {
        let (base, protocol) =
            [("umh-nvlink-cores", "protocol=nmoesi"), ("umh-pcie-cores", "protocol=nmoesi_wb")][number % 2];
        let machine = machine(base, &[SMALL, &[protocol], variant].concat());
        let runs = [1, 2].map(|threads| stressed(&machine, threads));
        assert_eq!(runs[0].outcome, Outcome::Finished, "{variant:?}");
        assert!(runs[0].regions == runs[1].regions, "{variant:?}: threads change statistics");
        let statistics = runs[0].total();
        for path in ["cpu.core0.l1d.requests", "cpu.core1.l1i.requests", "cpu.l3_0.evictions"] {
            assert!(statistics.count(path) > 0, "{variant:?}: {path}");
        }
    }
}

#[test]
fn a_wrong_byte_is_noticed_whichever_cache_reads_it() {
    for cache in ["cpu.core0.l1d", "cpu.core1.l1i", "gpu1.array0.cu0.l1v"] {
        let mut machine = machine("umh-nvlink-cores", &[SMALL, &["gpus=2", "gpu.memory.size=32KiB"]].concat());
        machine.broken = Some(cache.to_owned());
        let Outcome::Failed { message, .. } = stressed(&machine, 1).outcome else { panic!("{cache}: not noticed") };
        assert!(message.contains(&format!("a wrong value was read: {cache} has ")), "{message}");
    }
}

/// The probes by which the caches below `path` were made to give up lines.
fn given_up(run: &Run, path: &str) -> u64 {
    let of_path = run.total().0.into_iter().filter(|(name, _)| name.starts_with(path) && name.ends_with(".steps"));
    let probes = of_path.map(|(_, value)| match value {
        Value::Matrix { columns, counts, .. } => {
            let is_probe = |at: usize| {
                ["CoreFlush", "CoreFlushAbove", "Inval", "InvalAbove"].contains(&&*columns[at % columns.len()])
            };
            counts.iter().enumerate().filter(|(at, _)| is_probe(*at)).map(|(_, count)| count).sum()
        }
        _ => 0,
    });
    probes.sum()
}

#[test]
fn a_core_reads_what_a_kernel_wrote_though_gpus_flush_and_copy_nothing() {
    let (_, run) = good(&machine("umh-nvlink-cores", &["gpus=2"]), WORKLOADS, &["vecadd", "--size", "1024"], 1);
    assert!(given_up(&run, "cpu.l3_") > 0, "kernels read what cores had written");
    assert!(given_up(&run, "gpu0.l2_") + given_up(&run, "gpu1.l2_") > 0, "cores read what kernels had written");
    assert_eq!(run.total().sum("front_end.flush"), 0, "there is one kernel: nothing is flushed for another");
}

#[test]
fn programs_are_right_whenever_gpus_synchronise() {
    for changes in [&["gpus=2"][..], &["gpus=1", "gpu.memory.synchronise=final"], &["gpus=2", "system.copies=dma"]] {
        let machine = machine("umh-nvlink-cores", changes);
        for copies in ["none", "explicit"] {
            good(&machine, WORKLOADS, &["bfs", "--size", "256", "--copies", copies], 1);
        }
    }
}

#[test]
fn cores_and_gpus_share_the_work_on_the_same_blocks() {
    let words = ["write", "--size", "4096", "--cpu-share", "50", "--threads", "3", "--copies", "none"];
    for gpus in ["gpus=1", "gpus=2"] {
        good(&machine("umh-nvlink-cores", &[gpus]), WORKLOADS, &words, 1);
    }
}

#[test]
fn cores_see_total_store_order_and_nothing_else() {
    let machine = machine("umh-pcie-cores", &["gpus=1"]);
    for test in ["SB+mfence", "SB+lock", "MP", "LB", "IRIW", "2+2W", "R+mfence", "S"] {
        good(&machine, LITMUS, &[test, "--runs", "20", "--delay", "100"], 1);
    }
}

#[test]
fn what_such_a_machine_needs_is_said() {
    for (changes, said) in [
        (&["system.join=l3"][..], "set it to \"memory\""),
        (&["system.memory=copied"], "set it to \"shared\""),
        (&["system.interleave=64B"], "gpu.l2.interleave, 4 KiB"),
        (&["system.channels=3"], "of 4 banks of an L2"),
        (
            &["gpu.memory.block=16KiB", "gpu.l2.interleave=16KiB", "system.interleave=16KiB"],
            "a block has 4 KiB at most",
        ),
        (&["gpu.dispatcher.invalidate=false"], "instruction caches of GPUs do not take part"),
        (&["system.hub.latency=2ns"], "past the CPU's network"),
    ] {
        let error = refused(changes);
        assert!(error.contains(said), "{changes:?}: {error}");
    }
}
