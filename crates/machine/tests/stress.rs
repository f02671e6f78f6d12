//! Random accesses to few lines by all testers at once.

use engine::{Outcome, Run, Value};
use machine::{Machine, Options, Stress, message_passing, stress};
use protocol::catalogue::Choice;

/// Caches of a few lines, and queues of one or two entries.
const SMALL: &[&str] = &[
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "gpu.l1v.join_queue=1",
    "gpu.l1v.write_back_queue=1",
    "gpu.l2.size=2KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "gpu.l2.join_queue=1",
    "gpu.l2.write_back_queue=2",
    "memory.fixed.outstanding=2",
    "wires.l1_l2.capacity=2",
    "wires.l2_memory.capacity=1",
];

/// Small GPU memories: a few blocks, and two requests in flight.
const SMALL_MEMORIES: &[&str] =
    &["gpu.memory.size=4KiB", "gpu.memory.ways=2", "gpu.memory.fixed.outstanding=2", "wires.gpu_host.capacity=1"];

/// Operations of all testers together.
const OPERATIONS: u64 = 6_000;

/// The smallest machine that has what a protocol needs.
fn base(protocol: &str) -> &'static str {
    if protocol.starts_with("nmoesi") { "mini-nmoesi" } else { "skeleton" }
}

fn run(base: &str, changes: &[&str], operations: u64, threads: usize) -> Run {
    run_lines(base, changes, 48, operations, threads)
}

fn run_lines(base: &str, changes: &[&str], lines: u64, operations: u64, threads: usize) -> Run {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    // The list serves many machines: changes without effect on this one are accepted.
    let (machine, _) = Machine::examine(base, &changes).expect("the machine is sound");
    let what = Stress { operations, seed: 7, lines, round: 500, outstanding: 12 };
    stress(&machine, what, &Options { threads, check: true, ..Options::default() })
}

#[test]
fn every_read_is_right_on_every_protocol_with_the_smallest_caches_and_queues() {
    // MESI needs a CPU with the directory: see complex.rs.
    for protocol in Choice::all().map(|choice| choice.name).filter(|name| !name.starts_with("mesi")) {
        for gpus in ["gpus=1", "gpus=2"] {
            let key = format!("protocol={protocol}");
            let base = base(protocol);
            let memories = if base == "skeleton" { &[] } else { SMALL_MEMORIES };
            let changes = [SMALL, memories, &[&key, gpus, "gpu.units_per_array=2"]].concat();
            let runs = [1, 2].map(|threads| run(base, &changes, OPERATIONS, threads));
            assert_eq!(runs[0].outcome, Outcome::Finished, "{protocol} {gpus}");
            assert!(runs[0].regions == runs[1].regions, "{protocol} {gpus}: threads change statistics");
            let total = runs[0].total();
            let evictions: u64 =
                total.0.keys().filter(|path| path.ends_with(".evictions")).map(|path| total.count(path)).sum();
            assert!(evictions > 500, "{evictions} evictions are too few");
        }
    }
}

#[test]
fn logical_time_of_few_bits_runs_over_again_and_again_and_every_read_stays_right() {
    for base in ["mini-halcone", "mini-gtsc"] {
        // Banks of DRAM answer out of order.
        for kind in ["memory.kind=fixed", "memory.kind=hbm"] {
            let runs = [1, 2].map(|threads| run(base, &["memory.time_bits=6", kind], OPERATIONS, threads));
            assert_eq!(runs[0].outcome, Outcome::Finished, "{base} {kind}");
            assert!(runs[0].regions == runs[1].regions, "{base} {kind}: threads change statistics");
            let restarts = runs[0].total().count("memory0.restarts");
            assert!(restarts > 20, "{base} {kind}: time started anew {restarts} times");
        }
    }
}

#[test]
fn a_write_back_queue_of_one_place_and_a_join_queue_of_one_fill_up_and_lose_nothing() {
    for (protocol, fills) in [("wb_nc", "l2_"), ("wt_nc", "l1v")] {
        let key = format!("protocol={protocol}");
        let more = [&key, "gpu.units_per_array=4", "gpu.l1v.waiting=16", "gpu.l1v.mshrs=8", "gpu.l2.mshrs=8"];
        let queues = ["gpu.l2.waiting=16", "gpu.l2.write_back_queue=1"];
        let run = run("skeleton", &[SMALL, &more, &queues].concat(), 6_000, 1);
        assert_eq!(run.outcome, Outcome::Finished, "{protocol}");
        let total = run.total();
        let count = |name: &str| -> u64 {
            let paths = total.0.keys().filter(|path| path.contains(fills) && path.ends_with(name));
            paths.map(|path| total.count(path)).sum()
        };
        let full = (count(".write_back_full"), count(".join_full"));
        assert!(full.0 > 100 && full.1 > 100, "{protocol}: {fills} was full {full:?} times");
        let queues = total.0.iter().filter(|(path, _)| path.ends_with(".write_back_queue"));
        for (path, value) in queues {
            assert!(matches!(value, Value::Level { max: 0..=1, .. }), "{protocol}: {path} is {value:?}");
        }
    }
}

/// Flushes of lines during a write-back, and claimed lines that find the write-back queue full: probes must get through
/// to both, however long a wire is.
#[test]
fn every_read_is_right_in_a_hierarchy_of_memories_with_wires_of_any_length() {
    for (number, latency) in ["1 ns", "46 ns", "100 ns", "2 us"].into_iter().enumerate() {
        for wire in ["l1_l2", "l2_memory", "gpu_host"] {
            let long = format!("wires.{wire}.latency={latency}");
            let protocol = ["protocol=nmoesi", "protocol=nmoesi_wb"][number % 2];
            for (lines, more) in [(3, &["gpu.l1v.write_back_queue=1"][..]), (24, &[SMALL, SMALL_MEMORIES].concat())] {
                let changes = [more, &[&long, protocol]].concat();
                let run = run_lines("mini-nmoesi", &changes, lines, OPERATIONS / 6, 1);
                assert_eq!(run.outcome, Outcome::Finished, "{long} {protocol} {lines} lines");
            }
        }
    }
}

#[test]
fn a_released_write_reaches_an_acquire_on_another_gpu_only_if_the_protocol_is_coherent() {
    let reads = |protocol: &str| {
        let changes = [format!("protocol={protocol}"), "gpus=2".to_owned()];
        let machine = Machine::load(base(protocol), &changes).expect("the machine is sound");
        message_passing(&machine, &Options::default()).expect("it comes to its end")
    };
    assert_eq!(["halcone", "gtsc", "hmg", "nmoesi", "nmoesi_wb"].map(reads), [1; 5]);
    assert_eq!(reads("wb_nc"), 0, "the L2 of the other GPU holds on to what it read before");
}

#[test]
fn every_read_is_right_over_narrow_networks_and_a_dram_with_short_queues() {
    let dram = ["read_queue=1", "write_queue=2", "drain_from=2", "drain_to=1"].map(|key| format!("memory.dram.{key}"));
    for (network, memory) in [("ring", "hbm2"), ("mesh", "gddr5"), ("crossbar", "hbm"), ("bus", "ddr4-2400")] {
        let (kind, memory) = (format!("gpu.network.kind={network}"), format!("memory.kind={memory}"));
        let narrow = ["gpu.network.capacity=2", "gpu.network.bytes_per_cycle=16", "gpu.network.columns=2"];
        let size = ["gpu.arrays=2", "gpu.units_per_array=2", "gpu.l2.banks=2"];
        let mut changes = [SMALL, &[&kind, &memory], &narrow, &size].concat();
        changes.extend(dram.iter().map(String::as_str));
        let run = run("skeleton", &changes, 10_000, 1);
        assert_eq!(run.outcome, Outcome::Finished, "{network} {memory}");
    }
}

#[test]
fn every_read_is_right_with_blocks_of_any_size_with_and_without_transfers_between_gpus() {
    let variants: [&[&str]; 6] = [
        &["gpu.memory.block=64B", "gpu.memory.size=2KiB", "gpus=3"],
        &["gpu.memory.block=4KiB", "gpu.memory.size=8KiB", "gpu.memory.ways=1"],
        &["gpu.memory.block=16KiB", "gpu.l2.interleave=16KiB", "gpu.memory.size=32KiB", "gpu.memory.ways=1"],
        &["gpu.memory.peer_transfer=false", "gpus=3"],
        &["gpu.memory.kind=hbm", "memory.kind=ddr4-2400", "gpu.memory.dram.read_queue=1", "memory.dram.read_queue=1"],
        &["gpu.l2.banks=2", "gpu.l2.interleave=256B", "gpu.l2.size=4KiB", "gpu.memory.size=8KiB", "gpu.arrays=2"],
    ];
    for (number, variant) in variants.into_iter().enumerate() {
        let protocol = if number % 2 == 0 { "protocol=nmoesi" } else { "protocol=nmoesi_wb" };
        let changes = [SMALL, SMALL_MEMORIES, &[protocol], variant].concat();
        let runs = [1, 2].map(|threads| run("mini-nmoesi", &changes, OPERATIONS / 2, threads));
        assert_eq!(runs[0].outcome, Outcome::Finished, "{variant:?}");
        assert!(runs[0].regions == runs[1].regions, "{variant:?}: threads change statistics");
    }
}

/// GPU memories as levels over a fabric, with short queues: blocks of one line, and of many lines.
#[test]
fn every_read_is_right_in_a_hierarchy_over_a_fabric() {
    let few =
        ["gpu.arrays=1", "gpu.units_per_array=2", "gpu.memory.kind=fixed", "gpu.memory.ways=2", "fabric.credits=2"];
    let variants: [&[&str]; 4] = [
        &["gpus=4", "gpu.memory.block=256B", "gpu.memory.size=8KiB"],
        &["gpus=2", "gpu.memory.block=4KiB", "gpu.memory.size=32KiB"],
        &["gpus=3", "gpu.memory.block=64B", "gpu.l2.interleave=64B", "gpu.memory.size=4KiB", "gpu.memory.mask=4"],
        &[
            "gpus=2",
            "gpu.memory.block=1KiB",
            "gpu.memory.size=32KiB",
            "gpu.memory.peer_transfer=false",
            "memory.channels=4",
        ],
    ];
    for (number, variant) in variants.into_iter().enumerate() {
        let (base, protocol) = [("umh-nvlink", "protocol=nmoesi"), ("umh-pcie", "protocol=nmoesi_wb")][number % 2];
        let changes = [SMALL, &few, &[protocol], variant].concat();
        let runs = [1, 2].map(|threads| run(base, &changes, OPERATIONS / 40, threads));
        assert_eq!(runs[0].outcome, Outcome::Finished, "{variant:?}");
        assert!(runs[0].regions == runs[1].regions, "{variant:?}: threads change statistics");
    }
}

#[test]
fn every_read_is_right_where_a_cache_has_several_ports() {
    for protocol in Choice::all().map(|choice| choice.name).filter(|name| !name.starts_with("mesi")) {
        let key = format!("protocol={protocol}");
        let run = run(base(protocol), &[&key, "gpu.units_per_array=2", "gpu.l1v.ports=2", "gpu.l2.ports=2"], 6_000, 1);
        assert_eq!(run.outcome, Outcome::Finished, "{protocol}");
    }
}

#[test]
fn what_is_in_flight_to_a_home_in_another_gpu_s_cache_reaches_memory_too() {
    for latency in ["100 ns", "2 us"] {
        let wire = format!("wires.l2_memory.latency={latency}");
        let changes = [SMALL, &[wire.as_str()]].concat();
        assert_eq!(run_lines("mini-hmg", &changes, 3, 2_000, 1).outcome, Outcome::Finished, "{latency}");
    }
}

#[test]
fn a_request_that_is_refused_for_milliseconds_is_tried_ever_less_often_and_the_run_is_not_called_stuck() {
    let changes = ["gpu.l2.waiting=1", "system.hub.latency=2 ms", "cpu.cores=2"];
    let run = run_lines("apu4-nc-l3", &changes, 96, 400, 1);
    assert_eq!(run.outcome, Outcome::Finished);
    assert!(run.end.0 > 4_000_000_000_000, "{:?}", run.end);
}
