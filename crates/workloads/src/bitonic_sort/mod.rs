//! Bitonic sort: many launches over the same data, 64-bit keys, local memory for the short distances.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "bitonic-sort",
    about: "sorts 64-bit keys with a bitonic network",
    source: include_str!("bitonic_sort.cl"),
    object: include_bytes!("bitonic_sort.hsaco"),
    host: include_str!("bitonic_sort.c"),
    sizes: |size| format!("{} keys", count(size)),
    run,
};

const GROUP: usize = 256;
const BLOCK: usize = 2 * GROUP;

/// A power of two, larger than a block.
fn count(size: Size) -> usize {
    size.pick(2048, 1 << 19)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let mut rng = Rng::new(6);
    let mut keys: Vec<u64> = (0..n).map(|_| rng.u64()).collect();

    let data = gpu.upload(&keys)?;
    let range = NdRange::line(n / 2, GROUP as u32);
    gpu.launch("compare_local", range, args![data, 2u32, BLOCK])?;
    let mut run_length = 2 * BLOCK;
    while run_length <= n {
        let mut distance = run_length / 2;
        while distance >= BLOCK {
            gpu.launch("compare_global", range, args![data, run_length, distance])?;
            distance /= 2;
        }
        gpu.launch("compare_local", range, args![data, run_length, run_length])?;
        run_length *= 2;
    }

    keys.sort_unstable();
    Ok(equal("keys", &gpu.download(data, n)?, &keys)?)
}
