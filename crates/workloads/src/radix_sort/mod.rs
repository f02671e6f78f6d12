//! A radix sort: eight passes over all keys, each of which scatters them.

use crate::{
    check::{Checked, equal},
    gpu::{Buffer, Gpu, GpuError, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "radix-sort",
    about: "sorts 32-bit keys by four bits at a time",
    source: include_str!("radix_sort.cl"),
    object: include_bytes!("radix_sort.hsaco"),
    host: include_str!("radix_sort.c"),
    sizes: |size| format!("{} keys", count(size)),
    run,
};

const GROUP: u32 = 64;
/// Keys per work-item.
const RUN: usize = 32;
const DIGITS: usize = 16;
/// Counts that a workgroup scans.
const BLOCK: usize = 256;

/// Neither is a multiple of a run.
fn count(size: Size) -> usize {
    size.pick(700, (1 << 19) + 77)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let items = n.div_ceil(RUN);
    let mut expected = Rng::new(35).u32s(n);

    let (mut keys, mut sorted) = (gpu.upload(&expected)?, gpu.alloc_of::<u32>(n)?);
    let mut levels = Vec::new();
    let mut length = DIGITS * items;
    for _ in 0..5 {
        levels.push((gpu.alloc_of::<u32>(length)?, length));
        length = length.div_ceil(BLOCK);
    }
    for shift in (0u32..32).step_by(4) {
        let range = NdRange::line(items, GROUP);
        gpu.launch("count_digits", range, args![keys, levels[0].0, n, items, shift])?;
        scan(gpu, &levels)?;
        gpu.launch("permute", range, args![keys, sorted, levels[0].0, n, items, shift])?;
        std::mem::swap(&mut keys, &mut sorted);
    }

    expected.sort_unstable();
    Ok(equal("keys", &gpu.download(keys, n)?, &expected)?)
}

/// Prefix sums of the first level, through the totals of its blocks.
fn scan(gpu: &mut dyn Gpu, levels: &[(Buffer, usize)]) -> Result<(), GpuError> {
    let ((counts, length), totals) = (levels[0], levels[1].0);
    let range = NdRange::line(length, BLOCK as u32);
    gpu.launch("scan_blocks", range, args![counts, totals, length])?;
    if length > BLOCK {
        scan(gpu, &levels[1..])?;
        gpu.launch("add_totals", range, args![counts, totals, length])?;
    }
    Ok(())
}
