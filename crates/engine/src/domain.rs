//! A clock domain: the executor of its contexts.
//!
//! The order within one cycle:
//!
//! 1. Deliveries that arrive at its start.
//! 2. Contexts that asked for a pause of one cycle, in the order in which they asked.
//! 3. Contexts whose longer pause ends, in the order in which they asked.
//! 4. Contexts that have been woken, in the order of their wake-ups, until none is left.
//! 5. Contexts that asked to [`settle`](crate::Context::settle), in the order of their names. A context that they wake
//!    runs in the next cycle.
//!
//! **Invariant**: the order of two contexts never depends on a third that does not interact with them. Therefore
//! statistics do not depend on how a model is cut into partitions.

use crate::{
    batch::Batch,
    calendar::{Calendar, NOBODY},
    core::{Arrival, BIRTH, Birth, Core, Due, Task, WIRE, request},
    name::Name,
    pressure::Tally,
    trace::Mark,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    task::{Context as PollContext, Waker},
};

/// A context as its domain stores it. With its name and its entries in the batch and the ready list it takes 64 bytes.
pub(crate) struct Slot {
    /// The context's task, unless that is in the batch. [`nothing`] while it is in the batch and after it has ended.
    parked: Task,
    /// Number of cycles in which the context was not busy: before its start, and while waiting for an eventcount.
    /// During a wait, the cycle in which the wait began is subtracted.
    idle: u64,
    /// The next context in its list of the calendar.
    pub(crate) next: u32,
    /// Whether the context may wait forever.
    pub(crate) server: bool,
}

/// How many of the last wake-ups are used to name the contexts of a livelock.
const RESTLESS: usize = 1_000;

/// A placeholder where there is no context. It has no state, so it needs no allocation.
pub(crate) fn nothing() -> Task {
    Box::pin(std::future::pending())
}

/// Why [`Domain::run`] returned before the last cycle that it was to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// All requested cycles have run, or another domain may be earlier now.
    On,
    /// More wake-ups within one cycle than the limit allows.
    Livelock,
}

pub(crate) struct Domain {
    pub(crate) core: Rc<Core>,
    /// The contexts that run in the cycle after [`Core::now`].
    batch: Batch,
    filing: Filing,
    free: Vec<u32>,
    /// The contexts of a livelock.
    restless: BTreeSet<Name>,
    /// How many times a context has run.
    pub(crate) events: u64,
    /// Variant of `events`, cycle by cycle, since the last call of [`run`](Domain::run).
    pub(crate) tally: Tally,
    /// Busy cycles of ended contexts.
    ended: BTreeMap<Name, u64>,
    delta_limit: usize,
    due: Vec<Due>,
    arrived: Vec<Arrival>,
}

impl Domain {
    pub(crate) fn new(core: Rc<Core>, delta_limit: usize) -> Domain {
        Domain {
            core,
            batch: Batch::new(),
            filing: Filing::new(),
            free: Vec::new(),
            restless: BTreeSet::new(),
            events: 0,
            tally: Tally::default(),
            ended: BTreeMap::new(),
            delta_limit,
            due: Vec::new(),
            arrived: Vec::new(),
        }
    }

    /// The next cycle in which something is due; `u64::MAX` if there is none.
    pub(crate) fn next_cycle(&self) -> u64 {
        let next = self.filing.calendar.next().min(self.core.alarm.get()).min(self.core.ready_at.get());
        if self.batch.is_empty() { next } else { next.min(self.core.now.get() + 1) }
    }

    /// Whether anything can still happen here without new mail.
    pub(crate) fn is_live(&self) -> bool {
        let core = &self.core;
        !self.batch.is_empty()
            || self.filing.calendar.next() != u64::MAX
            || core.ready_at.get() != u64::MAX
            || core.arrivals.borrow().next() != u64::MAX
            || core.due.borrow().any(Due::is_live)
    }

    /// Runs every cycle before `until`; `deliver` delivers what has arrived on a wire.
    pub(crate) fn run(&mut self, until: u64, deliver: &dyn Fn(u32)) -> Ran {
        self.core.shared.domain.set(self.core.index);
        self.core.running.set(true);
        self.tally = Tally::default();
        let ran = match self.core.shared.recorder {
            Some(_) => self.cycles::<true>(until, deliver),
            None => self.cycles::<false>(until, deliver),
        };
        self.core.running.set(false);
        ran
    }

    fn cycles<const TRACE: bool>(&mut self, until: u64, deliver: &dyn Fn(u32)) -> Ran {
        let core = Rc::clone(&self.core);
        let mut now = self.next_cycle();
        while now < until {
            core.now.set(now);
            core.ready_at.set(u64::MAX);
            if core.alarm.get() == now {
                self.deliveries(now, deliver);
            }
            let before = self.events;
            self.events += self.batch.len() as u64;
            self.batch.run::<TRACE>(&core, &mut self.filing, now);
            if self.filing.calendar.next() == now {
                self.long_paused::<TRACE>(&core, now);
            }
            if !core.ready.borrow().is_empty() && self.woken::<TRACE>(&core, now) == Ran::Livelock {
                return Ran::Livelock;
            }
            if !self.filing.settling.is_empty() {
                self.settled::<TRACE>(&core, now);
            }
            if !self.filing.ended.is_empty() {
                self.bury(now);
            }
            self.tally.cycle(self.events - before);
            now = if self.batch.is_empty() { self.next_cycle() } else { now + 1 };
            if core.shared.interrupt.get() {
                break;
            }
        }
        Ran::On
    }

    /// Delivers what is due at the start of cycle `now`: first mail from links, in the order (time, wire), then
    /// deliveries and timeouts of this partition.
    #[cold]
    fn deliveries(&mut self, now: u64, deliver: &dyn Fn(u32)) {
        let core = Rc::clone(&self.core);
        core.context.set(WIRE);
        if core.arrivals.borrow().next() == now {
            core.arrivals.borrow_mut().take(now, &mut self.arrived);
            self.arrived.sort_unstable();
            self.arrived.drain(..).for_each(|arrival| deliver(arrival.wire));
        }
        if core.due.borrow().next() == now {
            core.due.borrow_mut().take(now, &mut self.due);
            for due in self.due.drain(..) {
                match due {
                    Due::Local(end) => end.deliver(),
                    Due::Timeout(eventcount, number) => eventcount.time_out(number),
                }
            }
        }
        core.alarm.set(core.arrivals.borrow().next().min(core.due.borrow().next()));
    }

    /// Runs the contexts whose pause was longer than one cycle.
    fn long_paused<const TRACE: bool>(&mut self, core: &Core, now: u64) {
        let (from_afar, mut id) = self.filing.calendar.take(now);
        self.events += from_afar.len() as u64;
        for id in from_afar {
            self.run_parked::<TRACE>(core, id, now);
        }
        while id != NOBODY {
            let following = self.filing.slots[id as usize].next;
            self.run_parked::<TRACE>(core, id, now);
            self.events += 1;
            id = following;
        }
    }

    /// Runs the woken contexts until none is left.
    #[inline(never)]
    fn woken<const TRACE: bool>(&mut self, core: &Core, now: u64) -> Ran {
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let mut turns = 0;
        loop {
            let Some(&(mut id)) = core.ready.borrow().get(turns) else { break };
            turns += 1;
            if id == BIRTH {
                id = self.install(now);
            } else {
                self.filing.end_wait::<TRACE>(core, id, now);
            }
            self.poll_parked::<TRACE>(core, id, now, &mut poll_context);
            if turns > self.delta_limit {
                self.note_restless(turns);
                return Ran::Livelock;
            }
        }
        core.ready.borrow_mut().clear();
        self.events += turns as u64;
        Ran::On
    }

    /// Records the contexts that were woken last in a cycle that does not end.
    #[cold]
    fn note_restless(&mut self, turns: usize) {
        let (names, ready) = (self.core.names.borrow(), self.core.ready.borrow());
        let last = &ready[turns.saturating_sub(RESTLESS)..turns];
        self.restless.extend(last.iter().filter_map(|id| names.get(*id as usize)));
    }

    /// Runs the contexts that asked to settle, in the order of their names (contexts of one name in the order in which
    /// they asked). A context that they wake runs in the next cycle.
    fn settled<const TRACE: bool>(&mut self, core: &Core, now: u64) {
        let mut settling = std::mem::take(&mut self.filing.settling);
        settling.sort_by_key(|id| core.names.borrow()[*id as usize]);
        self.events += settling.len() as u64;
        for id in settling {
            self.run_parked::<TRACE>(core, id, now);
        }
        // A context that asks to settle again does so in the next cycle.
        if !core.ready.borrow().is_empty() || !self.filing.settling.is_empty() {
            core.ready_at.set(now + 1);
        }
    }

    /// Runs a context that is not in the batch.
    fn run_parked<const TRACE: bool>(&mut self, core: &Core, id: u32, now: u64) {
        self.poll_parked::<TRACE>(core, id, now, &mut PollContext::from_waker(Waker::noop()));
    }

    #[inline(always)]
    fn poll_parked<const TRACE: bool>(&mut self, core: &Core, id: u32, now: u64, poll_context: &mut PollContext<'_>) {
        core.context.set(id);
        let slot = &mut self.filing.slots[id as usize];
        let ended = slot.parked.as_mut().poll(poll_context).is_ready();
        let word = core.request.replace(request::NONE);
        if word == 1 && !ended {
            self.batch.push(std::mem::replace(&mut slot.parked, nothing()), id, core.take_gate());
        }
        self.filing.file::<TRACE>(core, id, now, ended, word);
    }

    /// Gives the next context to start a slot.
    #[cold]
    fn install(&mut self, now: u64) -> u32 {
        let birth = self.core.born.borrow_mut().pop_front().expect("each birth is announced once");
        let Birth { task, name, server } = birth;
        let slot = Slot { parked: task, idle: now, next: NOBODY, server };
        let (slots, mut names) = (&mut self.filing.slots, self.core.names.borrow_mut());
        if let Some(id) = self.free.pop() {
            slots[id as usize] = slot;
            names[id as usize] = name;
            return id;
        }
        let id = u32::try_from(slots.len()).ok().filter(|id| *id < BIRTH);
        let id = id.expect("a clock domain holds fewer than 2^32 - 1 contexts at a time");
        slots.push(slot);
        names.push(name);
        if self.core.shared.recorder.is_some() {
            self.filing.waiting.push((Name::ROOT, 0));
        }
        id
    }

    /// Lets a context that waits in [`EventCount::rest`](crate::EventCount::rest) report what it needs. The domain does
    /// not run after this.
    pub(crate) fn explain(&mut self, id: u32) {
        let core = &self.core;
        core.shared.domain.set(core.index);
        core.running.set(true);
        core.context.set(id);
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let _ = self.filing.slots[id as usize].parked.as_mut().poll(&mut poll_context);
        core.request.set(request::NONE);
        core.take_gate();
        core.running.set(false);
    }

    /// Frees the slots of ended contexts and keeps their busy cycles.
    #[cold]
    fn bury(&mut self, now: u64) {
        for id in self.filing.ended.drain(..) {
            let slot = &mut self.filing.slots[id as usize];
            drop(std::mem::replace(&mut slot.parked, nothing()));
            let name = std::mem::replace(&mut self.core.names.borrow_mut()[id as usize], Name::ROOT);
            *self.ended.entry(name).or_default() += now - slot.idle;
            self.free.push(id);
        }
        // Dropping the task of an ended context may have woken other contexts.
        if !self.core.ready.borrow().is_empty() {
            self.core.ready_at.set(now + 1);
        }
    }

    pub(crate) fn name_of(&self, id: u32) -> Name {
        self.core.names.borrow()[id as usize]
    }

    pub(crate) fn slot(&self, id: u32) -> &Slot {
        &self.filing.slots[id as usize]
    }

    /// The busy cycles of every context, living and ended, up to `cycle`; restarts their account there. Contexts of one
    /// name are added up.
    pub(crate) fn take_busy(&mut self, cycle: u64) -> BTreeMap<Name, u64> {
        let waiting = self.waiting();
        let names = self.core.names.borrow();
        let mut busy: Vec<(Name, u64)> = std::mem::take(&mut self.ended).into_iter().collect();
        for ((slot, name), waits) in self.filing.slots.iter_mut().zip(names.iter()).zip(waiting) {
            if *name != Name::ROOT {
                let idle = if waits { slot.idle.wrapping_add(cycle) } else { slot.idle };
                busy.push((*name, cycle.saturating_sub(idle)));
            }
            // A waiting context then counts as idle from cycle 0 until its wait ends.
            slot.idle = if waits { 0 } else { cycle };
        }
        let mut by_name = BTreeMap::new();
        busy.into_iter().for_each(|(name, cycles)| *by_name.entry(name).or_default() += cycles);
        by_name
    }

    /// For each context, whether it waits for an eventcount.
    fn waiting(&self) -> Vec<bool> {
        let mut waiting = vec![false; self.core.names.borrow().len()];
        let eventcounts = self.core.shared.eventcounts.borrow();
        let living = eventcounts.iter().filter_map(|eventcount| eventcount.upgrade());
        for eventcount in living.filter(|eventcount| eventcount.core.index == self.core.index) {
            eventcount.each_waiter(|waiter| waiting[waiter.id as usize] = true);
        }
        // A context that was woken but has not run yet still counts as waiting.
        for &id in self.core.ready.borrow().iter().filter(|id| **id != BIRTH) {
            waiting[id as usize] = true;
        }
        waiting
    }

    /// The contexts of a livelock.
    pub(crate) fn livelock(&self) -> impl Iterator<Item = Name> {
        self.restless.iter().copied()
    }
}

/// The contexts that do not run in every cycle, and the lists they are on.
pub(crate) struct Filing {
    slots: Vec<Slot>,
    calendar: Calendar,
    /// Contexts that run when this cycle has settled.
    settling: Vec<u32>,
    /// Contexts that have ended.
    ended: Vec<u32>,
    /// What each context waits for and since when. Kept only when a trace is taken.
    waiting: Vec<(Name, u64)>,
}

impl Filing {
    fn new() -> Filing {
        Filing {
            slots: Vec::new(),
            calendar: Calendar::new(),
            settling: Vec::new(),
            ended: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Stores the task of a context that leaves the batch.
    pub(crate) fn park(&mut self, task: Task, id: u32) {
        self.slots[id as usize].parked = task;
    }

    /// Files a context that has run, according to its request. A context that asked for a pause of one cycle is in the
    /// batch already.
    #[inline(always)]
    pub(crate) fn file<const TRACE: bool>(&mut self, core: &Core, id: u32, now: u64, ended: bool, word: u64) {
        if TRACE {
            self.trace(core, id, now, word);
        }
        if ended {
            return self.ended.push(id);
        }
        match word {
            1 => {}
            request::WAIT => {
                let slot = &mut self.slots[id as usize];
                slot.idle = slot.idle.wrapping_sub(now);
            }
            _ => self.file_elsewhere(core, id, now, word),
        }
    }

    #[cold]
    fn file_elsewhere(&mut self, core: &Core, id: u32, now: u64, word: u64) {
        match word {
            request::SETTLE => self.settling.push(id),
            request::YIELD => {
                let slot = &mut self.slots[id as usize];
                slot.idle = slot.idle.wrapping_sub(now);
                core.ready.borrow_mut().push(id);
            }
            request::NONE => {
                let name = core.shared.path(core.names.borrow()[id as usize]);
                panic!("context '{name}' awaits something that is not of the engine, so nothing would ever wake it")
            }
            cycles => self.calendar.insert(&mut self.slots, id, now, now + cycles),
        }
    }

    /// Adds the wait of context `id`, which has ended, to its idle time.
    #[inline]
    fn end_wait<const TRACE: bool>(&mut self, core: &Core, id: u32, now: u64) {
        let slot = &mut self.slots[id as usize];
        slot.idle = slot.idle.wrapping_add(now);
        if TRACE && self.waiting[id as usize].1 < now {
            let (on, since) = self.waiting[id as usize];
            record(core, id, now, Mark::Waited { since, on });
        }
    }

    #[cold]
    fn trace(&mut self, core: &Core, id: u32, now: u64, word: u64) {
        match word {
            request::WAIT => self.waiting[id as usize] = (core.waits_on.get(), now),
            request::YIELD => self.waiting[id as usize] = (Name::ROOT, now),
            1..=request::LONGEST => record(core, id, now, Mark::Busy { cycles: word }),
            _ => {}
        }
    }
}

#[cold]
fn record(core: &Core, id: u32, now: u64, mark: Mark) {
    if let Some(recorder) = &core.shared.recorder {
        recorder.record(core, core.names.borrow()[id as usize], now, mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_costs_its_future_and_at_most_64_bytes() {
        // Its slot, its name, its entry in the batch (task and number) and in the ready list.
        let batch = size_of::<Task>() + size_of::<u32>();
        let bytes = size_of::<Slot>() + size_of::<Name>() + batch + size_of::<u32>();
        assert!(bytes <= 64, "{bytes} bytes");
    }
}
