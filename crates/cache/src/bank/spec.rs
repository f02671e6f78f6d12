//! What a bank is made of, and whom it asks.

use crate::array::Shape;
use mem::{LINE, LineAddr};
use protocol::{Controller, Node};

/// Whom a cache asks about a line: lines are dealt in turn over the nodes.
#[derive(Clone, Debug)]
pub struct Homes {
    pub nodes: Vec<Node>,
    /// So many bytes go to one before it is the next one's turn.
    pub stride: u64,
}

impl Homes {
    pub fn of(&self, line: LineAddr) -> Node {
        self.nodes[(line.0 / self.stride) as usize % self.nodes.len()]
    }
}

/// What a bank is made of.
#[derive(Clone)]
pub struct BankSpec {
    pub controller: &'static dyn Controller<LINE>,
    pub me: Node,
    pub below: Homes,
    /// The first of those above; the others have the numbers that follow.
    pub above: Node,
    pub shape: Shape,
    /// How many lines may have something under way.
    pub mshrs: usize,
    /// How many messages may wait here, and how many of them for one line.
    pub waiting: usize,
    pub join_queue: usize,
    /// How many lines may be kept aside until what they wrote has landed; with `Drain`, until they are sent below before anything
    /// new is begun.
    pub write_back_queue: usize,
    /// Caches beside this one that are homes of lines. Their lines never take the last way, miss register or place to wait: what
    /// peers ask of this one must get through whatever it asks of them.
    pub peers: Vec<Node>,
}
