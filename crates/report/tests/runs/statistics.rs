//! Every statistic is explained in `docs/statistics.md`, and every explained statistic is measured.

use crate::{
    collaboration,
    sums::{Sums, machine, options},
};
use ::machine::{Machine, shipped};
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../../docs/statistics.md");

/// The patterns of the document, each with its kind.
fn patterns() -> Vec<(&'static str, &'static str)> {
    let row = |line: &'static str| {
        let (pattern, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((pattern, rest.split(' ').next()?))
    };
    DOCUMENT.lines().filter_map(row).collect()
}

/// Whether a pattern covers a path: `*` is a number, `**` any names, `{a,b}` one of them.
fn covers(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**.") {
        return path.match_indices('.').any(|(at, _)| covers(rest, &path[at + 1..]));
    }
    if let Some((choices, rest)) = pattern.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        let mut left = choices.split(',').filter_map(|choice| path.strip_prefix(choice));
        return left.any(|left| covers(rest, left));
    }
    match (pattern.chars().next(), path.chars().next()) {
        (Some('*'), _) => {
            let digits = path.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && covers(&pattern[1..], &path[digits..])
        }
        (Some(a), Some(b)) if a == b => covers(&pattern[a.len_utf8()..], &path[b.len_utf8()..]),
        (None, None) => true,
        _ => false,
    }
}

#[test]
fn patterns_cover_what_they_say() {
    assert!(covers("gpu*.array*.cu*.cycles.{issue,code}", "gpu0.array12.cu3.cycles.code"));
    assert!(!covers("gpu*.array*.cu*.cycles.{issue,code}", "gpu0.array12.cu3.cycles.codes"));
    assert!(covers("**.{request,reply}.wait_cycles", "gpu0.l2_0.out.reply.wait_cycles"));
    assert!(!covers("**.passed", "passed") && !covers("memory*.reads", "memory.reads"));
}

#[test]
fn every_statistic_is_explained_and_every_explanation_is_of_one() {
    let mut measured = BTreeSet::new();
    let networks = ["ring", "crossbar"]
        .map(|kind| Machine::load("skeleton", &[format!("gpu.network.kind={kind}")]).expect("the machine is sound"));
    let fabrics = [
        ("multi-pcie", "pcie4"),
        ("multi-pcie", "pcie3"),
        ("multi-nvlink", "nvlink"),
        ("multi-shared", "switch-complex"),
    ]
    .map(|(name, part)| {
        let changes = ["gpus=2", "gpu.arrays=1", "gpu.l2.banks=2", &format!("fabric.part={part}")].map(str::to_owned);
        Machine::load(name, &changes).expect("the machine is sound")
    });
    let lifetimes = ["gpu.lifetimes=true".to_owned()];
    let l1_only = Machine::load("vc-l1only-32", &lifetimes).expect("the machine is sound");
    let remapped = Machine::load("vc-opt", &["gpu.fbt.remaps=4".to_owned()]).expect("the machine is sound");
    let gpus = [machine("r9nano"), machine("r9nano-hbm"), remapped, machine("vc-baseline-512"), l1_only]
        .into_iter()
        .chain(networks)
        .chain(fabrics);
    let gpus = gpus.map(|machine| Sums { count: 256, launches: 1 }.run(&machine, &options(1)));
    let virtual_caches = [
        "gpu.l2.tags=virtual",
        "gpu.fbt.part=virtual-cache",
        "system.iommu.entries=512",
        "system.iommu.ways=16",
        "system.iommu.page_walk_cache=1024",
    ];
    let cpus = [
        ("apu-c-l3", &[][..]),
        ("apu-c-l3", &virtual_caches),
        ("apu-nc-mc", &["system.network.kind=crossbar", "system.copies=dma"]),
    ];
    let cpus = cpus.map(|(name, changes)| collaboration::edges(&collaboration::machine(name, changes)).0);
    let several: Vec<Machine> = several_gpus().collect();
    assert!(several.len() > 20, "{} machines can have two GPUs", several.len());
    let several = several.iter().map(|machine| collaboration::edges(machine).0);
    for run in gpus.chain(cpus).chain([collaboration::edges(&faulting()).0]).chain(several) {
        for (path, value) in run.total().0 {
            let value = serde_json::to_value(&value).expect("statistics can be written");
            let kind = value.as_object().and_then(|value| value.keys().next().cloned()).expect("a value has a kind");
            measured.insert((String::from(path), kind));
        }
    }
    let patterns = patterns();
    assert!(patterns.len() > 20, "the document has tables");
    let explained =
        |(path, kind): &&(String, String)| patterns.iter().any(|(pattern, of)| of == kind && covers(pattern, path));
    let unexplained: Vec<_> = measured.iter().filter(|statistic| !explained(statistic)).take(10).collect();
    assert!(unexplained.is_empty(), "docs/statistics.md says nothing about {unexplained:?}");
    for (pattern, kind) in &patterns {
        let found = measured.iter().any(|(path, of)| of == kind && covers(pattern, path));
        assert!(found, "docs/statistics.md explains {pattern} ({kind}), which no element measures");
    }
}

/// The shipped machines of several GPUs, each with two small ones. Machines with virtual caches have one GPU and are
/// left out.
fn several_gpus() -> impl Iterator<Item = Machine> {
    let families = ["multi-", "halcone-", "umh-", "vc-"];
    let names = shipped().filter(move |name| families.iter().any(|family| name.starts_with(family)));
    names.filter_map(|name| {
        let small = ["gpus=2", "gpu.arrays=1", "gpu.units_per_array=2", "gpu.l2.banks=2"].map(str::to_owned);
        // A list of changes for machines with and without these keys.
        match Machine::examine(name, &small) {
            Ok((machine, _)) => Some(machine),
            Err(error) => {
                assert!(error.to_string().contains("one GPU"), "{name}: {error}");
                None
            }
        }
    })
}

/// Two GPUs with memories of their own, between which pages migrate.
fn faulting() -> Machine {
    let changes = ["gpus=2", "gpu.arrays=1", "gpu.l2.banks=2", "driver.policy=managed-fault"].map(str::to_owned);
    Machine::load("multi-pcie", &changes).expect("the machine is sound")
}

#[test]
fn each_gpu_accounts_for_all_of_the_run_and_for_its_page_faults() {
    let total = collaboration::edges(&faulting()).0.total();
    let time = |gpu: usize, phase: &str| total.count(&format!("front_end.gpu{gpu}.time.{phase}"));
    let all =
        |gpu| ["kernel", "fault", "peers", "flush", "copy", "idle"].map(|phase| time(gpu, phase)).iter().sum::<u64>();
    assert_eq!(all(0), all(1));
    for gpu in [0, 1] {
        assert!(time(gpu, "kernel") > 0 && time(gpu, "fault") > 0, "gpu{gpu} runs kernels, whose first accesses fault");
    }
}
