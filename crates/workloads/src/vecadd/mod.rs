//! Vector addition: pure streaming, the simplest program that uses memory.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "vecadd",
    about: "adds two vectors of floats",
    source: include_str!("vecadd.cl"),
    object: include_bytes!("vecadd.hsaco"),
    host: include_str!("vecadd.c"),
    sizes: |size| format!("{} elements", count(size)),
    run,
};

/// Not a multiple of the workgroup size, so the last workgroup is partly idle.
fn count(size: Size) -> usize {
    size.pick(1000, (1 << 22) - 100)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let mut rng = Rng::new(1);
    let (a, b) = (rng.f32s(n, -100.0, 100.0), rng.f32s(n, -100.0, 100.0));

    let (a_buffer, b_buffer, c_buffer) = (gpu.upload(&a)?, gpu.upload(&b)?, gpu.alloc_of::<f32>(n)?);
    gpu.launch("vecadd", NdRange::line(n, 256), args![a_buffer, b_buffer, c_buffer, n])?;

    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    Ok(bit_equal("c", &gpu.download(c_buffer, n)?, &expected)?)
}
