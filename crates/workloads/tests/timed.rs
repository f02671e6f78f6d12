//! Workloads on machines, in time.

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

#[test]
fn every_workload_is_right_on_every_machine() {
    for name in shipped() {
        for workload in ALL {
            assert!(!facts(workload, name, 1).1.is_empty());
        }
    }
}

#[test]
fn threads_change_no_statistic_of_any_machine() {
    for name in shipped() {
        for workload in ["vecadd", "matmul", "histogram", "reduction"] {
            let workload = workloads::find(workload).expect("it is built in");
            let same = facts(workload, name, 1) == facts(workload, name, 2);
            assert!(same, "{} on {name}: two threads give other statistics", workload.name);
        }
    }
}
