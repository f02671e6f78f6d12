//! The memory management unit between requesters and their caches (`[giles 3.2.7, Fig. 3.12]`; the TLB of a compute
//! unit in `[vcache 2]`).
//!
//! It has a port for each requester, with a first-level TLB: instructions and data of a core, vector and scalar memory
//! of a compute unit. A request that hits in the TLB is forwarded in the cycle of its arrival. A request that misses
//! waits while the translation is requested from below; other requests pass it (hit under miss), except those for its
//! page, which wait with it. In lanes whose order requesters rely on, requests are looked up as they arrive, so that
//! misses overlap, but leave in order.
//!
//! Answers of caches carry no address. They go straight to the requester and do not pass through the MMU.

use crate::{
    Mistranslation, Roots, Shootdown, Tlb, TlbSpec, Translate, Translated, Translation, TranslationId,
    misses::{Misses, Search},
    page::writes,
    shootdown::{Control, Orders},
};
use engine::{Context, Counter, Cycles, EventCount, Histogram, Inlet, Lane, Outlet, RoundRobin, Scope};
use interconnect::{HEADER, Pending, Sender, Wire};
use mem::{Access, Asid, Request, VirtAddr};
use rustc_hash::FxHashMap;
use std::{
    cell::{RefCell, RefMut},
    collections::VecDeque,
    rc::Rc,
};

/// Parameters from the machine file.
#[derive(Clone, Copy, Debug)]
pub struct MmuSpec {
    /// Look-ups per port and cycle.
    pub lookups: usize,
    /// Maximum outstanding misses.
    pub misses: usize,
    /// Maximum requests per lane of a port that wait for a page.
    pub waiting: usize,
    /// How long the MMU is busy with a shootdown.
    pub shootdown: Cycles,
    /// Whether it is counted how long translations stay.
    pub lifetimes: bool,
}

/// A requester and its cache.
pub struct MmuPort {
    /// Its name in statistics, for example `dtlb`.
    pub name: String,
    pub tlb: TlbSpec,
    /// From the requester.
    pub from: Inlet<Request>,
    /// To its cache.
    pub to: Outlet<Request>,
}

/// The memory management unit of a core or compute unit.
pub struct Mmu {
    spec: MmuSpec,
    ports: Vec<Rc<RefCell<Port>>>,
    /// Where the requests of each port arrive: most ports have none at most times.
    inlets: Vec<Inlet<Request>>,
    misses: Misses,
    answers: Inlet<Translated>,
    below: Sender<Translate>,
    orders: Orders,
    roots: Roots,
    bell: EventCount,
}

struct Port {
    tlb: Tlb,
    /// Look-ups per cycle.
    lookups: usize,
    /// Whether the MMU is busy with a shootdown.
    is_busy: bool,
    from: Inlet<Request>,
    lanes: [Queue; 3],
    turns: RoundRobin,
    /// The last cycle in which something was looked up, and how many look-ups it had.
    looked_up: (u64, usize),
    /// For each lane, the number of queued requests up to the last one that arrived before the current shootdown and is
    /// affected by it.
    before_order: [usize; 3],
    hits: Counter,
    misses: Counter,
    merged: Counter,
    evictions: Counter,
    miss_cycles: Histogram,
    /// Present if it is counted how long translations stay.
    stays: Option<Stays>,
}

/// Since when each translation has been in the TLB, and how long those stayed that others evicted.
struct Stays {
    /// Never iterated.
    since: FxHashMap<(Asid, VirtAddr), u64>,
    resident: Histogram,
}

/// A lane of a port.
struct Queue {
    /// In an ordered lane: requests whose translation is outstanding, and the requests behind them.
    waiting: VecDeque<Waiting>,
    /// Whether the first request found all misses in use. Until an answer or a shootdown comes, it would again.
    is_stuck: bool,
    /// In the other lane: requests that wait for a page, by the number of its translation. Those that need not wait any
    /// more go to `waiting`.
    of_page: Vec<VecDeque<Waiting>>,
    /// How many requests wait.
    held: usize,
    to: Sender<Request>,
    pending: Pending,
}

struct Waiting {
    request: Request,
    /// The translation it waits for; `None` if it only waits for requests before it.
    page: Option<TranslationId>,
    since: u64,
}

/// Whether requesters rely on the order of requests in a lane: a core's stores, which are performed in order, travel
/// as `Coherence`.
fn has_order(lane: Lane) -> bool {
    lane != Lane::Request
}

impl Mmu {
    /// Builds the unit at `scope`. `below` is the wire to the element asked on a miss.
    pub fn new(
        spec: MmuSpec,
        ports: Vec<MmuPort>,
        below: Wire<Translated, Translate>,
        control: Option<Control>,
        roots: &Roots,
        scope: &Scope,
    ) -> Mmu {
        let bell = scope.eventcount("work");
        below.from.ring(&bell);
        let inlets = ports.iter().map(|port| port.from.clone()).collect();
        let ports = ports.into_iter().map(|port| Port::open(port, &spec, scope, &bell)).collect();
        Mmu {
            spec,
            ports,
            inlets,
            misses: Misses::new(spec.misses, scope),
            answers: below.from,
            below: Sender::new(below.to, &Pending::default(), &scope.scope("below"), &bell),
            orders: Orders::new(control, &bell, scope),
            roots: roots.clone(),
            bell,
        }
    }

    pub async fn run(mut self, cx: Context) {
        self.each_port(|port| {
            cx.takes(&port.from);
            port.lanes.iter().for_each(|queue| cx.sends(queue.to.outlet()));
        });
        cx.takes(&self.answers);
        self.orders.obeyed_by(&cx);
        loop {
            let seen = self.bell.count();
            let more = match self.cycle(cx.now().0) {
                Ok(more) => more,
                Err(wrong) => return cx.fail(wrong.to_string()),
            };
            if let Some(order) = self.orders.next() {
                self.forget(&order);
                self.each_port(|port| port.is_busy = true);
                cx.pause(self.spec.shootdown).await;
                self.each_port(|port| port.is_busy = false);
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

    /// Adds what this unit waits for to the report on a run that makes no progress.
    fn explain(&self, cx: &Context) {
        self.below.explain(cx);
        self.misses.explain(cx, &self.below);
        self.each_port(|port| port.lanes.iter().for_each(|queue| queue.to.explain(cx)));
    }

    /// Handles the messages that have arrived; returns whether more could be looked up in the next cycle.
    fn cycle(&mut self, now: u64) -> Result<bool, Mistranslation> {
        while let Some(answer) = self.answers.try_recv(Lane::Reply) {
            self.answered(&answer, now)?;
        }
        let mut more = false;
        for port in 0..self.ports.len() {
            if !self.inlets[port].is_empty() {
                more |= self.look_up(port, now)?;
            }
        }
        // Requests that arrived before a shootdown use the old translation: the answer waits for them.
        let ports = &self.ports;
        self.orders.answer(|_| self.misses.has_void() || ports.iter().any(|port| port.borrow().before_order != [0; 3]));
        Ok(more)
    }

    fn each_port(&self, f: impl Fn(&mut RefMut<'_, Port>)) {
        self.ports.iter().for_each(|port| f(&mut port.borrow_mut()));
    }

    /// Looks up requests of a port until its limit for this cycle; returns whether the limit was reached.
    fn look_up(&mut self, number: usize, now: u64) -> Result<bool, Mistranslation> {
        let port = Rc::clone(&self.ports[number]);
        let mut port = port.borrow_mut();
        while !port.from.is_empty() {
            if !port.may_look_up(now) {
                return Ok(true);
            }
            let mut taken = None;
            for lane in port.turns.order() {
                if self.take(&mut port, Lane::ALL[lane], now)? {
                    taken = Some(lane);
                    break;
                }
            }
            let Some(taken) = taken else { break };
            port.turns.granted(taken);
            port.looked_up.1 += 1;
            port.before_order[taken] = port.before_order[taken].saturating_sub(1);
        }
        Ok(false)
    }

    /// Takes the next request of a lane, if there is one and it can be accepted.
    fn take(&mut self, port: &mut Port, lane: Lane, now: u64) -> Result<bool, Mistranslation> {
        let queue = &mut port.lanes[lane as usize];
        let Some(front) = port.from.front(lane) else { return Ok(false) };
        if queue.is_stuck || !queue.pending.is_clear() {
            return Ok(false);
        }
        let (asid, virt, phys, write) = (front.asid, front.virt, front.phys, writes(&front));
        if matches!(front.access, Access::Invalidate | Access::Flush) {
            drop(front);
            if phys.is_some() {
                // The order is about a physical page that has been shot down: all requests for it have left before.
                let requests = &port.lanes[Lane::Request as usize];
                let goes_on = requests.pending.is_clear();
                if goes_on {
                    port.from.try_recv(lane).into_iter().for_each(|order| requests.send(order, Lane::Request));
                }
                return Ok(goes_on);
            }
            // An order without a page is about all requests before it.
            if queue.held == 0 {
                port.from.try_recv(lane).into_iter().for_each(|order| queue.send(order, lane));
                return Ok(true);
            }
            return Ok(false);
        }
        let forgetting = self.orders.cover(asid, virt);
        let known = known(&mut port.tlb, &front, || forgetting || self.roots.may_differ(asid, virt))?;
        drop(front);
        let passes = known.is_some() && (queue.held == 0 || !has_order(lane));
        if !passes && queue.held >= self.spec.waiting {
            return Ok(false);
        }
        let page = match known.map_or_else(|| self.misses.find(asid, virt), |_| Search::Known) {
            Search::Known => {
                port.hits.increment();
                None
            }
            Search::UnderWay(page) => {
                port.merged.increment();
                Some(page)
            }
            Search::Void => return Ok(false),
            Search::Nothing => {
                let Some(ask) = self.misses.open(asid, virt, phys, write) else {
                    queue.is_stuck = true;
                    return Ok(false);
                };
                self.below.send(Lane::Request, ask, Translate::BYTES);
                port.misses.increment();
                Some(ask.id)
            }
        };
        if let Some(page) = page.filter(|_| forgetting && port.before_order[lane as usize] > 0) {
            self.misses.make_void(page);
        }
        let mut request = port.from.try_recv(lane).expect("it is at the front");
        request.phys = known.map_or(phys, |found| Some(found.place(virt)));
        match passes {
            true => queue.send(request, lane),
            false => {
                request.tlb_missed = page.is_some();
                queue.hold(lane, Waiting { request, page, since: now });
            }
        }
        Ok(true)
    }

    /// A translation has arrived: the requests that waited for it continue.
    fn answered(&mut self, answer: &Translated, now: u64) -> Result<(), Mistranslation> {
        let miss = self.misses.get(answer.id);
        // While the tables change, a request may be older or newer than the translation that was found.
        let may_differ =
            miss.void || self.orders.cover(miss.asid, miss.page) || self.roots.may_differ(miss.asid, miss.page);
        let found = answer.found.filter(|_| !miss.is_stale());
        let mut writer = None;
        // Whether requests without a physical address must ask again, because their page was unmapped during the
        // look-up; and whether one of them writes.
        let mut again: Option<bool> = None;
        for port in &self.ports {
            let port = &mut *port.borrow_mut();
            let mut remember = None;
            // Whether a request need not wait any more.
            let mut resolve = |waiting: &mut Waiting| {
                match found.map(|found| (found, found.admits(&waiting.request))) {
                    Some((found, Ok(()))) => {
                        waiting.request.phys = Some(found.place(waiting.request.virt));
                        remember = Some(found);
                    }
                    Some((_, Err(Mistranslation::ReadOnly { .. }))) if !miss.write => {
                        writer = Some(waiting.request.phys);
                        return Ok(false);
                    }
                    Some((_, Err(wrong))) if !may_differ => return Err(wrong),
                    None if waiting.request.phys.is_none() => {
                        again = Some(again.unwrap_or(false) || writes(&waiting.request));
                        return Ok(false);
                    }
                    Some((_, Err(_))) | None => {}
                }
                waiting.page = None;
                Ok(true)
            };
            for queue in &mut port.lanes {
                queue.is_stuck = false;
                if queue.held == 0 {
                    continue;
                }
                for waiting in queue.waiting.iter_mut().filter(|waiting| waiting.page == Some(answer.id)) {
                    resolve(waiting)?;
                }
                let Some(of_page) = queue.of_page.get_mut(answer.id.0 as usize) else { continue };
                for _ in 0..of_page.len() {
                    let mut waiting = of_page.pop_front().expect("it has just been counted");
                    let is_over = resolve(&mut waiting)?;
                    if is_over { &mut queue.waiting } else { &mut *of_page }.push_back(waiting);
                }
            }
            if let Some(found) = remember.filter(|_| !miss.void) {
                port.remember(miss.asid, found, now);
            }
            port.release(now);
        }
        match (writer, again) {
            (Some(phys), _) => {
                let ask = self.misses.ask_to_write(answer.id, phys);
                self.below.send(Lane::Request, ask, Translate::BYTES);
            }
            (None, Some(write)) => {
                let ask = self.misses.ask_again(answer.id, write);
                self.below.send(Lane::Request, ask, Translate::BYTES);
            }
            (None, None) => self.misses.close(answer.id),
        }
        Ok(())
    }

    fn forget(&mut self, what: &Shootdown) {
        self.roots.shot_down(*what);
        let dropped: usize = self.ports.iter().map(|port| port.borrow_mut().tlb.forget(*what)).sum();
        // A request without a physical address uses no old translation, and may wait behind others until a driver has
        // handled their faults.
        let concerned = |request: &Request| request.phys.is_some() && what.covers(request.asid, request.virt);
        self.each_port(|port| port.lanes.iter_mut().for_each(|queue| queue.is_stuck = false));
        self.each_port(|port| port.before_order = Lane::ALL.map(|lane| port.from.up_to_last(lane, concerned)));
        self.orders.dropped.add(dropped as u64);
        self.misses.void(what);
    }
}

impl Port {
    fn open(port: MmuPort, spec: &MmuSpec, scope: &Scope, bell: &EventCount) -> Rc<RefCell<Port>> {
        let scope = scope.scope(&port.name);
        port.from.ring_if_empty(bell);
        let lanes = Lane::ALL.map(|lane| {
            let (pending, name) = (Pending::default(), ["loads", "replies", "in_order"][lane as usize]);
            let to = Sender::new(port.to.clone(), &pending, &scope.scope(name), bell);
            let of_page =
                if has_order(lane) { Vec::new() } else { (0..spec.misses).map(|_| VecDeque::new()).collect() };
            Queue { waiting: VecDeque::new(), is_stuck: false, of_page, held: 0, to, pending }
        });
        let from = port.from.clone();
        let port = Rc::new(RefCell::new(Port {
            tlb: Tlb::new(port.tlb),
            lookups: spec.lookups,
            is_busy: false,
            from: port.from,
            lanes,
            turns: RoundRobin::new(Lane::ALL.len()),
            looked_up: (u64::MAX, 0),
            before_order: [0; 3],
            hits: scope.counter("hits"),
            misses: scope.counter("misses"),
            merged: scope.counter("merged"),
            evictions: scope.counter("evictions"),
            miss_cycles: scope.histogram("miss_cycles"),
            stays: spec.lifetimes.then(|| {
                let resident = scope.histogram("resident_cycles");
                Stays { since: FxHashMap::default(), resident }
            }),
        }));
        // Most requests hit: they are passed on while the requester's context runs, without waking the MMU.
        let of_port = Rc::downgrade(&port);
        from.take_at_once(move |lane, request| match of_port.upgrade() {
            Some(port) => port.borrow_mut().pass(lane, request, scope.now().0),
            None => Some(request),
        });
        port
    }

    /// Puts a translation in the TLB.
    fn remember(&mut self, asid: Asid, found: Translation, now: u64) {
        let gone = self.tlb.insert(asid, found);
        if let Some((asid, gone)) = gone {
            self.evictions.increment();
            if let Some(stays) = &mut self.stays
                && let Some(since) = stays.since.remove(&(asid, gone.page))
            {
                stays.resident.record(now - since);
            }
        }
        if let Some(stays) = &mut self.stays {
            stays.since.insert((asid, found.page), now);
        }
    }

    /// Whether there is a look-up left in this cycle.
    fn may_look_up(&mut self, now: u64) -> bool {
        if self.looked_up.0 != now {
            self.looked_up = (now, 0);
        }
        self.looked_up.1 < self.lookups
    }

    /// Sends a request on if it hits and nothing delays it; otherwise returns it.
    fn pass(&mut self, lane: Lane, mut request: Request, now: u64) -> Option<Request> {
        let queue = &self.lanes[lane as usize];
        let held_up = self.is_busy || !queue.pending.is_clear() || has_order(lane) && queue.held > 0;
        if held_up || matches!(request.access, Access::Invalidate | Access::Flush) || !self.may_look_up(now) {
            return Some(request);
        }
        let found = self.tlb.look_up(request.asid, request.virt).filter(|found| found.admits(&request).is_ok());
        let Some(found) = found else { return Some(request) };
        self.looked_up.1 += 1;
        self.hits.increment();
        request.phys = Some(found.place(request.virt));
        self.lanes[lane as usize].send(request, lane);
        None
    }

    /// Sends on the requests that need not wait any more.
    fn release(&mut self, now: u64) {
        for lane in Lane::ALL {
            let Queue { waiting, held, to, .. } = &mut self.lanes[lane as usize];
            while waiting.front().is_some_and(|first| first.page.is_none()) {
                let Waiting { request, since, .. } = waiting.pop_front().expect("it is there");
                *held -= 1;
                self.miss_cycles.record(now - since);
                send(to, request, lane);
            }
        }
    }
}

/// The TLB's translation for a request. While the tables change it may be older than the request, and it may not
/// allow a write: then it is dropped.
fn known(
    tlb: &mut Tlb,
    request: &Request,
    may_differ: impl Fn() -> bool,
) -> Result<Option<Translation>, Mistranslation> {
    let Some(found) = tlb.look_up(request.asid, request.virt) else { return Ok(None) };
    match found.admits(request) {
        Ok(()) => Ok(Some(found)),
        Err(wrong @ Mistranslation::Differs { .. }) if !may_differ() => Err(wrong),
        Err(_) => {
            tlb.forget(Shootdown::Page { asid: request.asid, virt: request.virt });
            Ok(None)
        }
    }
}

impl Queue {
    fn hold(&mut self, lane: Lane, waiting: Waiting) {
        self.held += 1;
        match waiting.page.filter(|_| !has_order(lane)) {
            Some(page) => self.of_page[page.0 as usize].push_back(waiting),
            None => self.waiting.push_back(waiting),
        }
    }

    fn send(&self, request: Request, lane: Lane) {
        send(&self.to, request, lane);
    }
}

fn send(to: &Sender<Request>, request: Request, lane: Lane) {
    let bytes = if writes(&request) { request.data.mask().len() as u64 } else { 0 };
    to.send(lane, request, HEADER + bytes);
}
