//! Sobel's filter on bytes: neighbouring work-items reuse each other's data.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "sobel",
    about: "finds the edges of an image of four colours with Sobel's filter, then those of the result",
    source: include_str!("sobel.cl"),
    object: include_bytes!("sobel.hsaco"),
    host: include_str!("sobel.c"),
    sizes: |size| {
        let (width, height) = shape(size);
        format!("{width} x {height} pixels")
    },
    run,
};

const COLOURS: usize = 4;
const ITERATIONS: usize = 3;

/// Width and height; not multiples of the workgroup.
fn shape(size: Size) -> (usize, usize) {
    size.pick((61, 35), (1000, 700))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (width, height) = shape(size);
    let mut image = Rng::new(36).bytes(COLOURS * width * height);

    let (mut from, mut to) = (gpu.upload(&image)?, gpu.alloc_of::<u8>(image.len())?);
    for _ in 0..ITERATIONS {
        gpu.launch("sobel", NdRange::plane(width, height, [256, 1]), args![from, to, width, height])?;
        std::mem::swap(&mut from, &mut to);
    }

    for _ in 0..ITERATIONS {
        image = filter(&image, width, height);
    }
    Ok(equal("edges", &gpu.download(from, image.len())?, &image)?)
}

fn filter(image: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut edges = vec![0; image.len()];
    for y in 1..height - 1 {
        for x in 1..width - 1 {
            for colour in 0..COLOURS {
                let pixel =
                    |dx: usize, dy: usize| i32::from(image[((y + dy - 1) * width + x + dx - 1) * COLOURS + colour]);
                let column = |dx| pixel(dx, 0) + 2 * pixel(dx, 1) + pixel(dx, 2);
                let row = |dy| pixel(0, dy) + 2 * pixel(1, dy) + pixel(2, dy);
                let size = ((column(2) - column(0)).abs() + (row(2) - row(0)).abs()) / 2;
                edges[(y * width + x) * COLOURS + colour] = size.min(255) as u8;
            }
        }
    }
    edges
}
