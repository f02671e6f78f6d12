//! What a cache is made of, and what it does that its protocol does not say.

use crate::bank::BankSpec;
use interconnect::Wire;
use mem::{Block, Interleave, LINE, LineAddr, Reply, Request, RequestId};
use protocol::{Node, Table, roles::Sees};
use std::rc::Rc;

/// What a cache is made of.
#[derive(Clone)]
pub struct CacheSpec {
    pub bank: BankSpec,
    /// How many steps of the protocol are kept, to be told if it turns out to have a hole.
    pub history: usize,
    /// How many messages it can take in a cycle.
    pub ports: usize,
    /// The table of its orders: what acquires and releases consist of.
    pub orders: &'static Table,
    /// Those below whom its orders concern; none: all of them.
    pub ordered: Option<Vec<Node>>,
    /// What those who read are promised: says when a store counts as performed, where the run is checked.
    pub sees: Sees,
    /// Whether it shares wires with those who ask it: what it asks itself must then not wait behind what it is asked, and
    /// travels with probes.
    pub lifts_requests: bool,
    /// Whether every acquire of a requester is one of the system: what is held here and below is forgotten.
    pub wide_acquires: bool,
    /// Whether lines are known by the names of programs: the address space and the virtual address.
    pub virtual_tags: bool,
    /// Whether it is counted what reads find here whose requester's TLB did not have the page.
    pub counts_tlb_misses: bool,
    /// The memory that gives each line its logical times, where that is not the one below.
    pub memories: Option<Interleave<Node>>,
}

/// Is told of every store that is performed: its number with the requester, the line and the bytes.
pub type Watcher = Rc<dyn Fn(RequestId, LineAddr, &Block<LINE>)>;

/// Whether a line is among those to be given up.
pub type Recalled = Rc<dyn Fn(LineAddr) -> bool>;

/// Cores and compute units that ask a first-level cache, and the wires to them.
pub type Requesters = Vec<(Node, Wire<Request, Reply>)>;
