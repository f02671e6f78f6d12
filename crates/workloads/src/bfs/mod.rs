//! Breadth-first search: irregular and divergent, and the host reads a flag after every level.

use std::collections::VecDeque;

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "bfs",
    about: "finds every node's distance from the first in a random graph, one launch per level",
    source: include_str!("bfs.cl"),
    object: include_bytes!("bfs.hsaco"),
    host: include_str!("bfs.c"),
    sizes: |size| format!("{} nodes, 0 to 15 edges from each", nodes(size)),
    run,
};

const UNREACHED: u32 = u32::MAX;

fn nodes(size: Size) -> usize {
    size.pick_usual(500, 150_000, 4096)
}

/// A directed graph: node `n` has an edge to each of `edges[starts[n]..starts[n + 1]]`.
struct Graph {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Graph {
    fn random(rng: &mut Rng, nodes: usize) -> Self {
        let mut starts = vec![0];
        for _ in 0..nodes {
            starts.push(starts.last().expect("starts with 0") + rng.below(16));
        }
        // The first node has at least one edge, otherwise there would be nothing to search.
        starts[1..].iter_mut().for_each(|start| *start += 1);
        let count = *starts.last().expect("starts with 0");
        Self { starts, edges: (0..count).map(|_| rng.below(nodes as u32)).collect() }
    }

    fn levels(&self) -> Vec<u32> {
        let mut levels = vec![UNREACHED; self.starts.len() - 1];
        levels[0] = 0;
        let mut queue = VecDeque::from([0]);
        while let Some(node) = queue.pop_front() {
            for &next in &self.edges[self.starts[node] as usize..self.starts[node + 1] as usize] {
                if levels[next as usize] == UNREACHED {
                    levels[next as usize] = levels[node] + 1;
                    queue.push_back(next as usize);
                }
            }
        }
        levels
    }
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = nodes(size);
    let graph = Graph::random(&mut Rng::new(9), n);
    let mut levels = vec![UNREACHED; n];
    levels[0] = 0;

    let (starts, edges) = (gpu.upload(&graph.starts)?, gpu.upload(&graph.edges)?);
    let (levels, changed) = (gpu.upload(&levels)?, gpu.upload(&[0u32])?);
    for level in 0u32.. {
        gpu.launch("bfs_level", NdRange::line(n, 256), args![starts, edges, levels, changed, n, level])?;
        if gpu.download::<u32>(changed, 1)? == [0] {
            break;
        }
        gpu.write(changed, &[0; 4])?;
    }

    Ok(equal("levels", &gpu.download(levels, n)?, &graph.levels())?)
}
