//! Whom each way of an element leads to, found by following edges.

use super::{EdgeId, Freight, Id, Plan, Relay};
use protocol::Node;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The routes of a plan's messages.
pub struct Routes {
    /// Who can be reached by leaving an element on an edge.
    beyond: BTreeMap<(Id, EdgeId), Vec<Node>>,
}

impl Routes {
    pub fn new(plan: &Plan) -> Self {
        let mut beyond = BTreeMap::new();
        for id in (0..plan.elements.len()).map(Id) {
            let edges: Vec<EdgeId> = plan.edges_of(id, Freight::Messages).collect();
            let reached: Vec<BTreeMap<Node, usize>> = edges.iter().map(|edge| reach(plan, id, *edge)).collect();
            for (at, edge) in edges.iter().enumerate() {
                // The shortest way is the one that is taken; of equal ones, the first.
                let is_best = |node: &Node, length: usize| {
                    let others = reached.iter().enumerate().filter(|(other, _)| *other != at);
                    others
                        .into_iter()
                        .all(|(other, others)| others.get(node).is_none_or(|theirs| (length, at) < (*theirs, other)))
                };
                let best = reached[at].iter().filter(|(node, length)| is_best(node, **length));
                beyond.insert((id, *edge), best.map(|(node, _)| *node).collect());
            }
            for edge in plan.edges_of(id, Freight::Flushes) {
                let other = plan.element(plan.edge(edge).beyond(id)).node;
                beyond.insert((id, edge), other.into_iter().collect());
            }
        }
        Self { beyond }
    }

    /// Whom an edge leads to, as seen from one of its ends.
    pub fn beyond(&self, from: Id, edge: EdgeId) -> &[Node] {
        self.beyond.get(&(from, edge)).map_or(&[], Vec::as_slice)
    }

    /// Everybody whom an element can send messages to.
    pub fn all(&self, from: Id) -> impl Iterator<Item = Node> {
        self.beyond.range((from, EdgeId(0))..=(from, EdgeId(usize::MAX))).flat_map(|(_, nodes)| nodes).copied()
    }
}

/// Who can be reached from an element over an edge, and over how many edges.
fn reach(plan: &Plan, from: Id, edge: EdgeId) -> BTreeMap<Node, usize> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::from([edge]);
    let mut next = VecDeque::from([(edge, plan.edge(edge).beyond(from), 1)]);
    while let Some((came, at, length)) = next.pop_front() {
        let element = plan.element(at);
        let Some(relay) = element.relays() else {
            if let Some(node) = element.node.filter(|_| at != from) {
                found.entry(node).or_insert(length);
            }
            continue;
        };
        for onward in plan.edges_of(at, Freight::Messages) {
            let relays = |edge: EdgeId| plan.element(plan.edge(edge).beyond(at)).relays().is_some();
            let passes = match relay {
                Relay::Any => true,
                Relay::Between => relays(onward) != relays(came),
                Relay::Across => (plan.edge(onward).upper == at) != (plan.edge(came).upper == at),
            };
            if passes && seen.insert(onward) {
                next.push_back((onward, plan.edge(onward).beyond(at), length + 1));
            }
        }
    }
    found
}
