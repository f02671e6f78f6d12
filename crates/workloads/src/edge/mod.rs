//! Edge detection on bytes with integer arithmetic; rows can be divided between a GPU and a CPU.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "edge",
    about: "finds the edges in an image of bytes with a 5 x 5 filter",
    source: include_str!("edge.cl"),
    object: include_bytes!("edge.hsaco"),
    host: include_str!("edge.c"),
    sizes: |size| {
        let (width, height) = shape(size);
        format!("{width} x {height} pixels")
    },
    run,
};

const RADIUS: i32 = 2;

/// The Laplacian of a Gaussian, in integers.
const FILTER: [i32; 25] = [
    0, 0, -1, 0, 0, //
    0, -1, -2, -1, 0, //
    -1, -2, 16, -2, -1, //
    0, -1, -2, -1, 0, //
    0, 0, -1, 0, 0,
];

/// Width and height; not multiples of the workgroup.
fn shape(size: Size) -> (i32, i32) {
    size.pick((70, 41), (1920, 1100))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (width, height) = shape(size);
    let pixels = (width * height) as usize;
    let image = Rng::new(25).bytes(pixels);

    let (input, output, filter) = (gpu.upload(&image)?, gpu.alloc_of::<u8>(pixels)?, gpu.upload(&FILTER)?);
    let range = NdRange::plane(width as usize, height as usize, [64, 4]);
    gpu.launch("edge", range, args![input, output, filter, RADIUS, width, height, 0i32, height])?;

    Ok(equal("out", &gpu.download(output, pixels)?, &reference(&image, width, height))?)
}

fn reference(image: &[u8], width: i32, height: i32) -> Vec<u8> {
    let pixel = |x: i32, y: i32| image[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize];
    let filtered = |x: i32, y: i32| {
        let neighbours = (-RADIUS..=RADIUS).flat_map(|dy| (-RADIUS..=RADIUS).map(move |dx| (x + dx, y + dy)));
        let sum: i32 = neighbours.zip(FILTER).map(|((x, y), weight)| weight * i32::from(pixel(x, y))).sum();
        (sum.abs() / 4).min(255) as u8
    };
    (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| filtered(x, y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_image_has_no_edges_and_a_step_has_one() {
        assert_eq!(FILTER.iter().sum::<i32>(), 0);
        let step: Vec<u8> = (0..8 * 8).map(|i| if i % 8 < 4 { 10 } else { 90 }).collect();
        let edges = reference(&step, 8, 8);
        let row: Vec<bool> = edges[24..32].iter().map(|&e| e > 0).collect();
        assert_eq!(row, [false, false, true, true, true, true, false, false]);
    }
}
