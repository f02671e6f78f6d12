//! Fast Fourier transforms of 512 points, radix 8: arithmetic in registers, exchanges through local memory, and accesses
//! in which neighbours stay neighbours.

use std::f64::consts::PI;

use crate::{
    check::{Checked, bit_equal},
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
type Complex = (f32, f32);

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = 1usize << bits(size);
    let signal = Rng::new(21).f32s(2 * n, -1.0, 1.0);
    let twiddles = twiddles();

    let (input, output) = (gpu.upload(&signal)?, gpu.alloc_of::<f32>(2 * n)?);
    let twiddle_buffer = gpu.upload(&flat(&twiddles))?;
    gpu.launch("fft", NdRange::line(n / 8, POINTS as u32 / 8), args![input, output, twiddle_buffer])?;

    let signal: Vec<Complex> = signal.chunks(2).map(|c| (c[0], c[1])).collect();
    let spectra: Vec<Complex> = signal.chunks(POINTS).flat_map(|block| transform(block, &twiddles)).collect();
    Ok(bit_equal("spectra", &gpu.download(output, 2 * n)?, &flat(&spectra))?)
}

fn flat(numbers: &[Complex]) -> Vec<f32> {
    numbers.iter().flat_map(|&(re, im)| [re, im]).collect()
}

fn twiddles() -> Vec<Complex> {
    let angle = |k: usize| -2.0 * PI * k as f64 / POINTS as f64;
    (0..POINTS).map(|k| (angle(k).cos() as f32, angle(k).sin() as f32)).collect()
}

fn times(w: Complex, a: Complex) -> Complex {
    (w.0 * a.0 - w.1 * a.1, w.0 * a.1 + w.1 * a.0)
}

/// The transform of a power of eight points: every `n / 8`-th together, turned, and the transforms of what is left.
fn transform(signal: &[Complex], twiddles: &[Complex]) -> Vec<Complex> {
    let part = signal.len() / 8;
    if part == 0 {
        return signal.to_vec();
    }
    let mut parts = vec![Vec::with_capacity(part); 8];
    for first in 0..part {
        let eight = eighth(&signal.iter().skip(first).step_by(part).copied().collect::<Vec<_>>());
        let turns = powers(twiddles[first * POINTS / signal.len()]);
        parts.iter_mut().zip(turns).zip(eight).for_each(|((part, w), a)| part.push(times(w, a)));
    }
    let spectra: Vec<_> = parts.iter().map(|part| transform(part, twiddles)).collect();
    (0..signal.len()).map(|k| spectra[k % 8][k / 8]).collect()
}

/// The powers of a number from 0 to 7, each from as few products as possible.
fn powers(w: Complex) -> [Complex; 8] {
    let w2 = times(w, w);
    let (w3, w4) = (times(w2, w), times(w2, w2));
    [(1.0, 0.0), w, w2, w3, w4, times(w4, w), times(w3, w3), times(w4, w3)]
}

/// The textbook recursion for up to eight points: the transforms of the even and of the odd samples, combined.
fn eighth(signal: &[Complex]) -> Vec<Complex> {
    const H: f32 = std::f32::consts::FRAC_1_SQRT_2;
    const TURNS: [Complex; 4] = [(1.0, 0.0), (H, -H), (0.0, -1.0), (-H, -H)];
    let n = signal.len();
    if n == 1 {
        return signal.to_vec();
    }
    let every_other = |first: usize| signal.iter().skip(first).step_by(2).copied().collect::<Vec<_>>();
    let (even, odd) = (eighth(&every_other(0)), eighth(&every_other(1)));
    let turned: Vec<Complex> = odd.iter().enumerate().map(|(k, b)| times(TURNS[k * 8 / n], *b)).collect();
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
        let tone: Vec<Complex> = (0..POINTS).map(|i| (angle(i).cos() as f32, angle(i).sin() as f32)).collect();
        for (k, (re, im)) in transform(&tone, &twiddles()).iter().enumerate() {
            let expected = if k == 137 { POINTS as f32 } else { 0.0 };
            assert!((re - expected).abs() < 1e-3 && im.abs() < 1e-3, "line {k} is {re} + {im}i");
        }
    }

    #[test]
    fn every_line_is_the_sum_that_defines_it() {
        let signal: Vec<Complex> = Rng::new(3).f32s(2 * POINTS, -1.0, 1.0).chunks(2).map(|c| (c[0], c[1])).collect();
        for (k, (re, im)) in transform(&signal, &twiddles()).iter().enumerate() {
            let terms = signal.iter().enumerate().map(|(i, x)| {
                let (sin, cos) = (-2.0 * PI * (i * k) as f64 / POINTS as f64).sin_cos();
                let (x, y) = (f64::from(x.0), f64::from(x.1));
                (x * cos - y * sin, x * sin + y * cos)
            });
            let exact = terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
            let error = (f64::from(*re) - exact.0).hypot(f64::from(*im) - exact.1);
            assert!(error < 1e-4, "line {k} is {re} + {im}i, not {exact:?}");
        }
    }
}
