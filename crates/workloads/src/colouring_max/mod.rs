//! Graph colouring with one colour per round: indirect loads, and fewer active nodes from round to round.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    graph::{Graph, Kind, is_larger},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "colouring-max",
    about: "colours a graph so that neighbours differ, one colour a round for the nodes of highest priority",
    source: include_str!("colouring_max.cl"),
    object: include_bytes!("colouring_max.hsaco"),
    host: include_str!("colouring_max.c"),
    sizes: describe,
    run: |size, gpu| colour(size, gpu, ["choose_max", "colour_max"], false),
};

const NO_COLOUR: u32 = u32::MAX;

pub(crate) fn describe(size: Size) -> String {
    format!("{} nodes", nodes(size))
}

fn nodes(size: Size) -> usize {
    size.pick(400, 150_000)
}

/// Colours a graph with kernels that select nodes and colour them; `both`: with two colours per round.
pub(crate) fn colour(size: Size, gpu: &mut dyn Gpu, kernels: [&str; 2], both: bool) -> Result<Checked, WorkloadError> {
    let n = nodes(size);
    let graph = Graph::new(Kind::Road, n, 51);
    let priorities = Rng::new(52).u32s(n);

    let (starts, edges) = (gpu.upload(&graph.starts)?, gpu.upload(&graph.edges)?);
    let (priority_buffer, colours) = (gpu.upload(&priorities)?, gpu.upload(&vec![NO_COLOUR; n])?);
    let (chosen, left) = (gpu.alloc_of::<u32>(n)?, gpu.upload(&[0u32])?);
    let line = NdRange::line(n, 256);
    for colour in (0u32..).step_by(1 + usize::from(both)) {
        gpu.write(left, &[0; 4])?;
        gpu.launch(kernels[0], line, args![starts, edges, priority_buffer, colours, chosen, n])?;
        gpu.launch(kernels[1], line, args![chosen, colours, left, n, colour])?;
        if gpu.download::<u32>(left, 1)? == [0] {
            break;
        }
    }

    Ok(equal("colours", &gpu.download(colours, n)?, &reference(&graph, &priorities, both))?)
}

/// The rounds of the kernels, node by node.
fn reference(graph: &Graph, priorities: &[u32], both: bool) -> Vec<u32> {
    let mut colours = vec![NO_COLOUR; graph.nodes()];
    let mut colour = 0;
    while colours.contains(&NO_COLOUR) {
        let choice = |n: usize| {
            let mut others = graph.neighbours(n).filter(|&other| colours[other] == NO_COLOUR);
            let larger = |other| is_larger(priorities, n, other);
            match others.clone().all(larger) {
                _ if colours[n] != NO_COLOUR => colours[n],
                true => colour,
                false if both && !others.any(larger) => colour + 1,
                false => NO_COLOUR,
            }
        };
        colours = (0..graph.nodes()).map(choice).collect();
        colour += 1 + u32::from(both);
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ() {
        for kind in [Kind::Road, Kind::Rmat] {
            for both in [false, true] {
                let graph = Graph::new(kind, 300, 3);
                let colours = reference(&graph, &Rng::new(4).u32s(300), both);
                assert!((0..300).all(|n| graph.neighbours(n).all(|other| colours[n] != colours[other])));
            }
        }
    }
}
