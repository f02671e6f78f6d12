//! What travels between caches, what it weighs, and how it is sent without holding the sender up.

use engine::{Context, EventCount, Inlet, Lane, Outlet, Scope};
use mem::{Atomic, LINE, PhysAddr};
use protocol::{Msg, Node};
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// What a packet has besides its bytes: command, address, route (`[giles 3.2.5.2]`).
pub const HEADER: u64 = 8;

/// For how many cycles an element that finds a wire full tries again, before it waits until there is room. Most wires are full
/// for some cycles only, and to try takes less of the host than to be woken.
pub const PATIENCE: u32 = 256;

/// What travels between caches: a message of their protocol. With an atomic access (`Modify`) and its answer (`Modified`) goes the operation, which is no
/// affair of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub msg: Msg<LINE>,
    pub atomic: Option<Atomic>,
    /// How often logical time had started anew for the sender: a request with times from before has forgotten them.
    pub era: u32,
    /// Where caches go by virtual addresses: the page of memory that its requester means, if it knows. No hardware reads that; it is for those who
    /// check the run, and for walks of flat latency.
    pub frame: Option<PhysAddr>,
    /// The line is for whoever waits for it and must not be kept: it is known here by another name.
    pub once: bool,
    /// Of a read: the requester's TLB did not have its page.
    pub tlb_missed: bool,
}

impl From<Msg<LINE>> for Packet {
    fn from(msg: Msg<LINE>) -> Self {
        Self { msg, atomic: None, era: 0, frame: None, once: false, tlb_missed: false }
    }
}

/// A two-way wire to somebody.
pub struct Wire<In, Out> {
    pub from: Inlet<In>,
    pub to: Outlet<Out>,
}

/// The name by which elements know the context of a node ([`Context::known_as`]).
pub fn name_of(node: Node) -> String {
    format!("node {}", node.0)
}

/// The bytes that a message puts on a wire.
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

/// How much of what an element sent has not gone out; shared by all its senders.
#[derive(Clone, Default)]
pub struct Pending(Rc<Cell<usize>>);

impl Pending {
    /// Whether everything has gone out.
    pub fn is_clear(&self) -> bool {
        self.0.get() == 0
    }
}

/// The sending side of an element that must never be held up by a full wire: what does not fit waits here, and a context
/// for each lane sends it when there is room. The element looks at [`Pending::is_clear`] before it takes on more work.
pub struct Sender<T> {
    outlet: Outlet<T>,
    pending: Pending,
    scope: Scope,
    bell: EventCount,
    /// Of most wires, most lanes never fill up: a lane's backlog is made, and its context started, when it first does.
    lanes: [OnceCell<Rc<Backlog<T>>>; 3],
}

struct Backlog<T> {
    items: RefCell<VecDeque<(T, u64)>>,
    /// Whether its context has taken an item out and waits for room for it. Room that comes back wakes it, but others may run before it
    /// does.
    is_sending: Cell<bool>,
    work: EventCount,
}

impl<T> Backlog<T> {
    /// Whether nothing is left that must go out before what is sent now.
    fn is_clear(&self) -> bool {
        !self.is_sending.get() && self.items.borrow().is_empty()
    }
}

/// The names of the contexts that send what did not fit, by lane.
const SENDERS: [&str; 3] = ["send_request", "send_reply", "send_coherence"];

impl<T: 'static> Sender<T> {
    /// `bell` is rung whenever a lane has become clear.
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

    /// Tells a report on a run that does not get on for which wires the element waits: by the contexts that wait for room on them.
    pub fn explain(&self, cx: &Context) {
        for (backlog, name) in self.lanes.iter().zip(SENDERS) {
            if backlog.get().is_some_and(|backlog| backlog.is_sending.get()) {
                let sender = format!("{}.{name}", self.scope.path());
                cx.needs("room on a wire for what it has to send", sender);
            }
        }
    }

    /// The wire itself, for an element that can wait until there is room.
    pub fn outlet(&self) -> &Outlet<T> {
        &self.outlet
    }

    /// Sends an item behind all that were sent in its lane before.
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

/// One side of an element that exchanges messages: where they come in, and which way out leads to whom.
pub struct Side<T> {
    pub from: Vec<Inlet<T>>,
    /// Ways out, and for each whom it leads to.
    pub to: Vec<(Vec<Node>, Outlet<T>)>,
}

impl<T> Side<T> {
    /// A side with one neighbour.
    pub fn one(node: Node, wire: Wire<T, T>) -> Self {
        Self { from: vec![wire.from], to: vec![(vec![node], wire.to)] }
    }
}

/// Sends by the name of the receiver.
pub struct Router<T> {
    senders: Vec<Sender<T>>,
    /// For each node, the number of the sender that leads to it.
    routes: Box<[u8]>,
    /// Whether what it asks travels with probes rather than with what others ask.
    pub lifts_requests: bool,
    /// What its packets say of the sender ([`Packet::era`]).
    pub era: u32,
}

const NO_WAY: u8 = u8::MAX;

impl<T: 'static> Router<T> {
    pub fn new(to: Vec<(Vec<Node>, Outlet<T>)>, pending: &Pending, scope: &Scope, bell: &EventCount) -> Self {
        Self::with(to, |_| pending.clone(), scope, bell)
    }

    /// The same, with a count of what has not gone out for each kind of way.
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

    /// Tells a report on a run that does not get on for which wires the element waits.
    pub fn explain(&self, cx: &Context) {
        self.senders.iter().for_each(|sender| sender.explain(cx));
    }

    /// Whether a way leads to a node.
    pub fn leads_to(&self, node: Node) -> bool {
        self.way(node) != NO_WAY
    }

    fn way(&self, node: Node) -> u8 {
        self.routes.get(usize::from(node.0)).copied().unwrap_or(NO_WAY)
    }

    /// The way to a neighbour. A protocol speaks to neighbours only.
    pub fn to(&self, neighbour: Node) -> &Sender<T> {
        let way = self.senders.get(usize::from(self.way(neighbour)));
        way.unwrap_or_else(|| panic!("no way leads to {neighbour:?}: it is not connected"))
    }
}

impl Router<Packet> {
    /// Sends a packet to whom it is for.
    pub fn send(&self, packet: Packet) {
        let packet = Packet { era: self.era, ..packet };
        let lane = match lane(&packet.msg) {
            Lane::Request if self.lifts_requests => Lane::Coherence,
            lane => lane,
        };
        self.to(packet.msg.to).send(lane, packet, bytes(&packet.msg));
    }
}
