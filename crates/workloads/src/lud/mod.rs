//! LU decomposition: launches that shrink step by step, from the whole matrix to one block.
//!
//! The work grows with the cube of the side, so a single matrix that fills two L2 caches would take long. Many smaller
//! ones at once have the same memory behaviour.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "lud",
    about: "decomposes matrices into lower and upper triangles by 16 x 16 blocks, many at once",
    source: include_str!("lud.cl"),
    object: include_bytes!("lud.hsaco"),
    host: include_str!("lud.c"),
    sizes: |size| {
        let (side, matrices) = shape(size);
        format!("{matrices} matrices of {side} x {side} floats")
    },
    run,
};

const BLOCK: usize = 16;

/// Side of each matrix, and number of matrices.
fn shape(size: Size) -> (usize, usize) {
    size.pick((64, 2), (256, 16))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (side, matrices) = shape(size);
    let mut all = random(side, matrices);

    let buffer = gpu.upload(&all)?;
    let blocks = side / BLOCK;
    let group = [BLOCK as u32, BLOCK as u32, 1];
    for t in 0..blocks {
        let beyond = (blocks - t - 1) * BLOCK;
        gpu.launch("factor_diagonal", NdRange::space([BLOCK, BLOCK, matrices], group), args![buffer, side, t])?;
        if beyond > 0 {
            let panels = NdRange::space([beyond, 2 * BLOCK, matrices], group);
            gpu.launch("solve_panels", panels, args![buffer, side, t])?;
            let square = NdRange::space([beyond, beyond, matrices], group);
            gpu.launch("subtract_products", square, args![buffer, side, t])?;
        }
    }

    for matrix in all.chunks_mut(side * side) {
        decompose(matrix, side);
    }
    Ok(bit_equal("factors", &gpu.download(buffer, all.len())?, &all)?)
}

/// Matrices with dominant diagonals, so that no pivoting is needed.
fn random(side: usize, matrices: usize) -> Vec<f32> {
    let mut all = Rng::new(23).f32s(side * side * matrices, -1.0, 1.0);
    for matrix in all.chunks_mut(side * side) {
        for i in 0..side {
            matrix[i * side + i] += side as f32;
        }
    }
    all
}

/// The textbook algorithm with three loops.
fn decompose(matrix: &mut [f32], side: usize) {
    for k in 0..side {
        for y in k + 1..side {
            let factor = matrix[y * side + k] / matrix[k * side + k];
            matrix[y * side + k] = factor;
            for x in k + 1..side {
                matrix[y * side + x] -= factor * matrix[k * side + x];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_triangles_multiply_to_the_matrix() {
        let side = 8;
        let matrix = random(side, 1);
        let mut factors = matrix.clone();
        decompose(&mut factors, side);
        for y in 0..side {
            for x in 0..side {
                let lower = |k: usize| if k == y { 1.0 } else { factors[y * side + k] };
                let product: f32 = (0..=x.min(y)).map(|k| lower(k) * factors[k * side + x]).sum();
                assert!((product - matrix[y * side + x]).abs() < 1e-5, "row {y}, column {x}");
            }
        }
    }
}
