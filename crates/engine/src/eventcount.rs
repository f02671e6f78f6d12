//! Eventcounts: how one context tells another that something has happened.
//!
//! An eventcount counts advances and never goes back (Reed and Kanodia's, as KnightSim uses them:
//! `[giles]`, algorithms 2.5 and 2.6). A context waits until the count reaches a value; if it already
//! has, the wait is over at once, so no wake-up can be lost. Several contexts may wait for one eventcount: an advance
//! wakes those it satisfies, in the order in which they began to wait, and they run in the same cycle.

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
    /// It has nothing to do until work comes: the usual rest of a server.
    Work,
    /// It has something to do and is held up: by a full queue, by an answer that is not there yet.
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
    /// The smallest value that anybody waits for; `u64::MAX` if nobody does.
    threshold: Cell<u64>,
    /// The only waiter, if there is only one and it waits without a limit: the case that must be quick.
    single: Cell<u32>,
    /// Since when the only waiter waits.
    single_since: Cell<u64>,
    waiters: RefCell<Vec<Waiter>>,
    /// How many timed waits there have been; the number of the last.
    timed: Cell<u64>,
    /// The last four advances, the newest at `count % 4`.
    recent: [Record; 4],
    /// Who will advance it next, if its owner knows; else [`Name::ROOT`].
    pub(crate) expected: Cell<Name>,
    /// The wire of a link that advances it, if one does.
    pub(crate) wire: Cell<Option<u32>>,
    /// Whether those who wait here can be asked what they need.
    pub(crate) explains: Cell<bool>,
}

/// A moment taken down. Field by field: copied as a whole it would go through memory in pieces of other sizes, which the
/// processor can't forward from a store to a load.
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
    /// Since which cycle.
    pub(crate) since: u64,
    value: u64,
    /// The number of its timed wait; 0 if it waits without a limit.
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

    /// How often it has been advanced.
    #[inline]
    pub fn count(&self) -> u64 {
        self.0.count.get()
    }

    /// Counts one more and wakes whoever waited for that. May be called by a context of any domain of the partition:
    /// who is woken runs in this cycle if it belongs to the running domain, else at its next clock edge.
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
    /// Nothing is lost between a look at the world and this call, as no other context runs in between:
    /// `while !ready() { arrivals.next().await }` is right.
    #[inline]
    pub fn next(&self) -> Wait<'_> {
        self.wait(self.count() + 1)
    }

    /// Waits until the count is at least `value`, as [`wait`](EventCount::wait) does, and says `false` then. It says `true` when a
    /// report on a run that does not get on is made: the context should tell what it [needs](crate::Context::needs), if anything,
    /// and wait again. `while bell.rest(value).await { self.explain(&cx) }` does so.
    #[inline]
    pub fn rest(&self, value: u64) -> Rest<'_> {
        Rest { wait: self.wait(value), asked: self.0.core.shared.explaining.get() }
    }

    /// Waits until the count is at least `value`, but no longer than `limit` cycles. Says whether the count got there.
    /// A limit of 0 only looks.
    pub fn wait_for(&self, value: u64, limit: impl Into<Cycles>) -> WaitFor<'_> {
        WaitFor { eventcount: self, value, limit: limit.into().0, waiter: NOBODY }
    }
}

/// Keeps the new eventcount where a report can find it; forgets dead ones now and then.
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
    #[inline]
    pub(crate) fn advance(&self) {
        self.advance_by(self.core.running());
    }

    /// Counts one more, which `moment` brought about.
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

    /// Counts one more; who did it is taken down only if somebody waits.
    #[inline]
    pub(crate) fn advance_unseen(&self) {
        if self.threshold.get() == u64::MAX {
            self.count.set(self.count.get() + 1);
        } else {
            self.advance();
        }
    }

    /// Whether anybody waits.
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

    /// Puts the running context down as waiting for `value` and says which it is.
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

    /// Puts the running context down as waiting for `value` in a wait with a limit, the `timed`-th of this eventcount.
    fn register_timed(&self, value: u64, timed: u64) -> u32 {
        let id = self.enter();
        self.queue_up(Waiter { id, since: self.core.now.get(), value, timed });
        id
    }

    /// Posts the wait of the running context, which must belong to this domain, and says which it is.
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

    /// Takes the only waiter out, if there is only one and it waits without a limit.
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

    /// Takes context `id` off the list, if it is there.
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

    /// The limit of timed wait `number` is reached: wakes whoever still waits so.
    pub(crate) fn time_out(&self, number: u64) {
        let waiter = self.waiters.borrow().iter().find(|waiter| waiter.timed == number).copied();
        if let Some(waiter) = waiter {
            self.withdraw(waiter.id);
            self.core.wake(waiter.id);
        }
    }

    /// Whether timed wait `number` goes on.
    pub(crate) fn is_timed(&self, number: u64) -> bool {
        self.waiters.borrow().iter().any(|waiter| waiter.timed == number)
    }

    /// Who waits, in order.
    pub(crate) fn waiters(&self) -> Vec<Waiter> {
        let single = self.take_single();
        if let Some(waiter) = single {
            self.single.set(waiter.id);
        }
        single.into_iter().chain(self.waiters.borrow().iter().copied()).collect()
    }

    /// How often it has been advanced, and the last advances, the oldest first.
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
    /// The context that is down as waiting, if one is.
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
    /// A wait that is given up is forgotten: a later advance wakes nobody for it.
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
    /// Whether the report that is being made has been told already.
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

/// Forgets a wait of context `id`, and its request if it posted that in this very poll.
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
    /// The context that is down as waiting, if one is.
    waiter: u32,
}

impl Future for WaitFor<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, _: &mut PollContext<'_>) -> Poll<bool> {
        let inner = &self.eventcount.0;
        let there = inner.count.get() >= self.value;
        // The second poll comes when the count is there or the time is up: either way the wait is over.
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
