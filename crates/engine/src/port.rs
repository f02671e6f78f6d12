//! Ports: how elements talk to each other.
//!
//! A port is a wire with three virtual lanes. Each lane is bounded and has its own back-pressure, so that replies get
//! through while requests are held up; the lanes share the wire's bandwidth. Both ends look the same whether the wire
//! stays within a partition ([`Scope::port`](crate::Scope::port)) or is a [`Link`](crate::LinkSpec) that may be cut.

use crate::{
    context::Scope,
    core::{Deliver, Due},
    credits::Credits,
    eventcount::EventCount,
    stats::{Counter, Level},
    time::Cycles,
};
use std::{
    cell::{Cell, Ref, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// A virtual lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// What asks for something.
    Request,
    /// What answers.
    Reply,
    /// What keeps caches coherent: probes, invalidations, acknowledgements.
    Coherence,
}

impl Lane {
    /// All lanes, in the order of their numbers.
    pub const ALL: [Lane; 3] = [Lane::Request, Lane::Reply, Lane::Coherence];

    fn name(self) -> &'static str {
        ["request", "reply", "coherence"][self as usize]
    }
}

/// A wire within a partition.
#[derive(Clone, Copy, Debug)]
pub struct PortSpec {
    /// How many items each lane holds, on the wire and at its end together.
    pub capacity: usize,
    /// From the end of serialisation until the item can be received, in cycles of the sender.
    pub latency: Cycles,
    /// How many bytes go onto the wire in a cycle of the sender; `None`: any number.
    pub bytes_per_cycle: Option<u64>,
}

/// What carries items from an outlet.
pub(crate) trait Forward<T> {
    /// Takes an item that leaves the sender at the start of `cycle` of its clock.
    fn put(&self, lane: Lane, item: T, cycle: u64);
}

/// What carries credits back from an inlet.
pub(crate) trait Back {
    fn credit(&self, lane: Lane);
    /// Notes who takes items out, for a report on a deadlock.
    fn consumer(&self, lane: Lane);
}

/// The sending end of a port or link.
pub struct Outlet<T> {
    scope: Scope,
    room: [Credits; 3],
    bytes_per_cycle: Option<u64>,
    /// When the wire is free again.
    free_at: Rc<Cell<u64>>,
    wire: Rc<dyn Forward<T>>,
}

impl<T> Clone for Outlet<T> {
    fn clone(&self) -> Outlet<T> {
        Outlet {
            scope: self.scope.clone(),
            room: self.room.clone(),
            bytes_per_cycle: self.bytes_per_cycle,
            free_at: Rc::clone(&self.free_at),
            wire: Rc::clone(&self.wire),
        }
    }
}

impl<T> Outlet<T> {
    pub(crate) fn new(
        scope: Scope,
        capacity: usize,
        bytes_per_cycle: Option<u64>,
        wire: impl FnOnce(&[Credits; 3]) -> Rc<dyn Forward<T>>,
    ) -> Outlet<T> {
        assert!(bytes_per_cycle != Some(0), "'{}' has a bandwidth of 0: nothing would ever arrive", scope.path());
        let room = Lane::ALL.map(|lane| Credits::new(&scope.scope(lane.name()), capacity as u64));
        let wire = wire(&room);
        Outlet { scope, room, bytes_per_cycle, free_at: Rc::default(), wire }
    }

    /// Sends `item`, of so many bytes, waiting for room in its lane.
    pub async fn send(&self, lane: Lane, item: T, bytes: u64) {
        self.room[lane as usize].acquire().await;
        self.put(lane, item, bytes);
    }

    /// Sends `item` if there is room in its lane that nobody waits for; gives it back otherwise.
    pub fn try_send(&self, lane: Lane, item: T, bytes: u64) -> Result<(), T> {
        if !self.room[lane as usize].try_acquire() {
            return Err(item);
        }
        self.put(lane, item, bytes);
        Ok(())
    }

    /// Whether [`try_send`](Outlet::try_send) would succeed.
    pub fn has_room(&self, lane: Lane) -> bool {
        self.room[lane as usize].available() > 0
    }

    /// How many items can be sent in `lane` without waiting.
    pub fn free(&self, lane: Lane) -> u64 {
        self.room[lane as usize].available()
    }

    /// Advances whenever room comes back in `lane`.
    pub fn room(&self, lane: Lane) -> &EventCount {
        self.room[lane as usize].room()
    }

    /// From now on, advances `bell` as well whenever room comes back in any lane: an element that waits for several outlets
    /// waits for one bell that all of them ring.
    ///
    /// # Panics
    /// If the outlet, or a clone of it, rings another bell already.
    pub fn ring(&self, bell: &EventCount) {
        self.room.iter().for_each(|room| room.ring(bell));
    }

    fn put(&self, lane: Lane, item: T, bytes: u64) {
        let start = self.scope.now().0.max(self.free_at.get());
        let leaves = start + self.bytes_per_cycle.map_or(0, |rate| bytes.div_ceil(rate));
        self.free_at.set(leaves);
        self.wire.put(lane, item, leaves);
    }
}

/// The receiving end of a port or link.
pub struct Inlet<T>(pub(crate) Rc<InletInner<T>>);

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Inlet<T> {
        Inlet(Rc::clone(&self.0))
    }
}

pub(crate) struct InletInner<T> {
    pub(crate) scope: Scope,
    /// Sent, but not to be seen yet.
    pub(crate) on_the_wire: RefCell<VecDeque<(Lane, T)>>,
    lanes: [RefCell<VecDeque<T>>; 3],
    pub(crate) arrivals: EventCount,
    /// Advanced with `arrivals`, for an element that serves several inlets.
    bell: RefCell<Option<EventCount>>,
    back: Rc<dyn Back>,
    level: Level,
    passed: Counter,
}

impl<T: 'static> Inlet<T> {
    pub(crate) fn new(scope: &Scope, back: Rc<dyn Back>) -> Inlet<T> {
        Inlet(Rc::new(InletInner {
            scope: scope.clone(),
            on_the_wire: RefCell::default(),
            lanes: [const { RefCell::new(VecDeque::new()) }; 3],
            arrivals: scope.eventcount("items"),
            bell: RefCell::default(),
            back,
            level: scope.level("level"),
            passed: scope.counter("passed"),
        }))
    }

    /// Takes the next item of `lane`, waiting for one.
    pub async fn recv(&self, lane: Lane) -> T {
        loop {
            if let Some(item) = self.try_recv(lane) {
                return item;
            }
            self.0.arrivals.next().await;
        }
    }

    /// Takes the next item of `lane` if one is there.
    pub fn try_recv(&self, lane: Lane) -> Option<T> {
        let inner = &*self.0;
        inner.back.consumer(lane);
        let item = inner.lanes[lane as usize].borrow_mut().pop_front()?;
        inner.level.fall();
        inner.passed.increment();
        inner.back.credit(lane);
        Some(item)
    }

    /// A look at the next item of `lane`.
    pub fn front(&self, lane: Lane) -> Option<Ref<'_, T>> {
        Ref::filter_map(self.0.lanes[lane as usize].borrow(), VecDeque::front).ok()
    }

    /// How many items can be taken from `lane`.
    pub fn len(&self, lane: Lane) -> usize {
        self.0.lanes[lane as usize].borrow().len()
    }

    /// Whether no lane has anything to take.
    pub fn is_empty(&self) -> bool {
        self.0.lanes.iter().all(|lane| lane.borrow().is_empty())
    }

    /// Advances whenever an item can be taken from any lane.
    pub fn arrivals(&self) -> &EventCount {
        &self.0.arrivals
    }

    /// From now on, advances `bell` as well whenever an item can be taken: an element that serves several inlets waits for
    /// one bell that all of them ring.
    pub fn ring(&self, bell: &EventCount) {
        self.0.bell.replace(Some(bell.clone()));
    }
}

impl<T> Deliver for InletInner<T> {
    fn deliver(&self) {
        let (lane, item) = self.on_the_wire.borrow_mut().pop_front().expect("each delivery has its item");
        self.lanes[lane as usize].borrow_mut().push_back(item);
        self.level.rise();
        self.arrivals.advance();
        if let Some(bell) = &*self.bell.borrow() {
            bell.advance();
        }
    }
}

/// A wire whose ends lie in one partition.
struct LocalWire<T> {
    from: Scope,
    inlet: Inlet<T>,
    latency: u64,
}

impl<T: 'static> Forward<T> for LocalWire<T> {
    fn put(&self, lane: Lane, item: T, cycle: u64) {
        let inlet = &self.inlet.0;
        inlet.arrivals.0.expected.set(self.from.core.running().who);
        inlet.on_the_wire.borrow_mut().push_back((lane, item));
        let (from, to) = (&self.from.core, &inlet.scope.core);
        let arrives = cycle + self.latency;
        if arrives == from.cycle() {
            return inlet.deliver();
        }
        let arrives = if from.index == to.index { arrives } else { to.clock.first_at(from.clock.edge(arrives)) };
        to.at(arrives, Due::Local(Rc::clone(inlet) as Rc<dyn Deliver>));
    }
}

/// Credits that come back at once.
struct LocalBack {
    room: [Credits; 3],
    scope: Scope,
}

impl Back for LocalBack {
    fn credit(&self, lane: Lane) {
        self.room[lane as usize].release();
    }

    fn consumer(&self, lane: Lane) {
        self.room[lane as usize].expect_from(self.scope.core.running().who);
    }
}

pub(crate) fn local<T: 'static>(from: &Scope, spec: PortSpec, to: &Scope) -> (Outlet<T>, Inlet<T>) {
    let mut received = None;
    let outlet = Outlet::new(from.clone(), spec.capacity, spec.bytes_per_cycle, |room| {
        let back = Rc::new(LocalBack { room: room.clone(), scope: to.clone() });
        let inlet_scope = Scope { core: Rc::clone(&to.core), name: from.name };
        let inlet = Inlet::new(&inlet_scope, back);
        received = Some(inlet.clone());
        Rc::new(LocalWire { from: from.clone(), inlet, latency: spec.latency.0 })
    });
    (outlet, received.expect("the wire is made with its end"))
}
