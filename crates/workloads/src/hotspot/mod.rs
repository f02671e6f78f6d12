//! Heat on a chip: an iterated five-point stencil with two inputs.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "hotspot",
    about: "follows the temperatures of a chip, again and again",
    source: include_str!("hotspot.cl"),
    object: include_bytes!("hotspot.hsaco"),
    host: include_str!("hotspot.c"),
    sizes: |size| {
        let (width, height) = shape(size);
        format!("{width} x {height} cells, {STEPS} steps")
    },
    run,
};

const STEPS: usize = 4;
const HEATING: f32 = 0.5;
const ALONG_X: f32 = 0.1;
const ALONG_Y: f32 = 0.15;
const TO_AMBIENT: f32 = 0.0005;
const AMBIENT: f32 = 80.0;

/// Width and height; not multiples of the workgroup.
fn shape(size: Size) -> (usize, usize) {
    size.pick((60, 35), (900, 700))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (width, height) = shape(size);
    let cells = width * height;
    let mut rng = Rng::new(24);
    let mut chip = rng.f32s(cells, 320.0, 350.0);
    let power = rng.f32s(cells, 0.0, 1.0);

    let (mut now, mut next) = (gpu.upload(&chip)?, gpu.alloc_of::<f32>(cells)?);
    let power_buffer = gpu.upload(&power)?;
    for _ in 0..STEPS {
        let range = NdRange::plane(width, height, [32, 8]);
        let coefficients = [HEATING, ALONG_X, ALONG_Y, TO_AMBIENT, AMBIENT];
        let [h, x, y, t, a] = coefficients;
        gpu.launch("hotspot", range, args![now, power_buffer, next, width, height, h, x, y, t, a])?;
        (now, next) = (next, now);
    }

    for _ in 0..STEPS {
        chip = step(&chip, &power, width, height);
    }
    Ok(bit_equal("temperatures", &gpu.download(now, cells)?, &chip)?)
}

fn step(chip: &[f32], power: &[f32], width: usize, height: usize) -> Vec<f32> {
    let cell = |i: usize| {
        let (x, y, centre) = (i % width, i / width, chip[i]);
        let neighbour = |inside: bool, at: usize| if inside { chip[at] } else { centre };
        let (west, east) = (neighbour(x > 0, i.wrapping_sub(1)), neighbour(x < width - 1, i + 1));
        let (north, south) = (neighbour(y > 0, i.wrapping_sub(width)), neighbour(y < height - 1, i + width));
        let mut change = HEATING * power[i];
        change += ALONG_X * (west + east - 2.0 * centre);
        change += ALONG_Y * (north + south - 2.0 * centre);
        change += TO_AMBIENT * (AMBIENT - centre);
        centre + change
    };
    (0..chip.len()).map(cell).collect()
}
