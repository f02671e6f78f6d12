//! A transposed matrix times the product of the matrix and a vector: the data are read by rows and then by columns.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "atax",
    about: "multiplies a matrix by a vector and its transpose by the result",
    source: include_str!("atax.cl"),
    object: include_bytes!("atax.hsaco"),
    host: include_str!("atax.c"),
    sizes: |size| {
        let (rows, columns) = shape(size);
        format!("{rows} x {columns} elements")
    },
    run,
};

/// Rows and columns; not multiples of the workgroup.
fn shape(size: Size) -> (usize, usize) {
    size.pick((100, 70), (1700, 1600))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (rows, columns) = shape(size);
    let mut rng = Rng::new(30);
    let (a, x) = (rng.f32s(rows * columns, -1.0, 1.0), rng.f32s(columns, -1.0, 1.0));

    let (a_buffer, x_buffer) = (gpu.upload(&a)?, gpu.upload(&x)?);
    let (ax, y) = (gpu.alloc_of::<f32>(rows)?, gpu.alloc_of::<f32>(columns)?);
    gpu.launch("atax_rows", NdRange::line(rows, 256), args![a_buffer, x_buffer, ax, rows, columns])?;
    gpu.launch("atax_columns", NdRange::line(columns, 256), args![a_buffer, ax, y, rows, columns])?;

    let mut expected = vec![0.0; columns];
    for row in a.chunks(columns) {
        let product = row.iter().zip(&x).fold(0.0, |sum, (a, x)| sum + a * x);
        expected.iter_mut().zip(row).for_each(|(sum, a)| *sum += a * product);
    }
    Ok(bit_equal("y", &gpu.download(y, columns)?, &expected)?)
}
