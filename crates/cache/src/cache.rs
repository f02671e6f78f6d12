//! A cache in time: a context that shows its bank as many messages a cycle as it has ports.
//!
//! Answers come first, for they free what others wait for; then messages that waited here, then new requests, in turn. New
//! requests are left where they are, and so hold their senders up, while something could not be sent or no more can wait
//! here. Stores that a requester wants performed in order come on a lane of their own and stay there, the first in front,
//! until the line can be written. How long a look-up takes is in the latency of the wires to the cache:
//! it is pipelined, and partitions can be cut there.

mod atomics;
mod orders;
mod owned;
mod retry;
mod spec;
mod timestamp_reset;
mod virtual_tags;

pub use spec::{CacheSpec, Recalled, Requesters, Watcher};

use crate::{
    bank::{Bank, LineWatcher, Offer},
    front::{self, Front},
};
use engine::{Context, Counter, EventCount, Inlet, Lane, Ready, RoundRobin, Scope};
use interconnect::{
    HEADER, Packet, Pending, Reporter, Router, Sender, Side, WHOLE, is_order, lane, name_of, whole_page,
};
use mem::{Access, Block, Interleave, LINE, LineAddr, Reply, Request, Seen, stamp_of};
use orders::OrderDesk;
use owned::Owned;
use protocol::{Impossible, Kind, Msg, Node, Stamps, concerns, roles::Sees};
use retry::RetryQueue;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use virtual_tags::VirtualTags;

/// Atomic accesses that may wait at a cache.
const ATOMICS: usize = 64;

/// The side of a first-level cache where requests come in.
struct Top {
    front: Front,
    /// Which of them have sent something.
    ready: Ready,
    wires: Vec<(Node, Inlet<Request>, Sender<Reply>)>,
    /// Whether a store has been performed when its bytes have landed below.
    lands: bool,
    /// How often logical time has started anew here.
    era: u32,
}

/// Nobody: who asks a line to do something on no one's behalf, and is told that it is done.
const NOBODY: Node = Node(u16::MAX);

pub struct Cache {
    me: Node,
    bank: Bank,
    /// None if only caches are connected.
    top: Option<Top>,
    /// Every cache and memory that is connected, above, below or beside, and which of them have sent something.
    from: Vec<Inlet<Packet>>,
    ready: Ready,
    to: Router<Packet>,
    /// Whom this cache asks about a line; how often those below have said that each memory has started logical time anew, and which gives a
    /// line its times; and the caches above, which are told of new beginnings.
    homes: Interleave<Node>,
    eras: BTreeMap<(Node, Node), u32>,
    memories: Interleave<Node>,
    above: Vec<Node>,
    sees: Sees,
    /// Whether a first-level cache performs atomic accesses itself, and wide loads claim their line.
    performs: bool,
    claims: bool,
    /// Caches beside this one that may be homes of lines: a release has to see to it that they have told everybody. The numbers of
    /// the wires from them, and what could not be sent to them.
    peers: Vec<Node>,
    beside: Vec<usize>,
    to_peers: Pending,
    /// Atomic accesses in order: those to lines at home here or below, at a peer, and those on their way back up.
    atomics: VecDeque<Packet>,
    away: VecDeque<Packet>,
    returning: VecDeque<Packet>,
    /// Atomic accesses, and loads that claim their line, which wait until the line may be written here.
    owned: VecDeque<Owned>,
    /// Requests that were refused below, if the protocol has such.
    retries: Option<RetryQueue>,
    watcher: Option<Watcher>,
    recalled: Option<Recalled>,
    pending: Pending,
    ports: usize,
    wide_acquires: bool,
    /// Where lines are known by the names of programs.
    tags: Option<VirtualTags>,
    /// Lines that have been asked for because of a read whose page the requester's TLB did not have. Looked up, never walked.
    tlb_missed: FxHashSet<LineAddr>,
    /// The first cycle in which all look-ups that have begun are over.
    free_at: u64,
    turns: RoundRobin,
    orders: OrderDesk,
    bell: EventCount,
    observer: Option<Reporter>,
    /// Loads until one is answered with a wrong byte, in a test of the check.
    until_wrong: Option<u32>,
    requests: Counter,
    refused: Counter,
}

impl Cache {
    /// Builds the cache at `scope`, between those who make requests, if it is a first-level cache, and other caches and
    /// memories. `observer` tells the golden image, if the run is checked, what is read and written here.
    pub fn new(
        spec: CacheSpec,
        requesters: Requesters,
        neighbours: Side<Packet>,
        observer: Option<Reporter>,
        scope: &Scope,
    ) -> Self {
        let me = spec.bank.me;
        let (bell, pending) = (scope.eventcount("work"), Pending::default());
        let homes = spec.bank.below.clone();
        let mut known = BTreeSet::new();
        let below: Vec<Node> = homes.owners().copied().filter(|home| known.insert(*home)).collect();
        let nodes = neighbours.to.iter().flat_map(|(nodes, _)| nodes.iter().copied());
        let is_above = |node: &Node| !below.contains(node) && !spec.bank.peers.contains(node);
        let caches_above = nodes.filter(is_above).collect();
        let above = scope.scope("above");
        let wires = requesters.into_iter().enumerate().map(|(number, (node, wire))| {
            wire.from.ring(&bell);
            (node, wire.from, Sender::new(wire.to, &pending, &above.scope(("way", number)), &bell))
        });
        let wires: Vec<_> = wires.collect();
        let top = (!wires.is_empty()).then(|| {
            let front = Front::new(me, scope.histogram("load_cycles"), scope.histogram("store_cycles"));
            let ready = Ready::new(wires.len());
            wires.iter().enumerate().for_each(|(number, (_, inlet, _))| inlet.note_in(&ready, number));
            Top { front, ready, wires, lands: spec.bank.controller.stores_land(), era: 0 }
        });
        let askers = top.as_ref().map_or(neighbours.from.len(), |top| top.wires.len());
        let ready = Ready::new(neighbours.from.len());
        for (number, inlet) in neighbours.from.iter().enumerate() {
            inlet.ring(&bell);
            inlet.note_in(&ready, number);
        }
        let (peers, to_peers) = (spec.bank.peers.clone(), Pending::default());
        let leads_beside = |nodes: &[Node]| nodes.iter().any(|node| peers.contains(node));
        let beside = neighbours.to.iter().enumerate().filter(|(_, (nodes, _))| leads_beside(nodes));
        let beside = beside.map(|(number, _)| number).collect();
        let count = |nodes: &[Node]| if leads_beside(nodes) { to_peers.clone() } else { pending.clone() };
        let mut to = Router::with(neighbours.to, count, &scope.scope("neighbours"), &bell);
        to.lifts_requests = spec.lifts_requests;
        let retries = RetryQueue::new(spec.bank.controller.table(), me, &bell, scope);
        let orders =
            OrderDesk::new(spec.orders, spec.ordered.unwrap_or_else(|| below.clone()), peers.clone(), spec.history);
        let (performs, claims) = (spec.bank.controller.table().capabilities().performs, spec.bank.controller.claims());
        let mut bank = Bank::new(spec.bank, spec.history, scope);
        let counts = || scope.matrix("tlb_missed", &["read"], &["hit", "miss", "merged"]);
        bank.tlb_missed = spec.counts_tlb_misses.then(counts);
        // Where accesses have logical times, it is memory that says what was written when.
        let tells = spec.sees == Sees::UntilSynchronised;
        bank.performed = observer.as_ref().filter(|_| tells).map(|_| Vec::new());
        Self {
            me,
            bank,
            top,
            from: neighbours.from,
            ready,
            to,
            eras: BTreeMap::new(),
            memories: spec.memories.unwrap_or_else(|| homes.clone()),
            homes,
            above: caches_above,
            sees: spec.sees,
            performs,
            claims,
            peers,
            beside,
            to_peers,
            atomics: VecDeque::new(),
            away: VecDeque::new(),
            returning: VecDeque::new(),
            owned: VecDeque::new(),
            retries,
            watcher: None,
            recalled: None,
            pending,
            ports: spec.ports,
            wide_acquires: spec.wide_acquires,
            tags: spec.virtual_tags.then(|| VirtualTags::new(scope)),
            tlb_missed: FxHashSet::default(),
            free_at: 0,
            turns: RoundRobin::new(askers),
            orders,
            bell,
            observer,
            until_wrong: None,
            requests: scope.counter("requests"),
            refused: scope.counter("refused"),
        }
    }

    /// Has somebody told of every line that has changed.
    pub fn lines_watched_by(mut self, watcher: LineWatcher) -> Self {
        self.bank.watcher = Some(watcher);
        self
    }

    /// Has only some lines given up when all are recalled.
    pub fn recalling(mut self, recalled: Recalled) -> Self {
        self.recalled = Some(recalled);
        self
    }

    /// Has somebody told of every store that is performed here.
    pub fn watched_by(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// If so, answers one load with a wrong byte: to try whether the golden image notices.
    pub fn broken(mut self, broken: bool) -> Self {
        self.until_wrong = broken.then_some(5);
        self
    }

    /// Tells a report on a run that does not get on what this cache waits for.
    fn explain(&self, cx: &Context) {
        self.to.explain(cx);
        self.top.iter().flat_map(|top| &top.wires).for_each(|(.., replies)| replies.explain(cx));
        for (line, state) in self.bank.under_way() {
            let home = *self.homes.of(line.0);
            if home != self.me {
                cx.needs(format!("line {:#x}, which is in state {state}", line.0), name_of(home));
            }
        }
        if self.orders.awaited() > 0 {
            let need = |node: &Node| cx.needs("an order for all lines to be carried out", name_of(*node));
            self.homes.owners().for_each(need);
        }
    }

    pub async fn run(mut self, cx: Context) {
        cx.known_as(name_of(self.me));
        loop {
            let (seen, now) = (self.bell.count(), cx.now().0);
            let (left, cycle) = (self.bank.left_to_sweep(), self.cycle(&cx));
            if self.bank.left_to_sweep() < left {
                cx.progress();
            }
            match cycle {
                Ok(true) => cx.pause(1).await,
                Ok(false) if self.free_at > now => _ = self.bell.wait_for(seen + 1, self.free_at - now).await,
                Ok(false) => {
                    let next = self.bell.count() + 1;
                    while self.bell.rest(next).await {
                        self.explain(&cx);
                    }
                }
                Err(hole) => return cx.fail(hole.to_string()),
            }
        }
    }

    /// Does something on each port, as long as there is something to be done; says whether there was.
    fn cycle(&mut self, cx: &Context) -> Result<bool, Box<Impossible>> {
        let mut did = false;
        for _ in 0..self.ports {
            if !self.turn(cx)? {
                break;
            }
            did = true;
        }
        Ok(did)
    }

    /// Does one thing, if there is one to be done.
    fn turn(&mut self, cx: &Context) -> Result<bool, Box<Impossible>> {
        let now = cx.now().0;
        let did = self.obey_table()?
            || self.answer(now)?
            || now >= self.free_at
                && match (self.pending.is_clear(), self.to_peers.is_clear()) {
                    (true, true) => self.next(now)?,
                    // Peers that wait for each other's wires would wait for ever if neither took what the other asks.
                    (true, false) => self.next_of_peers(now)?,
                    // Where everybody is told of everything, what is told must get through whatever is asked.
                    (false, _) => self.bank.is_probed() && self.next_of_probes(now)?,
                };
        if did {
            self.send_out(now);
            self.answered_once();
            if let Some(retries) = &self.retries {
                retries.settled(&mut self.bank.settled);
                retries.add(&mut self.bank.refused, now);
            }
        }
        Ok(self.carry_on_order()? || did)
    }

    /// What is done when no answer has come: what waited here, probes, and new requests.
    fn next(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        if self.atomic_returns(now)? || self.atomic(true)? || self.atomic(false)? {
            return Ok(true);
        }
        // A line that has come for these must not go before they have had it.
        if self.top.is_some() && (self.in_order()? || self.atomic_owned()?) {
            return Ok(true);
        }
        if let Some(line) = self.retries.as_ref().and_then(RetryQueue::due) {
            self.bank.retry(line)?;
            return Ok(true);
        }
        if self.work(now)? {
            return Ok(true);
        }
        if self.top.is_some() && self.probe()? {
            return Ok(true);
        }
        if self.bank.has_too_many_write_backs() && self.bank.drain()? {
            return Ok(true);
        }
        let ready = self.top.as_ref().map_or(&self.ready, |top| &top.ready);
        for port in ready.in_turn([Lane::Coherence, Lane::Request], &self.turns) {
            let taken = if self.top.is_some() { self.request(port, now)? } else { self.message(port)? };
            if taken {
                self.turns.grant(|turn| turn == port);
                self.requests.increment();
                return Ok(true);
            }
        }
        Ok(self.bank.drain()? || self.bank.give_up()?)
    }

    /// Tries what waits in the bank, if there is something.
    fn work(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        if !self.bank.has_work() {
            return Ok(false);
        }
        let lanes = self.bank.work()?;
        self.look_up(now, lanes);
        Ok(true)
    }

    /// Lanes are looked up one after the other; answers come in between.
    fn look_up(&mut self, now: u64, lanes: u8) {
        if lanes > 1 {
            self.free_at = now + u64::from(lanes);
        }
    }

    /// What is done while something can't be sent: probes, and what comes back from above; and what a line was brought for, before a
    /// probe takes it away. What they give rise to is bounded by what others have under way.
    fn next_of_probes(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        Ok(self.use_wanted()? || self.work(now)? || self.probe()?)
    }

    /// What is done while something can't be sent to a peer.
    fn next_of_peers(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        if self.work(now)? {
            return Ok(true);
        }
        for number in 0..self.beside.len() {
            if self.message(self.beside[number])? {
                self.requests.increment();
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes what another cache wants of a line here, or gives back, if there is something.
    fn probe(&mut self) -> Result<bool, Box<Impossible>> {
        let mut next = self.ready.first(&[Lane::Coherence], 0);
        while let Some(number) = next {
            let inlet = &self.from[number];
            // What comes back from above does not wait behind what those below want: that may wait for it.
            if let Some(msg) = inlet.front(Lane::Coherence).map(|packet| packet.msg)
                && !is_order(msg.line)
                && (self.top.is_none() && self.bank.at_once(&msg)? || self.bank.offer(msg)? == Offer::Taken)
            {
                inlet.try_recv(Lane::Coherence);
                return Ok(true);
            }
            next = self.ready.first(&[Lane::Coherence], number + 1);
        }
        Ok(false)
    }

    /// Takes an answer, if one has come. Answers are always taken.
    fn answer(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        let Some(number) = self.ready.first(&[Lane::Reply], 0) else { return Ok(false) };
        let Some(packet) = self.from[number].try_recv(Lane::Reply) else { return Ok(false) };
        self.free_at += u64::from(now < self.free_at);
        let msg = packet.msg;
        if msg.kind == Kind::Modified {
            self.returning.push_back(packet);
            self.atomic_returns(now)?;
            return Ok(true);
        }
        if msg.kind == Kind::CoreFlush {
            self.recall(msg)?;
            return Ok(true);
        }
        if msg.kind == Kind::Reset {
            self.start_anew(msg.from, msg.of.unwrap_or(msg.from))?;
            return Ok(true);
        }
        if is_order(msg.line) {
            self.heard(msg)?;
            return Ok(true);
        }
        self.bank.offer(msg)?;
        self.came(&packet)?;
        if let (Some(top), Kind::Ack) = (&mut self.top, msg.kind)
            && top.lands
            && let Some(answer) = top.front.landed(&msg, now)
        {
            top.reply(answer);
        }
        Ok(true)
    }

    /// Takes a request, if there is one and it can be taken.
    fn request(&mut self, port: usize, now: u64) -> Result<bool, Box<Impossible>> {
        let next = self.top.as_ref().and_then(|top| top.wires[port].1.front(Lane::Request).map(|request| *request));
        let Some(request) = next.and_then(|request| self.in_our_time(request)) else { return Ok(false) };
        let frame = request.phys.filter(|_| self.tags.is_some()).map(|place| place.align_down(mem::Bytes(mem::PAGE)));
        let request = self.tagged(request);
        let Some(Top { front, wires, .. }) = &mut self.top else { return Ok(false) };
        let (node, from, _) = &wires[port];
        match request.access {
            Access::Atomic(_) if self.atomics.len() == ATOMICS || self.owned.len() == ATOMICS => {
                self.refused.increment();
                return Ok(false);
            }
            Access::Atomic(atomic) if self.performs => {
                self.owned.push_back(Owned { port, request, atomic: Some(atomic) });
            }
            Access::Load if self.claims && request.scope > mem::Scope::Group => {
                if self.owned.len() == ATOMICS {
                    self.refused.increment();
                    return Ok(false);
                }
                self.owned.push_back(Owned { port, request, atomic: None });
            }
            Access::Atomic(atomic) => {
                front.passing(&request, *node, now);
                let stamps = Stamps::now(request.stamp as u32);
                let msg = Msg { stamps, ..Msg::new(*node, self.me, Kind::Modify, request.line(), request.data) };
                self.atomics.push_back(Packet { atomic: Some(atomic), frame, ..msg.into() });
            }
            Access::Load | Access::Store => {
                if self.bank.offer_of(front.message(&request, *node), request.lanes)? == Offer::Refused {
                    self.refused.increment();
                    return Ok(false);
                }
                front.taken(&request, *node, now);
                if request.tlb_missed && request.access == Access::Load && self.bank.count_tlb_missed() {
                    self.tlb_missed.insert(request.line());
                }
            }
            Access::Lock => unreachable!("locks come in order with stores"),
            Access::Invalidate | Access::Flush => {
                // Accesses to a page that wait for room here, or are performed below, belong to no line that could answer for them.
                let subject = request.phys.map_or(WHOLE, whole_page);
                let waits = |owned: &Owned| concerns(subject, owned.request.line());
                if request.phys.is_some_and(|page| front.awaits(page) || self.owned.iter().any(waits)) {
                    return Ok(false);
                }
                let kind = if request.access == Access::Flush { Kind::Flush } else { Kind::Invalidate };
                let reply = Reply { id: request.id, data: Block::EMPTY, stamp: 0 };
                let wide = self.wide_acquires && request.access == Access::Invalidate;
                let scope = if wide { mem::Scope::System } else { request.scope };
                let order = Msg { scope, ..Msg::new(*node, self.me, kind, subject, Block::EMPTY) };
                let taken = self.take_request(port, &order, reply)?;
                if taken && let Some(top) = &self.top {
                    top.wires[port].1.try_recv(Lane::Request);
                }
                return Ok(taken);
            }
        }
        from.try_recv(Lane::Request);
        // The first is counted by whoever asked.
        self.requests.add(u64::from(request.lanes) - 1);
        self.look_up(now, request.lanes);
        Ok(true)
    }

    /// Takes a message of another cache that is no answer, if there is one and it can be taken.
    fn message(&mut self, port: usize) -> Result<bool, Box<Impossible>> {
        let from = &self.from[port];
        let coherence = from.front(Lane::Coherence).map(|packet| packet.msg);
        let known = from.front(Lane::Request).map(|packet| *packet).filter(|_| coherence.is_none());
        let Some(msg) = coherence.or_else(|| from.front(Lane::Request).map(|packet| self.of_our_time(&packet))) else {
            return Ok(false);
        };
        if let Some(packet) = known.filter(|_| self.tags.is_some()) {
            self.note(&packet);
        }
        let from = &self.from[port];
        if coherence.is_some() && is_order(msg.line) {
            let taken = self.order(&msg)?;
            if taken {
                self.from[port].try_recv(Lane::Coherence);
            }
            return Ok(taken);
        } else if msg.kind == Kind::Modify {
            let away = self.peers.contains(self.homes.of(msg.line.0));
            let queue = if away { &mut self.away } else { &mut self.atomics };
            if queue.len() == ATOMICS {
                return Ok(false);
            }
            queue.extend(from.try_recv(Lane::Request).map(|packet| Packet { msg, ..packet }));
            return Ok(true);
        } else if !(coherence.is_some() && self.bank.at_once(&msg)?) {
            // A probe does not wait behind requests for its line if it need not.
            let offer = self.bank.offer(msg)?;
            if known.is_some_and(|packet| packet.tlb_missed) && offer == Offer::Taken {
                self.bank.count_tlb_missed();
            }
            if offer != Offer::Taken {
                self.refused.increment();
            }
            if offer == Offer::Refused {
                return Ok(false);
            }
        }
        from.try_recv(lane(&msg));
        Ok(true)
    }

    /// Sends what the bank wants to have sent.
    fn send_out(&mut self, now: u64) {
        let mut out = std::mem::take(&mut self.bank.out);
        let performed = self.bank.performed.as_mut().map_or(Vec::new(), std::mem::take);
        let mut stores = performed.iter().peekable();
        for (place, msg) in out.drain(..).enumerate() {
            while let Some((_, store)) = stores.next_if(|(sent, _)| *sent <= place) {
                self.observe_store(store);
            }
            if msg.to == NOBODY {
                continue;
            }
            if msg.kind == Kind::Evicted {
                if !self.keeps_back(&msg) {
                    self.tell_evicted(msg);
                }
                continue;
            }
            if self.to.leads_to(msg.to) {
                let tlb_missed = msg.kind == Kind::Read && self.tlb_missed.remove(&msg.line);
                self.to.send(Packet { tlb_missed, ..self.packet(msg) });
                continue;
            }
            let top = self.top.as_mut().expect("a protocol speaks to neighbours only");
            if msg.kind == Kind::Stored {
                let answer = top.front.stored(&msg, now);
                let (id, line, mask) = (answer.reply.id, msg.line, answer.mask);
                top.reply(answer);
                if self.sees == Sees::Newest {
                    self.performed(id, line, self.bank.held(line).only(mask));
                }
                continue;
            }
            let mut answer = top.front.loaded(&msg, now);
            if let Some(left) = &mut self.until_wrong {
                *left = left.wrapping_sub(1);
                if *left == 0
                    && let Some(byte) = answer.mask.iter().next()
                {
                    answer.reply.data = answer.reply.data.map(byte, |value| !value);
                }
            }
            if let Some(observer) = &self.observer {
                // A lease that was over when it came was good for one read, as of its end.
                let (seen, time) = (Seen::Read(answer.reply.data), msg.stamps.cts.min(msg.stamps.rts));
                observer.tell_at(self.seen_at(msg.line, time), self.place_of(msg.line), seen);
            }
            if let Some(top) = &self.top {
                top.reply(answer);
            }
        }
        stores.for_each(|(_, store)| self.observe_store(store));
        self.bank.out = out;
    }

    /// Tells the golden image of a store that has been performed here. What a line was asked to do on no one's behalf is told where
    /// that is done.
    fn observe_store(&self, store: &Msg<LINE>) {
        if let Some(observer) = self.observer.as_ref().filter(|_| ![NOBODY, self.me].contains(&store.from)) {
            observer.tell(self.place_of(store.line), Seen::Wrote(store.data));
        }
    }
}

impl Top {
    fn reply(&self, mut answer: front::Answer) {
        answer.reply.stamp |= stamp_of(self.era, 0);
        let (.., sender) = self.wires.iter().find(|(node, ..)| *node == answer.to).expect("who asked is connected");
        let bytes = HEADER + answer.reply.data.mask().len() as u64;
        sender.send(Lane::Reply, answer.reply, bytes);
    }
}
