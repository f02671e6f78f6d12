//! A TLB that several share: the second level of a core, or the TLB of an IOMMU, "a second-level shared GPU TLB"
//! (`[vcache 3]`).
//!
//! What limits it is how many look-ups it can do in a cycle: whoever comes when they are used up waits in its wire, and is served in
//! turn. Misses for one page are one question below.

use crate::{
    Tlb, TlbSpec, Translate, Translated, TranslationId,
    misses::{Misses, Search},
    shootdown::{Control, Orders},
};
use engine::{
    Context, Counter, Cycles, EventCount, Histogram, Inlet, Lane, Rate, Ready, RoundRobin, Scope, Series, Time,
};
use interconnect::{Pending, Sender, Wire};
use mem::PhysAddr;

/// From the machine file.
#[derive(Clone, Copy, Debug)]
pub struct SharedTlbSpec {
    pub tlb: TlbSpec,
    /// Look-ups in a cycle; `None`: any number.
    pub lookups: Option<usize>,
    /// Pages that can be asked for below at a time.
    pub misses: usize,
    /// How long it is busy with a shootdown.
    pub shootdown: Cycles,
}

/// A TLB over the first-level ones.
pub struct SharedTlb {
    spec: SharedTlbSpec,
    tlb: Tlb,
    askers: Vec<Asker>,
    ready: Ready,
    turns: RoundRobin,
    /// The last cycle in which something was looked up, and how much.
    looked_up: (u64, usize),
    misses: Misses,
    /// Who waits for pages from below, in the order in which they came.
    waiting: Vec<Waiting>,
    answers: Inlet<Translated>,
    below: Sender<Translate>,
    orders: Orders,
    bell: EventCount,
    hits: Counter,
    missed: Counter,
    merged: Counter,
    evictions: Counter,
    miss_cycles: Histogram,
    accesses: Series,
    rate: Rate,
}

struct Asker {
    from: Inlet<Translate>,
    to: Sender<Translated>,
    pending: Pending,
}

struct Waiting {
    page: TranslationId,
    asker: usize,
    question: Translate,
    since: u64,
}

impl SharedTlb {
    /// Builds the TLB at `scope`. `below`: whom it asks on a miss.
    pub fn new(
        spec: SharedTlbSpec,
        askers: Vec<Wire<Translate, Translated>>,
        below: Wire<Translated, Translate>,
        control: Option<Control>,
        scope: &Scope,
    ) -> SharedTlb {
        let bell = scope.eventcount("work");
        below.from.ring(&bell);
        let ready = Ready::new(askers.len());
        let above = scope.scope("above");
        let askers = askers.into_iter().enumerate().map(|(number, wire)| {
            wire.from.ring(&bell);
            wire.from.note_in(&ready, number);
            let pending = Pending::default();
            let to = Sender::new(wire.to, &pending, &above.scope(("way", number)), &bell);
            Asker { from: wire.from, to, pending }
        });
        let askers: Vec<_> = askers.collect();
        SharedTlb {
            spec,
            tlb: Tlb::new(spec.tlb),
            turns: RoundRobin::new(askers.len()),
            askers,
            ready,
            looked_up: (u64::MAX, 0),
            misses: Misses::new(spec.misses, scope),
            waiting: Vec::new(),
            answers: below.from,
            below: Sender::new(below.to, &Pending::default(), &scope.scope("below"), &bell),
            orders: Orders::new(control, &bell, scope),
            bell,
            hits: scope.counter("hits"),
            missed: scope.counter("misses"),
            merged: scope.counter("merged"),
            evictions: scope.counter("evictions"),
            miss_cycles: scope.histogram("miss_cycles"),
            accesses: scope.series("accesses"),
            rate: scope.rate("accesses_per_us", Time::micros(1)),
        }
    }

    pub async fn run(mut self, cx: Context) {
        for asker in &self.askers {
            cx.takes(&asker.from);
            cx.sends(asker.to.outlet());
        }
        cx.takes(&self.answers);
        self.orders.obeyed_by(&cx);
        loop {
            let seen = self.bell.count();
            let now = cx.now().0;
            while let Some(answer) = self.answers.try_recv(Lane::Reply) {
                self.answered(&answer, now);
            }
            self.orders.answer(|_| self.misses.has_void());
            let more = self.look_up(now);
            if let Some(order) = self.orders.next() {
                self.orders.dropped.add(self.tlb.forget(order) as u64);
                self.misses.void(&order);
                cx.pause(self.spec.shootdown).await;
                continue;
            }
            match more {
                true => cx.pause(1).await,
                false => {
                    while self.bell.rest(seen + 1).await {
                        self.explain(&cx);
                    }
                }
            }
        }
    }

    /// Tells a report on a run that does not get on what this TLB waits for.
    fn explain(&self, cx: &Context) {
        self.below.explain(cx);
        self.askers.iter().for_each(|asker| asker.to.explain(cx));
        self.misses.explain(cx, &self.below);
    }

    /// Looks up as much as it can in a cycle; says whether that was the limit.
    fn look_up(&mut self, now: u64) -> bool {
        if self.looked_up.0 != now {
            self.looked_up = (now, 0);
        }
        while self.ready.first(&[Lane::Request], 0).is_some() {
            if self.spec.lookups == Some(self.looked_up.1) {
                return true;
            }
            let mut next = self.ready.in_turn([Lane::Request], &self.turns);
            let Some(taken) = next.find(|asker| self.take(*asker, now)) else { return false };
            self.turns.grant(|asker| asker == taken);
            self.looked_up.1 += 1;
            self.accesses.count(1);
            self.rate.count(1);
        }
        false
    }

    /// Takes somebody's next question, if it can be taken.
    fn take(&mut self, number: usize, now: u64) -> bool {
        let asker = &self.askers[number];
        let Some(question) = asker.from.front(Lane::Request).map(|question| *question) else { return false };
        if !asker.pending.is_clear() {
            return false;
        }
        let Translate { id, asid, virt, phys, write } = question;
        let known = self.tlb.look_up(asid, virt).filter(|found| found.rights.write || !write);
        let page = match known.map_or_else(|| self.misses.find(asid, virt), |_| Search::Known) {
            Search::Known => {
                self.hits.increment();
                asker.to.send(Lane::Reply, Translated { id, found: known }, Translated::BYTES);
                None
            }
            Search::UnderWay(page) => {
                self.merged.increment();
                Some(page)
            }
            Search::Void => return false,
            Search::Nothing => {
                let Some(ask) = self.misses.open(asid, virt, phys, write) else { return false };
                self.missed.increment();
                self.below.send(Lane::Request, ask, Translate::BYTES);
                Some(ask.id)
            }
        };
        self.waiting.extend(page.map(|page| Waiting { page, asker: number, question, since: now }));
        self.askers[number].from.try_recv(Lane::Request);
        true
    }

    /// A page has come: who asked for it gets it.
    fn answered(&mut self, answer: &Translated, now: u64) {
        let miss = self.misses.get(answer.id);
        let found = answer.found.filter(|_| !miss.is_stale());
        let read_only = found.is_some_and(|found| !found.rights.write);
        let mut writer: Option<Option<PhysAddr>> = None;
        self.waiting.retain(|waiting| {
            if waiting.page != answer.id {
                return true;
            }
            if waiting.question.write && read_only && !miss.write {
                writer = Some(waiting.question.phys);
                return true;
            }
            let reply = Translated { id: waiting.question.id, found };
            self.askers[waiting.asker].to.send(Lane::Reply, reply, Translated::BYTES);
            self.miss_cycles.record(now - waiting.since);
            false
        });
        if let Some(found) = found.filter(|_| !miss.void)
            && self.tlb.insert(miss.asid, found)
        {
            self.evictions.increment();
        }
        match writer {
            Some(phys) => {
                let ask = self.misses.ask_to_write(answer.id, phys);
                self.below.send(Lane::Request, ask, Translate::BYTES);
            }
            None => self.misses.close(answer.id),
        }
    }
}
