//! A small system to check: who is there, who asks whom, and what happens between stretches of work.

use crate::{
    Controller, Kind, Line, Node, Roster, Stamp, Table,
    orders::{self, Markers, Orders},
};
use mem::Scope;

/// Bytes in a line of a checked system: two are enough for false sharing.
pub const BYTES: usize = 2;

/// The byte that stores write in a coherent system, and atomic accesses in any.
pub(super) const STORED: usize = 0;
/// The byte that they read, and make a new value of.
pub(super) const READ: usize = 1;

/// A controller of the system.
#[derive(Clone)]
pub struct Member {
    pub name: String,
    pub controller: &'static dyn Controller<BYTES>,
    /// Which of the system's tables it obeys.
    pub table: usize,
    /// Every line at the start.
    pub initial: Line<BYTES>,
    /// Whom it asks, by line.
    pub below: Vec<Node>,
    /// Those above it, for directories.
    pub above: Roster,
    /// The core that works on it, if any.
    pub core: Option<usize>,
    /// By line: that core uses it.
    pub uses: Vec<bool>,
    /// Which of the system's tables its orders obey, and their controller.
    pub orders: Option<(usize, Orders)>,
    /// The same for the markers that its peers ask for, where it is a home of lines.
    pub markers: Option<(usize, Markers)>,
}

/// What happens in turn, over and over.
#[derive(Clone, Debug)]
pub enum Stage {
    /// These cores load and store as they like. At its end everything they wrote is synchronised.
    Work { cores: Vec<usize> },
    /// The same, and they take lines to write whenever they like: by a store of no byte.
    Free { cores: Vec<usize> },
    /// These cores take a line to write before they load it: by a store of no byte, or by a load that sees everything. At its end everything they
    /// wrote is synchronised.
    Claim { cores: Vec<usize> },
    /// Every line of these members is told, and answers `Done`.
    Tell { kind: Kind, members: Vec<Node> },
    /// Each of these cores has its first-level cache carry out an order, and waits until that is done.
    Order { kind: Kind, scope: Scope, cores: Vec<usize> },
    /// Cores meet: whatever was sent of a cache's own accord has arrived, and where cores have clocks, each shows the latest time.
    Meet,
}

impl Stage {
    /// The cores that work, if any do.
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
    /// That of the cache that answers (HALCONE).
    Caches,
    /// That of the core that asks (G-TSC): requests carry it, and answers raise it.
    Cores,
}

/// How far logical time is followed: it has no end, and neither would the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Cores ask for nothing once it has come so far.
    pub end: Stamp,
    pub clocks: Clocks,
    /// An acquire brings caches the latest time of any; else it brings none, and they forget what they hold.
    pub told: bool,
    /// Time runs over before that, and starts anew.
    pub runs_over: bool,
}

/// How the network treats messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Any message may overtake any other. A message that nobody asked for is not sent again while it is under way.
    Unordered,
    /// Messages of one lane between two nodes arrive in order, and at most this many are under way.
    Ordered { depth: usize },
    /// Messages overtake each other on the way; where they arrive they wait in rows ([`crate::Row`]), as in a cache: only the first of a row is
    /// tried again. What a member is told to do with a line waits there too.
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
    /// What the system may do to a member at any time of its own accord, beside evicting a line.
    pub whims: Vec<(Node, Kind)>,
    /// Sets of members that look alike; the sets can change places. Empty if no two do.
    pub equals: Vec<Vec<Node>>,
    /// Caches agree at all times: a read returns the newest store that has been performed.
    pub coherent: bool,
    /// Cores make atomic accesses, too.
    pub modifies: bool,
    /// Accesses are ordered by logical time.
    pub horizon: Option<Horizon>,
}

impl System {
    /// The networks that make a difference to it. With one line no message of MESI (`tests/mesi_holes.rs`), of a protocol with
    /// leases, or of NMOESI where nobody writes through ever waits behind another: each asks one thing at a time. So lanes that keep order show
    /// nothing new there. Rows matter where lines are flushed that others want back meanwhile.
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

    /// Whether members are told to flush lines that others may want back meanwhile: then it matters what waits behind what.
    fn has_probes_and_orders(&self) -> bool {
        let probed = |table: &Table| table.capabilities().probed;
        self.tables.iter().any(probed)
            && self.stages.iter().any(|stage| matches!(stage, Stage::Tell { .. } | Stage::Order { .. }))
    }

    /// Gives members a table for their orders. A member that is not named has none, and is sent none.
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

    /// The same where cores make atomic accesses, too.
    pub fn with_atomics(mut self) -> Self {
        self.modifies = true;
        self
    }

    /// The same with two lines, each of which has caches and a home of its own below the first level: an order concerns all of them. Orders
    /// are to be given again.
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

    /// The place of a table among the system's; it is added if it is not there.
    fn table(&mut self, table: &Table) -> usize {
        let known = self.tables.iter().position(|other| other.name == table.name);
        known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        })
    }

    /// Cores have clocks.
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

/// The first core; the others follow. Numbers below 128 are cheapest to take a fingerprint of.
pub(super) const CORES: u16 = 64;
/// Whoever evicts lines and starts and ends stretches of work.
pub(super) const DRIVER: Node = Node(127);
