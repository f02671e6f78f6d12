//! Eventcounts: how one context signals an event to another.
//!
//! An eventcount counts advances and never goes back (Reed and Kanodia's, as KnightSim uses them: `[giles]`, algorithms
//! 2.5 and 2.6). A context waits until the count reaches a value. If the count has already reached it, the wait ends at
//! once, so no wake-up can be lost. Several contexts may wait for one eventcount. An advance wakes the waiters it
//! satisfies, in the order in which they began to wait, and they run in the same cycle.

use crate::{
    core::{Core, Due, Moment, Shared, request},
    name::Name,
    time::Cycles,
};
use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context as PollContext, Poll},
};

const NOBODY: u32 = u32::MAX;

/// What it means that a context waits for this eventcount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is idle until work comes: the normal state of a server.
    Work,
    /// It has work and is blocked, for example by a full queue or a pending reply.
    Resource,
}

/// A counter that contexts can wait for. Clones are handles to the same counter.
#[derive(Clone)]
pub struct EventCount(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    /// The domain whose contexts may wait here.
    pub(crate) core: Rc<Core>,
    pub(crate) name: Name,
    pub(crate) reason: Reason,
    count: Cell<u64>,
    /// The smallest value that a context waits for; `u64::MAX` if none waits.
    threshold: Cell<u64>,
    /// The only waiter, if there is exactly one and its wait has no limit: the fast path.
    single: Cell<u32>,
    /// The cycle in which the only waiter began to wait.
    single_since: Cell<u64>,
    waiters: RefCell<Vec<Waiter>>,
    /// Number of timed waits so far; also the number of the last one.
    timed: Cell<u64>,
    /// The last four advances, the newest at `count % 4`.
    recent: [Record; 4],
    /// The context expected to advance it next, if known; else [`Name::ROOT`].
    pub(crate) expected: Cell<Name>,
    /// The wire of a link that advances it, if one does.
    pub(crate) wire: Cell<Option<u32>>,
    /// Whether the waiters can be asked what they need.
    pub(crate) explains: Cell<bool>,
}

/// A recorded moment. The fields are separate cells: copied as a whole, the moment would be stored and loaded in pieces
/// of different sizes, which defeats the processor's store-to-load forwarding.
struct Record {
    who: Cell<Name>,
    domain: Cell<u32>,
    cycle: Cell<u64>,
}

impl Record {
    const fn new() -> Record {
        let Moment { who, domain, cycle } = Moment::NEVER;
        Record { who: Cell::new(who), domain: Cell::new(domain), cycle: Cell::new(cycle) }
    }

    #[inline(always)]
    fn take_down(&self, moment: Moment) {
        self.who.set(moment.who);
        self.domain.set(moment.domain);
        self.cycle.set(moment.cycle);
    }

    fn moment(&self) -> Moment {
        Moment { who: self.who.get(), domain: self.domain.get(), cycle: self.cycle.get() }
    }
}

/// A context that waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) id: u32,
    /// The cycle in which the wait began.
    pub(crate) since: u64,
    value: u64,
    /// The number of its timed wait; 0 for a wait without a limit.
    timed: u64,
}

impl EventCount {
    pub(crate) fn new(core: &Rc<Core>, name: Name, reason: Reason) -> EventCount {
        let inner = Rc::new(Inner {
            core: Rc::clone(core),
            name,
            reason,
            count: Cell::new(0),
            threshold: Cell::new(u64::MAX),
            single: Cell::new(NOBODY),
            single_since: Cell::new(0),
            waiters: RefCell::default(),
            timed: Cell::new(0),
            recent: [const { Record::new() }; 4],
            expected: Cell::new(Name::ROOT),
            wire: Cell::new(None),
            explains: Cell::new(false),
        });
        register(&core.shared, &inner);
        EventCount(inner)
    }

    /// The number of advances so far.
    #[inline]
    pub fn count(&self) -> u64 {
        self.0.count.get()
    }

    /// Increments the count and wakes the contexts that waited for the new value. A context of any domain of the
    /// partition may call it. A woken context runs in this cycle if it belongs to the running domain, else at its next
    /// clock edge.
    #[inline]
    pub fn advance(&self) {
        self.0.advance();
    }

    /// Waits until the count is at least `value`.
    #[inline]
    pub fn wait(&self, value: u64) -> Wait<'_> {
        Wait { eventcount: self, value, waiter: NOBODY }
    }

    /// Waits for the next advance.
    ///
    /// No advance is lost between checking a condition and this call, because no other context runs in between: `while
    /// !ready() { arrivals.next().await }` is correct.
    #[inline]
    pub fn next(&self) -> Wait<'_> {
        self.wait(self.count() + 1)
    }

    /// Waits until the count is at least `value`, as [`wait`](EventCount::wait) does, and then returns `false`. Returns
    /// `true` when a report on a stuck run is being made: the context should then state its
    /// [needs](crate::Context::needs), if any, and wait again, as in `while bell.rest(value).await { self.explain(&cx)
    /// }`.
    #[inline]
    pub fn rest(&self, value: u64) -> Rest<'_> {
        Rest { wait: self.wait(value), asked: self.0.core.shared.explaining.get() }
    }

    /// Waits until the count is at least `value`, but at most `limit` cycles. Returns whether the count got there. A
    /// limit of 0 only checks.
    pub fn wait_for(&self, value: u64, limit: impl Into<Cycles>) -> WaitFor<'_> {
        WaitFor { eventcount: self, value, limit: limit.into().0, waiter: NOBODY }
    }
}

/// Registers the new eventcount for reports, and removes dead ones when the list is full.
fn register(shared: &Shared, inner: &Rc<Inner>) {
    let mut all = shared.eventcounts.borrow_mut();
    if all.len() == all.capacity() {
        all.retain(|eventcount| eventcount.strong_count() > 0);
        let living = all.len();
        all.reserve(living.max(16));
    }
    all.push(Rc::downgrade(inner));
}

impl Inner {
    /// The number of advances so far.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }

    #[inline]
    pub(crate) fn advance(&self) {
        self.advance_by(self.core.running());
    }

    /// Increments the count; `moment` says which context caused it and when.
    #[inline(always)]
    pub(crate) fn advance_by(&self, moment: Moment) {
        let count = self.count.get() + 1;
        self.count.set(count);
        self.recent[(count % 4) as usize].take_down(moment);
        if count >= self.threshold.get() {
            match self.single.replace(NOBODY) {
                NOBODY => self.wake_some(count),
                id => {
                    self.threshold.set(u64::MAX);
                    self.core.wake(id);
                }
            }
        }
    }

    /// Increments the count, recording the cause only if a context waits.
    #[inline]
    pub(crate) fn advance_unseen(&self) {
        if self.threshold.get() == u64::MAX {
            self.count.set(self.count.get() + 1);
        } else {
            self.advance();
        }
    }

    /// Whether a context waits.
    pub(crate) fn is_awaited(&self) -> bool {
        self.threshold.get() != u64::MAX
    }

    #[cold]
    fn wake_some(&self, count: u64) {
        let mut waiters = self.waiters.borrow_mut();
        waiters.retain(|waiter| {
            let waits_on = waiter.value > count;
            if !waits_on {
                self.core.wake(waiter.id);
            }
            waits_on
        });
        self.threshold.set(waiters.iter().map(|waiter| waiter.value).min().unwrap_or(u64::MAX));
    }

    /// Registers the running context as waiting for `value` and returns its number.
    #[inline]
    fn register(&self, value: u64) -> u32 {
        let id = self.enter();
        if self.threshold.get() == u64::MAX {
            self.single.set(id);
            self.single_since.set(self.core.now.get());
            self.threshold.set(value);
        } else {
            self.queue_up(Waiter { id, since: self.core.now.get(), value, timed: 0 });
        }
        id
    }

    /// Registers the running context for a timed wait for `value`, number `timed` of this eventcount.
    fn register_timed(&self, value: u64, timed: u64) -> u32 {
        let id = self.enter();
        self.queue_up(Waiter { id, since: self.core.now.get(), value, timed });
        id
    }

    /// Posts the wait of the running context, which must belong to this domain, and returns its number.
    #[inline]
    fn enter(&self) -> u32 {
        if !self.core.running.get() {
            self.foreign();
        }
        self.core.waits_on.set(self.name);
        self.core.post(request::WAIT);
        self.core.context.get()
    }

    #[cold]
    fn queue_up(&self, waiter: Waiter) {
        let mut waiters = self.waiters.borrow_mut();
        waiters.extend(self.take_single());
        waiters.push(waiter);
        self.threshold.set(self.threshold.get().min(waiter.value));
    }

    /// Removes the only waiter, if there is exactly one and its wait has no limit.
    fn take_single(&self) -> Option<Waiter> {
        let id = self.single.replace(NOBODY);
        (id != NOBODY).then(|| Waiter { id, since: self.single_since.get(), value: self.threshold.get(), timed: 0 })
    }

    #[cold]
    fn foreign(&self) -> ! {
        panic!(
            "a context waits for eventcount '{}' of another clock domain: create the eventcount in the domain of the \
             context that waits; any context may advance it",
            self.core.shared.path(self.name)
        )
    }

    /// Removes context `id` from the waiters, if it is there.
    fn withdraw(&self, id: u32) {
        if self.single.get() == id {
            self.single.set(NOBODY);
            self.threshold.set(u64::MAX);
            return;
        }
        let mut waiters = self.waiters.borrow_mut();
        waiters.retain(|waiter| waiter.id != id);
        if self.single.get() == NOBODY {
            self.threshold.set(waiters.iter().map(|waiter| waiter.value).min().unwrap_or(u64::MAX));
        }
    }

    /// Timed wait `number` has reached its limit: wakes its context if that still waits.
    pub(crate) fn time_out(&self, number: u64) {
        let waiter = self.waiters.borrow().iter().find(|waiter| waiter.timed == number).copied();
        if let Some(waiter) = waiter {
            self.withdraw(waiter.id);
            self.core.wake(waiter.id);
        }
    }

    /// Whether timed wait `number` is still pending.
    pub(crate) fn is_timed(&self, number: u64) -> bool {
        self.waiters.borrow().iter().any(|waiter| waiter.timed == number)
    }

    /// The waiters, in order.
    pub(crate) fn waiters(&self) -> Vec<Waiter> {
        let mut all = Vec::new();
        self.each_waiter(|waiter| all.push(waiter));
        all
    }

    /// Calls `see` with each waiter, in order.
    pub(crate) fn each_waiter(&self, mut see: impl FnMut(Waiter)) {
        if !self.is_awaited() {
            return;
        }
        if let Some(waiter) = self.take_single() {
            self.single.set(waiter.id);
            see(waiter);
        }
        self.waiters.borrow().iter().copied().for_each(see);
    }

    /// The number of advances, and the last four of them, oldest first.
    pub(crate) fn history(&self) -> (u64, Vec<Moment>) {
        let count = self.count.get();
        let known = (count.saturating_sub(3).max(1)..=count).map(|n| self.recent[(n % 4) as usize].moment());
        (count, known.collect())
    }
}

/// The future of [`EventCount::wait`].
#[must_use = "a wait does nothing unless it is awaited"]
pub struct Wait<'a> {
    eventcount: &'a EventCount,
    value: u64,
    /// The context registered as waiting, if any.
    waiter: u32,
}

impl Future for Wait<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut PollContext<'_>) -> Poll<()> {
        if self.eventcount.count() >= self.value {
            self.waiter = NOBODY;
            return Poll::Ready(());
        }
        self.waiter = self.eventcount.0.register(self.value);
        Poll::Pending
    }
}

impl Drop for Wait<'_> {
    /// Withdraws a wait that is dropped before its end: no later advance wakes a context for it.
    #[inline]
    fn drop(&mut self) {
        if self.waiter != NOBODY {
            give_up(&self.eventcount.0, self.waiter);
        }
    }
}

/// The future of [`EventCount::rest`].
#[must_use = "a wait does nothing unless it is awaited"]
pub struct Rest<'a> {
    wait: Wait<'a>,
    /// Whether the report being made has already asked this context.
    asked: bool,
}

impl Future for Rest<'_> {
    type Output = bool;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut PollContext<'_>) -> Poll<bool> {
        let inner = &self.wait.eventcount.0;
        if !self.asked && inner.core.shared.explaining.get() {
            inner.withdraw(self.wait.waiter);
            self.wait.waiter = NOBODY;
            return Poll::Ready(true);
        }
        inner.explains.set(true);
        Pin::new(&mut self.wait).poll(context).map(|()| false)
    }
}

/// Withdraws a wait of context `id`, and its request if it was posted in this very poll.
#[cold]
fn give_up(inner: &Inner, id: u32) {
    let core = &inner.core;
    inner.withdraw(id);
    let running = core.running.get() && core.context.get() == id;
    if running && core.request.get() == request::WAIT {
        core.request.set(request::NONE);
    }
}

/// The future of [`EventCount::wait_for`].
#[must_use = "a wait does nothing unless it is awaited"]
pub struct WaitFor<'a> {
    eventcount: &'a EventCount,
    value: u64,
    limit: u64,
    /// The context registered as waiting, if any.
    waiter: u32,
}

impl Future for WaitFor<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, _: &mut PollContext<'_>) -> Poll<bool> {
        let inner = &self.eventcount.0;
        let there = inner.count.get() >= self.value;
        // The second poll comes when the count has arrived or the limit is reached: either way the wait is over.
        if there || self.limit == 0 || self.waiter != NOBODY {
            self.waiter = NOBODY;
            return Poll::Ready(there);
        }
        let number = inner.timed.get() + 1;
        inner.timed.set(number);
        let waiter = inner.register_timed(self.value, number);
        let end = inner.core.cycle().saturating_add(self.limit.min(request::LONGEST));
        inner.core.at(end, Due::Timeout(Rc::clone(inner), number));
        self.waiter = waiter;
        Poll::Pending
    }
}

impl Drop for WaitFor<'_> {
    fn drop(&mut self) {
        if self.waiter != NOBODY {
            give_up(&self.eventcount.0, self.waiter);
        }
    }
}
