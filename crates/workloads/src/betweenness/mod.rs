//! Betweenness centrality: a forward and a backward search for each source, both irregular.

use crate::{
    check::{Checked, within},
    gpu::{Gpu, NdRange, args},
    graph::{Graph, Kind},
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "betweenness",
    about: "finds how many shortest paths lead through each node of a graph, from some sources",
    source: include_str!("betweenness.cl"),
    object: include_bytes!("betweenness.hsaco"),
    host: include_str!("betweenness.c"),
    sizes: |size| {
        let (nodes, sources) = shape(size);
        format!("{nodes} nodes, {sources} sources")
    },
    run,
};

const UNREACHED: u32 = u32::MAX;

/// Nodes and sources.
fn shape(size: Size) -> (usize, usize) {
    size.pick((200, 1), (90_000, 2))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (n, sources) = shape(size);
    let graph = Graph::new(Kind::Rmat, n, 50);

    let (starts, edges) = (gpu.upload(&graph.starts)?, gpu.upload(&graph.edges)?);
    let (levels, found) = (gpu.alloc_of::<u32>(n)?, gpu.upload(&[0u32])?);
    let (paths, contributions) = (gpu.alloc_of::<f32>(n)?, gpu.alloc_of::<f32>(n)?);
    let centrality = gpu.upload(&vec![0f32; n])?;
    let line = NdRange::line(n, 256);
    for source in 0..sources {
        gpu.launch("begin", line, args![levels, paths, contributions, n, source])?;
        let mut level = 0u32;
        loop {
            gpu.write(found, &[0; 4])?;
            gpu.launch("reach", line, args![starts, edges, levels, n, level])?;
            level += 1;
            gpu.launch("count_paths", line, args![starts, edges, levels, paths, found, n, level])?;
            if gpu.download::<u32>(found, 1)? == [0] {
                break;
            }
        }
        // The last level searched has no nodes, and the nodes of the level before it have no successors.
        for back in (1..level.saturating_sub(1)).rev() {
            let args = args![starts, edges, levels, paths, contributions, centrality, n, back];
            gpu.launch("contribute", line, args)?;
        }
    }

    let mut expected = vec![0.0; n];
    (0..sources).for_each(|source| brandes(&graph, source, &mut expected));
    // All terms are positive. Each level adds the error of a division, a product and two sums (about 5 ulps) to that of
    // the levels behind it; graphs have tens of levels.
    Ok(within("centrality", &gpu.download(centrality, n)?, &expected, |i| expected[i], 256.0)?)
}

/// Brandes's algorithm with a queue; sums are computed in the order of the kernels.
fn brandes(graph: &Graph, source: usize, centrality: &mut [f32]) {
    let nodes = centrality.len();
    let (mut levels, mut paths) = (vec![UNREACHED; nodes], vec![0f32; nodes]);
    let mut contributions = vec![0f32; nodes];
    (levels[source], paths[source]) = (0, 1.0);
    let mut queue = vec![source];
    let mut head = 0;
    while let Some(&node) = queue.get(head) {
        head += 1;
        for next in graph.neighbours(node) {
            if levels[next] == UNREACHED {
                levels[next] = levels[node] + 1;
                queue.push(next);
            } else if levels[next] + 1 == levels[node] {
                paths[node] += paths[next];
            }
        }
    }
    for &node in queue[1..].iter().rev() {
        for next in graph.neighbours(node).filter(|&next| levels[next] == levels[node] + 1) {
            contributions[node] += paths[node] / paths[next] * (1.0 + contributions[next]);
        }
        centrality[node] += contributions[node];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_star_lies_between_all_others() {
        let graph = Graph::from_pairs(4, &[[1, 0], [1, 2], [1, 3]]);
        let mut centrality = [0.0; 4];
        (0..4).for_each(|source| brandes(&graph, source, &mut centrality));
        assert_eq!(centrality, [0.0, 6.0, 0.0, 0.0]);
    }
}
