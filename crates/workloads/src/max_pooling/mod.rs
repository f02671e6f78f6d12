//! Pooling of neural networks: overlapping windows, few comparisons for each input.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "max-pooling",
    about: "takes the largest of each window of 3 x 3, with windows 2 apart, in many planes",
    source: include_str!("max_pooling.cl"),
    object: include_bytes!("max_pooling.hsaco"),
    host: include_str!("max_pooling.c"),
    sizes: |size| {
        let (planes, height, width) = shape(size);
        format!("{planes} planes of {height} x {width}")
    },
    run,
};

/// Planes, height and width; not multiples of the workgroup, and windows at the far edges are cut off.
fn shape(size: Size) -> (usize, usize, usize) {
    size.pick((3, 31, 45), (64, 150, 170))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (planes, height, width) = shape(size);
    let (out_height, out_width) = (height.div_ceil(2), width.div_ceil(2));
    let n = planes * out_height * out_width;
    let input = Rng::new(32).f32s(planes * height * width, -1.0, 1.0);

    let (in_buffer, out_buffer) = (gpu.upload(&input)?, gpu.alloc_of::<f32>(n)?);
    let range = NdRange::space([out_width, out_height, planes], [32, 4, 1]);
    gpu.launch("max_pooling", range, args![in_buffer, out_buffer, planes, height, width])?;

    let largest = |plane: &[f32], y: usize, x: usize| {
        let rows = 2 * y..(2 * y + 3).min(height);
        let window = rows.flat_map(|row| &plane[row * width..][2 * x..(2 * x + 3).min(width)]);
        window.fold(f32::NEG_INFINITY, |largest, &value| largest.max(value))
    };
    let pool = |plane| (0..out_height).flat_map(move |y| (0..out_width).map(move |x| largest(plane, y, x)));
    let expected: Vec<f32> = input.chunks(height * width).flat_map(pool).collect();
    Ok(bit_equal("out", &gpu.download(out_buffer, n)?, &expected)?)
}
