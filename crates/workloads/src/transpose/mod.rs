//! Matrix transposition: local memory used to turn scattered accesses into whole lines.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "transpose",
    about: "transposes a matrix by 16 x 16 tiles in local memory",
    source: include_str!("transpose.cl"),
    object: include_bytes!("transpose.hsaco"),
    host: include_str!("transpose.c"),
    sizes: |size| {
        let (width, height) = shape(size);
        format!("{height} x {width} floats")
    },
    run,
};

/// Width and height; not multiples of the tile.
fn shape(size: Size) -> (usize, usize) {
    size.pick_usual((50, 37), (2000, 1200), (512, 512))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (width, height) = shape(size);
    let matrix = Rng::new(3).f32s(width * height, -1.0, 1.0);

    let (input, output) = (gpu.upload(&matrix)?, gpu.alloc_of::<f32>(width * height)?);
    gpu.launch("transpose", NdRange::plane(width, height, [16, 16]), args![input, output, width, height])?;

    let expected: Vec<f32> =
        (0..width).flat_map(|x| (0..height).map(move |y| (x, y))).map(|(x, y)| matrix[y * width + x]).collect();
    Ok(bit_equal("transposed", &gpu.download(output, width * height)?, &expected)?)
}
