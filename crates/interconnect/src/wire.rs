//! The packets that travel between caches, their sizes, and a sender that never blocks its element.

use engine::{Context, EventCount, Inlet, Lane, Outlet, Scope};
use mem::{Atomic, LINE, PhysAddr};
use protocol::{Msg, Node};
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// The overhead of a packet besides its data: command, address, route (`[giles 3.2.5.2]`).
pub const HEADER: u64 = 8;

/// For how many cycles an element that finds a wire full retries before it waits until there is space. Most wires are
/// full for a few cycles only, and a retry costs the host less time than a wake-up.
pub const PATIENCE: u32 = 256;

/// A packet between caches: a message of their protocol. An atomic access (`Modify`) and its reply (`Modified`) also
/// carry the operation, which the protocol does not look at.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub msg: Msg<LINE>,
    pub atomic: Option<Atomic>,
    /// The sender's number of timestamp resets. A receiver in another era ignores the timestamps of a message.
    pub era: u32,
    /// With virtually addressed caches: the physical page that the requester means, if it knows. Modelled hardware does
    /// not read it; the checks of a run and page walks of fixed latency do.
    pub frame: Frame,
    /// The caches use this line only for the accesses that wait for it and do not keep it: its address is a synonym,
    /// and another address leads the page.
    pub once: bool,
    /// For a read: whether the requester's TLB missed.
    pub tlb_missed: bool,
}

/// A physical page, or none. It takes half the bytes of an `Option`, so that a packet is small enough to be copied
/// without a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame(u64);

impl Frame {
    pub const NONE: Self = Self(u64::MAX);

    /// The page, if there is one.
    pub fn known(self) -> Option<PhysAddr> {
        (self != Self::NONE).then_some(PhysAddr(self.0))
    }
}

impl From<Option<PhysAddr>> for Frame {
    fn from(page: Option<PhysAddr>) -> Self {
        page.map_or(Self::NONE, |page| Self(page.0))
    }
}

impl From<Msg<LINE>> for Packet {
    fn from(msg: Msg<LINE>) -> Self {
        Self { msg, atomic: None, era: 0, frame: Frame::NONE, once: false, tlb_missed: false }
    }
}

/// A bidirectional wire to a neighbour.
pub struct Wire<In, Out> {
    pub from: Inlet<In>,
    pub to: Outlet<Out>,
}

/// The second name of a node's context ([`Context::known_as`]).
pub fn name_of(node: Node) -> String {
    format!("node {}", node.0)
}

/// Number of bytes of a message on a wire.
pub fn bytes(msg: &Msg<LINE>) -> u64 {
    HEADER + msg.data.mask().len() as u64
}

/// The wire's lane for a message's lane.
pub fn lane(msg: &Msg<LINE>) -> Lane {
    match msg.lane() {
        protocol::Lane::Request => Lane::Request,
        protocol::Lane::Reply => Lane::Reply,
        protocol::Lane::Coherence => Lane::Coherence,
    }
}

/// Number of items that an element has queued and not yet sent; shared by all its senders.
#[derive(Clone, Default)]
pub struct Pending(Rc<Cell<usize>>);

impl Pending {
    /// Whether no item is queued.
    pub fn is_clear(&self) -> bool {
        self.0.get() == 0
    }
}

/// The sending side of an element that must never block on a full wire. Items that don't fit are queued here, and a
/// context for each lane sends them when there is space. The element checks [`Pending::is_clear`] before it takes on
/// more work.
pub struct Sender<T> {
    outlet: Outlet<T>,
    pending: Pending,
    scope: Scope,
    bell: EventCount,
    /// Most lanes of most wires never fill up, so a lane's backlog is created, and its context started, when it first
    /// does.
    lanes: [OnceCell<Rc<Backlog<T>>>; 3],
}

struct Backlog<T> {
    items: RefCell<VecDeque<(T, u64)>>,
    /// Whether the backlog's context has taken out an item and waits for space. Freed space wakes the context, but
    /// other contexts may run before it does.
    is_sending: Cell<bool>,
    work: EventCount,
}

impl<T> Backlog<T> {
    /// Whether no earlier item is left that must be sent before a new one.
    fn is_clear(&self) -> bool {
        !self.is_sending.get() && self.items.borrow().is_empty()
    }
}

/// The names of the contexts that drain the backlogs, by lane.
const SENDERS: [&str; 3] = ["send_request", "send_reply", "send_coherence"];

impl<T: 'static> Sender<T> {
    /// `bell` advances whenever a lane's backlog has drained.
    pub fn new(outlet: Outlet<T>, pending: &Pending, scope: &Scope, bell: &EventCount) -> Self {
        let (pending, scope, bell) = (pending.clone(), scope.clone(), bell.clone());
        Self { outlet, pending, scope, bell, lanes: Default::default() }
    }

    fn start(&self, lane: Lane) -> Rc<Backlog<T>> {
        let name = SENDERS[lane as usize];
        let work = self.scope.scope(name).eventcount("work");
        let backlog = Rc::new(Backlog { items: RefCell::default(), is_sending: Cell::new(false), work });
        let (own, outlet) = (Rc::clone(&backlog), self.outlet.clone());
        let (pending, bell) = (self.pending.clone(), self.bell.clone());
        self.scope.serve(name, |_| async move {
            loop {
                let next = own.items.borrow_mut().pop_front();
                match next {
                    Some((item, bytes)) => {
                        own.is_sending.set(true);
                        outlet.send(lane, item, bytes).await;
                        own.is_sending.set(false);
                        pending.0.set(pending.0.get() - 1);
                    }
                    None => {
                        bell.advance();
                        own.work.next().await;
                    }
                }
            }
        });
        backlog
    }

    /// Tells a report on a stuck run which wires the element waits for: it names the contexts that wait for space on
    /// them.
    pub fn explain(&self, cx: &Context) {
        for (backlog, name) in self.lanes.iter().zip(SENDERS) {
            if backlog.get().is_some_and(|backlog| backlog.is_sending.get()) {
                let sender = format!("{}.{name}", self.scope.path());
                cx.needs("room on a wire for what it has to send", sender);
            }
        }
    }

    /// The wire itself, for an element that can wait for space.
    pub fn outlet(&self) -> &Outlet<T> {
        &self.outlet
    }

    /// Sends an item after all items sent earlier in its lane.
    pub fn send(&self, lane: Lane, item: T, bytes: u64) {
        let backlog_of_lane = &self.lanes[lane as usize];
        let item = if backlog_of_lane.get().is_none_or(|backlog| backlog.is_clear()) {
            match self.outlet.try_send(lane, item, bytes) {
                Ok(()) => return,
                Err(item) => item,
            }
        } else {
            item
        };
        self.pending.0.set(self.pending.0.get() + 1);
        let backlog = backlog_of_lane.get_or_init(|| self.start(lane));
        backlog.items.borrow_mut().push_back((item, bytes));
        backlog.work.advance();
    }
}

/// One side of an element that exchanges messages: its inputs, and its outputs with the nodes they lead to.
pub struct Side<T> {
    pub from: Vec<Inlet<T>>,
    /// Outputs, each with the nodes it leads to.
    pub to: Vec<(Vec<Node>, Outlet<T>)>,
}

impl<T> Side<T> {
    /// A side with one neighbour.
    pub fn one(node: Node, wire: Wire<T, T>) -> Self {
        Self { from: vec![wire.from], to: vec![(vec![node], wire.to)] }
    }
}

/// Selects the sender by the receiving node.
pub struct Router<T> {
    senders: Vec<Sender<T>>,
    /// For each node, the number of the sender that leads to it.
    routes: Box<[u8]>,
    /// Whether its requests travel in the coherence lane instead of the request lane.
    pub lifts_requests: bool,
    /// The era that its packets carry ([`Packet::era`]).
    pub era: u32,
}

const NO_WAY: u8 = u8::MAX;

impl<T: 'static> Router<T> {
    pub fn new(to: Vec<(Vec<Node>, Outlet<T>)>, pending: &Pending, scope: &Scope, bell: &EventCount) -> Self {
        Self::with(to, |_| pending.clone(), scope, bell)
    }

    /// Variant of [`new`](Self::new) in which `pending` returns the [`Pending`] of an output, given its nodes.
    pub fn with(
        to: Vec<(Vec<Node>, Outlet<T>)>,
        pending: impl Fn(&[Node]) -> Pending,
        scope: &Scope,
        bell: &EventCount,
    ) -> Self {
        let nodes = to.iter().flat_map(|(nodes, _)| nodes);
        let mut routes = vec![NO_WAY; nodes.map(|node| usize::from(node.0) + 1).max().unwrap_or(0)];
        assert!(to.len() < NO_WAY.into(), "an element has fewer neighbours than can be told apart");
        let senders = to.into_iter().enumerate().map(|(number, (nodes, outlet))| {
            let pending = pending(&nodes);
            for node in nodes {
                routes[usize::from(node.0)] = number as u8;
            }
            Sender::new(outlet, &pending, &scope.scope(("way", number)), bell)
        });
        let senders = senders.collect();
        Self { senders, routes: routes.into(), lifts_requests: false, era: 0 }
    }

    /// Tells a report on a stuck run which wires the element waits for.
    pub fn explain(&self, cx: &Context) {
        self.senders.iter().for_each(|sender| sender.explain(cx));
    }

    /// Whether an output leads to a node.
    pub fn leads_to(&self, node: Node) -> bool {
        self.way(node) != NO_WAY
    }

    fn way(&self, node: Node) -> u8 {
        self.routes.get(usize::from(node.0)).copied().unwrap_or(NO_WAY)
    }

    /// The sender to a neighbour. A protocol only talks to neighbours.
    pub fn to(&self, neighbour: Node) -> &Sender<T> {
        let way = self.senders.get(usize::from(self.way(neighbour)));
        way.unwrap_or_else(|| panic!("no way leads to {neighbour:?}: it is not connected"))
    }
}

impl Router<Packet> {
    /// Sends a packet to its receiver.
    pub fn send(&self, packet: Packet) {
        let packet = Packet { era: self.era, ..packet };
        let lane = match lane(&packet.msg) {
            Lane::Request if self.lifts_requests => Lane::Coherence,
            lane => lane,
        };
        self.to(packet.msg.to).send(lane, packet, bytes(&packet.msg));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_small_enough_to_be_copied_without_a_call() {
        assert!(size_of::<Packet>() <= 128, "{} bytes", size_of::<Packet>());
    }
}
