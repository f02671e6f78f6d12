//! The fast Walsh-Hadamard transform: butterflies without multiplication, and an integer remainder by a variable.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "fast-walsh",
    about: "transforms a signal by sums and differences, one launch per stage",
    source: include_str!("fast_walsh.cl"),
    object: include_bytes!("fast_walsh.hsaco"),
    host: include_str!("fast_walsh.c"),
    sizes: |size| format!("2^{} floats", bits(size)),
    run,
};

fn bits(size: Size) -> u32 {
    size.pick(10, 20)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = 1usize << bits(size);
    let mut signal = Rng::new(15).f32s(n, -1.0, 1.0);

    let data = gpu.upload(&signal)?;
    for stage in 0..bits(size) {
        gpu.launch("fast_walsh", NdRange::line(n / 2, 256), args![data, 1u32 << stage])?;
    }

    transform(&mut signal);
    Ok(bit_equal("data", &gpu.download(data, n)?, &signal)?)
}

/// First both halves, then their sum and difference.
fn transform(signal: &mut [f32]) {
    if signal.len() > 1 {
        let (left, right) = signal.split_at_mut(signal.len() / 2);
        transform(left);
        transform(right);
        for (a, b) in left.iter_mut().zip(right) {
            (*a, *b) = (*a + *b, *a - *b);
        }
    }
}
