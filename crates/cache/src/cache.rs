//! A cache in time: a context that shows its bank one message a cycle.
//!
//! Answers come first, for they free what others wait for; then messages that waited here, then new requests, in turn. New
//! requests are left where they are, and so hold their senders up, while something could not be sent or no more can wait
//! here. How long a look-up takes is in the latency of the wires to the cache:
//! it is pipelined, and partitions can be cut there.

use crate::{
    bank::{Bank, BankSpec, Homes, Offer},
    front::{self, Front},
};
use engine::{Context, Counter, EventCount, Inlet, Lane, Outlet, Ready, RoundRobin, Scope};
use interconnect::{HEADER, Packet, Pending, Router, Sender, Side, WHOLE, Wire, lane};
use mem::{Access, Block, Observation, Observer, Reply, Request, Seen};
use protocol::{Impossible, Kind, Msg, Node};
use std::collections::VecDeque;

/// Atomic accesses that may wait at a cache.
const ATOMICS: usize = 64;

/// What a cache is made of.
#[derive(Clone)]
pub struct CacheSpec {
    pub bank: BankSpec,
    /// How many steps of the protocol are kept, to be told if it turns out to have a hole.
    pub history: usize,
}

/// Cores and compute units that ask a first-level cache, and the wires to them.
pub type Requesters = Vec<(Node, Wire<Request, Reply>)>;

/// The side of a first-level cache where requests come in.
struct Top {
    front: Front,
    /// Which of them have sent something.
    ready: Ready,
    wires: Vec<(Node, Inlet<Request>, Sender<Reply>)>,
}

/// Somebody who wants every line flushed or invalidated.
struct Order {
    kind: Kind,
    /// What is answered when it has been done.
    answer: Answer,
    /// It goes on to the caches below when it is done here; so many have not answered.
    further: bool,
    awaited: usize,
}

enum Answer {
    /// To the requester on this wire.
    Reply(usize, Reply),
    /// To this cache.
    Done(Node),
}

pub struct Cache {
    me: Node,
    bank: Bank,
    /// None if only caches are connected.
    top: Option<Top>,
    /// Every cache and memory that is connected, above, below or beside, and which of them have sent something.
    from: Vec<Inlet<Packet>>,
    ready: Ready,
    to: Router<Packet>,
    /// Everybody who is asked.
    homes: Homes,
    /// Atomic accesses to be performed here, in order.
    atomics: VecDeque<Packet>,
    pending: Pending,
    turns: RoundRobin,
    order: Option<Order>,
    bell: EventCount,
    observer: Option<(Observer, Outlet<Observation>)>,
    requests: Counter,
    refused: Counter,
}

impl Cache {
    /// Builds the cache at `scope`, between those who make requests, if it is a first-level cache, and other caches and
    /// memories. Whoever checks the run gets what is read and written here from `observer`.
    pub fn new(
        spec: CacheSpec,
        requesters: Requesters,
        neighbours: Side<Packet>,
        observer: Option<(Observer, Outlet<Observation>)>,
        scope: &Scope,
    ) -> Self {
        let me = spec.bank.me;
        let (bell, pending) = (scope.eventcount("work"), Pending::default());
        let homes = spec.bank.below.clone();
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
            Top { front, ready, wires }
        });
        let askers = top.as_ref().map_or(neighbours.from.len(), |top| top.wires.len());
        let ready = Ready::new(neighbours.from.len());
        for (number, inlet) in neighbours.from.iter().enumerate() {
            inlet.ring(&bell);
            inlet.note_in(&ready, number);
        }
        let to = Router::new(neighbours.to, &pending, &scope.scope("neighbours"), &bell);
        let mut bank = Bank::new(spec.bank, spec.history, scope);
        bank.performed = observer.as_ref().map(|_| Vec::new());
        Self {
            me,
            bank,
            top,
            from: neighbours.from,
            ready,
            to,
            homes,
            atomics: VecDeque::new(),
            pending,
            turns: RoundRobin::new(askers),
            order: None,
            bell,
            observer,
            requests: scope.counter("requests"),
            refused: scope.counter("refused"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            match self.turn(&cx) {
                Ok(true) => cx.pause(1).await,
                Ok(false) => self.bell.next().await,
                Err(hole) => return cx.fail(hole.to_string()),
            }
        }
    }

    /// Does one thing, if there is one to be done.
    fn turn(&mut self, cx: &Context) -> Result<bool, Box<Impossible>> {
        let now = cx.now().0;
        let did = self.answer(now)? || (self.pending.is_clear() && self.next(now)?);
        if did {
            self.send_out(now);
            self.observe();
        }
        Ok(self.carry_on_order()? || did)
    }

    /// What is done when no answer has come: what waited here, probes, and new requests.
    fn next(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        if self.atomic()? {
            return Ok(true);
        }
        if self.bank.has_work() {
            self.bank.work()?;
            return Ok(true);
        }
        if self.top.is_some() && self.probe()? {
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
        Ok(false)
    }

    /// Takes what a cache below wants of a first-level cache, if there is something.
    fn probe(&mut self) -> Result<bool, Box<Impossible>> {
        let mut next = self.ready.first(&[Lane::Coherence], 0);
        while let Some(number) = next {
            let inlet = &self.from[number];
            if let Some(msg) = inlet.front(Lane::Coherence).map(|packet| packet.msg)
                && self.bank.offer(msg)? == Offer::Taken
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
        let Some(Packet { msg, atomic }) = self.from[number].try_recv(Lane::Reply) else { return Ok(false) };
        if let (Some(top), Some(_)) = (&mut self.top, atomic) {
            let answer = top.front.changed(&msg, now);
            top.reply(answer);
            return Ok(true);
        }
        if msg.line == WHOLE {
            let order = self.order.as_mut().expect("only an order for all lines is answered for all lines");
            order.awaited -= 1;
            return Ok(true);
        }
        self.bank.offer(msg)?;
        if let (Some(top), Kind::Ack) = (&mut self.top, msg.kind)
            && let Some(answer) = top.front.landed(&msg, now)
        {
            top.reply(answer);
        }
        Ok(true)
    }

    /// Takes a request, if there is one and it can be taken.
    fn request(&mut self, port: usize, now: u64) -> Result<bool, Box<Impossible>> {
        let Some(Top { front, wires, .. }) = &mut self.top else { return Ok(false) };
        let (node, from, _) = &wires[port];
        let Some(request) = from.front(Lane::Request).map(|request| *request) else { return Ok(false) };
        match request.access {
            Access::Atomic(_) => {
                if self.bank.offer(front.forget(&request, *node))? == Offer::Refused {
                    self.refused.increment();
                    return Ok(false);
                }
                front.forgetting(&request, *node, now);
            }
            Access::Load | Access::Store => {
                if request.access == Access::Load && request.scope > mem::Scope::Group {
                    // What lies here may be stale, and the requester wants what everybody sees.
                    if self.bank.offer(front.forget(&request, *node))? == Offer::Refused {
                        self.refused.increment();
                        return Ok(false);
                    }
                    front.forgetting(&request, *node, now);
                }
                if self.bank.offer(front.message(&request, *node))? == Offer::Refused {
                    self.refused.increment();
                    return Ok(false);
                }
                front.taken(&request, *node, now);
            }
            Access::Invalidate | Access::Flush if self.order.is_some() => return Ok(false),
            Access::Invalidate | Access::Flush => {
                let kind = if request.access == Access::Flush { Kind::Flush } else { Kind::Invalidate };
                let answer = Answer::Reply(port, Reply { id: request.id, data: Block::EMPTY });
                let further = request.scope == mem::Scope::System;
                self.order = Some(Order { kind, answer, further, awaited: 0 });
                self.bank.sweep(kind)?;
            }
        }
        from.try_recv(Lane::Request);
        Ok(true)
    }

    /// Takes a message of another cache that is no answer, if there is one and it can be taken.
    fn message(&mut self, port: usize) -> Result<bool, Box<Impossible>> {
        let from = &self.from[port];
        let coherence = from.front(Lane::Coherence).map(|packet| packet.msg);
        let Some(msg) = coherence.or_else(|| from.front(Lane::Request).map(|packet| packet.msg)) else {
            return Ok(false);
        };
        if coherence.is_some() && msg.line == WHOLE {
            if self.order.is_some() {
                return Ok(false);
            }
            let (kind, answer) = (msg.kind, Answer::Done(msg.from));
            self.order = Some(Order { kind, answer, further: false, awaited: 0 });
            self.bank.sweep(kind)?;
        } else if coherence.is_none() && from.front(Lane::Request).is_some_and(|packet| packet.atomic.is_some()) {
            if self.atomics.len() == ATOMICS {
                return Ok(false);
            }
            self.atomics.extend(from.try_recv(Lane::Request));
            return Ok(true);
        } else if self.bank.offer(msg)? == Offer::Refused {
            self.refused.increment();
            return Ok(false);
        }
        from.try_recv(lane(&msg));
        Ok(true)
    }

    /// Performs the oldest atomic access if its line is here, and has the line brought here otherwise. Says whether it did
    /// anything. What it does to the line are steps of the protocol: a read, and a write that nothing can come before.
    fn atomic(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(Packet { msg, atomic: Some(atomic) }) = self.atomics.front().copied() else { return Ok(false) };
        if let Some(old) = self.bank.whole(msg.line) {
            let new = atomic.apply(&old, &msg.data);
            if !self.bank.at_once(&Msg::new(self.me, self.me, Kind::Write, msg.line, new))? {
                return Ok(false);
            }
            let found = Block::of(old, msg.data.mask());
            if let Some((who, observations)) = &self.observer {
                let seen = Seen::Changed { found, new };
                tell(observations, Observation { who: *who, line: msg.line, seen, stamp: 0 });
            }
            let answer = Msg::new(self.me, msg.from, Kind::Data, msg.line, found);
            self.to.send(Packet { msg: answer, atomic: Some(atomic) });
            self.atomics.pop_front();
            return Ok(true);
        }
        // What was fetched for it may have had to go again before its turn came.
        if self.bank.is_busy(msg.line) {
            return Ok(false);
        }
        let fetch = Msg::new(self.me, self.me, Kind::Read, msg.line, Block::EMPTY);
        Ok(self.bank.offer(fetch)? == Offer::Taken)
    }

    /// Answers an order for all lines when it has been carried out, here and if need be below.
    fn carry_on_order(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(order) = &mut self.order else { return Ok(false) };
        if !self.bank.is_swept() || order.awaited > 0 {
            return Ok(false);
        }
        if order.further {
            order.further = false;
            order.awaited = self.homes.nodes.len();
            for home in &self.homes.nodes {
                let msg = Msg::new(self.me, *home, order.kind, WHOLE, Block::EMPTY);
                self.to.send(msg.into());
            }
            return Ok(true);
        }
        let order = self.order.take().expect("it was there a moment ago");
        match order.answer {
            Answer::Reply(port, reply) => {
                let top = self.top.as_ref().expect("only a first-level cache is given requests");
                top.wires[port].2.send(Lane::Reply, reply, HEADER);
            }
            Answer::Done(node) => self.to.send(Msg::new(self.me, node, Kind::Done, WHOLE, Block::EMPTY).into()),
        }
        Ok(true)
    }

    /// Sends what the bank wants to have sent.
    fn send_out(&mut self, now: u64) {
        for msg in self.bank.out.drain(..) {
            if self.to.leads_to(msg.to) {
                self.to.send(msg.into());
                continue;
            }
            let top = self.top.as_mut().expect("a protocol speaks to neighbours only");
            if msg.kind == Kind::Done {
                if let Some(request) = top.front.forgot(msg.line)
                    && let Access::Atomic(atomic) = request.access
                {
                    let msg = Msg::new(self.me, self.homes.of(msg.line), Kind::Read, msg.line, request.data);
                    self.to.send(Packet { msg, atomic: Some(atomic) });
                }
                continue;
            }
            let answer = top.front.loaded(&msg, now);
            if let Some((who, observations)) = &self.observer {
                let seen = Seen::Read(answer.reply.data);
                tell(observations, Observation { who: *who, line: msg.line, seen, stamp: msg.stamps.cts });
            }
            top.reply(answer);
        }
    }

    /// Tells whoever checks the run what was written here.
    fn observe(&mut self) {
        let (Some(performed), Some((who, observations))) = (&mut self.bank.performed, &self.observer) else { return };
        for msg in performed.drain(..) {
            tell(observations, Observation { who: *who, line: msg.line, seen: Seen::Wrote(msg.data), stamp: 0 });
        }
    }
}

fn tell(observations: &Outlet<Observation>, observation: Observation) {
    let told = observations.try_send(Lane::Request, observation, 0);
    assert!(told.is_ok(), "the wire to the golden image holds any number");
}

impl Top {
    fn reply(&self, answer: front::Answer) {
        let (.., sender) = self.wires.iter().find(|(node, ..)| *node == answer.to).expect("who asked is connected");
        let bytes = HEADER + answer.reply.data.mask().len() as u64;
        sender.send(Lane::Reply, answer.reply, bytes);
    }
}
