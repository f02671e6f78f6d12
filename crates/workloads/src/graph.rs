//! Graphs for workloads, generated from a seed exactly as `guest/graph.c` generates them for host programs.

use crate::input::Rng;

/// The kind of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All edges are equally likely; 8 edges per node on average.
    #[cfg_attr(not(test), expect(dead_code, reason = "workloads have it through host programs alone"))]
    Uniform,
    /// Few nodes have very many edges (Chakrabarti, Zhan, Faloutsos: R-MAT, 2004); 8 edges per node on average.
    Rmat,
    /// A grid from which some streets are missing; up to 4 edges per node.
    Road,
}

/// Node `n` has an edge to each of `edges[starts[n]..starts[n + 1]]`. Every edge exists in both directions, and no node
/// has an edge to itself.
pub struct Graph {
    pub starts: Vec<u32>,
    pub edges: Vec<u32>,
}

const PAIRS_PER_NODE: usize = 4;

impl Graph {
    /// The graph determined by a kind, a number of nodes and a seed.
    pub fn new(kind: Kind, nodes: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let pairs = match kind {
            Kind::Uniform => uniform(nodes, &mut rng),
            Kind::Rmat => rmat(nodes, &mut rng),
            Kind::Road => road(nodes, &mut rng),
        };
        Self::from_pairs(nodes, &pairs)
    }

    /// The graph with these edges.
    pub fn from_pairs(nodes: usize, pairs: &[[u32; 2]]) -> Self {
        let mut starts = vec![0; nodes + 1];
        let pairs = || pairs.iter().filter(|[a, b]| a != b).flat_map(|&[a, b]| [(a, b), (b, a)]);
        pairs().for_each(|(from, _)| starts[from as usize + 1] += 1);
        (0..nodes).for_each(|n| starts[n + 1] += starts[n]);
        let (mut next, mut edges) = (starts.clone(), vec![0; pairs().count().max(1)]);
        for (from, to) in pairs() {
            edges[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Self { starts, edges }
    }

    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let range = self.starts[node] as usize..self.starts[node + 1] as usize;
        self.edges[range].iter().map(|&to| to as usize)
    }
}

/// Whether node `a` has a higher priority than `b`; among equal priorities, the higher node number wins.
pub fn is_larger(priorities: &[u32], a: usize, b: usize) -> bool {
    (priorities[a], a) > (priorities[b], b)
}

fn uniform(nodes: usize, rng: &mut Rng) -> Vec<[u32; 2]> {
    let from = (0..nodes as u32).flat_map(|node| [node; PAIRS_PER_NODE]);
    from.map(|node| [node, rng.below(nodes as u32)]).collect()
}

/// Chooses an edge's place in the adjacency matrix: one of four quarters, one of that quarter's quarters, and so on.
fn rmat(nodes: usize, rng: &mut Rng) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    while pairs.len() < nodes * PAIRS_PER_NODE {
        let (mut a, mut b, mut reach) = (0, 0, 1);
        while reach < nodes {
            let percent = rng.below(100);
            a = 2 * a + usize::from(percent >= 76);
            b = 2 * b + usize::from((57..76).contains(&percent) || percent >= 95);
            reach *= 2;
        }
        if a < nodes && b < nodes {
            pairs.push([a as u32, b as u32]);
        }
    }
    pairs
}

fn road(nodes: usize, rng: &mut Rng) -> Vec<[u32; 2]> {
    let side = (1..).find(|side| side * side >= nodes).expect("numbers go on");
    let mut pairs = Vec::new();
    for n in 0..nodes {
        let (right, down) = (rng.below(8) != 0, rng.below(8) != 0);
        if right && n % side + 1 < side && n + 1 < nodes {
            pairs.push([n as u32, n as u32 + 1]);
        }
        if down && n + side < nodes {
            pairs.push([n as u32, (n + side) as u32]);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 3] = [Kind::Uniform, Kind::Rmat, Kind::Road];

    #[test]
    fn every_edge_goes_both_ways_and_none_to_its_own_node() {
        for kind in KINDS {
            let graph = Graph::new(kind, 200, 1);
            let edges = |from: usize, to: usize| graph.neighbours(from).filter(|&n| n == to).count();
            for from in 0..graph.nodes() {
                assert_eq!(edges(from, from), 0, "{kind:?}");
                assert!(graph.neighbours(from).all(|to| edges(to, from) == edges(from, to)), "{kind:?}");
            }
        }
    }

    #[test]
    fn the_kinds_differ_in_the_most_edges_of_a_node() {
        let most = |kind| {
            let graph = Graph::new(kind, 1000, 2);
            graph.starts.windows(2).map(|pair| pair[1] - pair[0]).max().expect("there are nodes")
        };
        let [uniform, rmat, road] = KINDS.map(most);
        assert!(road <= 4 && uniform > 8 && rmat > 4 * uniform, "{road}, {uniform}, {rmat}");
    }
}
