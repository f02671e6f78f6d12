//! Nearest neighbours: the GPU computes each record's distance from a place, the host selects the nearest.

use crate::{
    check::{Checked, within},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "knn",
    about: "finds the records nearest to a place: the GPU computes distances, the host picks",
    source: include_str!("knn.cl"),
    object: include_bytes!("knn.hsaco"),
    host: include_str!("knn.c"),
    sizes: |size| format!("{} records, the {NEAREST} nearest", count(size)),
    run,
};

const NEAREST: usize = 10;
const PLACE: [f32; 2] = [30.0, 90.0];

fn count(size: Size) -> usize {
    size.pick(1000, 2_200_000)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = count(size);
    let records = Rng::new(26).f32s(2 * n, 0.0, 180.0);

    let (input, output) = (gpu.upload(&records)?, gpu.alloc_of::<f32>(n)?);
    let [x, y] = PLACE;
    gpu.launch("distances", NdRange::line(n, 256), args![input, output, n, x, y])?;

    let got = gpu.download::<f32>(output, n)?;
    let distance = |r: &[f32]| ((r[0] - x) * (r[0] - x) + (r[1] - y) * (r[1] - y)).sqrt();
    let expected: Vec<f32> = records.chunks(2).map(distance).collect();
    // OpenCL permits a square root to be off by 3 ulps; everything before it is exact, and so is the reference's root.
    let all = within("distances", &got, &expected, |i| expected[i], 3.0)?;
    let (got, expected) = (nearest(&got), nearest(&expected));
    Ok(all.and(within("nearest", &got, &expected, |i| expected[i], 3.0)?))
}

/// The smallest distances, in ascending order.
fn nearest(distances: &[f32]) -> Vec<f32> {
    let mut sorted = distances.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    sorted.truncate(NEAREST);
    sorted
}
