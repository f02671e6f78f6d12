//! Links: wires along which a model may be cut into partitions.
//!
//! What is sent on a link travels as mail: it is collected during a window and handed over when the window ends, whether
//! the other end lies in the same partition or in another; between teams of threads it is handed over when the round ends. As no
//! window or round is longer than the shortest link that mail goes over at its end, nothing comes late, and a cut changes nothing:
//! deliveries come in the order (time, source, sequence). Credits travel back the same way, with the same latency.

use crate::{
    context::Scope,
    core::{Arrival, Core, Deliver, Moment, Shared},
    credits::Credits,
    name::Name,
    port::{Back, Forward, Inlet, Lane, Outlet},
    time::Time,
};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::{Rc, Weak},
    sync::{Arc, Mutex, OnceLock},
};

/// A wire that may be cut.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// From the end of serialisation until the item can be received: as long as that, the partitions at its ends can run without
    /// each other.
    pub latency: Time,
    /// How many items of each lane may be under way or waiting at the other end.
    pub capacity: usize,
    /// How many bytes go onto the wire in a cycle of the sender; `None`: any number.
    pub bytes_per_cycle: Option<u64>,
}

/// What both ends of a link share.
struct Cable<T> {
    name: String,
    spec: LinkSpec,
    /// The number of the link; its wires are twice that (items) and one more (credits).
    number: u32,
    items: Mailbox<(Time, Lane, T)>,
    credits: Mailbox<(Time, Lane)>,
    /// The partitions of the two ends.
    sender: OnceLock<usize>,
    receiver: OnceLock<usize>,
}

/// Mail of one wire: one window's is written while the last one's is read.
struct Mailbox<M>([Mutex<Vec<M>>; 2]);

impl<M> Mailbox<M> {
    fn new() -> Mailbox<M> {
        Mailbox([const { Mutex::new(Vec::new()) }; 2])
    }

    fn with<R>(&self, parity: usize, f: impl FnOnce(&mut Vec<M>) -> R) -> R {
        f(&mut self.0[parity].lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// The sending end of a link, to be taken to the partition that sends ([`Scope::sender`]).
pub struct LinkSender<T>(Arc<Cable<T>>);

/// The receiving end of a link, to be taken to the partition that receives ([`Scope::receiver`]).
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
    /// The partition that its mail is for.
    fn to(&self) -> usize;
    /// Hands the mail over; `end` is when the round ends.
    fn hand_over(&self, parity: usize, end: Time) -> Sent;
}

/// Mail that has been handed over.
pub(crate) struct Sent {
    /// The partition and the wire it is for.
    pub(crate) to: usize,
    pub(crate) wire: u32,
    pub(crate) arrives: Arrives,
}

/// When the first of some mail arrives, and the first of what does not arrive in this round.
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

/// A wire on which mail comes.
pub(crate) trait Incoming {
    /// Takes the mail of the last window in: every arrival is put down in the receiver's agenda.
    fn take_in(&self, parity: usize, window: Time);
    /// Delivers the next arrival.
    fn deliver(&self);
}

/// The ends of links that lie in a partition.
#[derive(Default)]
pub(crate) struct LinkEnds {
    /// By the number of the wire.
    incoming: Vec<Option<Rc<dyn Incoming>>>,
    /// For reports: the wires that start here, and who puts mail on each.
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
    /// For the wire that starts in `shared`.
    fn new(shared: &Shared, wire: u32) -> Staging<M> {
        let bringer = Rc::new(Cell::new(Name::ROOT));
        shared.ends.borrow_mut().bringers.push((wire, Rc::clone(&bringer)));
        Staging { mail: RefCell::default(), bringer }
    }

    /// Stages `message`; the wire is put on the partition's list if this is the first of the window.
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
            // What is sent later never arrives earlier.
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

/// At the sender: items go out.
struct ItemsOut<T> {
    cable: Arc<Cable<T>>,
    core: Rc<Core>,
    credits: Rc<CreditsIn<T>>,
    staging: Staging<(Time, Lane, T)>,
    own: Weak<ItemsOut<T>>,
}

impl<T: Send + 'static> Forward<T> for ItemsOut<T> {
    fn put(&self, lane: Lane, item: T, cycle: u64) {
        let arrives = self.core.clock.edge(cycle) + self.cable.spec.latency;
        self.staging.put(&self.core, (arrives, lane, item), &self.own);
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

/// At the receiver: items come in.
struct ItemsIn<T> {
    cable: Arc<Cable<T>>,
    inlet: Inlet<T>,
}

impl<T> Incoming for ItemsIn<T> {
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
}

/// At the receiver: credits go out.
struct CreditsOut<T> {
    cable: Arc<Cable<T>>,
    core: Rc<Core>,
    staging: Staging<(Time, Lane)>,
    own: Weak<CreditsOut<T>>,
}

impl<T: 'static> Back for CreditsOut<T> {
    fn credit(&self, lane: Lane) {
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

/// At the sender: credits come in. As long as there is room nobody looks at them, so they are put down in the agenda only
/// while somebody waits for one; otherwise they are collected when room has become short.
struct CreditsIn<T> {
    cable: Arc<Cable<T>>,
    core: Rc<Core>,
    room: [Credits; 3],
    /// Credits that have not been handed out, and the cycles of their arrival.
    returning: RefCell<VecDeque<(u64, Time, Lane)>>,
    /// How many of them, from the first on, are in the agenda.
    put_down: Cell<usize>,
    /// Whether somebody waits for one: to look at those who could would mean to look at all lanes, for every credit. And whether
    /// somebody may at any time.
    expected: Cell<bool>,
    always: Cell<bool>,
}

impl<T> CreditsIn<T> {
    /// Hands out what has come by now.
    fn collect(&self) {
        let mut returning = self.returning.borrow_mut();
        while self.put_down.get() == 0
            && let Some(&(cycle, _, lane)) = returning.front()
            && cycle <= self.core.cycle()
        {
            returning.pop_front();
            // The link has brought it, not the context that looks for it now.
            self.room[lane as usize].release_by(Moment { who: Name::ROOT, domain: self.core.index, cycle });
        }
    }

    /// From now on each is handed out as it comes, until all that are under way have come.
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

/// Puts an arrival down in the agenda of a domain for `cycle`; `now` is the earliest cycle that is still to come.
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
            Rc::new_cyclic(|own| ItemsOut { cable: Arc::clone(&cable), core, credits, staging, own: own.clone() })
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

/// A link, to ask where its ends are.
pub(crate) trait Placed: Send + Sync {
    fn latency(&self) -> Time;
    /// The partitions of both ends, which are in place.
    fn ends(&self) -> (usize, usize);
    /// What is missing, if anything is.
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
