//! The parameters of a bank, and its neighbours.

use crate::array::Shape;
use mem::Interleave;
use protocol::{Node, Roster, roles::Seat};
use std::sync::Arc;

/// The parameters of a bank and its neighbours.
#[derive(Clone)]
pub struct BankSpec {
    pub controller: Seat,
    pub me: Node,
    /// The node below for each line.
    pub below: Interleave<Node>,
    /// The nodes above, if the controller keeps records of them.
    pub above: Arc<Roster>,
    pub shape: Shape,
    /// Maximum lines with a transaction in flight.
    pub mshrs: usize,
    /// Maximum lanes of messages that wait here.
    pub waiting: usize,
    /// Maximum messages that wait for one line.
    pub join_queue: usize,
    /// Maximum lines in the write-back queue. Protocols with `Drain` may exceed it, and then drain before they accept
    /// new requests.
    pub write_back_queue: usize,
    /// Caches at the same level that are homes of lines. Lines with a peer as home never take the last way, nor the
    /// last quarter of MSHRs and of places to wait, so that requests of peers get through even while requests to them
    /// are pending.
    pub peers: Vec<Node>,
}
