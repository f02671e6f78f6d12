//! A finite impulse response filter: a loop over constant memory, uniform for all work-items.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "fir",
    about: "filters a signal with 16 taps",
    source: include_str!("fir.cl"),
    object: include_bytes!("fir.hsaco"),
    host: include_str!("fir.c"),
    sizes: |size| format!("{} samples", count(size)),
    run,
};

const TAPS: usize = 16;

fn count(size: Size) -> usize {
    size.pick_usual(600, 1 << 20, 65_536)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let mut rng = Rng::new(7);
    let signal = rng.f32s(n + TAPS - 1, -1.0, 1.0);
    let taps = rng.f32s(TAPS, -0.5, 0.5);

    let (input, coefficients, output) = (gpu.upload(&signal)?, gpu.upload(&taps)?, gpu.alloc_of::<f32>(n)?);
    gpu.launch("fir", NdRange::line(n, 256), args![input, coefficients, output, n, TAPS])?;

    let filtered = |window: &[f32]| window.iter().rev().zip(&taps).fold(0.0, |sum, (sample, tap)| sum + tap * sample);
    let expected: Vec<f32> = signal.windows(TAPS).map(filtered).collect();
    Ok(bit_equal("out", &gpu.download(output, n)?, &expected)?)
}
