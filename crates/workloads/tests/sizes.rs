//! The footprints of the default sizes, determined without running a kernel.

use mem::Bytes;
use workloads::{ALL, Arg, Buffer, Gpu, GpuError, NdRange, Size};

/// Sums a workload's allocations, and stops it at its first launch.
#[derive(Default)]
struct Footprint {
    bytes: u64,
    buffers: usize,
}

impl Gpu for Footprint {
    fn alloc(&mut self, size: Bytes) -> Result<Buffer, GpuError> {
        self.bytes += size.0;
        self.buffers += 1;
        Ok(Buffer(self.buffers - 1))
    }

    fn write(&mut self, _: Buffer, _: &[u8]) -> Result<(), GpuError> {
        Ok(())
    }

    fn read(&mut self, _: Buffer, _: &mut [u8]) -> Result<(), GpuError> {
        Ok(())
    }

    fn launch(&mut self, _: &str, _: NdRange, _: &[Arg]) -> Result<(), GpuError> {
        Err("no kernel runs here".into())
    }
}

fn footprint(run: impl Fn(&mut dyn Gpu)) -> u64 {
    let mut gpu = Footprint::default();
    run(&mut gpu);
    gpu.bytes
}

#[test]
fn every_default_size_fills_two_l2_caches_of_2_mib() {
    for workload in ALL {
        let bytes = footprint(|gpu| assert!((workload.run)(Size::Default, gpu).is_err()));
        assert!(bytes >= 4 << 20, "{} touches {bytes} bytes", workload.name);
    }
}

#[test]
fn every_tiny_size_stays_below_a_quarter_mib() {
    for workload in ALL {
        let bytes = footprint(|gpu| assert!((workload.run)(Size::Tiny, gpu).is_err()));
        assert!(bytes <= 256 << 10, "{} touches {bytes} bytes", workload.name);
    }
}
