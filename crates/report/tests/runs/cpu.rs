//! Reports on machines with a CPU.

use crate::{
    collaboration::{edges, hotspot, machine},
    sums::{program, subject},
};
use report::{Comparison, Subject, Summary, write};
use std::{fs, path::PathBuf};

#[test]
fn cores_kernels_caches_and_the_network_are_in_a_report_on_a_collaborative_program() {
    let (machine, program) = (machine("apu-c-l3", &[]), program());
    let (run, finish) = edges(&machine);
    let subject = Subject { total: finish.totals.time, ..subject(&program, &machine, &run) };
    let summary = Summary::of(&subject);
    let cores = summary.cores.as_ref().expect("there is a CPU");
    assert_eq!((cores.count, cores.each.len()), (3, 3));
    for core in &cores.each {
        let all: f64 = core.shares.iter().sum();
        assert!((all - 1.0).abs() < 1e-9, "the cycles of {} add up to {all}", core.name);
    }
    assert_eq!(cores.each.iter().map(|core| core.instructions).sum::<u64>(), finish.totals.instructions);
    let names: Vec<&str> = summary.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["edge"], "kernels have their own names, whatever regions are called");
    assert!(summary.kernel_fs > 0 && summary.kernel_fs < summary.total_fs);
    // Resources that CPU and GPU share are measured over the whole run.
    let memory = summary.memory.as_ref().expect("there is memory");
    let bandwidth = memory.bytes as f64 / (run.end.0 as f64 * 1e-15);
    assert!((memory.bandwidth / bandwidth - 1.0).abs() < 0.01, "{} is not {bandwidth}", memory.bandwidth);
    assert!(!summary.wires.is_empty());
    assert!(summary.wires.iter().all(|wires| wires.held_up <= 1.0), "{:?}", summary.wires);
    let text = summary.to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("collaboration");
    write(&folder, &subject).expect("the folder can be written to");
    let page = fs::read_to_string(folder.join("report.html")).expect("it has been written");
    for part in
        ["each core went", "Caches of the CPU", "Caches of the GPU", "Kernels", "Network", "cpu.core2", "l3 x 2"]
    {
        assert!(page.contains(part), "the page says nothing about {part}");
    }
}

#[test]
fn a_program_without_kernels_is_reported_without_a_gpu() {
    let (machine, program) = (machine("apu-c-l3", &[]), program());
    let (run, _) = hotspot(&machine);
    let summary = Summary::of(&subject(&program, &machine, &run));
    assert!(summary.kernels.is_empty() && summary.memory.is_some() && summary.network.is_some());
    let told: Vec<&str> = summary.bottlenecks.iter().map(|bottleneck| bottleneck.what.as_str()).collect();
    assert!(told.iter().any(|what| what.starts_with("cores")), "{told:?}");
    assert!(!told.iter().any(|what| what.contains("units")), "{told:?}");
    let text = summary.to_string();
    assert!(!text.contains("wavefront") && text.contains("network:"), "{text}");
}

#[test]
fn machines_with_a_cpu_are_compared_by_what_their_cores_did() {
    let program = program();
    let mut comparison = Comparison::new("edge", &[]);
    for name in ["apu-c-l3", "apu-nc-mc"] {
        let machine = machine(name, &[]);
        let (run, finish) = edges(&machine);
        let subject = Subject { total: finish.totals.time, ..subject(&program, &machine, &run) };
        comparison.add(Summary::of(&subject));
    }
    let text = comparison.to_string();
    for part in ["IPC", "L1D hit", "L3 hit", "cycles of cores with a thread", "cycles of compute units", "apu-nc-mc"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(comparison.html().contains("the activity of cores while they had a thread"));
}
