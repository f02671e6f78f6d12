//! Prefix sums: work-efficient trees in local memory; the host recurses over the blocks' totals.

use crate::{
    check::{Checked, equal},
    gpu::{Buffer, Gpu, GpuError, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "scan",
    about: "computes exclusive prefix sums of integers",
    source: include_str!("scan.cl"),
    object: include_bytes!("scan.hsaco"),
    host: include_str!("scan.c"),
    sizes: |size| format!("{} elements", count(size)),
    run,
};

const GROUP: usize = 128;
const BLOCK: usize = 2 * GROUP;

/// Neither is a multiple of the block; the larger one needs three levels of totals.
fn count(size: Size) -> usize {
    size.pick(1500, (1 << 20) + 555)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let numbers = Rng::new(5).u32s(n);

    let input = gpu.upload(&numbers)?;
    let output = scan(gpu, input, n)?;

    let running = |sum: &mut u32, x: &u32| Some(std::mem::replace(sum, sum.wrapping_add(*x)));
    let expected: Vec<u32> = numbers.iter().scan(0, running).collect();
    Ok(equal("out", &gpu.download(output, n)?, &expected)?)
}

/// Scans blocks, then their totals, then adds the totals to the blocks.
fn scan(gpu: &mut dyn Gpu, input: Buffer, n: usize) -> Result<Buffer, GpuError> {
    let blocks = n.div_ceil(BLOCK);
    let (output, totals) = (gpu.alloc_of::<u32>(n)?, gpu.alloc_of::<u32>(blocks)?);
    gpu.launch("scan_blocks", NdRange::line(blocks * GROUP, GROUP as u32), args![input, output, totals, n])?;
    if blocks > 1 {
        let offsets = scan(gpu, totals, blocks)?;
        gpu.launch("add_offsets", NdRange::line(n, 256), args![output, offsets, n])?;
    }
    Ok(output)
}
