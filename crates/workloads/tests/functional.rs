//! Every workload on the functional GPU.

use std::num::NonZero;

use gcn3::exec::simd::{levels, use_level};
use mem::Bytes;
use workloads::{ALL, Arg, Buffer, Functional, Gpu, GpuError, NdRange, Size, WorkloadError};

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
    // Excludes bfs, in which a wavefront may or may not see another's writes of the same launch, and workloads whose
    // workgroups wait for each other.
    let waits = |name| workloads::find(name).expect("it is built in").waits_across_workgroups();
    let settled = |executed: Vec<(&'static str, u64)>| -> Vec<_> {
        executed.into_iter().filter(|(name, _)| *name != "bfs" && !waits(name)).collect()
    };
    assert_eq!(settled(run_all(Size::Tiny, 3)), settled(run_all(Size::Tiny, 1)));
}

#[test]
fn every_version_of_the_lane_loops_gives_right_results() {
    // Other tests of this process may run at another level meanwhile, which must not matter.
    for level in levels() {
        assert!(use_level(level));
        run_all(Size::Tiny, 1);
    }
}

#[test]
#[ignore = "takes a minute: cargo test --release -p cohesim-workloads -- --ignored"]
fn every_workload_is_right_at_its_default_size_and_executes_a_million_instructions() {
    for (name, executed) in run_all(Size::Default, 1) {
        assert!(executed >= 1_000_000, "{name} executes {executed} wavefront instructions");
    }
}

/// A GPU with one wrong bit in the middle of every result that is larger than a flag.
struct BadBit(Functional);

impl Gpu for BadBit {
    fn alloc(&mut self, size: Bytes) -> Result<Buffer, GpuError> {
        self.0.alloc(size)
    }

    fn write(&mut self, buffer: Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        self.0.write(buffer, bytes)
    }

    fn read(&mut self, buffer: Buffer, bytes: &mut [u8]) -> Result<(), GpuError> {
        self.0.read(buffer, bytes)?;
        let middle = bytes.len() / 2 / 4 * 4 + 3;
        if bytes.len() > 4 {
            bytes[middle] ^= 0x40;
        }
        Ok(())
    }

    fn launch(&mut self, kernel: &str, range: NdRange, args: &[Arg]) -> Result<(), GpuError> {
        self.0.launch(kernel, range, args)
    }
}

#[test]
fn every_workload_notices_one_wrong_bit() {
    // The result of a reduction is as small as the flag of bfs, which must stay right.
    for workload in ALL.iter().filter(|workload| workload.name != "reduction") {
        let gpu = Functional::new(workload.object, NonZero::<usize>::MIN).expect("committed code objects are sound");
        match (workload.run)(Size::Tiny, &mut BadBit(gpu)) {
            Err(WorkloadError::Wrong(mismatch)) => assert_eq!(mismatch.wrong, 1, "{}", workload.name),
            other => panic!("{}: {other:?}", workload.name),
        }
    }
}
