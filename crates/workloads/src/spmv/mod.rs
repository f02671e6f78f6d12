//! Sparse matrix times vector with two common kernels: indirect loads, and rows of very different length.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "spmv",
    about: "multiplies a sparse matrix (compressed rows) by a vector, per work-item and per wavefront",
    source: include_str!("spmv.cl"),
    object: include_bytes!("spmv.hsaco"),
    host: include_str!("spmv.c"),
    sizes: |size| format!("{} rows, 0 to 95 elements in each", rows(size)),
    run,
};

const LANES: usize = 64;

fn rows(size: Size) -> usize {
    size.pick(150, 30_000)
}

/// A sparse matrix: row `r` has the elements `starts[r]..starts[r + 1]`.
struct Matrix {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Matrix {
    /// Most rows are short, some are long.
    fn random(rng: &mut Rng, rows: usize) -> Self {
        let mut starts = vec![0];
        for _ in 0..rows {
            let longest = if rng.below(4) == 0 { 96 } else { 24 };
            starts.push(starts.last().expect("starts with 0") + rng.below(longest));
        }
        let elements = *starts.last().expect("starts with 0") as usize;
        let columns = (0..elements).map(|_| rng.below(rows as u32)).collect();
        Self { starts, columns, values: rng.f32s(elements, -1.0, 1.0) }
    }

    /// The products of each row's elements with `x`.
    fn products<'a>(&'a self, x: &'a [f32]) -> impl Iterator<Item = Vec<f32>> + 'a {
        self.starts.windows(2).map(|row| {
            let row = row[0] as usize..row[1] as usize;
            row.map(|i| self.values[i] * x[self.columns[i] as usize]).collect()
        })
    }
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let rows = rows(size);
    let mut rng = Rng::new(17);
    let matrix = Matrix::random(&mut rng, rows);
    let x = rng.f32s(rows, -1.0, 1.0);

    let starts = gpu.upload(&matrix.starts)?;
    let (columns, values) = (gpu.upload(&matrix.columns)?, gpu.upload(&matrix.values)?);
    let x_buffer = gpu.upload(&x)?;
    let (by_item, by_wave) = (gpu.alloc_of::<f32>(rows)?, gpu.alloc_of::<f32>(rows)?);
    let line = NdRange::line(rows, 128);
    gpu.launch("spmv_scalar", line, args![starts, columns, values, x_buffer, by_item, rows])?;
    let waves = NdRange::line(rows * LANES, LANES as u32);
    gpu.launch("spmv_vector", waves, args![starts, columns, values, x_buffer, by_wave])?;

    let expected: Vec<f32> = matrix.products(&x).map(|row| row.iter().fold(0.0, |sum, p| sum + p)).collect();
    let scalar = bit_equal("y by work-item", &gpu.download(by_item, rows)?, &expected)?;
    let expected: Vec<f32> = matrix.products(&x).map(|row| sum_by_lanes(&row)).collect();
    let vector = bit_equal("y by wavefront", &gpu.download(by_wave, rows)?, &expected)?;
    Ok(scalar.and(vector))
}

/// Adds in the order of the kernel that distributes a row over the lanes: every 64th element, then a tree.
fn sum_by_lanes(products: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (i, product) in products.iter().enumerate() {
        sums[i % LANES] += product;
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}
