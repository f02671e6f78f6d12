//! Workloads on machines, in time.

use engine::Run;
use machine::{Machine, Options};
use workloads::{ALL, Size, Timed, Workload};

fn run(workload: &Workload, changes: &[&str], threads: usize) -> Result<Vec<Run>, String> {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    let machine = Machine::load("skeleton", &changes).expect("the machine is sound");
    let options = Options { threads, check: true, ..Options::default() };
    let mut gpu = Timed::new(workload.object, machine, options).expect("committed code objects are sound");
    match (workload.run)(Size::Tiny, &mut gpu) {
        Ok(_) => Ok(gpu.runs().to_vec()),
        Err(error) => Err(format!("{}: {error}", workload.name)),
    }
}

#[test]
fn every_workload_is_right_on_the_skeleton() {
    let wrong: Vec<String> =
        ALL.iter().filter_map(|workload| run(workload, &["gpu.units_per_array=3"], 1).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
