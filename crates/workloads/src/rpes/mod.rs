//! Electron repulsion: arithmetic with exponentials and roots; one launch per primitive, over results that stay on the
//! GPU.

use crate::{
    check::{Checked, within},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "rpes",
    about: "adds up electron repulsion integrals of Gaussians, those of one primitive per launch",
    source: include_str!("rpes.cl"),
    object: include_bytes!("rpes.hsaco"),
    host: include_str!("rpes.c"),
    sizes: |size| {
        let (shells, primitives) = shape(size);
        format!("{shells} shells, {primitives} primitives")
    },
    run,
};

const TERMS: usize = 48;

/// Number of shells and primitives.
fn shape(size: Size) -> (usize, usize) {
    size.pick((24, 2), (1024, 2))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (count, primitives) = shape(size);
    let mut rng = Rng::new(63);
    let mut shell = |_| [rng.f32(0.0, 2.0), rng.f32(0.0, 2.0), rng.f32(0.0, 2.0), rng.f32(0.3, 1.3)];
    let shells: Vec<[f32; 4]> = (0..count).map(&mut shell).collect();
    let factors: Vec<f32> = (0..TERMS).map(|k| 2.0 / (2 * k + 1) as f32).collect();

    let (shell_buffer, factor_buffer) = (gpu.upload(shells.as_flattened())?, gpu.upload(&factors)?);
    let integrals = gpu.upload(&vec![0f32; count * count])?;
    for a in 0..primitives {
        let args = args![shell_buffer, factor_buffer, integrals, count, primitives, a];
        gpu.launch("add_integrals", NdRange::plane(count, count, [64, 4]), args)?;
    }

    let shells: Vec<[f64; 4]> = shells.into_iter().map(|shell| shell.map(f64::from)).collect();
    let pairs = || (0..primitives).flat_map(|a| (0..primitives).map(move |c| (a, c)));
    let sum =
        |b: usize, d: usize| pairs().map(|(a, c)| integral([shells[a], shells[b], shells[c], shells[d]])).sum::<f64>();
    let expected: Vec<f32> = (0..count * count).map(|cell| sum(cell / count, cell % count) as f32).collect();
    // All terms are positive. Exponents are up to 23 and off by about 12 ulps, which makes 200 ulps of a result. The
    // series of Boys' function adds about 100 roundings.
    Ok(within("integrals", &gpu.download(integrals, count * count)?, &expected, |i| expected[i], 512.0)?)
}

/// (ab|cd) of four s-type Gaussians (x, y, z, exponent).
fn integral([a, b, c, d]: [[f64; 4]; 4]) -> f64 {
    let (p, q) = (a[3] + b[3], c[3] + d[3]);
    let (mut ab, mut cd, mut pq) = (0.0, 0.0, 0.0);
    for k in 0..3 {
        let centre = (a[3] * a[k] + b[3] * b[k]) / p - (c[3] * c[k] + d[3] * d[k]) / q;
        ab += (a[k] - b[k]).powi(2);
        cd += (c[k] - d[k]).powi(2);
        pq += centre * centre;
    }
    let decay = (-(a[3] * b[3] / p * ab + c[3] * d[3] / q * cd)).exp();
    34.986_836 / (p * q * (p + q).sqrt()) * decay * boys(p * q / (p + q) * pq)
}

/// Boys' function of order 0 by a series, or by its limit for a large argument.
fn boys(t: f64) -> f64 {
    if t > 12.0 {
        return 0.886_226_93 / t.sqrt();
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..TERMS {
        term *= 2.0 * t / (2 * k + 1) as f64;
        sum += term;
    }
    sum * (-t).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boys_function_goes_over_into_its_limit() {
        assert_eq!(boys(0.0), 1.0);
        assert!((boys(12.0) - boys(12.000_001)).abs() < 1e-6);
    }
}
