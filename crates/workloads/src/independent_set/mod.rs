//! A maximal independent set: indirect loads in both kernels of a round, and fewer active nodes from round to round.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    graph::{Graph, Kind},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "independent-set",
    about: "finds a maximal set of nodes of a graph that are not neighbours, in rounds after Luby",
    source: include_str!("independent_set.cl"),
    object: include_bytes!("independent_set.hsaco"),
    host: include_str!("independent_set.c"),
    sizes: |size| format!("{} nodes", nodes(size)),
    run,
};

const UNDECIDED: u32 = 0;
const MEMBER: u32 = 1;
const OUTSIDE: u32 = 2;

fn nodes(size: Size) -> usize {
    size.pick(400, 150_000)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = nodes(size);
    let graph = Graph::new(Kind::Road, n, 53);
    let priorities = Rng::new(54).u32s(n);

    let (starts, edges) = (gpu.upload(&graph.starts)?, gpu.upload(&graph.edges)?);
    let (priority_buffer, states) = (gpu.upload(&priorities)?, gpu.upload(&vec![UNDECIDED; n])?);
    let (chosen, left) = (gpu.alloc_of::<u32>(n)?, gpu.upload(&[0u32])?);
    let line = NdRange::line(n, 256);
    loop {
        gpu.write(left, &[0; 4])?;
        gpu.launch("choose_members", line, args![starts, edges, priority_buffer, states, chosen, n])?;
        gpu.launch("settle", line, args![starts, edges, chosen, states, left, n])?;
        if gpu.download::<u32>(left, 1)? == [0] {
            break;
        }
    }

    Ok(equal("states", &gpu.download(states, n)?, &join_in_turn(&graph, &priorities))?)
}

/// Decides nodes one by one, lowest priority first, which gives the set that the rounds give.
fn join_in_turn(graph: &Graph, priorities: &[u32]) -> Vec<u32> {
    let mut states = vec![UNDECIDED; graph.nodes()];
    let mut turns: Vec<usize> = (0..graph.nodes()).collect();
    turns.sort_by_key(|&node| (priorities[node], node));
    for node in turns {
        if states[node] == UNDECIDED {
            states[node] = MEMBER;
            graph.neighbours(node).for_each(|other| states[other] = OUTSIDE);
        }
    }
    states
}
