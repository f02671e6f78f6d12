//! Fast Fourier transforms of 512 points, radix 8: arithmetic in registers, exchanges through local memory, and
//! coalesced accesses.

use std::f64::consts::PI;

use crate::{
    check::{Checked, within},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "fft",
    about: "transforms a complex signal, 512 points at a time, radix 8 through local memory",
    source: include_str!("fft.cl"),
    object: include_bytes!("fft.hsaco"),
    host: include_str!("fft.c"),
    sizes: |size| format!("2^{} points in blocks of {POINTS}", bits(size)),
    run,
};

/// Points of a transform.
const POINTS: usize = 512;

fn bits(size: Size) -> u32 {
    // 1 MB of complex numbers of 8 bytes.
    size.pick_usual(11, 19, 17)
}

/// A complex number, as (real, imaginary).
type Complex = (f64, f64);

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = 1usize << bits(size);
    let signal = Rng::new(21).f32s(2 * n, -1.0, 1.0);

    let data = gpu.upload(&signal)?;
    gpu.launch("fft", NdRange::line(n / 8, POINTS as u32 / 8), args![data])?;

    let blocks: Vec<Vec<Complex>> = signal.chunks(2 * POINTS).map(complex).collect();
    let expected: Vec<f32> = blocks.iter().flat_map(|block| flat(&transform(block))).collect();
    let scales: Vec<f32> = blocks.iter().map(|block| norm(block)).collect();
    // Nine sums and two products with twiddle factors, which OpenCL permits to be off by 4 ulps.
    Ok(within("spectra", &gpu.download(data, 2 * n)?, &expected, |i| scales[i / (2 * POINTS)], 8.0)?)
}

fn complex(numbers: &[f32]) -> Vec<Complex> {
    numbers.chunks(2).map(|c| (c[0].into(), c[1].into())).collect()
}

fn flat(numbers: &[Complex]) -> Vec<f32> {
    numbers.iter().flat_map(|&(re, im)| [re as f32, im as f32]).collect()
}

/// The root mean square magnitude of the elements of the spectrum.
fn norm(signal: &[Complex]) -> f32 {
    signal.iter().map(|(re, im)| re * re + im * im).sum::<f64>().sqrt() as f32
}

/// The textbook recursion: the transforms of the even and of the odd samples, combined.
fn transform(signal: &[Complex]) -> Vec<Complex> {
    let n = signal.len();
    if n == 1 {
        return signal.to_vec();
    }
    let every_other = |first: usize| signal.iter().skip(first).step_by(2).copied().collect::<Vec<_>>();
    let (even, odd) = (transform(&every_other(0)), transform(&every_other(1)));
    let turned = odd.iter().enumerate().map(|(k, b)| {
        let (sin, cos) = (-2.0 * PI * k as f64 / n as f64).sin_cos();
        (cos * b.0 - sin * b.1, cos * b.1 + sin * b.0)
    });
    let turned: Vec<Complex> = turned.collect();
    let sums = even.iter().zip(&turned).map(|(a, b)| (a.0 + b.0, a.1 + b.1));
    let differences = even.iter().zip(&turned).map(|(a, b)| (a.0 - b.0, a.1 - b.1));
    sums.chain(differences).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_tone_is_one_line_of_the_spectrum() {
        let angle = |i: usize| 2.0 * PI * 137.0 * i as f64 / POINTS as f64;
        let tone: Vec<Complex> = (0..POINTS).map(|i| (angle(i).cos(), angle(i).sin())).collect();
        for (k, (re, im)) in transform(&tone).iter().enumerate() {
            let expected = if k == 137 { POINTS as f64 } else { 0.0 };
            assert!((re - expected).abs() < 1e-9 && im.abs() < 1e-9, "line {k} is {re} + {im}i");
        }
    }
}
