//! PageRank by pushing: atomic accesses all over memory, many of them to few addresses.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    graph::{Graph, Kind},
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "pagerank",
    about: "ranks the nodes of a graph: each adds its share to its neighbours with atomic accesses",
    source: include_str!("pagerank.cl"),
    object: include_bytes!("pagerank.hsaco"),
    host: include_str!("pagerank.c"),
    sizes: |size| format!("{} nodes", nodes(size)),
    run,
};

const BASE: u32 = 9830;
const AVERAGE: u32 = 65_536;
const ITERATIONS: u32 = 5;

fn nodes(size: Size) -> usize {
    size.pick(200, 110_000)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = nodes(size);
    let graph = Graph::new(Kind::Rmat, n, 55);
    let mut expected = vec![AVERAGE; n];

    let (starts, edges) = (gpu.upload(&graph.starts)?, gpu.upload(&graph.edges)?);
    let (ranks, incoming) = (gpu.upload(&expected)?, gpu.upload(&vec![0u32; n])?);
    let line = NdRange::line(n, 256);
    for _ in 0..ITERATIONS {
        gpu.launch("push", line, args![starts, edges, ranks, incoming, n])?;
        gpu.launch("update", line, args![ranks, incoming, n])?;
    }

    // Pulls instead of pushing: sums of integers do not depend on the order.
    for _ in 0..ITERATIONS {
        let share = |other: usize| expected[other] / (graph.starts[other + 1] - graph.starts[other]);
        let sum = |node| graph.neighbours(node).fold(0u32, |sum, other| sum.wrapping_add(share(other)));
        expected = (0..n).map(sum).map(|sum| BASE + (sum - sum / 20 * 3)).collect();
    }
    Ok(equal("ranks", &gpu.download(ranks, n)?, &expected)?)
}
