//! A TLB that several elements share: the second level of a core, or the TLB of an IOMMU, "a second-level shared GPU
//! TLB" (`[vcache 3]`).
//!
//! Its bandwidth is limited to a number of look-ups per cycle. Requests beyond that wait in their wires and are served
//! round-robin. Misses for one page are merged into one request below.

use crate::{
    FbtTables, PageSize, Tlb, TlbSpec, Translate, Translated,
    misses::{Misses, Search},
    shootdown::{Control, Orders},
};
use engine::{
    Context, Counter, Cycles, EventCount, Histogram, Inlet, Lane, Outlet, PortSpec, Rate, Ready, RoundRobin, Scope,
    Series, Time,
};
use interconnect::{Pending, Sender, Wire};
use mem::{PhysAddr, VirtAddr};

/// Parameters from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct SharedTlbSpec {
    pub tlb: TlbSpec,
    /// Look-ups per cycle and bank; `None`: any number.
    pub lookups: Option<usize>,
    /// Banks, selected by page number.
    pub banks: usize,
    /// Maximum outstanding misses.
    pub misses: usize,
    /// How long it is busy with a shootdown.
    pub shootdown: Cycles,
}

/// A forward-backward table that is looked up before asking below.
pub struct SecondLevel {
    pub tables: FbtTables,
    /// Latency of a hit.
    pub latency: Cycles,
}

/// A [`SecondLevel`] and the port that delays its results.
struct Second {
    tables: FbtTables,
    later: Outlet<Translated>,
    found: Inlet<Translated>,
    hits: Counter,
    misses: Counter,
}

/// A TLB over the first-level ones.
pub struct SharedTlb {
    spec: SharedTlbSpec,
    tlb: Tlb,
    askers: Vec<Asker>,
    ready: Ready,
    turns: RoundRobin,
    /// The last cycle in which something was looked up, and the number of look-ups in each bank.
    looked_up: (u64, Vec<usize>),
    second: Option<Second>,
    misses: Misses,
    /// By the number of the translation: the requests that wait for it, in order of arrival.
    waiting: Vec<Vec<Waiting>>,
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
    asker: usize,
    question: Translate,
    since: u64,
}

impl Second {
    /// Looks up a page and, on a hit, sends the result after the latency. Returns `None` on a miss.
    fn look_up(&self, ask: &Translate) -> Option<()> {
        let found = self.tables.find(ask.asid, ask.virt, ask.write);
        if found.is_some() { &self.hits } else { &self.misses }.increment();
        let sent = self.later.try_send(Lane::Reply, Translated { id: ask.id, found: Some(found?) }, Translated::BYTES);
        assert!(sent.is_ok(), "there is room for as many as can be asked for");
        Some(())
    }
}

impl SharedTlb {
    /// Builds the TLB at `scope`. `below` is the wire to the element asked on a miss.
    pub fn new(
        spec: SharedTlbSpec,
        askers: Vec<Wire<Translate, Translated>>,
        below: Wire<Translated, Translate>,
        control: Option<Control>,
        second: Option<SecondLevel>,
        scope: &Scope,
    ) -> SharedTlb {
        let bell = scope.eventcount("work");
        let second = second.map(|SecondLevel { tables, latency }| {
            let scope = scope.scope("second_level");
            let way = PortSpec { capacity: spec.misses, latency, bytes_per_cycle: None };
            let (later, found) = scope.port::<Translated>("found", way, &scope);
            found.ring(&bell);
            Second { tables, later, found, hits: scope.counter("hits"), misses: scope.counter("misses") }
        });
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
            looked_up: (u64::MAX, vec![0; spec.banks]),
            second,
            misses: Misses::new(spec.misses, scope),
            waiting: (0..spec.misses).map(|_| Vec::new()).collect(),
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
            while let Some(answer) = self.second.as_ref().and_then(|second| second.found.try_recv(Lane::Reply)) {
                self.answered(&answer, now);
            }
            self.orders.answer(|_| self.misses.has_void());
            let more = self.look_up(now);
            if let Some(order) = self.orders.next() {
                self.second.iter().for_each(|second| second.tables.begin_shooting(order));
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

    /// Adds what this TLB waits for to the report on a run that makes no progress.
    fn explain(&self, cx: &Context) {
        self.below.explain(cx);
        self.askers.iter().for_each(|asker| asker.to.explain(cx));
        self.misses.explain(cx, &self.below);
    }

    /// Looks up requests until the limit of this cycle; returns whether some have to wait for the next cycle.
    fn look_up(&mut self, now: u64) -> bool {
        if self.looked_up.0 != now {
            self.looked_up.0 = now;
            self.looked_up.1.fill(0);
        }
        while self.ready.first(&[Lane::Request], 0).is_some() {
            if self.looked_up.1.iter().all(|done| self.spec.lookups == Some(*done)) {
                return true;
            }
            let mut next = self.ready.in_turn([Lane::Request], &self.turns);
            let Some(taken) = next.find(|asker| self.take(*asker, now)) else {
                // A request that waits for a bank can continue in the next cycle. With one bank, only an event can
                // unblock the others.
                return self.spec.banks > 1;
            };
            self.turns.grant(|asker| asker == taken);
            self.accesses.count(1);
            self.rate.count(1);
        }
        false
    }

    /// The bank of a page.
    fn bank(&self, address: VirtAddr) -> usize {
        (address.0 / PageSize::Small.bytes().0) as usize % self.spec.banks
    }

    /// Takes the next request of a requester, if there is one and it can be accepted.
    fn take(&mut self, number: usize, now: u64) -> bool {
        let asker = &self.askers[number];
        let Some(question) = asker.from.front(Lane::Request).map(|question| *question) else { return false };
        let bank = self.bank(question.virt);
        if !asker.pending.is_clear() || self.spec.lookups == Some(self.looked_up.1[bank]) {
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
                let known = self.second.as_ref().and_then(|second| second.look_up(&ask));
                if known.is_none() {
                    self.below.send(Lane::Request, ask, Translate::BYTES);
                }
                Some(ask.id)
            }
        };
        self.looked_up.1[bank] += 1;
        if let Some(page) = page {
            self.waiting[page.0 as usize].push(Waiting { asker: number, question, since: now });
        }
        self.askers[number].from.try_recv(Lane::Request);
        true
    }

    /// A translation has arrived: answers the requests that waited for it.
    fn answered(&mut self, answer: &Translated, now: u64) {
        let miss = self.misses.get(answer.id);
        let found = answer.found.filter(|_| !miss.is_stale());
        let read_only = found.is_some_and(|found| !found.rights.write);
        let mut writer: Option<Option<PhysAddr>> = None;
        self.waiting[answer.id.0 as usize].retain(|waiting| {
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
            && self.tlb.insert(miss.asid, found).is_some()
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
