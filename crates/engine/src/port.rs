//! Ports: how elements communicate.
//!
//! A port is a wire with three virtual lanes. Each lane is bounded and has its own back-pressure, so replies get
//! through while requests are blocked. The lanes share the wire's bandwidth. Both ends have the same interface whether
//! the wire stays within a partition ([`Scope::port`](crate::Scope::port)) or is a [link](crate::LinkSpec) that may be
//! cut.

use crate::{
    arbiter::RoundRobin,
    context::Scope,
    core::{Deliver, Due, Moment},
    credits::Credits,
    eventcount::EventCount,
    stats::{Counter, Level},
    time::Cycles,
};
use std::{
    cell::{Cell, OnceCell, Ref, RefCell},
    collections::VecDeque,
    rc::Rc,
};

/// A virtual lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Requests.
    Request,
    /// Replies.
    Reply,
    /// Coherence traffic: probes, invalidations, acknowledgements.
    Coherence,
}

impl Lane {
    /// All lanes, in the order of their numbers.
    pub const ALL: [Lane; 3] = [Lane::Request, Lane::Reply, Lane::Coherence];

    fn name(self) -> &'static str {
        ["request", "reply", "coherence"][self as usize]
    }
}

/// The parameters of a wire within a partition.
#[derive(Clone, Copy, Debug)]
pub struct PortSpec {
    /// Number of items each lane holds, on the wire and at its end together.
    pub capacity: usize,
    /// From the end of serialisation until the item can be received, in cycles of the sender.
    pub latency: Cycles,
    /// Bandwidth of the wire in bytes per cycle of the sender; `None`: unlimited.
    pub bytes_per_cycle: Option<u64>,
}

/// Carries items from an outlet.
pub(crate) trait Forward<T> {
    /// Takes an item that leaves the sender at the start of `cycle` of the sender's clock.
    fn put(&self, lane: Lane, item: T, cycle: u64);
    /// Releases the credits that have returned by now, if the wire does not release them on arrival.
    fn collect_credits(&self) {}
    /// A context is about to wait for a credit (or, with `always`, may do so at any time): release each credit on
    /// arrival.
    fn expect_credits(&self, _always: bool) {}
    /// Records that the running context sends, for a report on a deadlock.
    fn sender(&self);
}

/// Carries credits back from an inlet.
pub(crate) trait Back {
    /// Returns a credit; `moment` says which context caused it and when.
    fn credit(&self, lane: Lane, moment: Moment);
    /// The running context takes an item from `lane`: returns a credit and records the context.
    fn take(&self, lane: Lane);
    /// Records that the running context takes items from `lane`, for a report on a deadlock.
    fn consumer(&self, lane: Lane);
}

/// The sending end of a port or link.
pub struct Outlet<T> {
    scope: Scope,
    room: [Credits; 3],
    bytes_per_cycle: Option<u64>,
    /// After how many bytes of an item the receiver may take it.
    head: u64,
    /// The cycle in which the wire is free again.
    free_at: Rc<Cell<u64>>,
    wire: Rc<dyn Forward<T>>,
}

impl<T> Clone for Outlet<T> {
    fn clone(&self) -> Outlet<T> {
        Outlet {
            scope: self.scope.clone(),
            room: self.room.clone(),
            bytes_per_cycle: self.bytes_per_cycle,
            head: self.head,
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
        Outlet { scope, room, bytes_per_cycle, head: u64::MAX, free_at: Rc::default(), wire }
    }

    /// From now on, the receiver may take an item as soon as its first `head` bytes have left (cut-through), and need
    /// not wait for the last (store-and-forward). The wire is occupied for all bytes in either case. Clones that exist
    /// already do not change.
    pub fn cut_through(self, head: u64) -> Outlet<T> {
        Outlet { head, ..self }
    }

    /// Sends `item`, which has `bytes` bytes, waiting for space in its lane.
    pub async fn send(&self, lane: Lane, item: T, bytes: u64) {
        if !self.try_acquire(lane) {
            self.wire.expect_credits(false);
            self.room[lane as usize].acquire().await;
        }
        self.put(lane, item, bytes);
    }

    /// Sends `item` if its lane has space that no other context waits for; returns the item otherwise.
    pub fn try_send(&self, lane: Lane, item: T, bytes: u64) -> Result<(), T> {
        if !self.try_acquire(lane) {
            return Err(item);
        }
        self.put(lane, item, bytes);
        Ok(())
    }

    /// Whether [`try_send`](Outlet::try_send) would succeed.
    pub fn has_room(&self, lane: Lane) -> bool {
        let room = &self.room[lane as usize];
        room.available() > 0 || {
            self.wire.collect_credits();
            room.available() > 0
        }
    }

    fn try_acquire(&self, lane: Lane) -> bool {
        let room = &self.room[lane as usize];
        room.try_acquire() || {
            self.wire.collect_credits();
            room.try_acquire()
        }
    }

    pub(crate) fn credits(&self, lane: Lane) -> &Credits {
        &self.room[lane as usize]
    }

    /// How many items can be sent in `lane` without waiting.
    pub fn free(&self, lane: Lane) -> u64 {
        self.wire.collect_credits();
        self.room[lane as usize].available()
    }

    /// Advances whenever space is freed in `lane`.
    pub fn room(&self, lane: Lane) -> &EventCount {
        self.wire.expect_credits(true);
        self.room[lane as usize].room()
    }

    /// From now on, also advances `bell` whenever space is freed in any lane, so that an element that waits for several
    /// outlets can wait for one bell. Clones of an outlet share one bell, the last that was set.
    pub fn ring(&self, bell: &EventCount) {
        self.room.iter().for_each(|room| room.ring(Some(bell)));
        self.wire.expect_credits(true);
    }

    /// From now on, freed space rings no bell.
    pub fn silence(&self) {
        self.room.iter().for_each(|room| room.ring(None));
    }

    /// Declares that the running context sends from here.
    pub(crate) fn expect_sender(&self) {
        self.wire.sender();
    }

    fn put(&self, lane: Lane, item: T, bytes: u64) {
        let start = self.scope.now().0.max(self.free_at.get());
        let takes = |bytes: u64| self.bytes_per_cycle.map_or(0, |rate| bytes.div_ceil(rate));
        self.free_at.set(start + takes(bytes));
        self.wire.put(lane, item, start + takes(bytes.min(self.head)));
    }
}

/// Takes an item of a lane, or returns it.
type AtOnce<T> = Box<dyn Fn(Lane, T) -> Option<T>>;

/// The receiving end of a port or link.
pub struct Inlet<T>(pub(crate) Rc<InletInner<T>>);

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Inlet<T> {
        Inlet(Rc::clone(&self.0))
    }
}

pub(crate) struct InletInner<T> {
    /// Number of items in each lane that have arrived.
    here: [Cell<usize>; 3],
    /// The items of each lane: first those that have arrived, then those on the wire.
    lanes: [RefCell<VecDeque<T>>; 3],
    /// The lanes of the items on the wire, in the order of arrival.
    on_the_wire: RefCell<VecDeque<Lane>>,
    pub(crate) scope: Scope,
    pub(crate) arrivals: EventCount,
    /// Advanced with `arrivals`, for an element that serves several inlets.
    bell: RefCell<Option<EventCount>>,
    /// Whether only items that arrive in an empty lane advance `bell`.
    rings_if_empty: Cell<bool>,
    /// Offered items as they arrive; see [`Inlet::take_at_once`].
    at_once: OnceCell<AtOnce<T>>,
    /// Where this inlet marks which lanes have items, and its number there.
    ready: OnceCell<(Ready, usize)>,
    back: Rc<dyn Back>,
    /// Whether a receiving context has been recorded.
    has_consumer: Cell<bool>,
    level: Level,
    passed: Counter,
}

impl<T: 'static> Inlet<T> {
    pub(crate) fn new(scope: &Scope, back: Rc<dyn Back>) -> Inlet<T> {
        Inlet(Rc::new(InletInner {
            here: Default::default(),
            lanes: [const { RefCell::new(VecDeque::new()) }; 3],
            on_the_wire: RefCell::default(),
            scope: scope.clone(),
            arrivals: scope.eventcount("items"),
            bell: RefCell::default(),
            rings_if_empty: Cell::new(false),
            at_once: OnceCell::new(),
            ready: OnceCell::new(),
            back,
            has_consumer: Cell::new(false),
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

    /// Takes the next item of `lane` if one has arrived.
    #[inline]
    pub fn try_recv(&self, lane: Lane) -> Option<T> {
        let here = self.0.here[lane as usize].get();
        if here > 0 {
            return self.take(lane, here);
        }
        if !self.0.has_consumer.get() {
            self.expect_consumer();
        }
        None
    }

    /// Takes one of the `here` items of `lane` that have arrived.
    #[inline(never)]
    fn take(&self, lane: Lane, here: usize) -> Option<T> {
        let inner = &*self.0;
        inner.here[lane as usize].set(here - 1);
        if here == 1
            && let Some((ready, number)) = inner.ready.get()
        {
            ready.clear(lane, *number);
        }
        let item = inner.lanes[lane as usize].borrow_mut().pop_front();
        inner.level.fall();
        inner.passed.increment();
        inner.back.take(lane);
        item
    }

    /// Declares that the running context receives from here.
    #[cold]
    pub(crate) fn expect_consumer(&self) {
        self.0.has_consumer.set(true);
        Lane::ALL.iter().for_each(|lane| self.0.back.consumer(*lane));
    }

    /// The next item of `lane`, without taking it.
    pub fn front(&self, lane: Lane) -> Option<Ref<'_, T>> {
        if self.0.here[lane as usize].get() == 0 {
            return None;
        }
        Ref::filter_map(self.0.lanes[lane as usize].borrow(), VecDeque::front).ok()
    }

    /// Number of items of `lane` that have arrived.
    pub fn len(&self, lane: Lane) -> usize {
        self.0.here[lane as usize].get()
    }

    /// Number of items of `lane` that have arrived, up to the last one for which `kind` is true.
    pub fn up_to_last(&self, lane: Lane, kind: impl Fn(&T) -> bool) -> usize {
        let items = self.0.lanes[lane as usize].borrow();
        items.iter().take(self.len(lane)).rposition(kind).map_or(0, |last| last + 1)
    }

    /// Whether no lane has an item that has arrived.
    pub fn is_empty(&self) -> bool {
        self.0.here.iter().all(|here| here.get() == 0)
    }

    /// Advances whenever an item arrives in any lane.
    pub fn arrivals(&self) -> &EventCount {
        &self.0.arrivals
    }

    /// From now on, also advances `bell` whenever an item arrives, so that an element that serves several inlets can
    /// wait for one bell.
    pub fn ring(&self, bell: &EventCount) {
        self.0.bell.replace(Some(bell.clone()));
        self.0.rings_if_empty.set(false);
    }

    /// Like [`ring`](Inlet::ring), but items that arrive in a lane where others wait do not advance `bell`. This is
    /// for an element that, whenever it runs, takes items of each lane until the lane is empty or something that will
    /// advance `bell` keeps the lane's first item: the items behind that one can't be taken before it.
    pub fn ring_if_empty(&self, bell: &EventCount) {
        self.ring(bell);
        self.0.rings_if_empty.set(true);
    }

    /// From now on, an item that arrives in the cycle in which it is sent, in a lane that is empty, is first offered to
    /// `take` while its sender runs. An item that `take` accepts needs no context to wake up; an item that it returns
    /// waits as usual. Only ports of latency 0 deliver such items. May be called once for each inlet.
    ///
    /// # Panics
    ///
    /// If it has been called for this inlet before.
    pub fn take_at_once(&self, take: impl Fn(Lane, T) -> Option<T> + 'static) {
        assert!(self.0.at_once.set(Box::new(take)).is_ok(), "one takes items as they come");
    }

    /// From now on, marks in `ready`, under `number`, which lanes have items. May be called once for each inlet.
    ///
    /// # Panics
    ///
    /// If it has been called for this inlet before, or `ready` has no such number.
    pub fn note_in(&self, ready: &Ready, number: usize) {
        assert!(number < ready.0.len() * 64, "number {number} is beyond those noted");
        let first = self.0.ready.set((ready.clone(), number)).is_ok();
        assert!(first, "an inlet notes in one place what it has");
        for lane in Lane::ALL.into_iter().filter(|lane| self.len(*lane) > 0) {
            ready.set(lane, number);
        }
    }
}

/// Which of several inlets have items, lane by lane: an element that serves many inlets looks here first. Clones are
/// handles to the same marks.
#[derive(Clone)]
pub struct Ready(Rc<[[Cell<u64>; 3]]>);

impl Ready {
    /// Marks for `inlets` inlets ([`Inlet::note_in`]).
    pub fn new(inlets: usize) -> Ready {
        Ready((0..inlets.div_ceil(64).max(1)).map(|_| Default::default()).collect())
    }

    #[inline]
    fn word(&self, lane: Lane, word: usize) -> &Cell<u64> {
        &self.0[word][lane as usize]
    }

    fn set(&self, lane: Lane, number: usize) {
        let word = self.word(lane, number / 64);
        word.set(word.get() | 1 << (number % 64));
    }

    fn clear(&self, lane: Lane, number: usize) {
        let word = self.word(lane, number / 64);
        word.set(word.get() & !(1 << (number % 64)));
    }

    /// Whether any inlet has an item in this lane.
    #[inline]
    pub fn has(&self, lane: Lane) -> bool {
        self.0.iter().any(|word| word[lane as usize].get() != 0)
    }

    /// Whether no inlet has an item in any lane.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().flatten().all(|word| word.get() == 0)
    }

    /// The first inlet, from number `from` on, with an item in one of `lanes`.
    #[inline]
    pub fn first(&self, lanes: &[Lane], from: usize) -> Option<usize> {
        let all = |word: usize| lanes.iter().fold(0, |all, lane| all | self.word(*lane, word).get());
        for word in from / 64..self.0.len() {
            let early = if word == from / 64 { (1 << (from % 64)) - 1 } else { 0 };
            let noted = all(word) & !early;
            if noted != 0 {
                return Some(word * 64 + noted.trailing_zeros() as usize);
            }
        }
        None
    }

    /// The inlets that now have an item in one of `lanes`, in the order in which `turns` would grant them.
    #[inline]
    pub fn in_turn<const N: usize>(
        &self,
        lanes: [Lane; N],
        turns: &RoundRobin,
    ) -> impl Iterator<Item = usize> + use<N> {
        let start = turns.first();
        let (mut later, mut earlier, mut others) = (0, 0, Vec::new());
        match &*self.0 {
            [word] => {
                let noted = lanes.iter().fold(0, |all, lane| all | word[*lane as usize].get());
                let before = (1 << (start % 64)) - 1;
                (later, earlier) = (noted & !before, noted & before);
            }
            _ => {
                let all = |from: usize| {
                    std::iter::successors(self.first(&lanes, from), move |last| self.first(&lanes, last + 1))
                };
                others.extend(all(start).chain(all(0).take_while(|number| *number < start)));
            }
        }
        let mut others = others.into_iter();
        std::iter::from_fn(move || {
            let word = if later != 0 { &mut later } else { &mut earlier };
            if *word == 0 {
                return others.next();
            }
            let number = word.trailing_zeros() as usize;
            *word &= *word - 1;
            Some(number)
        })
    }
}

impl<T> InletInner<T> {
    /// Offers an item that arrives in the cycle in which it was sent to the function of [`Inlet::take_at_once`].
    fn take_at_once(&self, lane: Lane, item: T) -> Option<T> {
        let Some(take) = self.at_once.get().filter(|_| self.here[lane as usize].get() == 0) else {
            return Some(item);
        };
        let left = take(lane, item);
        if left.is_none() {
            self.passed.increment();
            self.back.credit(lane, self.scope.core.running());
        }
        left
    }

    /// Stores an item that is on the wire from now on.
    #[inline]
    pub(crate) fn sent(&self, lane: Lane, item: T) {
        self.lanes[lane as usize].borrow_mut().push_back(item);
        self.on_the_wire.borrow_mut().push_back(lane);
    }

    /// An item has arrived in `lane`.
    #[inline]
    fn came(&self, lane: Lane) {
        let here = &self.here[lane as usize];
        let before = here.get();
        here.set(before + 1);
        if let Some((ready, number)) = self.ready.get() {
            ready.set(lane, *number);
        }
        self.level.rise();
        match &*self.bell.borrow() {
            Some(bell) => {
                self.arrivals.0.advance_unseen();
                if before == 0 || !self.rings_if_empty.get() {
                    bell.advance();
                }
            }
            None => self.arrivals.advance(),
        }
    }
}

impl<T> Deliver for InletInner<T> {
    fn deliver(&self) {
        let lane = self.on_the_wire.borrow_mut().pop_front().expect("each delivery has its item");
        self.came(lane);
    }
}

/// A wire with both ends in one partition.
struct LocalWire<T> {
    from: Scope,
    inlet: Inlet<T>,
    latency: u64,
}

impl<T: 'static> Forward<T> for LocalWire<T> {
    fn put(&self, lane: Lane, item: T, cycle: u64) {
        let inlet = &self.inlet.0;
        let (from, to) = (&self.from.core, &inlet.scope.core);
        let arrives = cycle + self.latency;
        if arrives == from.cycle() {
            if let Some(item) = inlet.take_at_once(lane, item) {
                inlet.arrivals.0.expected.set(from.running().who);
                inlet.sent(lane, item);
                inlet.deliver();
            }
            return;
        }
        inlet.arrivals.0.expected.set(from.running().who);
        inlet.sent(lane, item);
        let arrives = if from.index == to.index { arrives } else { to.clock.first_at(from.clock.edge(arrives)) };
        to.at(arrives, Due::Local(Rc::clone(inlet) as Rc<dyn Deliver>));
    }

    fn sender(&self) {
        self.inlet.0.arrivals.0.expected.set(self.from.core.running().who);
    }
}

/// Returns credits without delay.
struct LocalBack {
    room: [Credits; 3],
    scope: Scope,
}

impl Back for LocalBack {
    fn credit(&self, lane: Lane, moment: Moment) {
        self.room[lane as usize].release_by(moment);
    }

    fn take(&self, lane: Lane) {
        let (room, moment) = (&self.room[lane as usize], self.scope.core.running());
        room.expect_from(moment.who);
        room.release_by(moment);
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
