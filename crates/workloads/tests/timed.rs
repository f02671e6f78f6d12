//! Workloads on machines, timed.

use engine::Run;
use machine::{Machine, Options, shipped};
use workloads::{ALL, Size, Timed, Workload};

fn run(workload: &Workload, name: &str, changes: &[&str], options: Options) -> Result<Run, String> {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    let machine = Machine::load(name, &changes).expect("the machine is sound");
    let mut gpu = Timed::new(workload.object, &machine, &options).expect("committed code objects are sound");
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", workload.name);
    (workload.run)(Size::Tiny, &mut gpu).map_err(|error| told(&error))?;
    gpu.finish().map_err(|error| told(&error))
}

#[test]
fn every_read_of_every_workload_is_right_on_the_skeleton() {
    let check = || Options { threads: 1, check: true, ..Options::default() };
    let on_skeleton = |workload| run(workload, "skeleton", &["gpu.units_per_array=3"], check()).err();
    let wrong: Vec<String> = ALL.iter().filter_map(on_skeleton).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn facts(workload: &Workload, name: &str, threads: usize) -> (engine::Time, Vec<engine::Region>) {
    let run = run(workload, name, &[], Options { threads, ..Options::default() });
    let run = run.unwrap_or_else(|error| panic!("{name}: {error}"));
    (run.end, run.regions)
}

/// Machines whose host is outside; machines with a CPU run whole programs (`machine/tests/complex.rs`).
fn gpus() -> Vec<Machine> {
    let loaded = shipped().map(|name| Machine::load(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}")));
    let machines: Vec<_> = loaded.filter(|machine| machine.cpu.is_none() && machine.serves_rust_hosts()).collect();
    let names: Vec<_> = machines.iter().map(|machine| machine.name.as_str()).collect();
    assert!(
        ["skeleton", "r9nano", "mini-halcone", "multi-shared"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    machines
}

#[test]
fn every_workload_is_right_on_every_machine_of_few_gpus() {
    // For machines with several GPUs on a fabric, `cargo xtask check-systems` runs whole programs.
    for machine in gpus().iter().filter(|machine| machine.fabric.is_none()) {
        let name = machine.name.as_str();
        for workload in
            ALL.iter().filter(|workload| name != "mini-nmoesi" || !SHARED_IN_A_KERNEL.contains(&workload.name))
        {
            assert!(facts(workload, name, 1).1.len() > 1, "a region for each kernel");
        }
    }
}

/// Workloads in which compute units share written data inside a kernel.
const SHARED_IN_A_KERNEL: [&str; 2] = ["xtreme2", "xtreme3"];

/// In UMH, stores of a kernel are merged only when it ends.
#[test]
fn stale_data_is_seen_by_the_check_where_stores_are_not_coherent_inside_a_kernel() {
    for name in SHARED_IN_A_KERNEL {
        let workload = workloads::find(name).expect("it is built in");
        let error = run(workload, "mini-nmoesi", &[], Options::default()).err().unwrap_or_default();
        assert!(error.starts_with(&format!("{name}: wrong result: c[")), "{error}");
    }
}

#[test]
fn threads_change_no_statistic_of_any_machine() {
    for machine in gpus() {
        let name = machine.name.as_str();
        for workload in ["vecadd", "matmul", "histogram", "reduction"] {
            let workload = workloads::find(workload).expect("it is built in");
            let same = facts(workload, name, 1) == facts(workload, name, 2);
            assert!(same, "{} on {name}: two threads give other statistics", workload.name);
        }
    }
}

#[test]
fn every_cycle_of_every_compute_unit_has_one_reason() {
    let workload = workloads::find("vecadd").expect("it is built in");
    let run = run(workload, "r9nano", &[], Options::default()).expect("it is right");
    let clock = Machine::load("r9nano", &[]).expect("it is shipped").clock;
    let edge = |time: engine::Time| (u128::from(time.0) * u128::from(clock.0)).div_ceil(1_000_000_000_000_000) as u64;
    let mut idle = 0;
    for region in &run.regions {
        let of = |unit: &str, reason: &str| region.statistics.count(&format!("{unit}.cycles.{reason}"));
        // Regions after the first omit statistics that counted nothing.
        let units = run.regions[0].statistics.0.keys().filter_map(|path| path.strip_suffix(".cycles.issue"));
        for unit in units {
            let below = format!("{unit}.cycles.");
            let reasons = region.statistics.0.keys().filter(|path| path.starts_with(&below));
            let all: u64 = reasons.map(|path| region.statistics.count(path)).sum();
            assert_eq!(all, edge(region.end) - edge(region.start), "{unit} in {}", region.name);
            if region.name != "start" && region.statistics.count(&format!("{unit}.wavefronts")) == 0 {
                idle += 1;
                // The launch takes 295 cycles and the end of the kernel 3894; between them this unit is idle.
                assert!((4189..4600).contains(&of(unit, "launch")) && of(unit, "no_wave") > 0, "{unit}");
            }
        }
    }
    assert!(idle > 0, "so few workgroups leave units without any");
}

#[test]
fn caches_of_every_kind_give_right_results() {
    let small = ["gpu.l1v.size=1KiB", "gpu.l2.size=4KiB"];
    let kinds: [&[&str]; 3] = [
        &["gpu.l1v.replacement=plru", "gpu.l2.replacement=random", "gpu.l2.ports=2"],
        &["gpu.l1v.line=128B", "gpu.l2.line=128B", "gpu.l2.interleave=256B"],
        &["gpu.l1v.line=256B", "gpu.l1s.line=256B", "gpu.l1v.replacement=random", "gpu.l2.mshrs=1"],
    ];
    for kind in kinds {
        for workload in ["matmul", "histogram", "transpose"] {
            let workload = workloads::find(workload).expect("it is built in");
            let changes: Vec<&str> = small.iter().chain(kind).copied().collect();
            let options = Options { check: true, ..Options::default() };
            run(workload, "skeleton", &changes, options).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        }
    }
}

#[test]
fn a_cache_with_more_ports_takes_more_requests_at_a_time() {
    let workload = workloads::find("transpose").expect("it is built in");
    let end = |ports| run(workload, "skeleton", &[ports], Options::default()).expect("it is right").end;
    assert!(end("gpu.l2.ports=4") < end("gpu.l2.ports=1"));
}
