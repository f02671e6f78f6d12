//! Every function that moves bytes, and images of every kind, on machines of every family. The programs check
//! themselves.

use std::process::Command;

use crate::{Ran, programs, ran, support::Folder};

/// Builds a program, and runs it on several machines, each with its options, with these arguments.
fn is_right(name: &str, systems: &[&[&str]], arguments: &[&str]) {
    let folder = Folder::new(&format!("{name}-{}", systems[0].join("-").replace(['=', '.'], "-")));
    let sdk = format!("-L{}/sdk", programs::ROOT);
    let flags = ["-static", &sdk, "-lOpenCL", "-lpthread", "-lm"];
    let Some(program) = programs::build(name, &folder, "static", &flags) else { return };
    for system in systems {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        let Ran { code, out } = ran(command.args(["run", &program]).args(*system).arg("--").args(arguments));
        assert_eq!(code, Some(0), "{system:?}: {out}");
    }
}

#[test]
fn every_move_is_right_where_the_host_is_outside() {
    let systems = ["skeleton", "r9nano", "mini-halcone", "mini-gtsc", "mini-hmg", "mini-nmoesi"];
    let systems = systems.map(|name| ["--system", name, "--check"]);
    is_right("every_move.c", &systems.each_ref().map(|system| &system[..]), &[]);
}

#[test]
fn every_move_is_right_on_a_coherent_chip() {
    is_right("every_move.c", &[&["--system", "apu-c-l3", "--check"]], &[]);
}

/// Wavefronts see what the CPU writes while they run, and read on while pages change.
#[test]
fn a_kernel_sees_what_the_cpu_writes_while_pages_change() {
    let virtual_caches =
        ["gpu.l2.tags=virtual", "gpu.fbt.part=virtual-cache", "system.iommu.entries=16", "system.iommu.ways=16"];
    let sets: Vec<&str> = virtual_caches.iter().flat_map(|change| ["--set", *change]).collect();
    let coherent = ["--system", "apu-c-l3", "--check"];
    is_right("polls.c", &[&coherent, &[&coherent[..], &sets].concat()], &[]);
}

#[test]
fn every_move_is_right_where_cpu_and_gpu_meet_in_memory() {
    is_right("every_move.c", &[&["--system", "apu-c-mc"]], &[]);
}

#[test]
fn every_move_is_right_where_the_shared_cache_is_flushed() {
    is_right("every_move.c", &[&["--system", "apu-nc-l3"]], &[]);
}

#[test]
fn every_move_is_right_where_all_caches_are_flushed() {
    is_right("every_move.c", &[&["--system", "apu-nc-mc"]], &[]);
}

#[test]
fn every_move_is_right_with_a_dma_engine_on_a_coherent_chip() {
    is_right("every_move.c", &[&["--system", "apu-c-l3", "--set", "system.copies=dma"]], &[]);
}

#[test]
fn every_move_is_right_with_a_dma_engine_and_flushes() {
    is_right("every_move.c", &[&["--system", "apu-nc-mc", "--set", "system.copies=dma"]], &[]);
}

#[test]
fn every_move_is_right_where_gpus_have_memory_of_their_own() {
    let policies: [&[&str]; 5] = [
        &["memcpy", "--spread", "pages"],
        &["zero-copy", "--gpu-memory", "64MiB"],
        &["managed-eager"],
        &["managed-fault", "--gpu-memory", "2MiB"],
        &["adsm-rolling", "--adsm-block", "4KiB", "--adsm-rolling", "1"],
    ];
    let systems =
        policies.map(|policy| [&["--functional", "--gpus", "2", "--poison", "--memory-policy"], policy].concat());
    is_right("every_move.c", &systems.each_ref().map(|system| &system[..]), &[]);
}

#[test]
fn system_calls_read_and_write_memory_whose_pages_are_with_gpus() {
    let policies: [&[&str]; 4] = [
        &["managed-eager"],
        &["managed-fault"],
        &["adsm-lazy"],
        &["adsm-rolling", "--adsm-block", "4KiB", "--adsm-rolling", "1"],
    ];
    let systems =
        policies.map(|policy| [&["--functional", "--gpus", "2", "--poison", "--memory-policy"], policy].concat());
    is_right("svm_io.c", &systems.each_ref().map(|system| &system[..]), &[]);
}

#[test]
fn host_and_kernel_hand_a_page_back_and_forth_while_the_kernel_runs() {
    is_right("svm_list.c", &[&["--functional", "--memory-policy", "managed-fault", "--poison"]], &[]);
}

#[test]
fn images_of_every_kind_and_format_are_read_written_and_sampled() {
    let policies = [["--functional", "--memory-policy", "memcpy"], ["--functional", "--memory-policy", "shared"]];
    is_right("image_formats.c", &policies.each_ref().map(|policy| &policy[..]), &[]);
}

#[test]
fn images_of_every_kind_are_read_written_and_sampled_on_a_timed_machine() {
    is_right("image_formats.c", &[&["--system", "skeleton", "--check"]], &["few"]);
}

#[test]
fn kernels_of_two_queues_overlap_on_two_devices_and_on_one_that_has_room_for_both() {
    let gang: &[&str] = &["--system", "multi-pcie", "--set", "gpus=2", "--check"];
    let slots: &[&str] = &["--system", "r9nano", "--set", "gpu.dispatcher.kernels=2", "--check"];
    let folder = Folder::new("two-queues");
    let traced = folder.file("traced");
    let trace = ["--trace", "1000000", "--out", &traced];
    let each = [&["--system", "multi-pcie", "--set", "gpus=2", "--devices", "each", "--check"][..], &trace].concat();
    let sdk = format!("-L{}/sdk", programs::ROOT);
    let flags = ["-static", &sdk, "-lOpenCL", "-lpthread", "-lm"];
    let Some(program) = programs::build("two_queues.c", &folder, "static", &flags) else { return };
    for (system, said) in [
        (&each[..], "2 devices: right; the kernels overlapped"),
        (gang, "1 devices: right; one kernel after the other"),
        (slots, "1 devices: right; the kernels overlapped"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cohesim"));
        let Ran { code, out } = ran(command.args(["run", &program]).args(system));
        assert_eq!((code, out.contains(said)), (Some(0), true), "{system:?}: {out}");
    }
    let kernels = ["gpu0", "gpu1"].map(|gpu| kernels(&format!("{traced}/trace.json"), gpu));
    let [Some((start, end)), Some((other_start, other_end))] = kernels.map(|kernels| kernels.first().copied()) else {
        panic!("each GPU runs a kernel")
    };
    assert!(start < other_end && other_start < end, "{start} to {end}, and {other_start} to {other_end}");
}

/// When kernels of a GPU began and ended, in microseconds, from a trace.
fn kernels(trace: &str, gpu: &str) -> Vec<(f64, f64)> {
    let text = std::fs::read_to_string(trace).expect("there is a trace");
    let trace: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let entries = trace["traceEvents"].as_array().expect("it has events");
    let dispatcher = format!("{gpu}.dispatcher.");
    let is_thread = |entry: &&serde_json::Value| {
        entry["name"] == "thread_name"
            && entry["args"]["name"].as_str().is_some_and(|name| name.starts_with(&dispatcher))
    };
    let threads: Vec<&serde_json::Value> = entries.iter().filter(is_thread).map(|entry| &entry["tid"]).collect();
    let spans = entries.iter().filter(|entry| entry["name"] == "kernel" && threads.contains(&&entry["tid"]));
    let micros = |value: &serde_json::Value| value.as_f64().expect("times are numbers");
    spans.map(|entry| (micros(&entry["ts"]), micros(&entry["ts"]) + micros(&entry["dur"]))).collect()
}
