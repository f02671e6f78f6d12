//! The rectifier of neural networks: streaming with hardly any arithmetic.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "relu",
    about: "replaces the negative elements of a vector by zero",
    source: include_str!("relu.cl"),
    object: include_bytes!("relu.hsaco"),
    host: include_str!("relu.c"),
    sizes: |size| format!("{} elements", count(size)),
    run,
};

fn count(size: Size) -> usize {
    size.pick_usual(777, (1 << 22) + 321, 262_144)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let x = Rng::new(22).f32s(n, -1.0, 1.0);

    let (x_buffer, y_buffer) = (gpu.upload(&x)?, gpu.alloc_of::<f32>(n)?);
    gpu.launch("relu", NdRange::line(n, 64), args![x_buffer, y_buffer, n])?;

    let expected: Vec<f32> = x.iter().map(|&x| if x > 0.0 { x } else { 0.0 }).collect();
    Ok(bit_equal("y", &gpu.download(y_buffer, n)?, &expected)?)
}
