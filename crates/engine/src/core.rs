//! The state that a clock domain shares with its contexts while they run.
//!
//! A context never touches the queues of its domain. It posts one request word and returns, and the domain reads the
//! word. That keeps the path through `pause` short, and enforces the rule that a context waits for one thing at a time.

use crate::{
    calendar::Agenda,
    eventcount,
    journal::Written,
    link::{LinkEnds, Outgoing},
    model::Monitor,
    name::{Label, Name, Names},
    stats::Registry,
    time::{Clock, Time},
    trace::Recorder,
};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::Future,
    pin::Pin,
    rc::{Rc, Weak},
};

pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The request word. A value without a name here is a pause of that many cycles.
pub(crate) mod request {
    /// Nothing was posted.
    pub(crate) const NONE: u64 = 0;
    /// Wait for an eventcount, which has registered the waiter.
    pub(crate) const WAIT: u64 = u64::MAX;
    /// Run again when all other contexts of this cycle have run.
    pub(crate) const SETTLE: u64 = u64::MAX - 1;
    /// Run again in this cycle, after the contexts that are ready now.
    pub(crate) const YIELD: u64 = u64::MAX - 2;
    /// The longest pause.
    pub(crate) const LONGEST: u64 = 1 << 62;
}

/// In [`Core::ready`]: start the next context of [`Core::born`].
pub(crate) const BIRTH: u32 = u32::MAX;

/// In [`Core::context`]: no context runs; a wire is delivering.
pub(crate) const WIRE: u32 = u32::MAX;

/// In [`Shared::domain`]: no domain runs; the model is being built.
pub(crate) const NO_DOMAIN: u32 = u32::MAX;

/// A context that has not started yet.
pub(crate) struct Birth {
    pub(crate) task: Task,
    pub(crate) name: Name,
    pub(crate) server: bool,
}

/// An end of a queue or link to which something is delivered at the start of a cycle.
pub(crate) trait Deliver {
    fn deliver(&self);
}

/// A delivery at the start of a cycle, before any context runs.
pub(crate) enum Due {
    /// A delivery within this partition.
    Local(Rc<dyn Deliver>),
    /// The limit of a timed wait: the eventcount and the number of the wait.
    Timeout(Rc<eventcount::Inner>, u64),
}

impl Due {
    /// Whether it has an effect. The limit of a wait that has already ended has none.
    pub(crate) fn is_live(&self) -> bool {
        match self {
            Due::Local(_) => true,
            Due::Timeout(eventcount, number) => eventcount.is_timed(*number),
        }
    }
}

/// A delivery that came over a link: when it arrived and on which wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrival {
    pub(crate) time: Time,
    pub(crate) wire: u32,
}

/// Until when a context that runs in every cycle need not run: it would only pause again.
pub(crate) struct Gate {
    /// The first cycle in which it must run.
    pub(crate) until: u64,
    /// It must also run when this eventcount has more advances than it has seen.
    pub(crate) bell: Rc<eventcount::Inner>,
    pub(crate) seen: u64,
}

impl Gate {
    #[inline]
    pub(crate) fn is_closed(&self, now: u64) -> bool {
        now < self.until && self.bell.count() == self.seen
    }
}

/// One clock domain of one partition, as its contexts see it.
pub(crate) struct Core {
    /// The number of its clock in the model. When edges coincide, clocks with lower numbers run first.
    pub(crate) index: u32,
    pub(crate) clock: Clock,
    /// Whether a trace is taken, that is, [`Shared::recorder`] is present.
    pub(crate) tracing: bool,
    /// The current cycle (or the last one that ran, while `running` is false).
    pub(crate) now: Cell<u64>,
    pub(crate) running: Cell<bool>,
    /// The names of the contexts, by context number.
    pub(crate) names: RefCell<Vec<Name>>,
    /// The running context (or the last one that ran).
    pub(crate) context: Cell<u32>,
    pub(crate) request: Cell<u64>,
    /// The gate that belongs to the request, if it has one.
    pub(crate) has_gate: Cell<bool>,
    pub(crate) gate: Cell<Option<Gate>>,
    /// The eventcount of the last posted wait.
    pub(crate) waits_on: Cell<Name>,
    /// The woken contexts, in order.
    pub(crate) ready: RefCell<Vec<u32>>,
    /// The cycle in which the contexts in `ready` run, if they were woken while the domain was not running.
    pub(crate) ready_at: Cell<u64>,
    pub(crate) born: RefCell<VecDeque<Birth>>,
    pub(crate) due: RefCell<Agenda<Due>>,
    pub(crate) arrivals: RefCell<Agenda<Arrival>>,
    /// The earliest cycle of `due` and `arrivals`.
    pub(crate) alarm: Cell<u64>,
    pub(crate) shared: Rc<Shared>,
}

impl Core {
    /// The current cycle; if another domain is running, the first cycle of this one that has not run yet.
    #[inline]
    pub(crate) fn cycle(&self) -> u64 {
        if self.running.get() { self.now.get() } else { self.cycle_from_outside() }
    }

    /// The time of the current edge. Usually called while this domain is running.
    #[inline]
    pub(crate) fn time(&self) -> Time {
        if self.running.get() { self.clock.edge(self.now.get()) } else { self.shared.time() }
    }

    /// The first cycle that a wake-up by the running domain of the same partition can reach. Among simultaneous edges
    /// the earlier clock goes first; the result must not depend on whether that clock had anything to do.
    #[cold]
    fn cycle_from_outside(&self) -> u64 {
        let (time, running) = (self.shared.time(), self.shared.domain.get());
        if running == NO_DOMAIN || running < self.index {
            self.clock.first_at(time)
        } else {
            self.clock.first_after(time)
        }
    }

    /// The running context and its cycle. Usually called while this domain is running.
    #[inline(always)]
    pub(crate) fn running(&self) -> Moment {
        if self.running.get() { self.moment() } else { self.running_elsewhere() }
    }

    #[inline(always)]
    fn moment(&self) -> Moment {
        let who = self.names.borrow().get(self.context.get() as usize).copied().unwrap_or(Name::ROOT);
        Moment { who, domain: self.index, cycle: self.now.get() }
    }

    #[cold]
    fn running_elsewhere(&self) -> Moment {
        let running = self.shared.core(self.shared.domain.get());
        running.map_or(Moment::NEVER, |core| core.moment())
    }

    /// Wakes context `id`. It runs in this cycle if the domain is running, else in the next cycle that it can reach.
    #[inline]
    pub(crate) fn wake(&self, id: u32) {
        self.ready.borrow_mut().push(id);
        if !self.running.get() {
            self.interrupt();
        }
    }

    #[cold]
    fn interrupt(&self) {
        self.ready_at.set(self.ready_at.get().min(self.cycle_from_outside()));
        self.shared.interrupt.set(true);
    }

    /// Schedules `due` for `cycle`.
    pub(crate) fn at(&self, cycle: u64, due: Due) {
        self.due.borrow_mut().insert(due, self.cycle(), cycle);
        self.alarm.set(self.alarm.get().min(cycle));
        if !self.running.get() {
            self.shared.interrupt.set(true);
        }
    }

    /// Posts the request of the running context.
    #[inline]
    pub(crate) fn post(&self, word: u64) {
        if self.request.replace(word) != request::NONE {
            self.two_requests();
        }
    }

    #[cold]
    fn two_requests(&self) -> ! {
        panic!(
            "a context of clock domain {} waits for two things at once (a select or join inside it?): \
             make it two contexts, or use EventCount::wait_for for a wait with a limit",
            self.index
        )
    }

    /// Posts a pause of one cycle with a gate.
    #[inline]
    pub(crate) fn post_gated(&self, until: u64, bell: &Rc<eventcount::Inner>, seen: u64) {
        self.post(1);
        self.gate.set(Some(Gate { until, bell: Rc::clone(bell), seen }));
        self.has_gate.set(true);
    }

    /// Takes the gate of the running context's request.
    #[inline]
    pub(crate) fn take_gate(&self) -> Option<Gate> {
        if self.has_gate.replace(false) { self.gate.take() } else { None }
    }

    pub(crate) fn spawn(&self, name: Name, server: bool, task: Task) {
        self.born.borrow_mut().push_back(Birth { task, name, server });
        self.wake(BIRTH);
    }
}

/// Which context acted, and in which cycle of its clock. The context is named, not numbered: numbers are reused.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    /// [`Name::ROOT`] if a wire acted.
    pub(crate) who: Name,
    pub(crate) domain: u32,
    pub(crate) cycle: u64,
}

impl Moment {
    pub(crate) const NEVER: Moment = Moment { who: Name::ROOT, domain: NO_DOMAIN, cycle: 0 };
}

/// What a waiting context needs to continue.
pub(crate) struct Need {
    pub(crate) context: Name,
    pub(crate) what: String,
    /// Contexts that could provide it: paths or second names, or the context that last received from an outlet.
    pub(crate) from: Vec<String>,
    /// The wire on which the provider returns credits, if it is a link.
    pub(crate) wire: Option<u32>,
}

/// A request of the model to its run; [`edges`](crate::edges) says when it takes effect.
pub(crate) enum Control {
    /// Start another region of the statistics.
    Region(String),
    /// End the run.
    Stop,
    /// End the run: something is wrong.
    Fail { context: String, message: String },
}

/// The state that the domains of one partition share.
pub(crate) struct Shared {
    /// The number of the partition.
    pub(crate) partition: usize,
    pub(crate) names: RefCell<Names>,
    pub(crate) stats: RefCell<Registry>,
    pub(crate) eventcounts: RefCell<Vec<Weak<eventcount::Inner>>>,
    pub(crate) cores: RefCell<Vec<Rc<Core>>>,
    /// The clock number of the running domain.
    pub(crate) domain: Cell<u32>,
    /// Set when the running domain must return after this cycle: another domain may be earlier now, or the run must
    /// stop.
    pub(crate) interrupt: Cell<bool>,
    pub(crate) control: RefCell<Vec<(Time, Control)>>,
    /// When a context last reported progress.
    pub(crate) progress: Cell<Time>,
    /// Everything that has run or arrived began before this time.
    pub(crate) reached: Cell<Time>,
    /// Collects progress figures for an observer outside the run.
    pub(crate) monitor: Monitor,
    /// Wires with mail to send at the end of this window.
    pub(crate) outgoing: RefCell<Vec<Rc<dyn Outgoing>>>,
    /// Journal pens that have written in this round.
    pub(crate) written: RefCell<Vec<Rc<dyn Written>>>,
    /// The ends of links in this partition.
    pub(crate) ends: RefCell<LinkEnds>,
    pub(crate) recorder: Option<Recorder>,
    /// Whether contexts are being asked what they need for a report; `needs` holds their answers.
    pub(crate) explaining: Cell<bool>,
    pub(crate) needs: RefCell<Vec<Need>>,
    /// Second names of contexts.
    pub(crate) aliases: RefCell<Vec<(String, Name)>>,
    /// The builder of this partition has given up, so nothing may run.
    pub(crate) abandoned: Cell<bool>,
    /// For a model of one partition without links: the delay until a control request takes effect. The partition then
    /// ends its window at that time by itself.
    pub(crate) alone: Option<Time>,
}

impl Shared {
    pub(crate) fn new(
        partition: usize,
        alone: Option<Time>,
        recorder: Option<Recorder>,
        monitor: Monitor,
    ) -> Rc<Shared> {
        Rc::new(Shared {
            partition,
            names: RefCell::new(Names::new()),
            stats: RefCell::new(Registry::new()),
            eventcounts: RefCell::default(),
            cores: RefCell::default(),
            domain: Cell::new(NO_DOMAIN),
            interrupt: Cell::new(false),
            control: RefCell::default(),
            progress: Cell::new(Time::ZERO),
            reached: Cell::new(Time::ZERO),
            monitor,
            outgoing: RefCell::default(),
            written: RefCell::default(),
            ends: RefCell::default(),
            recorder,
            explaining: Cell::new(false),
            needs: RefCell::default(),
            aliases: RefCell::default(),
            abandoned: Cell::new(false),
            alone,
        })
    }

    pub(crate) fn name(&self, parent: Name, label: Label<'_>) -> Name {
        self.names.borrow_mut().name(parent, label)
    }

    pub(crate) fn path(&self, name: Name) -> String {
        self.names.borrow().path(name)
    }

    pub(crate) fn core(&self, index: u32) -> Option<Rc<Core>> {
        self.cores.borrow().iter().find(|core| core.index == index).cloned()
    }

    /// The time of the current edge.
    pub(crate) fn time(&self) -> Time {
        let core = self.core(self.domain.get());
        core.map_or(Time::ZERO, |core| core.clock.edge(core.now.get()))
    }

    /// Records that something ran or arrived at `time`.
    pub(crate) fn note_reached(&self, time: Time) {
        self.reached.set(self.reached.get().max(time + Time(1)));
    }

    pub(crate) fn control(&self, control: Control) {
        self.control.borrow_mut().push((self.time(), control));
        if self.alone.is_some() {
            self.interrupt.set(true);
        }
    }
}
