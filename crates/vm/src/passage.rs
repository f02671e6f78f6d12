//! Where virtually addressed caches end (`[giles 3.2.4 and 3.2.7]`): what comes down is translated in passing, and
//! what goes up is translated back.
//!
//! A request from above is translated by asking below, each of them, as an IOMMU's bandwidth is what matters here. Those for one page
//! stay in order; others pass them. Answers and probes of lines that are held above are about pages that a request has
//! brought here before: those are kept, both ways, without limit. Two pages of the program that are one of memory would be held
//! twice above: that needs the forward-backward table of `[vcache]`, 4, and is refused here.

use crate::{
    Mistranslation, PageSize, Shootdown, Translate, Translated, TranslationId,
    shootdown::{Control, Orders},
};
use engine::{Context, Counter, EventCount, Histogram, Inlet, Lane, Scope};
use interconnect::{Packet, Pending, Sender, WHOLE, Wire, bytes};
use mem::{Asid, Bytes, LineAddr, PhysAddr, VirtAddr};
use rustc_hash::FxHashMap;

/// The address space of those above: lines have no number of theirs.
#[derive(Clone, Copy, Debug)]
pub struct PassageSpec {
    pub asid: Asid,
    /// Requests that can wait for their page.
    pub waiting: usize,
}

/// A hub that translates.
pub struct Passage {
    spec: PassageSpec,
    from_above: Inlet<Packet>,
    from_below: Inlet<Packet>,
    up: Way,
    down: Way,
    answers: Inlet<Translated>,
    ask: Sender<Translate>,
    /// Requests in the order in which they came.
    waiting: Vec<Waiting>,
    /// Numbers that no question has.
    free: Vec<TranslationId>,
    /// The pages that have been asked for, in both directions. Only looked up.
    frames: FxHashMap<VirtAddr, PhysAddr>,
    pages: FxHashMap<PhysAddr, VirtAddr>,
    orders: Orders,
    bell: EventCount,
    forward: Counter,
    backward: Counter,
    translation_cycles: Histogram,
}

/// The sending side of a direction, each lane for itself.
struct Way([(Sender<Packet>, Pending); 3]);

struct Waiting {
    packet: Packet,
    id: TranslationId,
    since: u64,
    translated: bool,
}

const PAGE: Bytes = PageSize::Small.bytes();

impl Passage {
    /// Builds it at `scope`, between virtual lines above and physical ones below. `ask`: who translates.
    pub fn new(
        spec: PassageSpec,
        above: Wire<Packet, Packet>,
        below: Wire<Packet, Packet>,
        ask: Wire<Translated, Translate>,
        control: Option<Control>,
        scope: &Scope,
    ) -> Passage {
        let bell = scope.eventcount("work");
        above.from.ring(&bell);
        below.from.ring(&bell);
        ask.from.ring(&bell);
        let way = |name, to: engine::Outlet<Packet>| {
            let scope = scope.scope(name);
            Way(["requests", "replies", "coherence"].map(|lane| {
                let pending = Pending::default();
                (Sender::new(to.clone(), &pending, &scope.scope(lane), &bell), pending)
            }))
        };
        let numbers = u32::try_from(spec.waiting).expect("fewer than 2^32 requests wait");
        Passage {
            spec,
            up: way("up", above.to),
            down: way("down", below.to),
            from_above: above.from,
            from_below: below.from,
            answers: ask.from,
            ask: Sender::new(ask.to, &Pending::default(), &scope.scope("ask"), &bell),
            waiting: Vec::new(),
            free: (0..numbers).rev().map(TranslationId).collect(),
            frames: FxHashMap::default(),
            pages: FxHashMap::default(),
            orders: Orders::new(control, &bell, scope),
            bell,
            forward: scope.counter("translated_down"),
            backward: scope.counter("translated_up"),
            translation_cycles: scope.histogram("translation_cycles"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        [&self.from_above, &self.from_below].into_iter().for_each(|inlet| cx.takes(inlet));
        cx.takes(&self.answers);
        self.orders.obeyed_by(&cx);
        loop {
            let seen = self.bell.count();
            if let Err(wrong) = self.pass(cx.now().0) {
                return cx.fail(wrong.to_string());
            }
            while self.bell.rest(seen + 1).await {
                self.explain(&cx);
            }
        }
    }

    /// Tells a report on a run that does not get on what this hub waits for.
    fn explain(&self, cx: &Context) {
        self.ask.explain(cx);
        [&self.up, &self.down].into_iter().flat_map(|way| &way.0).for_each(|(to, _)| to.explain(cx));
        if !self.waiting.is_empty() {
            cx.needs_of_receiver(format!("{} translations", self.waiting.len()), self.ask.outlet(), Lane::Request);
        }
    }

    /// Passes on whatever can be.
    fn pass(&mut self, now: u64) -> Result<(), Mistranslation> {
        while let Some(answer) = self.answers.try_recv(Lane::Reply) {
            self.answered(&answer, now)?;
        }
        // Pages that somebody waits for are still in use.
        self.orders.next();
        let in_use = |order: &Shootdown| {
            self.waiting.iter().any(|waiting| order.covers(self.spec.asid, VirtAddr(waiting.packet.msg.line.0)))
        };
        if let Some(order) = self.orders.current.filter(|order| !in_use(order)) {
            self.forget(&order);
            self.orders.answer(|_| false);
        }
        for lane in Lane::ALL {
            self.pass_up(lane)?;
            match lane {
                Lane::Request => self.take_requests(now),
                _ => self.pass_down(lane)?,
            }
        }
        Ok(())
    }

    /// Asks for the pages of new requests.
    fn take_requests(&mut self, now: u64) {
        let may_go_on = |front: &Packet| {
            self.orders.current.is_none_or(|order| !order.covers(self.spec.asid, page(front.msg.line)))
        };
        while self.down.is_clear(Lane::Request)
            && self.from_above.front(Lane::Request).is_some_and(|front| may_go_on(&front))
            && let Some(id) = self.free.last().copied()
            && let Some(packet) = self.from_above.try_recv(Lane::Request)
        {
            self.free.pop();
            let virt = VirtAddr(packet.msg.line.0);
            let ask = Translate { id, asid: self.spec.asid, virt, phys: None, write: false };
            self.ask.send(Lane::Request, ask, Translate::BYTES);
            self.waiting.push(Waiting { packet, id, since: now, translated: false });
        }
    }

    /// A page has come: its requests go on, in order.
    fn answered(&mut self, answer: &Translated, now: u64) -> Result<(), Mistranslation> {
        let asid = self.spec.asid;
        let at = self.waiting.iter().position(|waiting| waiting.id == answer.id).expect("what is answered was asked");
        self.waiting[at].translated = true;
        let page = page(self.waiting[at].packet.msg.line);
        let found = answer.found.ok_or(Mistranslation::Unknown { asid, line: LineAddr(page.0) })?;
        let frame = found.place(page);
        match *self.pages.entry(frame).or_insert(page) {
            leading if leading != page => return Err(Mistranslation::Synonym { asid, virt: page, leading, frame }),
            _ => self.frames.insert(page, frame),
        };
        let (mut next, mut held_up) = (0, false);
        while next < self.waiting.len() && !held_up {
            let Waiting { packet, id, since, translated } = self.waiting[next];
            if self::page(packet.msg.line) != page {
                next += 1;
            } else if translated {
                self.waiting.remove(next);
                self.free.push(id);
                self.translation_cycles.record(now - since);
                self.forward.increment();
                self.down.send(Lane::Request, at_line(packet, frame.0));
            } else {
                held_up = true;
            }
        }
        Ok(())
    }

    /// Passes down what is about lines that are held above.
    fn pass_down(&mut self, lane: Lane) -> Result<(), Mistranslation> {
        while self.down.is_clear(lane)
            && let Some(packet) = self.from_above.try_recv(lane)
        {
            let line = packet.msg.line;
            let packet = match self.frames.get(&page(line)) {
                _ if line == WHOLE => packet,
                Some(frame) => at_line(packet, frame.0),
                None => return Err(Mistranslation::Unknown { asid: self.spec.asid, line }),
            };
            self.forward.increment();
            self.down.send(lane, packet);
        }
        Ok(())
    }

    /// Passes answers and probes up.
    fn pass_up(&mut self, lane: Lane) -> Result<(), Mistranslation> {
        while self.up.is_clear(lane)
            && let Some(packet) = self.from_below.try_recv(lane)
        {
            let line = packet.msg.line;
            let packet = match self.pages.get(&PhysAddr(line.0).align_down(PAGE)) {
                _ if line == WHOLE => packet,
                Some(page) => at_line(packet, page.0),
                None => return Err(Mistranslation::Unknown { asid: self.spec.asid, line }),
            };
            self.backward.increment();
            self.up.send(lane, packet);
        }
        Ok(())
    }

    fn forget(&mut self, what: &Shootdown) {
        let (asid, before) = (self.spec.asid, self.frames.len());
        self.frames.retain(|page, _| !what.covers(asid, *page));
        self.pages.retain(|_, page| !what.covers(asid, *page));
        self.orders.dropped.add((before - self.frames.len()) as u64);
    }
}

impl Way {
    fn is_clear(&self, lane: Lane) -> bool {
        self.0[lane as usize].1.is_clear()
    }

    fn send(&self, lane: Lane, packet: Packet) {
        self.0[lane as usize].0.send(lane, packet, bytes(&packet.msg));
    }
}

fn page(line: LineAddr) -> VirtAddr {
    VirtAddr(line.0).align_down(PAGE)
}

/// The same, of the same line of another page.
fn at_line(mut packet: Packet, page: u64) -> Packet {
    packet.msg.line = LineAddr(page + packet.msg.line.offset_in(PAGE).0);
    packet
}
