//! The cosine transform of JPEG: small independent blocks in local memory.

use std::f64::consts::PI;

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "dct",
    about: "transforms every 8 x 8 block of an image by cosines",
    source: include_str!("dct.cl"),
    object: include_bytes!("dct.hsaco"),
    host: include_str!("dct.c"),
    sizes: |size| format!("{0} x {0} pixels", side(size)),
    run,
};

const BLOCK: usize = 8;

fn side(size: Size) -> usize {
    size.pick(64, 1024)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = side(size);
    let image = Rng::new(16).f32s(n * n, -128.0, 128.0);
    let cosines = cosines();

    let (input, output, matrix) = (gpu.upload(&image)?, gpu.alloc_of::<f32>(n * n)?, gpu.upload(&cosines)?);
    gpu.launch("dct", NdRange::plane(n, n, [8, 8]), args![input, output, matrix, n])?;

    Ok(bit_equal("out", &gpu.download(output, n * n)?, &reference(&image, &cosines, n))?)
}

/// The orthonormal matrix of the transform, row by row.
fn cosines() -> Vec<f32> {
    let element = |row: usize, column: usize| {
        let scale = if row == 0 { (1.0 / 8.0f64).sqrt() } else { 0.5 };
        (scale * ((2 * column + 1) as f64 * row as f64 * PI / 16.0).cos()) as f32
    };
    (0..BLOCK * BLOCK).map(|i| element(i / BLOCK, i % BLOCK)).collect()
}

fn reference(image: &[f32], cosines: &[f32], n: usize) -> Vec<f32> {
    let mut out = vec![0.0; n * n];
    for top in (0..n).step_by(BLOCK) {
        for left in (0..n).step_by(BLOCK) {
            let pixel = |y: usize, x: usize| image[(top + y) * n + left + x];
            let dot = |term: &dyn Fn(usize) -> f32| (0..BLOCK).fold(0.0, |sum, k| sum + term(k));
            let mut half_done = [[0.0; BLOCK]; BLOCK];
            for (y, row) in half_done.iter_mut().enumerate() {
                for (x, cell) in row.iter_mut().enumerate() {
                    *cell = dot(&|k| cosines[y * BLOCK + k] * pixel(k, x));
                }
            }
            for (y, row) in half_done.iter().enumerate() {
                for x in 0..BLOCK {
                    out[(top + y) * n + left + x] = dot(&|k| row[k] * cosines[x * BLOCK + k]);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_block_has_only_its_mean() {
        let out = reference(&[8.0; 64], &cosines(), 8);
        assert!((out[0] - 64.0).abs() < 1e-4);
        assert!(out[1..].iter().all(|c| c.abs() < 1e-4));
    }
}
