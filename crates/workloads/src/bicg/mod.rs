//! The products of the biconjugate gradient method: a matrix is read by rows and by columns, in two independent
//! kernels.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "bicg",
    about: "multiplies a matrix and its transpose by a vector each, as the biconjugate gradient method does",
    source: include_str!("bicg.cl"),
    object: include_bytes!("bicg.hsaco"),
    host: include_str!("bicg.c"),
    sizes: |size| {
        let (rows, columns) = shape(size);
        format!("{rows} x {columns} elements")
    },
    run,
};

/// Rows and columns; not multiples of the workgroup.
fn shape(size: Size) -> (usize, usize) {
    size.pick((90, 110), (1600, 1700))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (rows, columns) = shape(size);
    let mut rng = Rng::new(31);
    let a = rng.f32s(rows * columns, -1.0, 1.0);
    let (p, r) = (rng.f32s(columns, -1.0, 1.0), rng.f32s(rows, -1.0, 1.0));

    let (a_buffer, p_buffer, r_buffer) = (gpu.upload(&a)?, gpu.upload(&p)?, gpu.upload(&r)?);
    let (q, s) = (gpu.alloc_of::<f32>(rows)?, gpu.alloc_of::<f32>(columns)?);
    gpu.launch("bicg_rows", NdRange::line(rows, 256), args![a_buffer, p_buffer, q, rows, columns])?;
    gpu.launch("bicg_columns", NdRange::line(columns, 256), args![a_buffer, r_buffer, s, rows, columns])?;

    let dot = |row: &[f32]| row.iter().zip(&p).fold(0.0, |sum, (a, p)| sum + a * p);
    let expected_q: Vec<f32> = a.chunks(columns).map(dot).collect();
    let mut expected_s = vec![0.0; columns];
    for (row, r) in a.chunks(columns).zip(&r) {
        expected_s.iter_mut().zip(row).for_each(|(sum, a)| *sum += a * r);
    }
    let q = bit_equal("q", &gpu.download(q, rows)?, &expected_q)?;
    Ok(q.and(bit_equal("s", &gpu.download(s, columns)?, &expected_s)?))
}
