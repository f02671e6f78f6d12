//! The matrix Q of a magnetic resonance image: compute-bound, with data that all work-items read.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "mri-q",
    about: "adds up what samples contribute to the matrix Q of a magnetic resonance image",
    source: include_str!("mri_q.cl"),
    object: include_bytes!("mri_q.hsaco"),
    host: include_str!("mri_q.c"),
    sizes: describe,
    run,
};

pub(crate) const SAMPLES_PER_LAUNCH: usize = 256;

pub(crate) fn describe(size: Size) -> String {
    let (points, samples) = shape(size);
    format!("{points} points, {samples} samples")
}

/// Number of points and samples.
pub(crate) fn shape(size: Size) -> (usize, usize) {
    size.pick((70, 260), (250_000, 16))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (count, samples) = shape(size);
    let mut rng = Rng::new(61);
    let (k, phi) = (rng.f32s(3 * samples, -0.5, 0.5), rng.f32s(2 * samples, -0.5, 0.5));
    let points = rng.f32s(3 * count, 0.0, 8.0);

    let (k_buffer, phi_buffer, point_buffer) = (gpu.upload(&k)?, gpu.upload(&phi)?, gpu.upload(&points)?);
    let (magnitude, q) = (gpu.alloc_of::<f32>(samples)?, gpu.upload(&vec![0f32; 2 * count])?);
    gpu.launch("magnitudes", NdRange::line(samples, 256), args![phi_buffer, magnitude, samples])?;
    for first in (0..samples).step_by(SAMPLES_PER_LAUNCH) {
        let end = samples.min(first + SAMPLES_PER_LAUNCH);
        let args = args![k_buffer, magnitude, point_buffer, q, first, end, count];
        gpu.launch("add_q", NdRange::line(count, 256), args)?;
    }

    let mut expected = vec![0f32; 2 * count];
    for (point, sum) in points.chunks(3).zip(expected.chunks_mut(2)) {
        for (k, phi) in k.chunks(3).zip(phi.chunks(2)) {
            let (turn, magnitude) = (turn(k, point), phi[0] * phi[0] + phi[1] * phi[1]);
            sum[0] += magnitude * sine_turn(turn + 0.25);
            sum[1] += magnitude * sine_turn(turn);
        }
    }
    Ok(bit_equal("q", &gpu.download(q, 2 * count)?, &expected)?)
}

/// The phase between a sample and a point, in turns.
pub(crate) fn turn(k: &[f32], point: &[f32]) -> f32 {
    k[0] * point[0] + k[1] * point[1] + k[2] * point[2]
}

/// Sine of 2 pi t for moderate t: a polynomial in the distance to the nearest quarter of a turn.
pub(crate) fn sine_turn(t: f32) -> f32 {
    let mut t = t - (t + 0.5).floor();
    if t > 0.25 {
        t = 0.5 - t;
    }
    if t < -0.25 {
        t = -0.5 - t;
    }
    let x = std::f32::consts::TAU * t;
    let xx = x * x;
    x * (1.0 + xx * (-0.166_666_67 + xx * (0.008_333_331 + xx * (-0.000_198_408_74 + xx * 0.000_002_752_556_2))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sine_of_a_turn_is_a_sine() {
        for t in [-3.9f32, -0.5, -0.2, 0.0, 0.1, 0.25, 0.6, 1.75, 7.3] {
            assert!((sine_turn(t) - (std::f32::consts::TAU * t).sin()).abs() < 1e-5, "{t}");
        }
    }
}
