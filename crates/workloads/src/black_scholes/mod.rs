//! Black-Scholes option prices: exponentials, logarithms, square roots and divisions.

use crate::{
    check::{Checked, within},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "black-scholes",
    about: "prices European options",
    source: include_str!("black_scholes.cl"),
    object: include_bytes!("black_scholes.hsaco"),
    host: include_str!("black_scholes.c"),
    sizes: |size| format!("{} options", count(size)),
    run,
};

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.3;

fn count(size: Size) -> usize {
    size.pick(500, 500_000)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let mut rng = Rng::new(14);
    let (prices, strikes, years) = (rng.f32s(n, 5.0, 30.0), rng.f32s(n, 1.0, 100.0), rng.f32s(n, 0.25, 10.0));

    let inputs = [gpu.upload(&prices)?, gpu.upload(&strikes)?, gpu.upload(&years)?];
    let (calls, puts) = (gpu.alloc_of::<f32>(n)?, gpu.alloc_of::<f32>(n)?);
    let [s, x, t] = inputs;
    gpu.launch("black_scholes", NdRange::line(n, 256), args![s, x, t, calls, puts, n, RATE, VOLATILITY])?;

    let expected = (0..n).map(|i| reference(prices[i].into(), strikes[i].into(), years[i].into()));
    let (expected_calls, expected_puts): (Vec<f32>, Vec<f32>) = expected.unzip();
    // The reference is exact. A price is a difference of two products, so errors are measured on the scale s + x. By
    // OpenCL's limits (log and sqrt 3 ulps, division 2.5, exp 3), d1 is off by about 9 ulps of at most 8, which the
    // normal density (at most 0.4, and small for large d1) turns into 4 ulps. The tail's exp and division, the
    // polynomial's 10 roundings and the products add at most 20.
    let scale = |i: usize| prices[i] + strikes[i];
    let calls = within("calls", &gpu.download(calls, n)?, &expected_calls, scale, 24.0)?;
    Ok(calls.and(within("puts", &gpu.download(puts, n)?, &expected_puts, scale, 24.0)?))
}

/// The prices of a call and a put, computed in double precision.
fn reference(s: f64, x: f64, t: f64) -> (f32, f32) {
    let (rate, volatility) = (f64::from(RATE), f64::from(VOLATILITY));
    let spread = volatility * t.sqrt();
    let d1 = ((s / x).ln() + (rate + 0.5 * volatility * volatility) * t) / spread;
    let d2 = d1 - spread;
    let discounted = x * (-rate * t).exp();
    let call = s * normal(d1) - discounted * normal(d2);
    let put = discounted * normal(-d2) - s * normal(-d1);
    (call as f32, put as f32)
}

/// The kernel's polynomial: its own error (7.5e-8) is part of the definition.
fn normal(d: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.2316419 * d.abs());
    let coefficients = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530];
    let poly = coefficients.iter().fold(0.0, |sum, c| k * (c + sum));
    let tail = (1.0 / (2.0 * std::f64::consts::PI).sqrt()) * (-0.5 * d * d).exp() * poly;
    if d > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_puts_keep_their_parity() {
        let (call, put) = reference(20.0, 25.0, 2.0);
        let forward = 20.0 - 25.0 * (-f64::from(RATE) * 2.0).exp();
        assert!((f64::from(call - put) - forward).abs() < 1e-4);
    }
}
