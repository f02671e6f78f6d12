//! Copies by a DMA engine in place of a core.

mod support;

use engine::{Outcome, Run};
use machine::{Machine, Options, Stress, stress};
use support::{WORKLOADS, good};

/// A program that copies and fills in every way that OpenCL offers.
const COPIES: &[u8] = include_bytes!("copies/copies");

fn machine(name: &str, who: &str) -> Machine {
    Machine::load(name, &["cpu.cores=4".to_owned(), format!("system.copies={who}")]).expect("the machine is sound")
}

fn numbers(out: &str) -> Vec<f64> {
    out.split_whitespace().map(|word| word.parse().expect("the program prints numbers")).collect()
}

fn count(run: &Run, path: &str) -> u64 {
    run.total().count(path)
}

#[test]
fn every_way_to_move_bytes_is_right() {
    for name in ["apu-nc-mc", "apu-nc-l3", "apu-c-l3"] {
        let (out, run) = good(&machine(name, "dma"), COPIES, &["right"], 1);
        assert_eq!(out, "copies as they should be\n", "{name}");
        let fewest = if name == "apu-c-l3" { 51 } else { 53 };
        assert!(count(&run, "dma.copies") >= fewest, "{name}: {}", count(&run, "dma.copies"));
    }
}

#[test]
fn workloads_are_right_and_every_byte_is_counted() {
    let programs = [
        ("backprop", "256"),
        ("bfs", "256"),
        ("hotspot", "32"),
        ("kmeans", "256"),
        ("lud", "32"),
        ("needleman_wunsch", "32"),
    ];
    for name in ["apu-nc-mc", "apu-nc-l3"] {
        for (program, size) in programs {
            let words = [program, "--size", size, "--copies", "explicit"];
            let (_, run) = good(&machine(name, "dma"), WORKLOADS, &words, 1);
            let (copies, bytes) = (count(&run, "dma.copies"), count(&run, "dma.moved.copy"));
            assert!(copies > 1 && bytes > 256, "{name} {program}: {copies} copies of {bytes} bytes");
        }
    }
}

#[test]
fn statistics_do_not_depend_on_threads() {
    let machine = machine("apu-nc-l3", "dma");
    let words = ["vecadd", "--size", "512", "--copies", "explicit"];
    let [one, two] = [1, 2].map(|threads| good(&machine, WORKLOADS, &words, threads).1);
    assert!(one.regions == two.regions && one.end == two.end);
}

/// Each line is fetched twice, once to be read and once to be overwritten, each time with a header of 8 bytes; then its
/// write-back is acknowledged. All of that uses one wire of 16 bytes per cycle at 2 GHz.
#[test]
fn a_copy_takes_what_its_wire_allows() {
    let machine = machine("apu-nc-mc", "dma");
    let least = 1024.0 * (5.0 + 5.0 + 1.0) * 0.5;
    let times = numbers(&good(&machine, COPIES, &["lengths", "65536"], 1).0);
    assert_eq!(times.len(), 2, "a write and a read are timed");
    for time in times {
        assert!(time >= least && time < 1.25 * least, "{time} ns, the wire takes {least} ns");
    }
}

#[test]
fn what_caches_do_not_hold_is_copied_faster_than_by_a_core() {
    let times = ["dma", "core"].map(|who| {
        let small = ["cpu.l2.size=32KiB", "cpu.l3.size=16KiB", "cpu.cores=4"].map(str::to_owned);
        let changes = [&small[..], &[format!("system.copies={who}")]].concat();
        let machine = Machine::load("apu-nc-mc", &changes).expect("the machine is sound");
        numbers(&good(&machine, COPIES, &["lengths", "98304"], 1).0)
    });
    assert_eq!(times.each_ref().map(Vec::len), [2, 2], "a write and a read are timed");
    for (engine, core) in times[0].iter().zip(&times[1]) {
        assert!(*engine < 0.8 * core, "{engine} ns by the engine, {core} ns by a core");
    }
}

#[test]
fn the_host_works_while_bytes_are_moved() {
    let words = ["overlap", "65536", "8000"];
    let together = |who| {
        let times = numbers(&good(&machine("apu-nc-mc", who), COPIES, &words, 1).0);
        let [copy, work, both] = times[..] else { panic!("three times are printed") };
        (copy + work, copy.max(work), both)
    };
    let (sum, _, both) = together("core");
    assert!(both > 0.95 * sum, "a core does one thing after the other: {both} of {sum} ns");
    let (sum, longer, both) = together("dma");
    assert!(both < 0.8 * sum && both < 1.3 * longer, "{both} ns, the longer of both takes {longer} ns");
}

#[test]
fn a_copy_from_nowhere_fails_and_says_so() {
    let (out, _) = good(&machine("apu-nc-mc", "dma"), COPIES, &["nowhere"], 1);
    assert_eq!(out, "status -5\n");
}

#[test]
fn random_accesses_of_the_engine_are_right_beside_those_of_cores_and_compute_units() {
    let what = Stress { operations: 4_000, seed: 3, lines: 24, round: 100, outstanding: 6 };
    for name in ["apu-c-l3", "apu-nc-mc"] {
        let runs = [1, 2].map(|threads| {
            let options = Options { threads, check: true, ..Options::default() };
            stress(&machine(name, "dma"), what, &options)
        });
        assert_eq!(runs[0].outcome, Outcome::Finished, "{name}");
        assert!(count(&runs[0], "dma.loads") > 50 && count(&runs[0], "dma.stores") > 50, "{name}");
        assert!(runs[0].regions == runs[1].regions, "{name}: threads change statistics");
    }
}
