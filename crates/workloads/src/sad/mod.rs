//! Motion estimation: bytes that are read repeatedly, and a result much larger than the inputs.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "sad",
    about: "adds up differences of each 4 x 4 block of a frame and 289 places around it in another",
    source: include_str!("sad.cl"),
    object: include_bytes!("sad.hsaco"),
    host: include_str!("sad.c"),
    sizes: |size| {
        let (width, height) = shape(size);
        format!("{width} x {height} pixels")
    },
    run,
};

const ACROSS: usize = 17;
const PLACES: usize = ACROSS * ACROSS;

/// Width and height.
fn shape(size: Size) -> (usize, usize) {
    size.pick((16, 8), (400, 320))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (width, height) = shape(size);
    let blocks = width / 4 * (height / 4);
    let mut rng = Rng::new(64);
    let (frame, other) = (rng.bytes(width * height), rng.bytes(width * height));

    let (frame_buffer, other_buffer) = (gpu.upload(&frame)?, gpu.upload(&other)?);
    // Two sums of 16 bits in each word.
    let out = gpu.alloc_of::<u32>(blocks * PLACES / 2)?;
    let range = NdRange::plane(PLACES, blocks, [64, 4]);
    gpu.launch("sums", range, args![frame_buffer, other_buffer, out, width, height])?;

    let difference = |(x, y): (usize, usize), place: usize| {
        // An offset is 0 to 16, for -8 to 8, in either direction.
        let ox = (x + place % ACROSS).clamp(8, width + 7) - 8;
        let oy = (y + place / ACROSS).clamp(8, height + 7) - 8;
        u32::from(frame[y * width + x].abs_diff(other[oy * width + ox]))
    };
    let sum = |block: usize, place: usize| -> u32 {
        let (bx, by) = (block % (width / 4) * 4, block / (width / 4) * 4);
        (0..16).map(|pixel| difference((bx + pixel % 4, by + pixel / 4), place)).sum()
    };
    let sums: Vec<u32> = (0..blocks).flat_map(|block| (0..PLACES).map(move |place| sum(block, place))).collect();
    let expected: Vec<u32> = sums.chunks(2).map(|pair| pair[0] | pair[1] << 16).collect();
    Ok(equal("sums", &gpu.download(out, expected.len())?, &expected)?)
}
