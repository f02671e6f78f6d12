//! A clock domain: the executor of its contexts.
//!
//! One cycle runs like this: what arrives at its start is delivered; the contexts whose pause ends run, in the order in
//! which they asked; then whoever has been woken, in that order, until nobody is left; then, in the order of their
//! creation, those who asked to [`settle`](crate::Context::settle). Whoever those wake runs in the next cycle.
//!
//! The order of two contexts never depends on a third that has nothing to do with them: that is why statistics do not
//! depend on how a model is cut into partitions.

use crate::{
    calendar::{Calendar, NOBODY},
    core::{Arrival, BIRTH, Birth, Core, Due, Task, WIRE, request},
    name::Name,
    trace::Mark,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    task::{Context as PollContext, Waker},
};

/// A context as its domain keeps it. With its name and its places in three queues it takes 60 bytes.
pub(crate) struct Slot {
    /// What it runs; [`ended`] once that has come to its end.
    task: Task,
    /// Since when it waits, if it does.
    since: u64,
    /// How many cycles it has not been busy: before it was born, and waiting for an eventcount.
    idle: u64,
    /// The next context in its list of the calendar.
    pub(crate) next: u32,
    /// The order of creation, with the sign of a server in the lowest bit.
    order: u32,
}

impl Slot {
    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    pub(crate) fn is_server(&self) -> bool {
        self.order & 1 == 1
    }
}

/// How many of the last wake-ups are looked at, to name those who take part in a livelock.
const RESTLESS: usize = 1_000;

/// The order of a slot without a context.
const DEAD: u32 = u32::MAX;

/// What stands in a slot without a context. It has no state, so it costs nothing.
fn ended() -> Task {
    Box::pin(std::future::pending())
}

/// Why [`Domain::run`] came back before the last cycle it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// All cycles have run, or another domain may be earlier now.
    On,
    /// More wake-ups within one cycle than the limit allows.
    Livelock,
}

/// What a poll may hand a context over to.
struct Filing {
    calendar: Calendar,
    /// Who runs when this cycle has settled.
    settling: Vec<u32>,
    /// Who has ended.
    ended: Vec<u32>,
    /// What each context waits for, kept only when a trace is taken.
    waiting_on: Vec<Name>,
}

pub(crate) struct Domain {
    pub(crate) core: Rc<Core>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Who runs in cycle `batch_cycle`: the first `batch_len` of `batch`. Both vectors are as long as `slots`.
    batch: Vec<u32>,
    batch_len: usize,
    batch_cycle: u64,
    spare: Vec<u32>,
    /// Who takes part in a cycle that does not end.
    restless: BTreeSet<Name>,
    filing: Filing,
    next_order: u32,
    /// How many times a context has run.
    pub(crate) events: u64,
    /// Busy cycles of ended contexts.
    ended: BTreeMap<Name, u64>,
    delta_limit: usize,
    due: Vec<Due>,
    arrived: Vec<Arrival>,
}

impl Domain {
    pub(crate) fn new(core: Rc<Core>, delta_limit: usize) -> Domain {
        let filing =
            Filing { calendar: Calendar::new(), settling: Vec::new(), ended: Vec::new(), waiting_on: Vec::new() };
        Domain {
            core,
            slots: Vec::new(),
            free: Vec::new(),
            batch: Vec::new(),
            batch_len: 0,
            batch_cycle: 0,
            spare: Vec::new(),
            restless: BTreeSet::new(),
            filing,
            next_order: 0,
            events: 0,
            ended: BTreeMap::new(),
            delta_limit,
            due: Vec::new(),
            arrived: Vec::new(),
        }
    }

    /// The next cycle in which there is anything to do; `u64::MAX` if there is none.
    pub(crate) fn next_cycle(&self) -> u64 {
        let mut next = self.filing.calendar.next().min(self.core.alarm.get()).min(self.core.ready_at.get());
        if self.batch_len != 0 {
            next = next.min(self.batch_cycle);
        }
        next
    }

    /// Runs every cycle before `until`; `deliver` hands over what has arrived on a wire.
    pub(crate) fn run(&mut self, until: u64, deliver: &dyn Fn(u32)) -> Ran {
        self.core.shared.domain.set(self.core.index);
        self.core.running.set(true);
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
            self.paused::<TRACE>(&core, now);
            if !core.ready.borrow().is_empty() && self.woken::<TRACE>(&core, now) == Ran::Livelock {
                return Ran::Livelock;
            }
            if !self.filing.settling.is_empty() {
                self.settled::<TRACE>(&core, now);
            }
            if !self.filing.ended.is_empty() {
                self.bury(now);
            }
            now = if self.batch_len != 0 { now + 1 } else { self.next_cycle() };
            if core.shared.interrupt.get() {
                break;
            }
        }
        Ran::On
    }

    /// Delivers what is due at the start of cycle `now`: first what came over links, in the order (time, source,
    /// sequence), then what this partition sent itself.
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

    /// Runs the contexts whose pause ends in cycle `now`.
    fn paused<const TRACE: bool>(&mut self, core: &Core, now: u64) {
        debug_assert!(self.batch_len == 0 || self.batch_cycle == now, "a batch is never left behind");
        std::mem::swap(&mut self.batch, &mut self.spare);
        let count = std::mem::take(&mut self.batch_len);
        self.batch_cycle = now + 1;
        if self.filing.calendar.next() == now {
            self.long_paused::<TRACE>(core, now);
        }
        let mut turn = Turn {
            core,
            slots: &mut self.slots,
            next: &mut self.batch,
            asked: self.batch_len,
            filing: &mut self.filing,
            now,
        };
        turn.run_all::<TRACE>(&self.spare[..count]);
        self.batch_len = turn.asked;
        self.events += count as u64;
    }

    /// Runs those whose pause was longer than a cycle: they asked first.
    fn long_paused<const TRACE: bool>(&mut self, core: &Core, now: u64) {
        let (from_afar, mut id) = self.filing.calendar.take(now);
        self.events += from_afar.len() as u64;
        for id in from_afar {
            self.run_one::<TRACE>(core, id, now);
        }
        while id != NOBODY {
            let following = self.slots[id as usize].next;
            self.run_one::<TRACE>(core, id, now);
            self.events += 1;
            id = following;
        }
    }

    /// Runs whoever has been woken, until nobody is left.
    fn woken<const TRACE: bool>(&mut self, core: &Core, now: u64) -> Ran {
        let mut turns = 0;
        loop {
            let mut turn = Turn {
                core,
                slots: &mut self.slots,
                next: &mut self.batch,
                asked: self.batch_len,
                filing: &mut self.filing,
                now,
            };
            let stopped = turn.run_woken::<TRACE>(&mut turns, self.delta_limit);
            self.batch_len = turn.asked;
            match stopped {
                Stopped::Birth => {
                    let id = self.install(now);
                    self.run_one::<TRACE>(core, id, now);
                }
                Stopped::End => break,
                Stopped::Limit => {
                    self.restless(turns);
                    return Ran::Livelock;
                }
            }
        }
        core.ready.borrow_mut().clear();
        self.events += turns as u64;
        Ran::On
    }

    /// Notes who was woken last in a cycle that does not end.
    #[cold]
    fn restless(&mut self, turns: usize) {
        let (names, ready) = (self.core.names.borrow(), self.core.ready.borrow());
        let last = &ready[turns.saturating_sub(RESTLESS)..turns];
        self.restless.extend(last.iter().filter_map(|id| names.get(*id as usize)));
    }

    /// Runs those who asked to settle, in the order of their creation. Whoever they wake runs in the next cycle.
    fn settled<const TRACE: bool>(&mut self, core: &Core, now: u64) {
        let mut settling = std::mem::take(&mut self.filing.settling);
        settling.sort_unstable_by_key(|id| self.slots[*id as usize].order);
        self.events += settling.len() as u64;
        for id in settling {
            self.run_one::<TRACE>(core, id, now);
        }
        // Who asks to settle once more does so in the next cycle.
        if !core.ready.borrow().is_empty() || !self.filing.settling.is_empty() {
            core.ready_at.set(now + 1);
        }
    }

    #[inline]
    fn run_one<const TRACE: bool>(&mut self, core: &Core, id: u32, now: u64) {
        let (slots, next, filing) = (&mut self.slots[..], &mut self.batch[..], &mut self.filing);
        let mut turn = Turn { core, slots, next, asked: self.batch_len, filing, now };
        turn.run::<TRACE>(id, &mut PollContext::from_waker(Waker::noop()));
        self.batch_len = turn.asked;
    }

    /// Gives the context that is to start next a place.
    #[cold]
    fn install(&mut self, now: u64) -> u32 {
        let birth: Birth = self.core.born.borrow_mut().pop_front().expect("each birth is announced once");
        let order = self.order(birth.server);
        let name = birth.name;
        let slot = Slot { task: birth.task, since: now, idle: now, next: NOBODY, order };
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = slot;
            self.core.names.borrow_mut()[id as usize] = name;
            return id;
        }
        let id = u32::try_from(self.slots.len()).ok().filter(|id| *id < BIRTH);
        let id = id.expect("a clock domain holds fewer than 2^32 - 1 contexts at a time");
        self.slots.push(slot);
        self.core.names.borrow_mut().push(name);
        self.batch.push(NOBODY);
        self.spare.push(NOBODY);
        if self.core.shared.recorder.is_some() {
            self.filing.waiting_on.push(Name::ROOT);
        }
        id
    }

    /// The next number in the order of creation. When the numbers run out, the living are numbered anew.
    fn order(&mut self, server: bool) -> u32 {
        const LAST: u32 = DEAD >> 1;
        if self.next_order == LAST {
            let mut living: Vec<&mut Slot> = self.slots.iter_mut().filter(|slot| slot.order != DEAD).collect();
            living.sort_unstable_by_key(|slot| slot.order);
            for (order, slot) in living.iter_mut().enumerate() {
                slot.order = (order as u32) << 1 | (slot.order & 1);
            }
            self.next_order = living.len() as u32;
        }
        let order = self.next_order << 1 | u32::from(server);
        self.next_order += 1;
        order
    }

    /// Frees the places of ended contexts and keeps their account.
    #[cold]
    fn bury(&mut self, now: u64) {
        for id in self.filing.ended.drain(..) {
            let slot = &mut self.slots[id as usize];
            slot.task = ended();
            slot.order = DEAD;
            let name = self.core.names.borrow()[id as usize];
            *self.ended.entry(name).or_default() += now - slot.idle;
            self.free.push(id);
        }
        // What an ended context held may have woken somebody when it was dropped.
        if !self.core.ready.borrow().is_empty() {
            self.core.ready_at.set(now + 1);
        }
    }

    pub(crate) fn name_of(&self, id: u32) -> Name {
        self.core.names.borrow()[id as usize]
    }

    pub(crate) fn slot(&self, id: u32) -> &Slot {
        &self.slots[id as usize]
    }

    /// The busy cycles of every context, living and ended, up to `cycle`; contexts of one name are added up.
    pub(crate) fn busy(&self, cycle: u64) -> BTreeMap<Name, u64> {
        let mut busy = self.ended.clone();
        let names = self.core.names.borrow();
        for (slot, name) in self.slots.iter().zip(names.iter()).filter(|(slot, _)| slot.order != DEAD) {
            *busy.entry(*name).or_default() += cycle.saturating_sub(slot.idle);
        }
        for id in self.waiting() {
            let idle = cycle.saturating_sub(self.slots[id as usize].since);
            let busy = busy.get_mut(&names[id as usize]).expect("a waiting context is alive");
            *busy = busy.saturating_sub(idle);
        }
        busy
    }

    /// Starts the account of busy cycles anew at `cycle`.
    pub(crate) fn reset_busy(&mut self, cycle: u64) {
        self.ended.clear();
        for slot in &mut self.slots {
            slot.idle = cycle;
        }
        // Who waits has not been busy in the new region until its wait ends, and then its whole wait is added.
        for id in self.waiting() {
            let slot = &mut self.slots[id as usize];
            slot.idle = slot.since;
        }
    }

    /// The contexts of this domain that wait for an eventcount.
    fn waiting(&self) -> Vec<u32> {
        let eventcounts = self.core.shared.eventcounts.borrow();
        let living = eventcounts.iter().filter_map(|eventcount| eventcount.upgrade());
        let here = living.filter(|eventcount| eventcount.core.index == self.core.index);
        let mut waiting: Vec<u32> = here.flat_map(|eventcount| eventcount.waiters()).collect();
        // A context that was woken but has not run yet still counts as waiting.
        waiting.extend(self.core.ready.borrow().iter().filter(|id| **id != BIRTH));
        waiting
    }

    /// Who takes part in a cycle that does not end.
    pub(crate) fn livelock(&self) -> impl Iterator<Item = Name> {
        self.restless.iter().copied()
    }
}

/// Where [`Turn::run_woken`] stopped.
enum Stopped {
    End,
    Birth,
    Limit,
}

/// The turn of some contexts in cycle `now`.
struct Turn<'a> {
    core: &'a Core,
    slots: &'a mut [Slot],
    /// Who asked for a pause of one cycle: the first `asked`.
    next: &'a mut [u32],
    asked: usize,
    filing: &'a mut Filing,
    now: u64,
}

impl Turn<'_> {
    /// Runs a batch of contexts. On its own, so that its few variables stay in registers.
    #[inline(never)]
    fn run_all<const TRACE: bool>(&mut self, batch: &[u32]) {
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let Turn { core, asked, now, .. } = *self;
        let mut turn = Turn { core, slots: self.slots, next: self.next, asked, filing: self.filing, now };
        for &id in batch {
            turn.run::<TRACE>(id, &mut poll_context);
        }
        self.asked = turn.asked;
    }

    /// Runs those who have been woken, from number `turns` on.
    #[inline(never)]
    fn run_woken<const TRACE: bool>(&mut self, turns: &mut usize, limit: usize) -> Stopped {
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let Turn { core, asked, now, .. } = *self;
        let mut turn = Turn { core, slots: self.slots, next: self.next, asked, filing: self.filing, now };
        let stopped = loop {
            let Some(&id) = core.ready.borrow().get(*turns) else { break Stopped::End };
            *turns += 1;
            if id == BIRTH {
                break Stopped::Birth;
            }
            let slot = &mut turn.slots[id as usize];
            slot.idle += now - slot.since;
            if TRACE && now > slot.since {
                let mark = Mark::Waited { since: slot.since, on: turn.filing.waiting_on[id as usize] };
                record(core, core.names.borrow()[id as usize], now, mark);
            }
            turn.run::<TRACE>(id, &mut poll_context);
            if *turns > limit {
                break Stopped::Limit;
            }
        };
        self.asked = turn.asked;
        stopped
    }

    /// Runs context `id` once and files it as it asks.
    #[inline(always)]
    fn run<const TRACE: bool>(&mut self, id: u32, poll_context: &mut PollContext<'_>) {
        self.core.context.set(id);
        let slot = &mut self.slots[id as usize];
        if slot.task.as_mut().poll(poll_context).is_ready() {
            self.core.request.set(request::NONE);
            self.filing.ended.push(id);
            return;
        }
        let word = self.core.request.replace(request::NONE);
        if TRACE {
            traced(self.core, self.filing, id, self.now, word);
        }
        if word == 1 {
            self.next[self.asked] = id;
            self.asked += 1;
        } else if word == request::WAIT {
            slot.since = self.now;
        } else {
            file(self.core, self.slots, self.filing, id, self.now, word);
        }
    }
}

/// Files a context that asked for anything but a pause of one cycle or a wait.
#[cold]
fn file(core: &Core, slots: &mut [Slot], filing: &mut Filing, id: u32, now: u64, word: u64) {
    match word {
        request::SETTLE => filing.settling.push(id),
        request::YIELD => {
            slots[id as usize].since = now;
            core.ready.borrow_mut().push(id);
        }
        request::NONE => {
            let name = core.shared.path(core.names.borrow()[id as usize]);
            panic!("context '{name}' awaits something that is not of the engine, so nothing would ever wake it")
        }
        cycles => filing.calendar.insert(slots, id, now, now + cycles),
    }
}

#[cold]
fn traced(core: &Core, filing: &mut Filing, id: u32, now: u64, word: u64) {
    match word {
        request::WAIT => filing.waiting_on[id as usize] = core.waits_on.get(),
        1..=request::LONGEST => {
            let name = core.names.borrow()[id as usize];
            record(core, name, now, Mark::Busy { cycles: word });
        }
        _ => {}
    }
}

fn record(core: &Core, name: Name, now: u64, mark: Mark) {
    if let Some(recorder) = &core.shared.recorder {
        recorder.record(core, name, now, mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_costs_its_future_and_at_most_64_bytes() {
        // Its slot and name, and its places in the two batches and among the woken.
        let bytes = size_of::<Slot>() + size_of::<Name>() + 3 * size_of::<u32>();
        assert!(bytes <= 64, "{bytes} bytes");
    }
}
