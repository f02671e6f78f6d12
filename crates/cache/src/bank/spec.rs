//! What a bank is made of, and whom it asks.

use crate::array::Shape;
use mem::Interleave;
use protocol::{Node, Roster, roles::Seat};
use std::sync::Arc;

/// What a bank is made of.
#[derive(Clone)]
pub struct BankSpec {
    pub controller: Seat,
    pub me: Node,
    /// Whom it asks about a line.
    pub below: Interleave<Node>,
    /// Those above, where the controller keeps records of them.
    pub above: Arc<Roster>,
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
