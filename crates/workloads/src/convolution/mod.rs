//! Convolution of an image: neighbouring work-items read almost the same pixels.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "convolution",
    about: "convolves an image with a 5 x 5 filter",
    source: include_str!("convolution.cl"),
    object: include_bytes!("convolution.hsaco"),
    host: include_str!("convolution.c"),
    sizes: |size| {
        let (width, height) = shape(size);
        format!("{width} x {height} pixels")
    },
    run,
};

const RADIUS: i32 = 2;

/// Width and height; not multiples of the workgroup.
fn shape(size: Size) -> (i32, i32) {
    size.pick((61, 35), (1000, 700))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (width, height) = shape(size);
    let pixels = (width * height) as usize;
    let mut rng = Rng::new(11);
    let image = rng.f32s(pixels, 0.0, 255.0);
    let filter = rng.f32s((2 * RADIUS + 1).pow(2) as usize, -0.25, 0.25);

    let (input, output, coefficients) = (gpu.upload(&image)?, gpu.alloc_of::<f32>(pixels)?, gpu.upload(&filter)?);
    let range = NdRange::plane(width as usize, height as usize, [16, 16]);
    gpu.launch("convolution", range, args![input, output, coefficients, width, height, RADIUS])?;

    Ok(bit_equal("out", &gpu.download(output, pixels)?, &reference(&image, &filter, width, height))?)
}

fn reference(image: &[f32], filter: &[f32], width: i32, height: i32) -> Vec<f32> {
    let pixel = |x: i32, y: i32| image[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize];
    let convolved = |x: i32, y: i32| {
        let neighbours = (-RADIUS..=RADIUS).flat_map(|dy| (-RADIUS..=RADIUS).map(move |dx| (x + dx, y + dy)));
        neighbours.zip(filter).fold(0.0, |sum, ((x, y), weight)| sum + weight * pixel(x, y))
    };
    (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| convolved(x, y)).collect()
}
