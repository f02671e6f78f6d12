//! The handle through which a context acts ([`Context`]), and the places in which a model is built ([`Scope`]).

use crate::{
    core::{Control, Core, Need, request},
    credits::Credits,
    energy::Energy,
    eventcount::{EventCount, Reason},
    journal::{Journal, Pen},
    link::{LinkReceiver, LinkSender},
    name::{Label, Name},
    port::{Inlet, Lane, Outlet, PortSpec},
    queue::Queue,
    stats::{Counter, Histogram, Level, Matrix, Phases, Rate, Series},
    time::{Cycles, Time},
    trace::{self, Span},
};
use std::{
    future::{Future, poll_fn},
    marker::PhantomData,
    pin::Pin,
    rc::Rc,
    task::{Context as PollContext, Poll},
};

/// A place in the tree of names, in one clock domain of one partition: where contexts, queues and statistics are made.
#[derive(Clone)]
pub struct Scope {
    pub(crate) core: Rc<Core>,
    pub(crate) name: Name,
}

impl Scope {
    /// The place `label` below this one.
    pub fn scope<'a>(&self, label: impl Into<Label<'a>>) -> Scope {
        Scope { core: Rc::clone(&self.core), name: self.child(label) }
    }

    fn child<'a>(&self, label: impl Into<Label<'a>>) -> Name {
        self.core.shared.name(self.name, label.into())
    }

    /// The path of this place: `gpu0.array3.cu1`.
    pub fn path(&self) -> String {
        self.core.shared.path(self.name)
    }

    /// Starts a context that is expected to end. If nothing can run any more and this context still waits, that is a
    /// deadlock. It first runs in the current cycle, after the contexts that are ready already (in cycle 0, if the run
    /// has not begun).
    pub fn spawn<'a, F>(&self, label: impl Into<Label<'a>>, context: impl FnOnce(Context) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        self.start(label.into(), false, context);
    }

    /// Starts a context that serves others and need not end: it may still wait for work when the run is over.
    pub fn serve<'a, F>(&self, label: impl Into<Label<'a>>, context: impl FnOnce(Context) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        self.start(label.into(), true, context);
    }

    fn start<F>(&self, label: Label<'_>, server: bool, context: impl FnOnce(Context) -> F)
    where
        F: Future<Output = ()> + 'static,
    {
        let name = self.core.shared.name(self.name, label);
        let task = Box::pin(context(Context { scope: Scope { core: Rc::clone(&self.core), name } }));
        self.core.spawn(name, server, task);
    }

    /// An eventcount on which contexts of this clock domain wait for work.
    pub fn eventcount<'a>(&self, label: impl Into<Label<'a>>) -> EventCount {
        self.eventcount_for(label, Reason::Work)
    }

    /// An eventcount; `reason`: the meaning of a wait for it.
    pub fn eventcount_for<'a>(&self, label: impl Into<Label<'a>>, reason: Reason) -> EventCount {
        EventCount::new(&self.core, self.child(label), reason)
    }

    /// A resource of `units` units, granted first come, first served.
    pub fn credits<'a>(&self, label: impl Into<Label<'a>>, units: u64) -> Credits {
        Credits::new(&self.scope(label), units)
    }

    /// A bounded queue without latency, both ends in this clock domain.
    pub fn queue<'a, T: 'static>(&self, label: impl Into<Label<'a>>, capacity: usize) -> Queue<T> {
        Queue::new(&self.scope(label), capacity)
    }

    /// A port: three bounded lanes over one wire with latency and bandwidth, from this place to `to`.
    pub fn port<'a, T: 'static>(
        &self,
        label: impl Into<Label<'a>>,
        spec: PortSpec,
        to: &Scope,
    ) -> (Outlet<T>, Inlet<T>) {
        crate::port::local(&self.scope(label), spec, to)
    }

    /// Puts the sending end of a link in place here.
    pub fn sender<T: Send + 'static>(&self, end: LinkSender<T>) -> Outlet<T> {
        end.place(self)
    }

    /// Puts the receiving end of a link in place here.
    pub fn receiver<T: Send + 'static>(&self, end: LinkReceiver<T>) -> Inlet<T> {
        end.place(self)
    }

    /// Writes into a journal as source `source`. Each pen of a journal has its own number, which orders entries of one
    /// time.
    pub fn pen<T: Send + 'static>(&self, journal: &Journal<T>, source: u32) -> Pen<T> {
        Pen::new(journal, source, self)
    }

    /// A statistic that counts.
    pub fn counter<'a>(&self, label: impl Into<Label<'a>>) -> Counter {
        self.core.shared.stats.borrow_mut().counter(self.child(label))
    }

    /// A statistic of the distribution of values, in buckets of powers of two.
    pub fn histogram<'a>(&self, label: impl Into<Label<'a>>) -> Histogram {
        self.core.shared.stats.borrow_mut().histogram(self.child(label))
    }

    /// A statistic of a level that rises and falls: its average over time and its maximum.
    pub fn level<'a>(&self, label: impl Into<Label<'a>>) -> Level {
        let core = Rc::clone(&self.core);
        self.core.shared.stats.borrow_mut().level(self.child(label), core)
    }

    /// A statistic that counts pairs: `rows` by `columns`, such as states by events.
    pub fn matrix<'a>(
        &self,
        label: impl Into<Label<'a>>,
        rows: &'static [&'static str],
        columns: &'static [&'static str],
    ) -> Matrix {
        self.core.shared.stats.borrow_mut().matrix(self.child(label), rows, columns)
    }

    /// A statistic over time: a count or a level, in spans of equal length.
    pub fn series<'a>(&self, label: impl Into<Label<'a>>) -> Series {
        let core = Rc::clone(&self.core);
        self.core.shared.stats.borrow_mut().series(self.child(label), core)
    }

    /// A statistic of how often something happens: a histogram of the counts per span of this length. The sum of the
    /// squared counts is kept below it as `squares`, for the standard deviation.
    pub fn rate<'a>(&self, label: impl Into<Label<'a>>, span: Time) -> Rate {
        let (core, place) = (Rc::clone(&self.core), self.scope(label));
        let squares = place.child("squares");
        self.core.shared.stats.borrow_mut().rate(place.name, squares, core, span)
    }

    /// A statistic of where time goes. This place is in exactly one of `phases` at any time, initially in the first.
    /// The cycles of each phase are counted below this place under the phase's name.
    pub fn phases(&self, phases: &[&str]) -> Phases {
        let names = phases.iter().map(|phase| self.child(*phase)).collect();
        self.core.shared.stats.borrow_mut().phases(self.name, names, Rc::clone(&self.core))
    }

    /// The energy account of this place: `passive` femtojoules leak in every cycle, events are charged on top.
    pub fn energy(&self, passive: u64) -> Energy {
        let (core, name) = (Rc::clone(&self.core), self.child("energy"));
        self.core.shared.stats.borrow_mut().energy(name, core, passive)
    }

    /// The current cycle of this clock domain.
    #[inline]
    pub fn now(&self) -> Cycles {
        Cycles(self.core.cycle())
    }

    /// The time of the current clock edge.
    pub fn time(&self) -> Time {
        self.core.time()
    }
}

/// A running context's own handle.
pub struct Context {
    scope: Scope,
}

impl Context {
    /// The place of this context in the tree of names, to build or spawn below it.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The current cycle.
    #[inline]
    pub fn now(&self) -> Cycles {
        Cycles(self.scope.core.now.get())
    }

    /// The time of the current clock edge.
    pub fn time(&self) -> Time {
        self.scope.core.time()
    }

    /// The first cycle that begins at `time` or later.
    pub fn cycle_at(&self, time: Time) -> Cycles {
        Cycles(self.scope.core.clock.first_at(time))
    }

    /// Lets this number of cycles pass. The context is busy meanwhile: it serves no other request.
    ///
    /// The call itself posts the request, so it must be awaited at once. `pause(0)` takes no time, but lets the
    /// contexts run that are already ready in this cycle.
    #[inline]
    pub fn pause(&self, cycles: impl Into<Cycles>) -> Pause<'_> {
        match cycles.into().0 {
            cycles @ 1..=request::LONGEST => self.scope.core.post(cycles),
            cycles => unusual_pause(&self.scope.core, cycles),
        }
        Pause { over: false, context: PhantomData }
    }

    /// Pauses for one cycle again and again, until cycle `until` comes or `bell` has advanced more than `seen` times; at
    /// least once. For a context that has nothing to do until then, but would soon be woken if it waited: it is the same
    /// as a loop of `pause(1)`, without a run of the context in each cycle. Like [`pause`](Context::pause), it must be
    /// awaited at once.
    #[inline]
    pub fn pause_until<'a>(
        &'a self,
        until: impl Into<Cycles>,
        bell: &'a EventCount,
        seen: u64,
    ) -> impl Future<Output = ()> + 'a {
        let (core, until, mut over) = (&*self.scope.core, until.into().0, false);
        core.post_gated(until, &bell.0, seen);
        poll_fn(move |_| match over && (core.cycle() >= until || bell.count() != seen) {
            true => Poll::Ready(()),
            false => {
                // Only a run that is traced comes here again before it is over: it shows every cycle.
                if std::mem::replace(&mut over, true) {
                    core.post_gated(until, &bell.0, seen);
                }
                Poll::Pending
            }
        })
    }

    /// Lets everything else that can run in this cycle run first. The context then continues, still in this cycle, and
    /// sees all requests of the cycle: the place for arbitration. A context that it wakes from then on runs in the next
    /// cycle.
    pub fn settle(&self) -> Settle<'_> {
        Settle { core: &self.scope.core, asked: false }
    }

    /// Reports progress to the watchdog ([`RunOptions::watchdog`](crate::RunOptions::watchdog)). Call it for events
    /// that can't go on forever without completing the work, such as a committed instruction or the reply to a
    /// request.
    #[inline]
    pub fn progress(&self) {
        self.scope.core.shared.progress.set(self.time());
    }

    /// Gives this context a second name, which other contexts can use in [`needs`](Context::needs).
    pub fn known_as(&self, name: impl Into<String>) {
        self.scope.core.shared.aliases.borrow_mut().push((name.into(), self.scope.name));
    }

    /// Declares that this context advances `eventcount`, for reports on stuck runs.
    pub fn provides(&self, eventcount: &EventCount) {
        eventcount.0.expected.set(self.scope.name);
    }

    /// Declares that this context receives from `inlet`, for reports on stuck runs. Not needed once it has received an
    /// item.
    pub fn takes<T: 'static>(&self, inlet: &Inlet<T>) {
        inlet.expect_consumer();
    }

    /// Declares that this context sends from `outlet`, for reports on stuck runs. Not needed once it has sent an item.
    pub fn sends<T>(&self, outlet: &Outlet<T>) {
        outlet.expect_sender();
    }

    /// Adds to a report on a stuck run what this context waits for, and which context could provide it: `from` is that
    /// context's path or its [second name](Context::known_as). Call it when [`EventCount::rest`] returns `true`.
    pub fn needs(&self, what: impl Into<String>, from: impl Into<String>) {
        self.need(what.into(), vec![from.into()], None);
    }

    /// Variant of [`needs`](Context::needs) where the provider is the context that receives from this lane of `outlet`.
    pub fn needs_of_receiver<T>(&self, what: impl Into<String>, outlet: &Outlet<T>, lane: Lane) {
        let room = outlet.credits(lane).room();
        let receiver = room.0.expected.get();
        let from = if receiver == Name::ROOT { Vec::new() } else { vec![self.scope.core.shared.path(receiver)] };
        self.need(what.into(), from, room.0.wire.get());
    }

    fn need(&self, what: String, from: Vec<String>, wire: Option<u32>) {
        self.scope.core.shared.needs.borrow_mut().push(Need { context: self.scope.name, what, from, wire });
    }

    /// Adds to the expected pieces of work that the run's [`Monitor`](crate::Monitor) shows.
    pub fn expect(&self, pieces: u64) {
        self.scope.core.shared.monitor.expect(pieces);
    }

    /// Adds to the completed pieces of work that the run's [`Monitor`](crate::Monitor) shows.
    pub fn did(&self, pieces: u64) {
        self.scope.core.shared.monitor.did(pieces);
    }

    /// Starts a new region of the statistics. What has been counted until then is kept under the old region's name.
    ///
    /// A region requested at time t begins in all partitions at t + delay
    /// ([`Model::control_delay`](crate::Model::control_delay)). What happens before that time belongs to the old
    /// region, what happens at or after it to the new one. The run does not end before that time, except at
    /// [`RunOptions::until`](crate::RunOptions::until): a region that would begin then or later never begins.
    pub fn region(&self, name: &str) {
        self.scope.core.shared.control(Control::Region(name.to_owned()));
    }

    /// Ends the run, after the same delay as a [region](Context::region).
    pub fn stop(&self) {
        self.scope.core.shared.control(Control::Stop);
    }

    /// Ends the run as failed, with a message for the user, after the same delay as a [region](Context::region).
    pub fn fail(&self, message: impl Into<String>) {
        let (context, message) = (self.scope.path(), message.into());
        self.scope.core.shared.control(Control::Fail { context, message });
    }

    /// Records an instant event at the current cycle, if a trace is taken.
    #[inline]
    pub fn instant(&self, what: &'static str) {
        if self.scope.core.tracing {
            trace::instant(&self.scope, what);
        }
    }

    /// Records a span from now until the returned value is dropped, if a trace is taken.
    #[inline]
    pub fn span(&self, what: &'static str) -> Span<'_> {
        Span::new(&self.scope, what)
    }
}

/// The future of [`Context::pause`].
#[must_use = "a pause must be awaited at once"]
pub struct Pause<'a> {
    over: bool,
    context: PhantomData<&'a Context>,
}

impl Future for Pause<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut PollContext<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.over, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cold]
fn unusual_pause(core: &Core, cycles: u64) {
    assert!(cycles == 0, "a pause of {cycles} cycles outlasts every run: the longest has 2^62");
    core.post(request::YIELD);
}

/// The future of [`Context::settle`].
#[must_use = "settling does nothing unless it is awaited"]
pub struct Settle<'a> {
    core: &'a Core,
    asked: bool,
}

impl Future for Settle<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut PollContext<'_>) -> Poll<()> {
        if self.asked {
            return Poll::Ready(());
        }
        self.asked = true;
        self.core.post(request::SETTLE);
        Poll::Pending
    }
}
