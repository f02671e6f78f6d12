//! Links: wires along which a model may be cut into partitions.
//!
//! An item sent on a link to another partition travels as mail: it is collected during a window and handed over when the
//! window ends. Between teams of threads it is handed over when the round ends. No window or round is longer than the
//! shortest link whose mail is handed over at its end, so no mail comes late. An item that stays in its partition is
//! scheduled there at once, and arrives at the same time. Credits travel back as mail in either case, with the same
//! latency: the time at which a round begins depends on when they are taken in.
//!
//! **Invariant**: a cut changes nothing; deliveries come in the order (time, source, sequence).

use crate::{
    context::Scope,
    core::{Arrival, Core, Deliver, Moment, Shared},
    credits::Credits,
    name::Name,
    port::{Back, Forward, Inlet, Lane, Outlet},
    time::Time,
};
use std::{
    any::Any,
    cell::{Cell, OnceCell, RefCell},
    collections::VecDeque,
    rc::{Rc, Weak},
    sync::{Arc, Mutex, OnceLock},
};

/// A wire along which a model may be cut.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// From the end of serialisation until the item can be received. The partitions at the two ends can run
    /// independently for this long.
    pub latency: Time,
    /// Maximum number of items of each lane in flight or waiting at the receiving end.
    pub capacity: usize,
    /// Bandwidth of the wire in bytes per cycle of the sender; `None`: unlimited.
    pub bytes_per_cycle: Option<u64>,
}

/// The state that both ends of a link share.
struct Cable<T> {
    name: String,
    spec: LinkSpec,
    /// The number of the link. Wire 2n carries its items, wire 2n + 1 its credits.
    number: u32,
    items: Mailbox<(Time, Lane, T)>,
    credits: Mailbox<(Time, Lane)>,
    /// The partitions of the two ends.
    sender: OnceLock<usize>,
    receiver: OnceLock<usize>,
}

/// The mail of one wire, double-buffered: one window's is written while the previous one's is read.
struct Mailbox<M>([Mutex<Vec<M>>; 2]);

impl<M> Mailbox<M> {
    fn new() -> Mailbox<M> {
        Mailbox([const { Mutex::new(Vec::new()) }; 2])
    }

    fn with<R>(&self, parity: usize, f: impl FnOnce(&mut Vec<M>) -> R) -> R {
        f(&mut self.0[parity].lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// The sending end of a link; pass it to [`Scope::sender`] in the partition that sends.
pub struct LinkSender<T>(Arc<Cable<T>>);

/// The receiving end of a link; pass it to [`Scope::receiver`] in the partition that receives.
pub struct LinkReceiver<T>(Arc<Cable<T>>);

impl<T> Cable<T> {
    fn items_wire(&self) -> u32 {
        self.number * 2
    }

    fn credits_wire(&self) -> u32 {
        self.number * 2 + 1
    }
}

pub(crate) fn link<T: Send + 'static>(
    name: String,
    number: u32,
    spec: LinkSpec,
) -> (LinkSender<T>, LinkReceiver<T>, Arc<dyn Placed>) {
    assert!(spec.latency > Time::ZERO, "link '{name}' has no latency: a wire that may be cut needs some");
    let cable = Arc::new(Cable {
        name,
        spec,
        number,
        items: Mailbox::new(),
        credits: Mailbox::new(),
        sender: OnceLock::new(),
        receiver: OnceLock::new(),
    });
    (LinkSender(Arc::clone(&cable)), LinkReceiver(Arc::clone(&cable)), cable)
}

/// A wire with mail to hand over.
pub(crate) trait Outgoing {
    /// The partition that receives its mail.
    fn to(&self) -> usize;
    /// Hands the mail over; `end` is the end of the round.
    fn hand_over(&self, parity: usize, end: Time) -> Sent;
}

/// Mail that has been handed over.
pub(crate) struct Sent {
    /// The receiving partition and the wire.
    pub(crate) to: usize,
    pub(crate) wire: u32,
    pub(crate) arrives: Arrives,
}

/// When the first message arrives, and when the first one arrives that does not arrive in this round.
#[derive(Clone, Copy)]
pub(crate) struct Arrives {
    pub(crate) first: Time,
    pub(crate) beyond: Time,
}

impl Arrives {
    pub(crate) const NEVER: Arrives = Arrives { first: Time::NEVER, beyond: Time::NEVER };

    pub(crate) fn and(self, other: Arrives) -> Arrives {
        Arrives { first: self.first.min(other.first), beyond: self.beyond.min(other.beyond) }
    }
}

/// The receiving side of a wire.
pub(crate) trait Incoming {
    /// Takes in the mail of the last window: schedules every arrival in the receiver's agenda.
    fn take_in(&self, parity: usize, window: Time);
    /// Delivers the next arrival.
    fn deliver(&self);
    /// The inlet, if the wire carries items.
    fn inlet(&self) -> Option<&dyn Any> {
        None
    }
}

/// The ends of links that lie in a partition.
#[derive(Default)]
pub(crate) struct LinkEnds {
    /// By wire number.
    incoming: Vec<Option<Rc<dyn Incoming>>>,
    /// For reports: the wires that start here, and the context that puts mail on each.
    pub(crate) bringers: Vec<(u32, Rc<Cell<Name>>)>,
}

impl LinkEnds {
    pub(crate) fn incoming(&self, wire: u32) -> &Rc<dyn Incoming> {
        self.incoming[wire as usize].as_ref().expect("mail comes to where its wire ends")
    }

    fn put(&mut self, wire: u32, end: Rc<dyn Incoming>) {
        let wire = wire as usize;
        if self.incoming.len() <= wire {
            self.incoming.resize_with(wire + 1, || None);
        }
        self.incoming[wire] = Some(end);
    }
}

/// Mail gathered during a window at one end of a link.
struct Staging<M> {
    mail: RefCell<Vec<M>>,
    bringer: Rc<Cell<Name>>,
}

impl<M> Staging<M> {
    /// For a wire that starts in `shared`.
    fn new(shared: &Shared, wire: u32) -> Staging<M> {
        let bringer = Rc::new(Cell::new(Name::ROOT));
        shared.ends.borrow_mut().bringers.push((wire, Rc::clone(&bringer)));
        Staging { mail: RefCell::default(), bringer }
    }

    /// Stages `message`. The first message of a window adds the wire to the partition's list of outgoing wires.
    fn put<W: Outgoing + 'static>(&self, core: &Core, message: M, wire: &Weak<W>) {
        self.bringer.set(core.running().who);
        let mut mail = self.mail.borrow_mut();
        if mail.is_empty() {
            core.shared.outgoing.borrow_mut().push(wire.upgrade().expect("a wire in use is alive"));
        }
        mail.push(message);
    }

    fn hand_over(&self, mailbox: &Mailbox<M>, parity: usize, end: Time, arrives: impl Fn(&M) -> Time) -> Arrives {
        let mut mail = self.mail.borrow_mut();
        let first = mail.first().map_or(Time::NEVER, &arrives);
        let beyond = match first < end {
            // Messages on one wire arrive in the order in which they were sent.
            true => mail.get(mail.partition_point(|message| arrives(message) < end)).map_or(Time::NEVER, &arrives),
            false => first,
        };
        mailbox.with(parity, |handed_over| {
            debug_assert!(handed_over.is_empty(), "the mail before last has been taken in");
            std::mem::swap(&mut *mail, handed_over);
        });
        Arrives { first, beyond }
    }
}

/// Sender's side: items go out.
struct ItemsOut<T> {
    cable: Arc<Cable<T>>,
    core: Rc<Core>,
    credits: Rc<CreditsIn<T>>,
    staging: Staging<(Time, Lane, T)>,
    /// The other end, if it lies in this partition. Known once something has been sent.
    near: OnceCell<Option<Inlet<T>>>,
    own: Weak<ItemsOut<T>>,
}

impl<T: Send + 'static> ItemsOut<T> {
    fn near(&self) -> Option<&Inlet<T>> {
        let find = || {
            let shared = &self.core.shared;
            let ends = (self.to() == shared.partition).then(|| shared.ends.borrow())?;
            ends.incoming(self.cable.items_wire()).inlet()?.downcast_ref::<Inlet<T>>().cloned()
        };
        self.near.get_or_init(find).as_ref()
    }
}

impl<T: Send + 'static> Forward<T> for ItemsOut<T> {
    fn put(&self, lane: Lane, item: T, cycle: u64) {
        let arrives = self.core.clock.edge(cycle) + self.cable.spec.latency;
        let Some(inlet) = self.near() else {
            return self.staging.put(&self.core, (arrives, lane, item), &self.own);
        };
        // It arrives after this window, as mail would: no window is longer than a link. So it need not be mail.
        self.staging.bringer.set(self.core.running().who);
        let core = &inlet.0.scope.core;
        inlet.0.sent(lane, item);
        put_down(core, core.cycle(), core.clock.first_at(arrives), arrives, self.cable.items_wire());
    }

    fn collect_credits(&self) {
        self.credits.collect();
    }

    fn expect_credits(&self, always: bool) {
        self.credits.always.set(self.credits.always.get() || always);
        self.credits.expect();
    }

    fn sender(&self) {
        self.staging.bringer.set(self.core.running().who);
    }
}

impl<T> Outgoing for ItemsOut<T> {
    fn to(&self) -> usize {
        *self.cable.receiver.get().expect("both ends are in place before the run")
    }

    fn hand_over(&self, parity: usize, end: Time) -> Sent {
        let arrives = self.staging.hand_over(&self.cable.items, parity, end, |(time, ..)| *time);
        Sent { to: self.to(), wire: self.cable.items_wire(), arrives }
    }
}

/// Receiver's side: items come in.
struct ItemsIn<T> {
    cable: Arc<Cable<T>>,
    inlet: Inlet<T>,
}

impl<T: 'static> Incoming for ItemsIn<T> {
    fn take_in(&self, parity: usize, window: Time) {
        let inlet = &self.inlet.0;
        let core = &inlet.scope.core;
        let now = core.clock.first_at(window);
        self.cable.items.with(parity, |mail| {
            for (time, lane, item) in mail.drain(..) {
                inlet.sent(lane, item);
                put_down(core, now, core.clock.first_at(time), time, self.cable.items_wire());
            }
        });
    }

    fn deliver(&self) {
        self.inlet.0.deliver();
    }

    fn inlet(&self) -> Option<&dyn Any> {
        Some(&self.inlet)
    }
}

/// Receiver's side: credits go out.
struct CreditsOut<T> {
    cable: Arc<Cable<T>>,
    core: Rc<Core>,
    staging: Staging<(Time, Lane)>,
    own: Weak<CreditsOut<T>>,
}

impl<T: 'static> Back for CreditsOut<T> {
    fn credit(&self, lane: Lane, _: Moment) {
        self.take(lane);
    }

    fn take(&self, lane: Lane) {
        let arrives = self.core.time() + self.cable.spec.latency;
        self.staging.put(&self.core, (arrives, lane), &self.own);
    }

    fn consumer(&self, _: Lane) {
        self.staging.bringer.set(self.core.running().who);
    }
}

impl<T> Outgoing for CreditsOut<T> {
    fn to(&self) -> usize {
        *self.cable.sender.get().expect("both ends are in place before the run")
    }

    fn hand_over(&self, parity: usize, end: Time) -> Sent {
        let arrives = self.staging.hand_over(&self.cable.credits, parity, end, |(time, _)| *time);
        Sent { to: self.to(), wire: self.cable.credits_wire(), arrives }
    }
}

/// Sender's side: credits come in. While a context waits for a credit, arrivals are scheduled in the agenda. Otherwise
/// they are collected only when a sender finds no credit left, which saves events.
struct CreditsIn<T> {
    cable: Arc<Cable<T>>,
    core: Rc<Core>,
    room: [Credits; 3],
    /// Credits that have not been released yet, with the cycles of their arrival.
    returning: RefCell<VecDeque<(u64, Time, Lane)>>,
    /// How many of them, from the front, are scheduled in the agenda.
    put_down: Cell<usize>,
    /// `expected`: a context waits for a credit (a flag, because checking the waiters would mean checking all lanes for
    /// every credit). `always`: a context may wait at any time.
    expected: Cell<bool>,
    always: Cell<bool>,
}

impl<T> CreditsIn<T> {
    /// Releases the credits that have arrived by now.
    fn collect(&self) {
        let mut returning = self.returning.borrow_mut();
        while self.put_down.get() == 0
            && let Some(&(cycle, _, lane)) = returning.front()
            && cycle <= self.core.cycle()
        {
            returning.pop_front();
            // The cause is the link, not the context that collects the credit now.
            self.room[lane as usize].release_by(Moment { who: Name::ROOT, domain: self.core.index, cycle });
        }
    }

    /// From now on each credit is released on arrival, until none is in flight.
    fn expect(&self) {
        self.expected.set(true);
        let returning = self.returning.borrow();
        for &(cycle, time, _) in returning.iter().skip(self.put_down.replace(returning.len())) {
            put_down(&self.core, self.core.cycle(), cycle, time, self.cable.credits_wire());
        }
    }
}

impl<T> Incoming for CreditsIn<T> {
    fn take_in(&self, parity: usize, window: Time) {
        let clock = self.core.clock;
        let at_once = self.put_down.get() > 0 || self.expected.get();
        self.cable.credits.with(parity, |mail| {
            let mut returning = self.returning.borrow_mut();
            for (time, lane) in mail.drain(..) {
                let cycle = clock.first_at(time);
                returning.push_back((cycle, time, lane));
                if at_once {
                    put_down(&self.core, clock.first_at(window), cycle, time, self.cable.credits_wire());
                }
            }
            if at_once {
                self.put_down.set(returning.len());
            } else if let Some((cycle, ..)) = returning.back() {
                self.core.shared.note_reached(clock.edge(*cycle));
            }
        });
    }

    fn deliver(&self) {
        let (.., lane) = self.returning.borrow_mut().pop_front().expect("each arrival has its credit");
        self.put_down.set(self.put_down.get() - 1);
        self.room[lane as usize].release();
        if self.put_down.get() == 0 {
            let awaited = || self.room.iter().any(|room| room.room().0.is_awaited());
            self.expected.set(self.always.get() || awaited());
        }
    }
}

/// Schedules an arrival in the agenda of a domain for `cycle`; `now` is the earliest cycle that has not run yet.
fn put_down(core: &Core, now: u64, cycle: u64, time: Time, wire: u32) {
    core.arrivals.borrow_mut().insert(Arrival { time, wire }, now, cycle);
    core.alarm.set(core.alarm.get().min(cycle));
}

impl<T: Send + 'static> LinkSender<T> {
    /// Puts the sending end in place.
    pub(crate) fn place(self, scope: &Scope) -> Outlet<T> {
        let LinkSender(cable) = self;
        let (spec, scope) = (cable.spec, scope.scope(&cable.name).scope("out"));
        let (core, shared) = (Rc::clone(&scope.core), &scope.core.shared);
        cable.sender.set(shared.partition).expect("an end is put in place only once: it is used up by that");
        Outlet::new(scope.clone(), spec.capacity, spec.bytes_per_cycle, |room| {
            room.iter().for_each(|credits| credits.room().0.wire.set(Some(cable.credits_wire())));
            let credits = Rc::new(CreditsIn {
                cable: Arc::clone(&cable),
                core: Rc::clone(&core),
                room: room.clone(),
                returning: RefCell::default(),
                put_down: Cell::new(0),
                expected: Cell::new(false),
                always: Cell::new(false),
            });
            shared.ends.borrow_mut().put(cable.credits_wire(), Rc::clone(&credits) as Rc<dyn Incoming>);
            let staging = Staging::new(shared, cable.items_wire());
            let near = OnceCell::new();
            Rc::new_cyclic(|own| ItemsOut { cable: Arc::clone(&cable), core, credits, staging, near, own: own.clone() })
        })
    }
}

impl<T: Send + 'static> LinkReceiver<T> {
    /// Puts the receiving end in place.
    pub(crate) fn place(self, scope: &Scope) -> Inlet<T> {
        let LinkReceiver(cable) = self;
        let scope = scope.scope(&cable.name).scope("in");
        let (core, shared) = (Rc::clone(&scope.core), &scope.core.shared);
        cable.receiver.set(shared.partition).expect("an end is put in place only once: it is used up by that");
        let staging = Staging::new(shared, cable.credits_wire());
        let back = Rc::new_cyclic(|own| CreditsOut { cable: Arc::clone(&cable), core, staging, own: own.clone() });
        let inlet = Inlet::new(&scope, back);
        inlet.0.arrivals.0.wire.set(Some(cable.items_wire()));
        let items = ItemsIn { cable: Arc::clone(&cable), inlet: inlet.clone() };
        shared.ends.borrow_mut().put(cable.items_wire(), Rc::new(items));
        inlet
    }
}

/// A link, seen by the part of the engine that checks where its ends are.
pub(crate) trait Placed: Send + Sync {
    fn latency(&self) -> Time;
    /// The partitions of both ends, which must be in place.
    fn ends(&self) -> (usize, usize);
    /// A description of the end that is not in place, if there is one.
    fn missing(&self) -> Option<String>;
}

impl<T: Send> Placed for Cable<T> {
    fn latency(&self) -> Time {
        self.spec.latency
    }

    fn ends(&self) -> (usize, usize) {
        let end = |end: &OnceLock<usize>| *end.get().expect("both ends are in place before the run");
        (end(&self.sender), end(&self.receiver))
    }

    fn missing(&self) -> Option<String> {
        let side = match (self.sender.get(), self.receiver.get()) {
            (Some(_), Some(_)) => return None,
            (None, _) => "sending",
            (_, None) => "receiving",
        };
        Some(format!("the {side} end of link '{}' is in no partition", self.name))
    }
}
