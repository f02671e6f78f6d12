//! What a clock domain shares with its contexts while they run.
//!
//! A context never touches the queues of its domain. It posts one request word, returns, and the domain reads the word:
//! that keeps the way through `pause` short, and makes "a context waits for one thing at a time" a rule that is checked.

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

/// The request word. Every other value is a pause of so many cycles.
pub(crate) mod request {
    /// Nothing was posted.
    pub(crate) const NONE: u64 = 0;
    /// Wait for an eventcount, which knows who waits.
    pub(crate) const WAIT: u64 = u64::MAX;
    /// Run again when all else in this cycle has run.
    pub(crate) const SETTLE: u64 = u64::MAX - 1;
    /// Run again in this cycle, after whoever is ready now.
    pub(crate) const YIELD: u64 = u64::MAX - 2;
    /// The longest pause.
    pub(crate) const LONGEST: u64 = 1 << 62;
}

/// In the list of the ready: the next of [`Core::born`] is to start.
pub(crate) const BIRTH: u32 = u32::MAX;

/// In [`Core::context`]: no context runs, a wire delivers.
pub(crate) const WIRE: u32 = u32::MAX;

/// In [`Shared::domain`]: no domain runs, the model is being built.
pub(crate) const NO_DOMAIN: u32 = u32::MAX;

/// A context that is to start.
pub(crate) struct Birth {
    pub(crate) task: Task,
    pub(crate) name: Name,
    pub(crate) server: bool,
}

/// Something that happens to an end of a queue or link at the start of a cycle.
pub(crate) trait Deliver {
    fn deliver(&self);
}

/// What is to be done at the start of a cycle, before any context runs.
pub(crate) enum Due {
    /// A delivery of this partition.
    Local(Rc<dyn Deliver>),
    /// The end of a timed wait: eventcount and the number of the wait.
    Timeout(Rc<eventcount::Inner>, u64),
}

impl Due {
    /// Whether it makes a difference: the limit of a wait that has ended by itself does not.
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

/// One clock domain of one partition, as its contexts see it.
pub(crate) struct Core {
    /// The number of its clock in the model; earlier clocks run first when edges coincide.
    pub(crate) index: u32,
    pub(crate) clock: Clock,
    /// Whether a trace is taken: [`Shared::recorder`] is there.
    pub(crate) tracing: bool,
    /// The cycle that runs now (or ran last, while `running` is false).
    pub(crate) now: Cell<u64>,
    pub(crate) running: Cell<bool>,
    /// The names of the contexts, by their numbers.
    pub(crate) names: RefCell<Vec<Name>>,
    /// The context that runs now (or ran last).
    pub(crate) context: Cell<u32>,
    pub(crate) request: Cell<u64>,
    /// What the context that posted a wait last waits for.
    pub(crate) waits_on: Cell<Name>,
    /// Who has been woken, in order.
    pub(crate) ready: RefCell<Vec<u32>>,
    /// When those in `ready` run, if they were woken while the domain was not running.
    pub(crate) ready_at: Cell<u64>,
    pub(crate) born: RefCell<VecDeque<Birth>>,
    pub(crate) due: RefCell<Agenda<Due>>,
    pub(crate) arrivals: RefCell<Agenda<Arrival>>,
    /// The earliest cycle of `due` and `arrivals`.
    pub(crate) alarm: Cell<u64>,
    pub(crate) shared: Rc<Shared>,
}

impl Core {
    /// The cycle it is: the running one, or, seen from another domain, the first that is still to come.
    #[inline]
    pub(crate) fn cycle(&self) -> u64 {
        if self.running.get() { self.now.get() } else { self.cycle_from_outside() }
    }

    /// The time of the edge that runs; seen from this domain, which is usually the running one.
    #[inline]
    pub(crate) fn time(&self) -> Time {
        if self.running.get() { self.clock.edge(self.now.get()) } else { self.shared.time() }
    }

    /// The first cycle that a wake-up by the running domain of the same partition can reach. Among edges at one time
    /// the earlier clock goes first; whether it had anything to do must not matter.
    #[cold]
    fn cycle_from_outside(&self) -> u64 {
        let (time, running) = (self.shared.time(), self.shared.domain.get());
        if running == NO_DOMAIN || running < self.index {
            self.clock.first_at(time)
        } else {
            self.clock.first_after(time)
        }
    }

    /// Who runs, in which cycle of its own clock; seen from this domain, which is usually the running one.
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

    /// Lets context `id` run: in this cycle if the domain is running, else in the next it can reach.
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

    /// Puts `due` down for `cycle`.
    pub(crate) fn at(&self, cycle: u64, due: Due) {
        self.due.borrow_mut().insert(due, self.cycle(), cycle);
        self.alarm.set(self.alarm.get().min(cycle));
        if !self.running.get() {
            self.shared.interrupt.set(true);
        }
    }

    /// Posts what the running context asks for.
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

    pub(crate) fn spawn(&self, name: Name, server: bool, task: Task) {
        self.born.borrow_mut().push_back(Birth { task, name, server });
        self.wake(BIRTH);
    }
}

/// Who did something, and in which cycle of its clock. By name, as numbers of contexts are used again.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    /// [`Name::ROOT`]: a wire did it.
    pub(crate) who: Name,
    pub(crate) domain: u32,
    pub(crate) cycle: u64,
}

impl Moment {
    pub(crate) const NEVER: Moment = Moment { who: Name::ROOT, domain: NO_DOMAIN, cycle: 0 };
}

/// What a context needs to get on.
pub(crate) struct Need {
    pub(crate) context: Name,
    pub(crate) what: String,
    /// Who could provide it: a path or another name of a context, or who last took from an outlet.
    pub(crate) from: Vec<String>,
    /// The wire on which he gives credits back, if it is a link.
    pub(crate) wire: Option<u32>,
}

/// What a model asks of the run; [`edges`](crate::edges) says when it takes effect.
pub(crate) enum Control {
    /// Start another region of the statistics.
    Region(String),
    /// End the run.
    Stop,
    /// End the run: something is wrong.
    Fail { context: String, message: String },
}

/// What the domains of one partition share.
pub(crate) struct Shared {
    /// The number of the partition.
    pub(crate) partition: usize,
    pub(crate) names: RefCell<Names>,
    pub(crate) stats: RefCell<Registry>,
    pub(crate) eventcounts: RefCell<Vec<Weak<eventcount::Inner>>>,
    pub(crate) cores: RefCell<Vec<Rc<Core>>>,
    /// The number of the clock whose domain runs.
    pub(crate) domain: Cell<u32>,
    /// The running domain is to look up after this cycle: another may be earlier now, or the run must stop.
    pub(crate) interrupt: Cell<bool>,
    pub(crate) control: RefCell<Vec<(Time, Control)>>,
    /// When the model last said that it gets on.
    pub(crate) progress: Cell<Time>,
    /// All that has run or arrived began before this time.
    pub(crate) reached: Cell<Time>,
    /// Where contexts tell how much of their work is done.
    pub(crate) monitor: Monitor,
    /// Wires with something to send at the end of this window.
    pub(crate) outgoing: RefCell<Vec<Rc<dyn Outgoing>>>,
    /// Pens that have written in this round.
    pub(crate) written: RefCell<Vec<Rc<dyn Written>>>,
    /// The ends of links that lie here.
    pub(crate) ends: RefCell<LinkEnds>,
    pub(crate) recorder: Option<Recorder>,
    /// Whether contexts are being asked what they need, and what they have told.
    pub(crate) explaining: Cell<bool>,
    pub(crate) needs: RefCell<Vec<Need>>,
    /// Other names of contexts.
    pub(crate) aliases: RefCell<Vec<(String, Name)>>,
    /// The builder of this partition has given up: nothing is to run.
    pub(crate) abandoned: Cell<bool>,
    /// Without links or other partitions, the time from what is asked for until it takes effect: the partition cuts its window there.
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

    /// The time of the edge that runs.
    pub(crate) fn time(&self) -> Time {
        let core = self.core(self.domain.get());
        core.map_or(Time::ZERO, |core| core.clock.edge(core.now.get()))
    }

    /// Something ran or arrived at this time.
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
