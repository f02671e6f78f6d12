//! A seven-point stencil in three dimensions: each step reads the result of the last.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "stencil",
    about: "applies a seven-point stencil to a box, again and again",
    source: include_str!("stencil.cl"),
    object: include_bytes!("stencil.hsaco"),
    host: include_str!("stencil.c"),
    sizes: |size| {
        let [x, y, z] = shape(size);
        format!("{x} x {y} x {z} floats, {} steps", steps(size))
    },
    run,
};

const CENTRE: f32 = 0.4;
const SIDE: f32 = 0.1;

fn shape(size: Size) -> [usize; 3] {
    size.pick([32, 12, 6], [128, 96, 64])
}

fn steps(size: Size) -> usize {
    size.pick(3, 4)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let shape = shape(size);
    let cells: usize = shape.iter().product();
    let mut field = Rng::new(20).f32s(cells, 0.0, 1.0);

    let (mut now, mut next) = (gpu.upload(&field)?, gpu.alloc_of::<f32>(cells)?);
    for _ in 0..steps(size) {
        gpu.launch("stencil", NdRange::space(shape, [32, 4, 2]), args![now, next, CENTRE, SIDE])?;
        (now, next) = (next, now);
    }

    for _ in 0..steps(size) {
        field = step(&field, shape);
    }
    Ok(bit_equal("field", &gpu.download(now, cells)?, &field)?)
}

fn step(field: &[f32], [width, height, depth]: [usize; 3]) -> Vec<f32> {
    let (row, layer) = (width, width * height);
    let mut out = field.to_vec();
    for z in 1..depth - 1 {
        for y in 1..height - 1 {
            for x in 1..width - 1 {
                let i = z * layer + y * row + x;
                let around =
                    field[i - 1] + field[i + 1] + field[i - row] + field[i + row] + field[i - layer] + field[i + layer];
                out[i] = CENTRE * field[i] + SIDE * around;
            }
        }
    }
    out
}
