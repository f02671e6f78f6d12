//! The one-dimensional Haar transform: streaming, with half as many numbers in each launch as in the last.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "haar-wavelet",
    about: "transforms samples into averages and details after Haar, eight levels per launch",
    source: include_str!("haar_wavelet.cl"),
    object: include_bytes!("haar_wavelet.hsaco"),
    host: include_str!("haar_wavelet.c"),
    sizes: |size| format!("{} samples", count(size)),
    run,
};

const GROUP: usize = 128;
const BLOCK: usize = 2 * GROUP;
const HALF_ROOT: f32 = std::f32::consts::FRAC_1_SQRT_2;

fn count(size: Size) -> usize {
    size.pick(2048, 1 << 20)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let mut values = Rng::new(33).f32s(n, -1.0, 1.0);

    let (mut input, output) = (gpu.upload(&values)?, gpu.alloc_of::<f32>(n)?);
    let mut averages = [gpu.alloc_of::<f32>(n / BLOCK + 1)?, gpu.alloc_of::<f32>(n / BLOCK + 1)?];
    let mut left = n;
    while left > 1 {
        let block = left.min(BLOCK);
        let range = NdRange::line(left / block * GROUP, GROUP as u32);
        gpu.launch("haar_blocks", range, args![input, output, averages[0], left, block])?;
        input = averages[0];
        averages.swap(0, 1);
        left /= block;
    }

    transform(&mut values);
    Ok(bit_equal("out", &gpu.download(output, n)?, &values)?)
}

/// Level by level: averages at the front, details behind them.
fn transform(values: &mut [f32]) {
    let mut count = values.len();
    while count > 1 {
        let pairs = values[..count].chunks_exact(2);
        let averages = pairs.clone().map(|pair| (pair[0] + pair[1]) * HALF_ROOT);
        let level: Vec<f32> = averages.chain(pairs.map(|pair| (pair[0] - pair[1]) * HALF_ROOT)).collect();
        values[..count].copy_from_slice(&level);
        count /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_detail() {
        let mut values = [1.0, 1.0, 3.0, 3.0];
        transform(&mut values);
        assert_eq!(values.map(|value| value.round()), [4.0, -2.0, 0.0, 0.0]);
    }
}
