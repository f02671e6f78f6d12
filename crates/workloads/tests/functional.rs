//! Every workload on the functional GPU.

use std::num::NonZero;

use workloads::{ALL, Functional, Size};

fn run_all(size: Size, threads: usize) -> Vec<(&'static str, u64)> {
    let threads = NonZero::new(threads).expect("is not zero");
    let mut executed = Vec::new();
    let mut wrong = Vec::new();
    for workload in ALL {
        let mut gpu = Functional::new(workload.object, threads).expect("committed code objects are sound");
        match (workload.run)(size, &mut gpu) {
            Ok(_) => executed.push((workload.name, gpu.wave_instructions())),
            Err(error) => wrong.push(format!("{}: {error}", workload.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    executed
}

#[test]
fn every_workload_is_right_at_its_tiny_size() {
    run_all(Size::Tiny, 1);
}

#[test]
fn threads_change_neither_results_nor_what_is_executed() {
    // All but bfs, in which a wavefront may see or not yet see what another one writes in the same launch.
    let without_bfs = |executed: Vec<(&'static str, u64)>| -> Vec<_> {
        executed.into_iter().filter(|(name, _)| *name != "bfs").collect()
    };
    assert_eq!(without_bfs(run_all(Size::Tiny, 3)), without_bfs(run_all(Size::Tiny, 1)));
}

#[test]
#[ignore = "takes a minute: cargo test --release -p cohesim-workloads -- --ignored"]
fn every_workload_is_right_at_its_default_size_and_executes_a_million_instructions() {
    for (name, executed) in run_all(Size::Default, 1) {
        assert!(executed >= 1_000_000, "{name} executes {executed} wavefront instructions");
    }
}
