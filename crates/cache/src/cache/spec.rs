//! The parameters of a cache: its bank, and its behaviour outside the protocol's tables.

use crate::bank::BankSpec;
use interconnect::Wire;
use mem::{Block, Interleave, LINE, LineAddr, Reply, Request, RequestId};
use protocol::{Node, Table, roles::Sees};
use std::rc::Rc;

/// The parameters of a cache.
#[derive(Clone)]
pub struct CacheSpec {
    pub bank: BankSpec,
    /// How many protocol steps are kept for the report on an impossible event.
    pub history: usize,
    /// Messages that the cache can handle per cycle.
    pub ports: usize,
    /// The table of its orders: the steps of an acquire and a release.
    pub orders: &'static Table,
    /// The nodes below that its orders are passed to; `None`: all of them.
    pub ordered: Option<Vec<Node>>,
    /// What the protocol guarantees to readers. In a checked run it decides when a store counts as performed.
    pub sees: Sees,
    /// Whether the cache shares wires with caches that send it requests. Its own requests must then not wait behind
    /// theirs, and travel on the lane of probes.
    pub lifts_requests: bool,
    /// Whether flushes of single lines are carried out here, as memory is below; otherwise they are passed on.
    pub flushes_lines: bool,
    /// Whether memory below has to flush such a line after this cache, because other caches may hold it, too.
    pub flushes_below: bool,
    /// Whether every acquire of a requester has system scope: copies held here and below are invalidated.
    pub wide_acquires: bool,
    /// Whether lines are tagged with the address space and the virtual address.
    pub virtual_tags: bool,
    /// How many names of pages it can replace by leading ones before a look-up.
    pub remaps: usize,
    /// Whether the cache itself, and not its protocol, notifies the forward-backward table below of each line that it
    /// no longer holds.
    pub tells_gone: bool,
    /// Whether reads that missed in the requester's TLB are counted by hit, miss and merged.
    pub counts_tlb_misses: bool,
    /// Whether the time for which lines are used is measured.
    pub counts_lifetimes: bool,
    /// The memory that gives each line its timestamps, if it is not the node below.
    pub memories: Option<Interleave<Node>>,
}

/// Called for each store performed: its request number, the line and the bytes.
pub type Watcher = Rc<dyn Fn(RequestId, LineAddr, &Block<LINE>)>;

/// Whether a recall of all lines includes this line.
pub type Recalled = Rc<dyn Fn(LineAddr) -> bool>;

/// The cores and compute units that use a first-level cache, and the wires to them.
pub type Requesters = Vec<(Node, Wire<Request, Reply>)>;
