//! Routes: which nodes each edge of an element leads to, found by following edges.

use super::{EdgeId, Freight, Id, Plan, Receivers, Relay, What};
use protocol::Node;
use std::collections::{BTreeMap, VecDeque};

/// The routes of a plan's messages.
pub struct Routes {
    /// Nodes reached by leaving an element on an edge.
    beyond: BTreeMap<(Id, EdgeId), Vec<Node>>,
}

impl Routes {
    pub fn new(plan: &Plan) -> Self {
        let mut beyond = BTreeMap::new();
        let mut search = Search::new(plan);
        for id in (0..plan.elements.len()).map(Id) {
            let edges: Vec<EdgeId> = plan.edges_of(id, Freight::Messages).collect();
            // The shortest route is taken; among equals, the first.
            let mut best: BTreeMap<Node, (usize, EdgeId)> = BTreeMap::new();
            for edge in &edges {
                for (node, length) in search.reach(id, *edge) {
                    let known = best.entry(node).or_insert((length, *edge));
                    if length < known.0 {
                        *known = (length, *edge);
                    }
                }
            }
            beyond.extend(edges.into_iter().map(|edge| ((id, edge), Vec::new())));
            for (node, (_, edge)) in best {
                beyond.entry((id, edge)).or_insert_with(Vec::new).push(node);
            }
            for edge in plan.edges_of(id, Freight::Flushes) {
                let other = plan.element(plan.edge(edge).beyond(id)).node;
                beyond.insert((id, edge), other.into_iter().collect());
            }
        }
        Self { beyond }
    }

    /// Nodes that an edge leads to, as seen from one of its ends.
    pub fn beyond(&self, from: Id, edge: EdgeId) -> &[Node] {
        self.beyond.get(&(from, edge)).map_or(&[], Vec::as_slice)
    }

    /// All nodes that an element can send messages to.
    pub fn all(&self, from: Id) -> impl Iterator<Item = Node> {
        self.beyond.range((from, EdgeId(0))..=(from, EdgeId(usize::MAX))).flat_map(|(_, nodes)| nodes).copied()
    }
}

/// A breadth-first search along edges, used repeatedly.
struct Search<'a> {
    plan: &'a Plan,
    /// By edge and by the receivers of the edges so far: the last search that reached it.
    seen: Vec<[u32; 3]>,
    search: u32,
    next: VecDeque<(EdgeId, Id, Option<Receivers>, usize)>,
}

impl<'a> Search<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, seen: vec![[0; 3]; plan.edges.len()], search: 0, next: VecDeque::new() }
    }

    /// Nodes reached from an element over an edge, each with the number of edges; nearest first.
    fn reach(&mut self, from: Id, edge: EdgeId) -> Vec<(Node, usize)> {
        let plan = self.plan;
        let mut found = Vec::new();
        self.search += 1;
        self.visit(edge, plan.edge(edge).beyond(from), plan.edge(edge).only, 1);
        while let Some((came, at, only, length)) = self.next.pop_front() {
            let element = plan.element(at);
            let relay = element.relays();
            if relay.is_none() || element.node.is_some() {
                let memory = matches!(element.what, What::Memory(_) | What::Level(_));
                let meant = only.is_none_or(|only| (only == Receivers::Memories) == memory);
                found.extend(element.node.filter(|_| at != from && meant).map(|node| (node, length)));
            }
            let Some(relay) = relay else { continue };
            for onward in plan.edges_of(at, Freight::Messages) {
                let edge = plan.edge(onward);
                let differs = edge.only.is_some() && only.is_some() && edge.only != only;
                if !differs && self.passes(relay, at, came, onward) {
                    self.visit(onward, edge.beyond(at), edge.only.or(only), length + 1);
                }
            }
        }
        found
    }

    fn visit(&mut self, edge: EdgeId, to: Id, only: Option<Receivers>, length: usize) {
        let class = only.map_or(0, |only| 1 + only as usize);
        let seen = &mut self.seen[edge.0][class];
        if *seen != self.search {
            *seen = self.search;
            self.next.push_back((edge, to, only, length));
        }
    }

    /// Whether a relay passes messages from one edge to another.
    fn passes(&self, relay: Relay, at: Id, came: EdgeId, onward: EdgeId) -> bool {
        let other = |edge: EdgeId| self.plan.element(self.plan.edge(edge).beyond(at));
        match relay {
            Relay::Any => true,
            Relay::Between => other(onward).relays().is_some() != other(came).relays().is_some(),
            Relay::Across => (self.plan.edge(onward).upper == at) != (self.plan.edge(came).upper == at),
            Relay::End => {
                let outside = |edge| matches!(other(edge).what, What::Fabric(_));
                !(outside(onward) && outside(came))
            }
        }
    }
}
