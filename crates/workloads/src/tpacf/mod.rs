//! Angles between points of the sky: the host writes its input in several passes; the kernel counts in local memory.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "tpacf",
    about: "counts the angles between a set of points of the sky and many others, in bins",
    source: include_str!("tpacf.cl"),
    object: include_bytes!("tpacf.hsaco"),
    host: include_str!("tpacf.c"),
    sizes: |size| {
        let (points, sets) = shape(size);
        format!("{points} points in each of {sets} sets")
    },
    run,
};

const GROUP: u32 = 64;
const BINS: usize = 20;

/// Number of points and sets.
fn shape(size: Size) -> (usize, usize) {
    size.pick((60, 4), (128, 2800))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (count, sets) = shape(size);
    let points = random_points(&mut Rng::new(65), count * sets);
    let bounds: Vec<f32> = (0..BINS).map(|bin| 1.0 - 2.0 * (bin + 1) as f32 / BINS as f32).collect();

    let (point_buffer, bound_buffer) = (gpu.upload(points.as_flattened())?, gpu.upload(&bounds)?);
    let counts = gpu.upload(&vec![0u32; BINS * sets])?;
    let range = NdRange::plane(count, sets, [GROUP, 1]);
    gpu.launch("count_angles", range, args![point_buffer, bound_buffer, counts, count])?;

    let mut expected = vec![0u32; BINS * sets];
    for (set, counts) in points.chunks(count).zip(expected.chunks_mut(BINS)) {
        for [x, y, z] in &points[..count] {
            for [ox, oy, oz] in set {
                let cosine = x * ox + y * oy + z * oz;
                counts[bounds[..BINS - 1].iter().take_while(|&&bound| cosine < bound).count()] += 1;
            }
        }
    }
    Ok(equal("counts", &gpu.download(counts, expected.len())?, &expected)?)
}

/// Random points on the unit sphere, written coordinate by coordinate.
fn random_points(rng: &mut Rng, count: usize) -> Vec<[f32; 3]> {
    let mut points = vec![[0f32; 3]; count];
    for axis in 0..3 {
        points.iter_mut().for_each(|point| point[axis] = rng.f32(-0.5, 0.5));
    }
    for point in &mut points {
        let [x, y, z] = *point;
        let length = (x * x + y * y + z * z).sqrt().max(1e-6);
        point.iter_mut().for_each(|x| *x /= length);
    }
    points
}
