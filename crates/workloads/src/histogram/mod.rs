//! A histogram: atomic operations in local memory, most of them on a few bins, then in global memory.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "histogram",
    about: "counts how often each byte occurs, by atomic operations",
    source: include_str!("histogram.cl"),
    object: include_bytes!("histogram.hsaco"),
    host: include_str!("histogram.c"),
    sizes: |size| format!("{} bytes", 4 * words(size)),
    run,
};

fn words(size: Size) -> usize {
    size.pick(2000, 1 << 22)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = words(size);
    let mut rng = Rng::new(12);
    // The smaller of two random bytes: low values are much more frequent than high ones.
    let bytes: Vec<u8> = (0..4 * n).map(|_| rng.u32()).map(|x| ((x >> 8) as u8).min((x >> 24) as u8)).collect();

    let (words, counts) = (gpu.upload(&bytes)?, gpu.upload(&[0u32; 256])?);
    gpu.launch("histogram", NdRange::line(n / 16, 256), args![words, counts, n])?;

    let mut expected = [0u32; 256];
    for byte in bytes {
        expected[usize::from(byte)] += 1;
    }
    Ok(equal("counts", &gpu.download(counts, 256)?, &expected)?)
}
