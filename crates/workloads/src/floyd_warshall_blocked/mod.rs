//! All shortest paths in tiles: few launches, most of the work in local memory.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "floyd-warshall-blocked",
    about: "finds the lengths of all shortest paths of a map in tiles of 16 x 16",
    source: include_str!("floyd_warshall_blocked.cl"),
    object: include_bytes!("floyd_warshall_blocked.hsaco"),
    host: include_str!("floyd_warshall_blocked.c"),
    sizes: |size| format!("{} nodes", nodes(size)),
    run,
};

const SIDE: usize = 16;
/// No path; the sum of two such distances does not overflow.
const NO_WAY: u32 = 1 << 30;

fn nodes(size: Size) -> usize {
    size.pick(64, 1024)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = nodes(size);
    let mut rng = Rng::new(58);
    let mut expected: Vec<u32> = (0..n * n)
        .map(|cell| match rng.below(8) {
            _ if cell / n == cell % n => 0,
            0 => 1 + rng.below(1000),
            _ => NO_WAY,
        })
        .collect();

    let distances = gpu.upload(&expected)?;
    let group = [SIDE as u32; 2];
    for k in 0..n / SIDE {
        gpu.launch("diagonal", NdRange::plane(SIDE, SIDE, group), args![distances, n, k])?;
        gpu.launch("cross_tiles", NdRange::plane(n, 2 * SIDE, group), args![distances, n, k])?;
        gpu.launch("other_tiles", NdRange::plane(n, n, group), args![distances, n, k])?;
    }

    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                expected[i * n + j] = expected[i * n + j].min(expected[i * n + k] + expected[k * n + j]);
            }
        }
    }
    Ok(equal("distances", &gpu.download(distances, n * n)?, &expected)?)
}
