//! k-means clustering: the GPU finds each point's nearest centre, the host moves the centres, repeatedly.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "kmeans",
    about: "clusters points: the GPU assigns them to centres, the host moves the centres",
    source: include_str!("kmeans.cl"),
    object: include_bytes!("kmeans.hsaco"),
    host: include_str!("kmeans.c"),
    sizes: |size| {
        format!("{} points of {FEATURES} features, {CLUSTERS} clusters, {ITERATIONS} iterations", points(size))
    },
    run,
};

const CLUSTERS: usize = 8;
const FEATURES: usize = 16;
const ITERATIONS: usize = 3;

fn points(size: Size) -> usize {
    size.pick(300, 70_000)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = points(size);
    let rows = Rng::new(18).f32s(n * FEATURES, 0.0, 10.0);
    let range = NdRange::line(n, 256);

    let (row_buffer, columns) = (gpu.upload(&rows)?, gpu.alloc_of::<f32>(n * FEATURES)?);
    gpu.launch("to_columns", range, args![row_buffer, columns, n, FEATURES])?;
    let (centre_buffer, membership) = (gpu.alloc_of::<f32>(CLUSTERS * FEATURES)?, gpu.alloc_of::<u32>(n)?);

    let mut checked = Checked::default();
    let mut centres = rows[..CLUSTERS * FEATURES].to_vec();
    for _ in 0..ITERATIONS {
        gpu.write(centre_buffer, &crate::gpu::Element::to_bytes(&centres))?;
        gpu.launch("nearest", range, args![columns, centre_buffer, membership, n, CLUSTERS, FEATURES])?;
        let found = gpu.download::<u32>(membership, n)?;
        let expected: Vec<u32> = rows.chunks(FEATURES).map(|point| nearest(point, &centres)).collect();
        checked = checked.and(equal("membership", &found, &expected)?);
        centres = means(&rows, &found);
    }
    Ok(checked)
}

/// The nearest centre; among equally near ones, the first. Adds in the kernel's order.
fn nearest(point: &[f32], centres: &[f32]) -> u32 {
    let distance = |centre: &[f32]| point.iter().zip(centre).fold(0.0, |sum, (p, c)| sum + (p - c) * (p - c));
    let mut best = (0, f32::MAX);
    for (c, centre) in centres.chunks(FEATURES).enumerate() {
        let distance = distance(centre);
        if distance < best.1 {
            best = (c as u32, distance);
        }
    }
    best.0
}

/// The mean of the points of each cluster; the origin for a cluster without any.
fn means(rows: &[f32], membership: &[u32]) -> Vec<f32> {
    let mut sums = vec![0.0; CLUSTERS * FEATURES];
    let mut counts = [0.0f32; CLUSTERS];
    for (point, &cluster) in rows.chunks(FEATURES).zip(membership) {
        let cluster = cluster as usize;
        counts[cluster] += 1.0;
        for (sum, x) in sums[cluster * FEATURES..].iter_mut().zip(point) {
            *sum += x;
        }
    }
    sums.iter().enumerate().map(|(i, sum)| sum / counts[i / FEATURES].max(1.0)).collect()
}
