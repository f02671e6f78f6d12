//! All shortest paths by Floyd and Warshall: one launch per node, each over the whole matrix.
//!
//! The work grows with the cube of the number of nodes and the memory with its square, so a single map that fills two
//! L2 caches would take minutes. Many smaller maps at once have the same memory behaviour.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "floyd-warshall",
    about: "finds all shortest paths and their first hops in many maps at once",
    source: include_str!("floyd_warshall.cl"),
    object: include_bytes!("floyd_warshall.hsaco"),
    host: include_str!("floyd_warshall.c"),
    sizes: |size| {
        let (nodes, maps) = shape(size);
        format!("{maps} maps of {nodes} nodes")
    },
    run,
};

/// No path; the sum of two such distances does not overflow.
const NO_WAY: u32 = 1 << 30;

/// Nodes per map, and number of maps.
fn shape(size: Size) -> (usize, usize) {
    size.pick((64, 1), (128, 32))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (nodes, maps) = shape(size);
    let cells = nodes * nodes * maps;
    let mut rng = Rng::new(10);
    let mut distances: Vec<u32> = (0..cells)
        .map(|cell| (cell / nodes % nodes, cell % nodes))
        .map(|(i, j)| match rng.below(8) {
            _ if i == j => 0,
            0 => 1 + rng.below(1000),
            _ => NO_WAY,
        })
        .collect();
    let mut first_hops: Vec<u32> = (0..cells).map(|cell| (cell % nodes) as u32).collect();

    let (distance_buffer, hop_buffer) = (gpu.upload(&distances)?, gpu.upload(&first_hops)?);
    for k in 0..nodes {
        let range = NdRange::space([nodes, nodes, maps], [64, 2, 1]);
        gpu.launch("through", range, args![distance_buffer, hop_buffer, nodes, k])?;
    }

    for (distances, hops) in distances.chunks_mut(nodes * nodes).zip(first_hops.chunks_mut(nodes * nodes)) {
        all_pairs(distances, hops, nodes);
    }
    let lengths = equal("distances", &gpu.download(distance_buffer, cells)?, &distances)?;
    Ok(lengths.and(equal("first hops", &gpu.download(hop_buffer, cells)?, &first_hops)?))
}

fn all_pairs(distances: &mut [u32], first_hops: &mut [u32], n: usize) {
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                let detour = distances[i * n + k] + distances[k * n + j];
                if detour < distances[i * n + j] {
                    distances[i * n + j] = detour;
                    first_hops[i * n + j] = first_hops[i * n + k];
                }
            }
        }
    }
}
