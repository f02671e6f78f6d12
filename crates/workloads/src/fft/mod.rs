//! The fast Fourier transform: strides that double with every launch.

use std::f64::consts::PI;

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "fft",
    about: "transforms a complex signal, radix 2, one launch per stage",
    source: include_str!("fft.cl"),
    object: include_bytes!("fft.hsaco"),
    host: include_str!("fft.c"),
    sizes: |size| format!("2^{} points", bits(size)),
    run,
};

fn bits(size: Size) -> u32 {
    // 1 MB of complex numbers of 8 bytes.
    size.pick_usual(9, 19, 17)
}

/// A complex number, as (real, imaginary).
type Complex = (f32, f32);

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = 1usize << bits(size);
    let signal = Rng::new(21).f32s(2 * n, -1.0, 1.0);
    let twiddles = twiddles(n);

    let (input, data) = (gpu.upload(&signal)?, gpu.alloc_of::<f32>(2 * n)?);
    let twiddle_buffer = gpu.upload(&flat(&twiddles))?;
    gpu.launch("bit_reverse", NdRange::line(n, 256), args![input, data, bits(size)])?;
    for stage in 0..bits(size) {
        gpu.launch("butterflies", NdRange::line(n / 2, 256), args![data, twiddle_buffer, 1u32 << stage])?;
    }

    let signal: Vec<Complex> = signal.chunks(2).map(|c| (c[0], c[1])).collect();
    Ok(bit_equal("spectrum", &gpu.download(data, 2 * n)?, &flat(&reference(&signal, &twiddles)))?)
}

fn flat(numbers: &[Complex]) -> Vec<f32> {
    numbers.iter().flat_map(|&(re, im)| [re, im]).collect()
}

fn twiddles(n: usize) -> Vec<Complex> {
    let angle = |k: usize| -2.0 * PI * k as f64 / n as f64;
    (0..n / 2).map(|k| (angle(k).cos() as f32, angle(k).sin() as f32)).collect()
}

/// The textbook recursion: the transforms of the even and of the odd samples, combined.
fn reference(signal: &[Complex], twiddles: &[Complex]) -> Vec<Complex> {
    let n = signal.len();
    if n == 1 {
        return signal.to_vec();
    }
    let every_other = |first: usize| signal.iter().skip(first).step_by(2).copied().collect::<Vec<_>>();
    let (even, odd) = (reference(&every_other(0), twiddles), reference(&every_other(1), twiddles));
    let stride = 2 * twiddles.len() / n;
    let turned: Vec<Complex> = odd
        .iter()
        .enumerate()
        .map(|(k, b)| (twiddles[k * stride], b))
        .map(|(w, b)| (w.0 * b.0 - w.1 * b.1, w.0 * b.1 + w.1 * b.0))
        .collect();
    let sums = even.iter().zip(&turned).map(|(a, b)| (a.0 + b.0, a.1 + b.1));
    let differences = even.iter().zip(&turned).map(|(a, b)| (a.0 - b.0, a.1 - b.1));
    sums.chain(differences).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_tone_is_one_line_of_the_spectrum() {
        let tone: Vec<Complex> = (0..16).map(|i| ((PI * i as f64 * 3.0 / 8.0).cos() as f32, 0.0)).collect();
        let spectrum = reference(&tone, &twiddles(16));
        for (k, (re, im)) in spectrum.iter().enumerate() {
            let expected = if k == 3 || k == 13 { 8.0 } else { 0.0 };
            assert!((re - expected).abs() < 1e-5 && im.abs() < 1e-5, "line {k} is {re} + {im}i");
        }
    }
}
