//! F^H d of a magnetic resonance image: compute-bound, with data that all work-items read.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    mri_q::{SAMPLES_PER_LAUNCH, describe, shape, sine_turn, turn},
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "mri-fhd",
    about: "adds up what samples contribute to F^H d of a magnetic resonance image",
    source: include_str!("mri_fhd.cl"),
    object: include_bytes!("mri_fhd.hsaco"),
    host: include_str!("mri_fhd.c"),
    sizes: describe,
    run,
};

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (count, samples) = shape(size);
    let mut rng = Rng::new(62);
    let (k, phi) = (rng.f32s(3 * samples, -0.5, 0.5), rng.f32s(2 * samples, -0.5, 0.5));
    let (d, points) = (rng.f32s(2 * samples, -0.5, 0.5), rng.f32s(3 * count, 0.0, 8.0));

    let (k_buffer, phi_buffer, d_buffer) = (gpu.upload(&k)?, gpu.upload(&phi)?, gpu.upload(&d)?);
    let (point_buffer, rho) = (gpu.upload(&points)?, gpu.alloc_of::<f32>(2 * samples)?);
    let fhd = gpu.upload(&vec![0f32; 2 * count])?;
    gpu.launch("products", NdRange::line(samples, 256), args![phi_buffer, d_buffer, rho, samples])?;
    for first in (0..samples).step_by(SAMPLES_PER_LAUNCH) {
        let end = samples.min(first + SAMPLES_PER_LAUNCH);
        let args = args![k_buffer, rho, point_buffer, fhd, first, end, count];
        gpu.launch("add_fhd", NdRange::line(count, 256), args)?;
    }

    let product = |(phi, d): (&[f32], &[f32])| [phi[0] * d[0] + phi[1] * d[1], phi[0] * d[1] - phi[1] * d[0]];
    let rho: Vec<[f32; 2]> = phi.chunks(2).zip(d.chunks(2)).map(product).collect();
    let mut expected = vec![0f32; 2 * count];
    for (point, sum) in points.chunks(3).zip(expected.chunks_mut(2)) {
        for (k, [a, b]) in k.chunks(3).zip(&rho) {
            let turn = turn(k, point);
            let (c, s) = (sine_turn(turn + 0.25), sine_turn(turn));
            sum[0] += a * c + b * s;
            sum[1] += b * c - a * s;
        }
    }
    Ok(bit_equal("fhd", &gpu.download(fhd, 2 * count)?, &expected)?)
}
