//! Stores only, at the highest rate that the memory system accepts.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "write",
    about: "sets every element of a vector to a value",
    source: include_str!("write.cl"),
    object: include_bytes!("write.hsaco"),
    host: include_str!("write.c"),
    sizes: |size| format!("{} elements", count(size)),
    run,
};

const VALUE: u32 = 0x600d_f00d;

fn count(size: Size) -> usize {
    size.pick(1000, (1 << 23) - 100)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let out = gpu.alloc_of::<u32>(n)?;
    gpu.launch("write", NdRange::line(n, 256), args![out, VALUE, n])?;
    Ok(equal("out", &gpu.download(out, n)?, &vec![VALUE; n])?)
}
