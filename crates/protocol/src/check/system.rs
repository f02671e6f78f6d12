//! A small system to check: its members, their connections, and the stages of its run.

use crate::{
    Controller, Kind, Line, Node, Roster, Stamp, Table,
    orders::{self, Markers, Orders},
};
use mem::Scope;

/// Bytes in a line of a checked system: two are enough for false sharing.
pub const BYTES: usize = 2;

/// The byte that stores write in a coherent system, and that atomic accesses write in any system.
pub(super) const STORED: usize = 0;
/// The byte that stores and atomic accesses of a coherent system read and replace.
pub(super) const READ: usize = 1;

/// A controller of the system.
#[derive(Clone)]
pub struct Member {
    pub name: String,
    pub controller: &'static dyn Controller<BYTES>,
    /// The index of its table in the system.
    pub table: usize,
    /// The initial state of every line.
    pub initial: Line<BYTES>,
    /// The node below, by line.
    pub below: Vec<Node>,
    /// The nodes above, for directories.
    pub above: Roster,
    /// The core that uses it, if any.
    pub core: Option<usize>,
    /// By line: whether that core uses it.
    pub uses: Vec<bool>,
    /// The index of the table of its orders, and their controller.
    pub orders: Option<(usize, Orders)>,
    /// The index of the table of markers and its controller, if this is a home whose peers ask for markers.
    pub markers: Option<(usize, Markers)>,
}

/// The stages, which are repeated in order.
#[derive(Clone, Debug)]
pub enum Stage {
    /// These cores load and store freely. At the end, everything they wrote is synchronised.
    Work { cores: Vec<usize> },
    /// Like `Work`; the cores may also fetch lines for writing at any time, by a store of no bytes.
    Free { cores: Vec<usize> },
    /// These cores fetch a line for writing before they load it, by a store of no bytes or by a load of system scope.
    /// At the end, everything they wrote is synchronised.
    Claim { cores: Vec<usize> },
    /// Every line of these members receives this message and answers `Done`.
    Tell { kind: Kind, members: Vec<Node> },
    /// Each of these cores gives its first-level cache an order, and waits until it has been carried out.
    Order { kind: Kind, scope: Scope, cores: Vec<usize> },
    /// Cores synchronise: all probes have arrived, and if cores have clocks, each is set to the latest time.
    Meet,
}

impl Stage {
    /// The cores that work in this stage, if it is a work stage.
    pub fn cores(&self) -> Option<&[usize]> {
        match self {
            Stage::Work { cores } | Stage::Free { cores } | Stage::Claim { cores } => Some(cores),
            Stage::Tell { .. } | Stage::Order { .. } | Stage::Meet => None,
        }
    }
}

/// Whose time orders accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// The time of the cache that answers (HALCONE).
    Caches,
    /// The time of the requesting core (G-TSC): requests carry it, and answers raise it.
    Cores,
}

/// The limit of logical time, which keeps the search finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Cores send no requests once this time is reached.
    pub end: Stamp,
    pub clocks: Clocks,
    /// Whether an acquire passes the latest time of all caches to the caches that it reaches. Otherwise it passes no
    /// time, and these caches invalidate their lines.
    pub told: bool,
    /// Whether timestamps overflow before that, so that time restarts.
    pub runs_over: bool,
}

/// How the network orders messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Any message may overtake any other. A probe is not sent again while an equal one is in flight.
    Unordered,
    /// Messages of one lane between two nodes arrive in order; at most `depth` of them are in flight.
    Ordered { depth: usize },
    /// Messages overtake each other in the network. At the receiver they wait in queues ([`crate::Row`]), as in a
    /// cache: only the first of a queue is retried. Messages of the stages to a line wait there too.
    Rows,
}

/// A system to check.
#[derive(Clone)]
pub struct System {
    pub tables: Vec<Table>,
    pub members: Vec<Member>,
    pub cores: usize,
    pub lines: usize,
    pub stages: Vec<Stage>,
    /// Messages that a member may receive spontaneously at any time, besides evictions.
    pub whims: Vec<(Node, Kind)>,
    /// Sets of members that look alike; the sets are interchangeable. Empty if there are none.
    pub equals: Vec<Vec<Node>>,
    /// Whether caches agree at all times: a read returns the newest performed store.
    pub coherent: bool,
    /// Whether cores also make atomic accesses.
    pub modifies: bool,
    /// Whether a recall (`CoreFlush`) stays behind its sender's earlier answers to the receiver, as one of a
    /// forward-backward table does. Only an ordered network keeps that order.
    pub recalls_behind_answers: bool,
    /// Present if accesses are ordered by logical time.
    pub horizon: Option<Horizon>,
}

impl System {
    /// The networks that make a difference to this system. With one line, no message of MESI (`tests/mesi_holes.rs`),
    /// of a protocol with leases, or of NMOESI without write-through ever waits behind another, because each node has
    /// one request pending at a time: an ordered network shows nothing new there. `Rows` matters where lines are
    /// flushed that may be probed meanwhile.
    pub fn networks(&self) -> &'static [Network] {
        const ORDERED: Network = Network::Ordered { depth: 2 };
        let several_writes = self.tables.iter().any(|table| table.capabilities().overlaps_writes);
        let one_at_a_time = self.coherent || self.horizon.is_some();
        match self.has_probes_and_orders() {
            true if several_writes || self.lines > 1 => &[Network::Unordered, ORDERED, Network::Rows],
            true => &[Network::Unordered, Network::Rows],
            false if one_at_a_time && self.lines == 1 => &[Network::Unordered],
            false => &[Network::Unordered, ORDERED],
        }
    }

    /// Whether members flush lines that may be probed meanwhile: then it matters which messages wait behind which.
    fn has_probes_and_orders(&self) -> bool {
        let probed = |table: &Table| table.capabilities().probed;
        self.tables.iter().any(probed)
            && self.stages.iter().any(|stage| matches!(stage, Stage::Tell { .. } | Stage::Order { .. }))
    }

    /// Gives members a table for their orders. A member for which `orders` returns `None` has none, and is sent none.
    pub fn with_orders(mut self, orders: impl Fn(&Member) -> Option<&'static Table>) -> Self {
        let peers_of = |members: &[Member], number: usize| -> Vec<Node> {
            let other = |node: &Node| node.0 as usize != number && members[number].above.contains(*node);
            (0..members.len()).map(|node| Node(node as u16)).filter(other).collect()
        };
        for number in 0..self.members.len() {
            let Some(table) = orders(&self.members[number]) else { continue };
            let mut below = self.members[number].below.clone();
            below.sort_unstable();
            below.dedup();
            below.retain(|node| node.0 as usize != number);
            let of_homes = table.name == orders::orders_l2_homes::TABLE.name;
            let peers = if of_homes { peers_of(&self.members, number) } else { Vec::new() };
            below.retain(|node| !peers.contains(node));
            if of_homes {
                let place = self.table(&orders::markers::TABLE);
                self.members[number].markers = Some((place, Markers { peers: peers.clone() }));
            }
            let place = self.table(table);
            self.members[number].orders = Some((place, Orders { table, below, peers }));
        }
        self
    }

    /// This system with atomic accesses.
    pub fn with_atomics(mut self) -> Self {
        self.modifies = true;
        self
    }

    /// This system with two lines, each with caches and a home of its own below the first level, so that an order
    /// concerns several nodes. [`with_orders`](Self::with_orders) must be called again.
    pub fn banked(mut self) -> Self {
        assert_eq!(self.lines, 2, "each of two banks has a line");
        let count = self.members.len();
        let mut second: Vec<Option<Node>> = vec![None; count];
        for number in (0..count).filter(|number| self.members[*number].core.is_none()).collect::<Vec<_>>() {
            second[number] = Some(Node(self.members.len() as u16));
            let copy = &self.members[number];
            self.members.push(Member { name: format!("{}b", copy.name), ..copy.clone() });
        }
        for number in 0..self.members.len() {
            let (me, below) = (Node(number as u16), self.members[number].below.clone());
            let is_home = below.iter().all(|node| *node == me || second[node.0 as usize] == Some(me));
            let of_second = |node: Node| second[node.0 as usize].unwrap_or(node);
            self.members[number].below = if is_home { vec![me; 2] } else { vec![below[0], of_second(below[1])] };
        }
        self.equals.clear();
        self
    }

    /// The index of a table in the system; the table is added if it is missing.
    fn table(&mut self, table: &Table) -> usize {
        let known = self.tables.iter().position(|other| other.name == table.name);
        known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        })
    }

    /// Whether cores have clocks.
    pub(super) fn has_core_clocks(&self) -> bool {
        self.horizon.is_some_and(|horizon| horizon.clocks == Clocks::Cores)
    }

    pub fn name(&self, node: Node) -> String {
        match self.members.get(node.0 as usize) {
            Some(member) => member.name.clone(),
            None if node == DRIVER => "driver".to_owned(),
            None => format!("core{}", node.0 - CORES),
        }
    }
}

/// The node number of the first core; the others follow. Numbers below 128 are the cheapest to fingerprint.
pub(super) const CORES: u16 = 64;
/// The node that sends evictions and the messages of the stages.
pub(super) const DRIVER: Node = Node(127);
