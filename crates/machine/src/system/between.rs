//! What lies between the arrays of a GPU and the banks of its second-level cache: a wire for each pair, or a network.

use super::{Ends, Layout, Parts, two_way, wire};
use crate::spec::Machine;
use engine::Model;
use interconnect::{Packet, Station, network};
use protocol::Node;

pub struct Between {
    pub layout: Layout,
    pub gpu: usize,
    /// Testers stand in the places of compute units: they have vector caches only.
    pub testers: bool,
    /// Where a network is built.
    pub partition: usize,
}

/// Wires of one element, and whom each leads to.
type Ways = Vec<(Vec<Node>, Ends)>;

impl Between {
    /// The wires of each array, and those of each bank.
    pub fn wires(&self, machine: &Machine, model: &mut Model, parts: &mut Parts) -> (Vec<Ways>, Vec<Ways>) {
        let (layout, gpu) = (self.layout, self.gpu);
        let caches = |array| match self.testers {
            true => layout.vector_caches(gpu, array).collect(),
            false => layout.array(gpu, array),
        };
        let arrays: Vec<Vec<Node>> = (0..machine.arrays).map(caches).collect();
        let banks: Vec<Vec<Node>> = (0..machine.banks.count).map(|bank| vec![layout.l2(gpu, bank)]).collect();
        let name = |array: String, bank: String| format!("gpu{gpu}_{array}_{bank}");
        let Some(spec) = machine.network else {
            let mut above: Vec<Ways> = banks.iter().map(|_| Vec::new()).collect();
            let below = arrays.into_iter().enumerate().map(|(array, caches)| {
                let to_bank = |(bank, above): (usize, &mut Ways)| {
                    let name = name(format!("array{array}"), format!("l2_{bank}"));
                    let (upper, lower) = two_way(model, &name, machine.wires.l1_l2);
                    above.push((caches.clone(), lower));
                    (banks[bank].clone(), upper)
                };
                above.iter_mut().enumerate().map(to_bank).collect()
            });
            return (below.collect(), above);
        };
        let mut stations: Vec<(Vec<Node>, Ends)> = Vec::new();
        let mut attach = |model: &mut Model, name: String, own: &[Node], others: &[Vec<Node>]| {
            let (element, station) = two_way(model, &name, machine.wires.l1_l2);
            stations.push((own.to_vec(), station));
            vec![(others.concat(), element)]
        };
        let below = arrays
            .iter()
            .enumerate()
            .map(|(array, caches)| attach(model, name(format!("array{array}"), "network".to_owned()), caches, &banks));
        let below = below.collect();
        let above = banks
            .iter()
            .enumerate()
            .map(|(bank, own)| attach(model, name(format!("l2_{bank}"), "network".to_owned()), own, &arrays));
        let above = above.collect();
        parts.add(self.partition, move |root| {
            let scope = root.scope(("gpu", gpu)).scope("network");
            let stations = stations.into_iter().map(|(nodes, ends)| Station { nodes, wire: wire(ends, &scope) });
            let built = network::<Packet>(spec, stations.collect(), &scope);
            built.expect("the machine file was checked: such a network can be built");
        });
        (below, above)
    }
}
