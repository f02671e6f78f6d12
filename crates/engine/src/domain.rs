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
    core::{Arrival, BIRTH, Birth, Core, Due, Task, Who, request},
    name::Name,
    trace::Mark,
};
use std::{
    collections::BTreeMap,
    rc::Rc,
    task::{Context as PollContext, Poll, Waker},
};

/// A context as its domain keeps it. With its places in the three queues (a word each) it takes 60 bytes.
pub(crate) struct Slot {
    task: Option<Task>,
    /// Since when it waits, if it does.
    since: u64,
    /// How many cycles it has not been busy: before it was born, and waiting for an eventcount.
    idle: u64,
    /// The next context in its list of the calendar.
    pub(crate) next: u32,
    /// The order of creation, with the sign of a server in the lowest bit.
    order: u32,
    pub(crate) name: Name,
}

impl Slot {
    pub(crate) fn since(&self) -> u64 {
        self.since
    }

    pub(crate) fn is_server(&self) -> bool {
        self.order & 1 == 1
    }
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
            core.shared.cycle.set(now);
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
    #[inline]
    fn paused<const TRACE: bool>(&mut self, core: &Core, now: u64) {
        let count = if self.batch_cycle == now { self.batch_len } else { 0 };
        debug_assert!(count == self.batch_len, "a batch is never left behind");
        std::mem::swap(&mut self.batch, &mut self.spare);
        let (slots, filing) = (&mut self.slots[..], &mut self.filing);
        let (batch, next) = (&self.spare[..count], &mut self.batch[..]);
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let mut asked = 0;
        if filing.calendar.next() == now {
            let (from_afar, mut id) = filing.calendar.take(now);
            for id in from_afar {
                self.events += 1;
                step::<TRACE>(core, slots, next, &mut asked, filing, id, now, &mut poll_context);
            }
            while id != NOBODY {
                let following = slots[id as usize].next;
                self.events += 1;
                step::<TRACE>(core, slots, next, &mut asked, filing, id, now, &mut poll_context);
                id = following;
            }
        }
        for &id in batch {
            step::<TRACE>(core, slots, next, &mut asked, filing, id, now, &mut poll_context);
        }
        self.events += count as u64;
        self.batch_len = asked;
        self.batch_cycle = now + 1;
    }

    /// Runs whoever has been woken, until nobody is left.
    fn woken<const TRACE: bool>(&mut self, core: &Core, now: u64) -> Ran {
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let mut asked = self.batch_len;
        let mut turn = 0;
        loop {
            let Some(&(mut id)) = core.ready.borrow().get(turn) else { break };
            turn += 1;
            if id == BIRTH {
                let birth = core.born.borrow_mut().pop_front().expect("each birth is announced once");
                id = self.install(birth, now);
            } else {
                let slot = &mut self.slots[id as usize];
                slot.idle += now - slot.since;
                if TRACE && now > slot.since {
                    let mark = Mark::Waited { since: slot.since, on: self.filing.waiting_on[id as usize] };
                    record(core, slot.name, now, mark);
                }
            }
            let (slots, next) = (&mut self.slots[..], &mut self.batch[..]);
            step::<TRACE>(core, slots, next, &mut asked, &mut self.filing, id, now, &mut poll_context);
            if turn > self.delta_limit {
                return Ran::Livelock;
            }
        }
        core.ready.borrow_mut().clear();
        self.events += turn as u64;
        self.batch_len = asked;
        Ran::On
    }

    /// Runs those who asked to settle, in the order of their creation. Whoever they wake runs in the next cycle.
    fn settled<const TRACE: bool>(&mut self, core: &Core, now: u64) {
        let mut settling = std::mem::take(&mut self.filing.settling);
        settling.sort_unstable_by_key(|id| self.slots[*id as usize].order);
        let mut poll_context = PollContext::from_waker(Waker::noop());
        let mut asked = self.batch_len;
        for &id in &settling {
            let (slots, next) = (&mut self.slots[..], &mut self.batch[..]);
            step::<TRACE>(core, slots, next, &mut asked, &mut self.filing, id, now, &mut poll_context);
        }
        self.events += settling.len() as u64;
        self.batch_len = asked;
        // Who asks to settle once more does so in the next cycle.
        if !core.ready.borrow().is_empty() || !self.filing.settling.is_empty() {
            core.ready_at.set(now + 1);
        }
    }

    fn install(&mut self, birth: Birth, now: u64) -> u32 {
        let order = self.order(birth.server);
        let slot = Slot { task: Some(birth.task), since: now, idle: now, next: NOBODY, order, name: birth.name };
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = slot;
            return id;
        }
        let id = u32::try_from(self.slots.len()).ok().filter(|id| *id < BIRTH);
        let id = id.expect("a clock domain holds fewer than 2^32 - 1 contexts at a time");
        self.slots.push(slot);
        self.batch.push(NOBODY);
        self.spare.push(NOBODY);
        if self.core.shared.recorder.is_some() {
            self.filing.waiting_on.push(Name::ROOT);
        }
        id
    }

    /// The next number in the order of creation. When the numbers run out, the living are numbered anew.
    fn order(&mut self, server: bool) -> u32 {
        const LAST: u32 = u32::MAX >> 1;
        if self.next_order == LAST {
            let mut living: Vec<&mut Slot> = self.slots.iter_mut().filter(|slot| slot.task.is_some()).collect();
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
            slot.task = None;
            *self.ended.entry(slot.name).or_default() += now - slot.idle;
            self.free.push(id);
        }
        // What an ended context held may have woken somebody when it was dropped.
        if !self.core.ready.borrow().is_empty() {
            self.core.ready_at.set(now + 1);
        }
    }

    pub(crate) fn name_of(&self, id: u32) -> Option<Name> {
        self.slots.get(id as usize).map(|slot| slot.name)
    }

    pub(crate) fn slot(&self, id: u32) -> Option<&Slot> {
        self.slots.get(id as usize)
    }

    /// The busy cycles of every context, living and ended, up to `cycle`; contexts of one name are added up.
    pub(crate) fn busy(&self, cycle: u64) -> BTreeMap<Name, u64> {
        let mut busy = self.ended.clone();
        for slot in self.slots.iter().filter(|slot| slot.task.is_some()) {
            *busy.entry(slot.name).or_default() += cycle.saturating_sub(slot.idle);
        }
        for who in self.waiting() {
            let slot = &self.slots[who.id as usize];
            let idle = cycle.saturating_sub(slot.since);
            let busy = busy.get_mut(&slot.name).expect("a waiting context is alive");
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
        for who in self.waiting() {
            let slot = &mut self.slots[who.id as usize];
            slot.since = slot.since.max(cycle);
        }
    }

    /// The contexts of this domain that wait for an eventcount.
    fn waiting(&self) -> Vec<Who> {
        let eventcounts = self.core.shared.eventcounts.borrow();
        let living = eventcounts.iter().filter_map(|eventcount| eventcount.upgrade());
        let here = living.filter(|eventcount| eventcount.core.index == self.core.index);
        let mut waiting: Vec<Who> = here.flat_map(|eventcount| eventcount.waiters()).collect();
        // A context that was woken but has not run yet still counts as waiting.
        waiting.extend(
            self.core
                .ready
                .borrow()
                .iter()
                .filter(|id| **id != BIRTH)
                .map(|id| Who { domain: self.core.index, id: *id }),
        );
        waiting
    }

    /// Who was woken last in a cycle that does not end: names for the report.
    pub(crate) fn restless(&self) -> Vec<Name> {
        let ready = self.core.ready.borrow();
        let mut names: Vec<Name> = ready.iter().rev().take(64).filter_map(|id| self.name_of(*id)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Runs context `id` once and files it as it asks.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn step<const TRACE: bool>(
    core: &Core,
    slots: &mut [Slot],
    next: &mut [u32],
    asked: &mut usize,
    filing: &mut Filing,
    id: u32,
    now: u64,
    poll_context: &mut PollContext<'_>,
) {
    core.shared.context.set(id);
    core.request.set(request::NONE);
    let slot = &mut slots[id as usize];
    let task = slot.task.as_mut().expect("only living contexts are scheduled");
    if let Poll::Ready(()) = task.as_mut().poll(poll_context) {
        filing.ended.push(id);
        return;
    }
    let word = core.request.get();
    if TRACE {
        traced(core, filing, slot.name, id, now, word);
    }
    if word == 1 {
        next[*asked] = id;
        *asked += 1;
    } else {
        file(core, slots, filing, id, now, word);
    }
}

/// Files a context that asked for anything but a pause of one cycle.
fn file(core: &Core, slots: &mut [Slot], filing: &mut Filing, id: u32, now: u64, word: u64) {
    match word {
        request::WAIT => slots[id as usize].since = now,
        request::SETTLE => filing.settling.push(id),
        request::YIELD => {
            slots[id as usize].since = now;
            core.ready.borrow_mut().push(id);
        }
        request::NONE => {
            let name = core.shared.path(slots[id as usize].name);
            panic!("context '{name}' awaits something that is not of the engine, so nothing would ever wake it")
        }
        cycles => filing.calendar.insert(slots, id, now, now + cycles),
    }
}

#[cold]
fn traced(core: &Core, filing: &mut Filing, name: Name, id: u32, now: u64, word: u64) {
    match word {
        request::WAIT => {
            let on = core.shared.recorder.as_ref().map(|recorder| recorder.waits_on());
            filing.waiting_on[id as usize] = on.unwrap_or(Name::ROOT);
        }
        1..=request::LONGEST => record(core, name, now, Mark::Busy { cycles: word }),
        _ => {}
    }
}

fn record(core: &Core, name: Name, now: u64, mark: Mark) {
    if let Some(recorder) = &core.shared.recorder {
        recorder.record(core, name, now, mark);
    }
}
