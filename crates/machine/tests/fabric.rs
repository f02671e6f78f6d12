//! GPUs, memory stacks and a host over a fabric: every read is right, links are as fast as the file says, mistakes get
//! errors.

use engine::{Outcome, Run};
use machine::{
    Machine, Options, Stress, links, migration,
    plan::{Population, What, lower},
    stress,
};

/// Two arrays of two compute units per GPU and two banks; caches and queues of minimum size.
const SMALL: &[&str] = &[
    "gpus=3",
    "gpu.arrays=2",
    "gpu.units_per_array=2",
    "gpu.l2.banks=2",
    "gpu.l2.size=1KiB",
    "gpu.l2.ways=2",
    "gpu.l2.mshrs=2",
    "gpu.l2.waiting=2",
    "gpu.l1v.size=512",
    "gpu.l1v.ways=2",
    "gpu.l1v.mshrs=2",
    "gpu.l1v.waiting=2",
    "wires.l1_l2.capacity=1",
    "wires.l2_memory.capacity=1",
    "fabric.credits=1",
];

fn machine(name: &str, changes: &[&str]) -> Machine {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Machine::load(name, &changes).unwrap_or_else(|error| panic!("{name} {changes:?}: {error}"))
}

fn run(machine: &Machine, lines: u64, threads: usize) -> Run {
    let what = Stress { operations: 3_000, seed: 5, lines, round: 60, outstanding: 6 };
    stress(machine, what, &Options { check: true, threads, ..Options::default() })
}

#[test]
fn every_read_is_right_on_every_fabric_with_one_credit() {
    let fabrics = ["pcie3", "pcie4", "nvlink", "switch-complex"];
    for (number, fabric) in fabrics.into_iter().enumerate() {
        let part = format!("fabric.part={fabric}");
        for (protocol, remote) in [("wb_nc", "l1"), ("wt_nc", "l2"), ("halcone", "l2"), ("gtsc", "l2"), ("hmg", "l2")] {
            let of = [format!("protocol={protocol}"), format!("remote.from={remote}")];
            let machine = machine("multi-pcie", &[SMALL, &[part.as_str(), of[0].as_str(), of[1].as_str()]].concat());
            let one = run(&machine, 60, 1);
            assert_eq!(one.outcome, Outcome::Finished, "{fabric} {protocol} {remote}");
            if number == 0 {
                assert!(one.regions == run(&machine, 60, 2).regions, "{protocol}: threads change statistics");
            }
        }
    }
}

#[test]
fn a_wrong_byte_ends_a_run_with_any_number_of_threads() {
    for cache in ["gpu0.array0.cu0.l1v", "gpu2.array1.cu1.l1v"] {
        let mut machine = machine("multi-pcie", SMALL);
        machine.broken = Some(cache.to_owned());
        let outcomes = [1, 2, 4].map(|threads| run(&machine, 60, threads).outcome);
        let Outcome::Failed { message, .. } = &outcomes[0] else { panic!("{cache}: {}", outcomes[0]) };
        assert!(message.contains("a wrong value was read") && message.contains(cache), "{message}");
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{cache}: {outcomes:?}");
    }
}

#[test]
fn every_read_is_right_where_gpus_share_stacks_of_memory() {
    for changes in [&["protocol=halcone"][..], &["protocol=hmg"], &["fabric.total=300 GB/s"], &["memory.behind=host"]] {
        let machine = machine("multi-shared", &[SMALL, changes].concat());
        assert_eq!(run(&machine, 600, 1).outcome, Outcome::Finished, "{changes:?}");
    }
}

#[test]
fn every_read_is_right_where_cores_and_gpus_meet_in_the_host_s_memory() {
    for (name, protocol) in
        [("multi-pcie-cores", "wb_nc"), ("multi-nvlink-cores", "halcone"), ("multi-shared-cores", "hmg")]
    {
        let protocol = format!("protocol={protocol}");
        let machine = machine(name, &[SMALL, &["cpu.cores=2", protocol.as_str()]].concat());
        assert_eq!(run(&machine, 60, 1).outcome, Outcome::Finished, "{name}");
    }
}

#[test]
fn lines_and_engines_of_every_memory_are_tested() {
    let machine = machine("multi-pcie", SMALL);
    let statistics = run(&machine, 600, 1).total();
    for path in ["memory0", "memory1", "gpu0.memory0", "gpu1.memory0", "gpu2.memory0"] {
        assert!(statistics.count(&format!("{path}.writes")) > 0, "{path} was not written");
    }
    assert!(statistics.count("host.dma.loads") > 0 && statistics.count("gpu2.dma.stores") > 0);
}

#[test]
fn wires_are_as_fast_as_the_file_says_alone_and_shared() {
    let shape = ["gpus=3", "gpu.arrays=2", "gpu.units_per_array=4"];
    for (name, fabric) in [("multi-pcie", "pcie3"), ("multi-pcie", "pcie4"), ("multi-nvlink", "nvlink")] {
        let part = format!("fabric.part={fabric}");
        let probes = links(&machine(name, &[&shape[..], &[part.as_str()]].concat())).expect("they come to an end");
        let wires: Vec<_> = probes.iter().filter(|probe| !probe.what.starts_with("reading")).collect();
        assert_eq!((wires.len(), probes.len()), (3, 6), "{probes:?}");
        for probe in wires {
            let off = (probe.measured / probe.implied - 1.0).abs();
            assert!(off < 0.02, "{fabric}: {probe:?}");
        }
    }
}

/// Steps that the file does not determine to the cycle (cache look-ups, a DMA engine that does one thing at a time)
/// take at least as long as the wires.
#[test]
fn a_page_migrates_in_parts_that_take_what_the_file_says() {
    for (name, fabric) in [("multi-pcie", "pcie4"), ("multi-nvlink", "nvlink"), ("multi-shared", "switch-complex")] {
        let part = format!("fabric.part={fabric}");
        let machine = machine(name, &["gpus=2", "gpu.arrays=2", "gpu.units_per_array=2", part.as_str()]);
        let probes = migration(&machine).expect("it comes to an end");
        assert_eq!(probes.len(), 6, "{probes:?}");
        for probe in &probes {
            let exact = !probe.what.contains("caches") && !probe.what.contains("transfer");
            let off = probe.measured / probe.implied - 1.0;
            assert!(off > -0.02 && (!exact || off < 0.02), "{name}: {probe:?}");
        }
    }
}

#[test]
fn each_gpu_is_simulated_by_itself_and_sixteen_meet_in_no_common_partition() {
    let machine = machine("multi-shared", &["gpus=16"]);
    let plan = lower(&machine, Population::Testers);
    let parts_of = |gpu: usize| {
        let own = format!("gpu{gpu}.");
        let elements = plan.elements.iter().filter(move |element| element.path.to_string().starts_with(&own));
        elements.map(|element| element.part).collect::<std::collections::BTreeSet<_>>()
    };
    for gpu in 0..16 {
        assert_eq!(parts_of(gpu).len(), 4);
        assert!((0..gpu).all(|other| parts_of(gpu).is_disjoint(&parts_of(other))));
        assert!(parts_of(gpu).iter().all(|part| plan.shares[part].group == gpu + 1));
    }
    let in_common = plan.elements.iter().filter(|element| element.part == 0);
    assert!(in_common.clone().count() > 0, "the host is in partition 0");
    assert!(in_common.clone().all(|element| !matches!(element.what, What::Cache(_) | What::Memory(_))));
    assert_eq!(plan.control_delay, machine.fabric.map(|fabric| fabric.latency));
}

#[test]
fn combinations_that_do_not_fit_are_refused_with_a_remedy() {
    let wrong = |name: &str, changes: &[&str]| {
        let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        Machine::load(name, &changes).err().map_or_else(|| panic!("{changes:?} is accepted"), |error| error.to_string())
    };
    for (name, changes, says) in [
        (
            "multi-pcie",
            &["protocol=hmg"][..],
            "[remote] from: under hmg second-level caches ask for lines of other GPUs: set it to \"l2\"",
        ),
        (
            "multi-pcie",
            &["protocol=nmoesi"],
            "[gpu.memory] role: nmoesi makes memories of GPUs levels above the host's: set it to \"level\"",
        ),
        ("multi-pcie", &["memory.behind=l2"], "set it to \"host\", or leave it out"),
        (
            "multi-pcie",
            &["fabric.total=1 GB/s"],
            "fabric.total has no effect: fabric.kind is \"tree\"; set fabric.kind to switch",
        ),
        ("multi-shared", &["remote.from=l1"], "remote.from has no effect: GPUs have no memory of their own"),
        ("multi-shared", &["memory.stacks=0"], "must be a number from 1 to 32, or \"gpus\""),
        ("r9nano", &["memory.behind=host"], "[memory] behind: there is no fabric: add one (fabric.part)"),
        (
            "r9nano",
            &["gpu.memory={ part = 'hbm', role = 'local', size = '1 GiB' }"],
            "over a fabric: add one (fabric.part)",
        ),
        ("multi-nvlink", &["gpus=64"], "a fabric joins 64 ends at most"),
    ] {
        let told = wrong(name, changes).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(says), "{changes:?}: {told}");
    }
}
