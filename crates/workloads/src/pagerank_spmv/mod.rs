//! PageRank as a sparse matrix times a vector: indirect loads of floats.

use crate::{
    check::{Checked, bit_equal},
    gpu::{Gpu, NdRange, args},
    graph::{Graph, Kind},
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "pagerank-spmv",
    about: "ranks the nodes of a graph by products of a sparse matrix and a vector",
    source: include_str!("pagerank_spmv.cl"),
    object: include_bytes!("pagerank_spmv.hsaco"),
    host: include_str!("pagerank_spmv.c"),
    sizes: |size| format!("{} nodes", nodes(size)),
    run,
};

const ITERATIONS: u32 = 5;

fn nodes(size: Size) -> usize {
    size.pick(200, 110_000)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = nodes(size);
    let graph = Graph::new(Kind::Rmat, n, 56);
    let degree = |node: u32| graph.starts[node as usize + 1] - graph.starts[node as usize];
    let values: Vec<f32> = graph.edges.iter().map(|&other| 1.0 / degree(other) as f32).collect();
    let mut expected = vec![1.0 / n as f32; n];
    let base = 0.15 / n as f32;

    let (starts, edges) = (gpu.upload(&graph.starts)?, gpu.upload(&graph.edges)?);
    let value_buffer = gpu.upload(&values)?;
    let (mut ranks, mut next) = (gpu.upload(&expected)?, gpu.alloc_of::<f32>(n)?);
    for _ in 0..ITERATIONS {
        let args = args![starts, edges, value_buffer, ranks, next, n, base];
        gpu.launch("pagerank_rows", NdRange::line(n, 256), args)?;
        std::mem::swap(&mut ranks, &mut next);
    }

    for _ in 0..ITERATIONS {
        let row = |n: usize| graph.starts[n] as usize..graph.starts[n + 1] as usize;
        let sum = |n| row(n).fold(0.0, |sum, i| sum + values[i] * expected[graph.edges[i] as usize]);
        expected = (0..n).map(|n| base + 0.85 * sum(n)).collect();
    }
    Ok(bit_equal("ranks", &gpu.download(ranks, n)?, &expected)?)
}
