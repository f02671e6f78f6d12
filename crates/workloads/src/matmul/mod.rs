//! Matrix multiplication: the arithmetic of a GPU at full load, fed from local memory.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "matmul",
    about: "multiplies square matrices by 16 x 16 tiles in local memory: alpha A B + beta C",
    source: include_str!("matmul.cl"),
    object: include_bytes!("matmul.hsaco"),
    host: include_str!("matmul.c"),
    sizes: |size| format!("{0} x {0} floats", side(size)),
    run,
};

fn side(size: Size) -> usize {
    size.pick_usual(48, 512, 256)
}

const ALPHA: f32 = 1.5;
const BETA: f32 = -0.75;

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = side(size);
    let mut rng = Rng::new(2);
    let [a, b, c] = [(); 3].map(|_| rng.f32s(n * n, -1.0, 1.0));

    let (a_buffer, b_buffer, c_buffer) = (gpu.upload(&a)?, gpu.upload(&b)?, gpu.upload(&c)?);
    let out = gpu.alloc_of::<f32>(n * n)?;
    let range = NdRange::plane(n, n, [16, 16]);
    gpu.launch("matmul", range, args![a_buffer, b_buffer, c_buffer, out, n, ALPHA, BETA])?;

    Ok(bit_equal("out", &gpu.download(out, n * n)?, &reference(&a, &b, &c, n))?)
}

/// Adds the products of each element in the kernel's order, k upwards, so that all roundings are equal.
fn reference(a: &[f32], b: &[f32], c: &[f32], n: usize) -> Vec<f32> {
    let mut out = vec![0.0; n * n];
    for (row, out) in out.chunks_mut(n).enumerate() {
        for k in 0..n {
            let left = a[row * n + k];
            for (sum, right) in out.iter_mut().zip(&b[k * n..]) {
                *sum += left * right;
            }
        }
    }
    out.iter().zip(c).map(|(sum, c)| ALPHA * sum + BETA * c).collect()
}
