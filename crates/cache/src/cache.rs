//! A timed cache: a component that delivers to its bank as many messages per cycle as it has ports.
//!
//! Answers come first because they free resources that other messages wait for; then messages that wait in the bank;
//! then new requests, round-robin over the ports. New requests stay on their wire, which stalls their sender, while
//! an outgoing message is blocked or the bank's waiting queue is full. Stores that a requester wants performed in
//! order have a lane of their own and wait there until the first one's line is writable. The look-up latency is part
//! of the latency of the wires to the cache: look-ups are pipelined, and a partition boundary can be placed on these
//! wires.

mod atomics;
mod line_flush;
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
use line_flush::{Asker, LineFlushes};
use mem::{Access, Block, Interleave, LINE, LineAddr, Reply, Request, Seen, stamp_of};
use orders::OrderDesk;
use owned::Owned;
use protocol::{Impossible, Kind, Msg, Node, Stamps, concerns, flushed_line, roles::Sees};
use retry::RetryQueue;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use virtual_tags::VirtualTags;

/// Capacity of each queue of atomic accesses that wait at a cache.
const ATOMICS: usize = 64;

/// The side of a first-level cache where requests come in.
struct Top {
    front: Front,
    /// Which wires have a message waiting.
    ready: Ready,
    wires: Vec<(Node, Inlet<Request>, Sender<Reply>)>,
    /// Whether a store is performed when its bytes are acknowledged from below.
    lands: bool,
    /// How often logical time has restarted here.
    era: u32,
}

/// The sender of accesses that the cache itself makes to a line; answers to it are dropped.
const NOBODY: Node = Node(u16::MAX);

pub struct Cache {
    me: Node,
    bank: Bank,
    /// `None` if the cache is not a first-level cache.
    top: Option<Top>,
    /// The wires from all connected caches and memories: above, below and peers.
    from: Vec<Inlet<Packet>>,
    /// Which wires in `from` have a message waiting.
    ready: Ready,
    to: Router<Packet>,
    /// The node that this cache asks about a line.
    homes: Interleave<Node>,
    /// How many restarts of each memory's logical time each node below has reported, by (node below, memory).
    eras: BTreeMap<(Node, Node), u32>,
    /// The memory that gives a line its timestamps.
    memories: Interleave<Node>,
    /// Caches above; they are notified when logical time restarts.
    above: Vec<Node>,
    sees: Sees,
    /// Whether this first-level cache performs atomic accesses itself.
    performs: bool,
    /// Whether loads of a scope wider than the group claim their line, as atomic accesses do.
    claims: bool,
    /// Caches at the same level that are homes of lines. A release waits until their invalidations have been
    /// delivered.
    peers: Vec<Node>,
    /// The indices in `from` of the wires from peers.
    beside: Vec<usize>,
    /// Messages to peers that could not be sent yet.
    to_peers: Pending,
    /// Atomic accesses to lines whose home is here or below, in order.
    atomics: VecDeque<Packet>,
    /// Atomic accesses to lines whose home is a peer, in order.
    away: VecDeque<Packet>,
    /// Answers to atomic accesses on their way up, in order.
    returning: VecDeque<Packet>,
    /// Atomic accesses, and loads that claim their line, that wait until the line is writable here.
    owned: VecDeque<Owned>,
    /// Requests that were refused below; `None` if the protocol never refuses requests.
    retries: Option<RetryQueue>,
    watcher: Option<Watcher>,
    recalled: Option<Recalled>,
    pending: Pending,
    ports: usize,
    wide_acquires: bool,
    /// Present if lines are tagged with virtual addresses.
    tags: Option<VirtualTags>,
    /// Lines requested for a read that missed in the requester's TLB. Never iterated.
    tlb_missed: FxHashSet<LineAddr>,
    /// The first cycle in which all started look-ups have finished.
    free_at: u64,
    turns: RoundRobin,
    orders: OrderDesk,
    flushes: LineFlushes,
    bell: EventCount,
    observer: Option<Reporter>,
    /// Loads left until one is answered with a wrong byte, in a test of the golden image.
    until_wrong: Option<u32>,
    requests: Counter,
    refused: Counter,
}

impl Cache {
    /// Builds the cache at `scope`, between its requesters (if it is a first-level cache) and other caches and
    /// memories. `observer`, present in checked runs, reports reads and writes performed here to the golden image.
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
        bank.tells_gone = spec.tells_gone;
        bank.tlb_missed = spec.counts_tlb_misses.then(counts);
        bank.watcher = spec.counts_lifetimes.then(|| crate::lifetimes::lifetimes(scope));
        // With logical timestamps, the memory reports writes to the golden image, not the cache.
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
            tags: spec.virtual_tags.then(|| VirtualTags::new(spec.remaps, scope)),
            tlb_missed: FxHashSet::default(),
            free_at: 0,
            turns: RoundRobin::new(askers),
            orders,
            flushes: LineFlushes::new(spec.flushes_lines, spec.flushes_below),
            bell,
            observer,
            until_wrong: None,
            requests: scope.counter("requests"),
            refused: scope.counter("refused"),
        }
    }

    /// Calls `watcher` after each step of a line.
    pub fn lines_watched_by(mut self, watcher: LineWatcher) -> Self {
        self.bank.watcher = Some(watcher);
        self
    }

    /// Restricts a recall of all lines to those that `recalled` selects.
    pub fn recalling(mut self, recalled: Recalled) -> Self {
        self.recalled = Some(recalled);
        self
    }

    /// Calls `watcher` for each store performed here.
    pub fn watched_by(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// If `broken`, answers one load with a wrong byte, to test that the golden image notices.
    pub fn broken(mut self, broken: bool) -> Self {
        self.until_wrong = broken.then_some(5);
        self
    }

    /// Adds what this cache waits for to the report on a run that makes no progress.
    fn explain(&self, cx: &Context) {
        self.to.explain(cx);
        self.top.iter().flat_map(|top| &top.wires).for_each(|(.., replies)| replies.explain(cx));
        for (line, state) in self.bank.under_way() {
            let home = *self.homes.of(line.0);
            if home != self.me {
                cx.needs(format!("line {:#x}, which is in state {state}", line.0), name_of(home));
            }
        }
        for line in self.flushes.passed_on() {
            cx.needs(format!("line {:#x} to be flushed", line.0), name_of(*self.homes.of(line.0)));
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

    /// Performs up to one action per port; returns whether it performed any.
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

    /// Whether there is certainly nothing to do: the quick answer for most cycles after the last message of a burst.
    fn is_idle(&self) -> bool {
        self.ready.is_empty()
            && self.top.as_ref().is_none_or(|top| top.ready.is_empty())
            && self.bank.is_idle()
            && self.orders.is_idle()
            && [&self.atomics, &self.away, &self.returning].iter().all(|queue| queue.is_empty())
            && self.owned.is_empty()
            && self.tags.is_none()
            && self.retries.is_none()
            && self.flushes.is_idle()
    }

    /// Performs one action, if there is one.
    fn turn(&mut self, cx: &Context) -> Result<bool, Box<Impossible>> {
        if self.is_idle() {
            return Ok(false);
        }
        let now = cx.now().0;
        let did = self.obey_table()?
            || self.answer(now)?
            || now >= self.free_at
                && match (self.pending.is_clear(), self.to_peers.is_clear()) {
                    (true, true) => self.next(now)?,
                    // Keep accepting requests of peers: two peers whose wires to each other are full would otherwise
                    // deadlock.
                    (true, false) => self.next_of_peers()?,
                    // In protocols with probes, probes must be accepted even while requests are blocked.
                    (false, _) => self.bank.is_probed() && self.next_of_probes()?,
                };
        if did {
            self.send_out(now);
            self.answered_once();
            if let Some(retries) = &self.retries {
                retries.settled(&mut self.bank.settled);
                retries.add(&mut self.bank.refused, now);
            }
        }
        self.answer_flushes();
        Ok(self.carry_on_order()? || did)
    }

    /// Chooses the next action when no answer has arrived: waiting messages, probes, then new requests.
    fn next(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        let no_atomics = self.returning.is_empty() && self.away.is_empty() && self.atomics.is_empty();
        if !no_atomics && (self.atomic_returns(now)? || self.atomic(true)? || self.atomic(false)?) {
            return Ok(true);
        }
        // A line fetched for these accesses must not be lost before they have used it.
        if let Some(top) = &self.top
            && (top.ready.has(Lane::Coherence) || !self.owned.is_empty())
            && (self.in_order()? || self.atomic_owned()?)
        {
            return Ok(true);
        }
        if let Some(line) = self.retries.as_ref().and_then(RetryQueue::due) {
            self.bank.retry(line)?;
            return Ok(true);
        }
        if self.work()? {
            return Ok(true);
        }
        if self.top.is_some() && self.ready.has(Lane::Coherence) && self.probe()? {
            return Ok(true);
        }
        if self.bank.has_too_many_write_backs() && self.bank.drain()? {
            return Ok(true);
        }
        let ready = self.top.as_ref().map_or(&self.ready, |top| &top.ready);
        for port in ready.in_turn([Lane::Coherence, Lane::Request], &self.turns) {
            let taken = if self.top.is_some() { self.request(port, now)? } else { self.message(port)? };
            if taken {
                self.turns.granted(port);
                self.requests.increment();
                return Ok(true);
            }
        }
        Ok(self.bank.drain()? || self.bank.give_up()?)
    }

    /// Retries a message that waits in the bank, if one can be retried.
    fn work(&mut self) -> Result<bool, Box<Impossible>> {
        let any = self.bank.has_work();
        if any {
            self.bank.work()?;
        }
        Ok(any)
    }

    /// A request with several lanes takes one cycle per lane. Answers are accepted in between.
    fn look_up(&mut self, now: u64, lanes: u8) {
        if lanes > 1 {
            self.free_at = now + u64::from(lanes);
        }
    }

    /// Chooses the next action while an outgoing message is blocked: accesses whose fetched line a waiting probe would
    /// take away, waiting messages, and probes. The messages these cause are bounded by the transactions in flight.
    fn next_of_probes(&mut self) -> Result<bool, Box<Impossible>> {
        Ok(self.use_wanted()? || self.work()? || self.probe()?)
    }

    /// Chooses the next action while a message to a peer is blocked.
    fn next_of_peers(&mut self) -> Result<bool, Box<Impossible>> {
        if self.work()? {
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

    /// Takes a probe, or a message that returns a line from above, if one has arrived.
    fn probe(&mut self) -> Result<bool, Box<Impossible>> {
        let mut next = self.ready.first(&[Lane::Coherence], 0);
        while let Some(number) = next {
            let inlet = &self.from[number];
            // Messages from above do not wait behind probes from below, which may depend on them.
            let front = inlet.front(Lane::Coherence).map(|packet| packet.msg);
            if let Some((msg, line)) = front.and_then(|msg| Some((msg, flushed_line(msg.line)?))) {
                inlet.try_recv(Lane::Coherence);
                return Ok(self.flush_line(line, Asker::Cache(msg.from)));
            }
            if let Some(msg) = front
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

    /// Takes an answer, if one has arrived. Answers are always accepted.
    fn answer(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        if !self.ready.has(Lane::Reply) {
            return Ok(false);
        }
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
            match flushed_line(msg.line) {
                Some(line) => self.flushed(line),
                None => self.heard(msg)?,
            }
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

    /// Takes a request of a requester, if one has arrived and can be accepted.
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
                self.atomics.push_back(Packet { atomic: Some(atomic), frame: frame.into(), ..msg.into() });
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
            Access::Lock | Access::FlushLine => unreachable!("locks and flushes come in order with stores"),
            Access::Invalidate | Access::Flush => {
                // Accesses to the page that wait in a queue, or are performed below, have no line here that would
                // delay the order.
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
        // The caller counts the first lane.
        self.requests.add(u64::from(request.lanes) - 1);
        self.look_up(now, request.lanes);
        Ok(true)
    }

    /// Takes a probe, an order or a request of another cache, if one has arrived and can be accepted.
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
            let taken = match flushed_line(msg.line) {
                Some(line) => self.flush_line(line, Asker::Cache(msg.from)),
                None => self.order(&msg)?,
            };
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
            // A probe overtakes waiting requests for its line if the table can answer it now.
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

    /// Sends the messages that the bank has produced.
    fn send_out(&mut self, now: u64) {
        if self.bank.out.is_empty() && self.bank.performed.as_ref().is_none_or(Vec::is_empty) {
            return;
        }
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
                // A lease that had already expired on arrival is good for one read, at the lease's end.
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

    /// Reports a store that was performed here to the golden image. Stores that the cache itself makes to a line are
    /// reported where they are made.
    fn observe_store(&self, store: &Msg<LINE>) {
        if let Some(observer) = self.observer.as_ref().filter(|_| ![NOBODY, self.me].contains(&store.from)) {
            observer.tell(self.place_of(store.line), Seen::Wrote(store.data));
        }
    }
}

impl Top {
    fn reply(&self, mut answer: front::Answer) {
        answer.reply.stamp |= stamp_of(self.era, 0);
        let (.., sender) =
            self.wires.iter().find(|(node, ..)| *node == answer.to).expect("every requester is connected");
        let bytes = HEADER + answer.reply.data.mask().len() as u64;
        sender.send(Lane::Reply, answer.reply, bytes);
    }
}
