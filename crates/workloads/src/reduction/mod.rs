//! Summation: a tree in local memory with fewer and fewer active lanes, launched until one number is left.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "reduction",
    about: "adds up all elements of a vector of integers",
    source: include_str!("reduction.cl"),
    object: include_bytes!("reduction.hsaco"),
    host: include_str!("reduction.c"),
    sizes: |size| format!("{} elements", count(size)),
    run,
};

const GROUP: usize = 256;

fn count(size: Size) -> usize {
    size.pick(3000, (1 << 22) + 77)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let numbers = Rng::new(4).u32s(n);

    let mut input = gpu.upload(&numbers)?;
    let mut left = n;
    while left > 1 {
        let groups = left.div_ceil(2 * GROUP);
        let sums = gpu.alloc_of::<u32>(groups)?;
        gpu.launch("reduction", NdRange::line(groups * GROUP, GROUP as u32), args![input, sums, left])?;
        (input, left) = (sums, groups);
    }

    let expected = numbers.iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
    Ok(equal("sum", &gpu.download(input, 1)?, &[expected])?)
}
