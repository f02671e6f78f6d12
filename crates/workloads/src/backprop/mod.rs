//! Back-propagation: the GPU processes the many weights of the first layer, the host the few units of the next.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Element, Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "backprop",
    about: "trains a network of one hidden layer: the GPU has the first layer, the host the rest",
    source: include_str!("backprop.cl"),
    object: include_bytes!("backprop.hsaco"),
    host: include_str!("backprop.c"),
    sizes: |size| format!("{} inputs, {HIDDEN} hidden units, {ROUNDS} rounds", inputs(size)),
    run,
};

const HIDDEN: usize = 16;
const ROWS: usize = 16;
const ROUNDS: usize = 2;
const RATE: f32 = 0.3;
const MOMENTUM: f32 = 0.3;
const TARGET: f32 = 0.1;

/// A multiple of the rows of a workgroup.
fn inputs(size: Size) -> usize {
    size.pick(480, 65536)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = inputs(size);
    let mut rng = Rng::new(27);
    let values = rng.f32s(n, 0.0, 1.0);
    let mut weights = rng.f32s(n * HIDDEN, -0.01, 0.01);
    let mut output_weights = rng.f32s(HIDDEN, -1.0, 1.0);
    let mut changes = vec![0.0; n * HIDDEN];

    let (input, first_layer) = (gpu.upload(&values)?, gpu.upload(&weights)?);
    let (change_buffer, error_buffer) = (gpu.upload(&changes)?, gpu.alloc_of::<f32>(HIDDEN)?);
    let sums = gpu.alloc_of::<f32>(n / ROWS * HIDDEN)?;
    let range = NdRange::plane(HIDDEN, n, [HIDDEN as u32, ROWS as u32]);
    let mut checked = Checked::default();
    for _ in 0..ROUNDS {
        gpu.launch("forward", range, args![input, first_layer, sums])?;
        let got = gpu.download::<f32>(sums, n / ROWS * HIDDEN)?;
        checked = checked.and(bit_equal("sums", &got, &forward(&values, &weights))?);
        let errors = learn(&got, &mut output_weights);
        gpu.write(error_buffer, &Element::to_bytes(&errors))?;
        gpu.launch("adjust", range, args![input, error_buffer, first_layer, change_buffer, RATE, MOMENTUM])?;
        adjust(&values, &errors, &mut weights, &mut changes);
    }
    Ok(checked.and(bit_equal("weights", &gpu.download(first_layer, n * HIDDEN)?, &weights)?))
}

/// The contribution of every 16 inputs to each hidden unit, added in the order of the kernel's tree.
fn forward(values: &[f32], weights: &[f32]) -> Vec<f32> {
    let mut sums = Vec::new();
    for (values, weights) in values.chunks(ROWS).zip(weights.chunks(ROWS * HIDDEN)) {
        let mut products: Vec<f32> =
            weights.iter().enumerate().map(|(w, weight)| values[w / HIDDEN] * weight).collect();
        let mut left = ROWS / 2;
        while left > 0 {
            for i in 0..left * HIDDEN {
                products[i] += products[i + left * HIDDEN];
            }
            left /= 2;
        }
        sums.extend_from_slice(&products[..HIDDEN]);
    }
    sums
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The part behind the first layer: the output, its error, the errors of the hidden units.
fn learn(sums: &[f32], output_weights: &mut [f32]) -> Vec<f32> {
    let total = |h: usize| sums.chunks(HIDDEN).fold(0.0, |sum, part| sum + part[h]);
    let hidden: Vec<f32> = (0..HIDDEN).map(|h| sigmoid(total(h))).collect();
    let output = sigmoid(hidden.iter().zip(output_weights.iter()).fold(0.0, |sum, (unit, weight)| sum + unit * weight));
    let error = output * (1.0 - output) * (TARGET - output);
    let errors = hidden.iter().zip(output_weights.iter()).map(|(h, w)| h * (1.0 - h) * (w * error)).collect();
    for (weight, unit) in output_weights.iter_mut().zip(&hidden) {
        *weight += RATE * error * unit;
    }
    errors
}

fn adjust(values: &[f32], errors: &[f32], weights: &mut [f32], changes: &mut [f32]) {
    for (w, (weight, change)) in weights.iter_mut().zip(changes).enumerate() {
        *change = RATE * errors[w % HIDDEN] * values[w / HIDDEN] + MOMENTUM * *change;
        *weight += *change;
    }
}
