//! A cache in time: a context that shows its bank one message a cycle.
//!
//! Answers from below come first, for they free what others wait for; then messages that waited here, then probes, then new
//! requests from above, in turn. New requests are left where they are, and so hold their senders up, while something
//! could not be sent or no more can wait here. How long a look-up takes is in the latency of the wires to the cache:
//! it is pipelined, and partitions can be cut there.

use crate::{
    bank::{Bank, BankSpec, Homes, Offer},
    front::Front,
};
use engine::{Context, Counter, EventCount, Inlet, Lane, Outlet, RoundRobin, Scope};
use interconnect::{HEADER, Packet, Pending, Router, Sender, Side, WHOLE, Wire, bytes, lane};
use mem::{Access, Block, LineAddr, Observation, Observer, Reply, Request, Seen};
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

/// Who asks: cores and compute units by requests, or caches by messages.
pub enum Top {
    Requesters(Vec<(Node, Wire<Request, Reply>)>),
    Caches(Side<Packet>),
}

/// Who is asked.
pub type Below = Side<Packet>;

/// Those who ask, as the running cache sees them.
enum Above {
    Requesters { front: Front, wires: Vec<(Node, Inlet<Request>, Sender<Reply>)> },
    Caches { from: Vec<Inlet<Packet>>, to: Router<Packet> },
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
    above: Above,
    below: Vec<Inlet<Packet>>,
    downwards: Router<Packet>,
    /// Everybody below.
    homes: Homes,
    /// Atomic accesses to be performed here, in order, and the line that is being fetched for the first of them.
    atomics: VecDeque<Packet>,
    fetching: Option<LineAddr>,
    pending: Pending,
    turns: RoundRobin,
    order: Option<Order>,
    bell: EventCount,
    observer: Option<(Observer, Outlet<Observation>)>,
    requests: Counter,
    refused: Counter,
}

impl Cache {
    /// Builds the cache at `scope`; whoever checks the run gets what is read and written here from `observer`.
    pub fn new(
        spec: CacheSpec,
        top: Top,
        below: Below,
        observer: Option<(Observer, Outlet<Observation>)>,
        scope: &Scope,
    ) -> Self {
        let me = spec.bank.me;
        let (bell, pending) = (scope.eventcount("work"), Pending::default());
        let (above_scope, below_scope) = (scope.scope("above"), scope.scope("below"));
        let homes = spec.bank.below.clone();
        let (above, askers) = match top {
            Top::Requesters(wires) => {
                let front = Front::new(me, scope.histogram("load_cycles"), scope.histogram("store_cycles"));
                let wires = wires.into_iter().enumerate().map(|(number, (node, wire))| {
                    wire.from.ring(&bell);
                    let scope = above_scope.scope(("way", number));
                    (node, wire.from, Sender::new(wire.to, &pending, &scope, &bell))
                });
                let wires: Vec<_> = wires.collect();
                let askers = wires.len();
                (Above::Requesters { front, wires }, askers)
            }
            Top::Caches(side) => {
                side.from.iter().for_each(|inlet| inlet.ring(&bell));
                let askers = side.from.len();
                let to = Router::new(side.to, &pending, &above_scope, &bell);
                (Above::Caches { from: side.from, to }, askers)
            }
        };
        below.from.iter().for_each(|inlet| inlet.ring(&bell));
        let downwards = Router::new(below.to, &pending, &below_scope, &bell);
        Self {
            me,
            bank: Bank::new(spec.bank, spec.history, scope),
            above,
            below: below.from,
            downwards,
            homes,
            atomics: VecDeque::new(),
            fetching: None,
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
        let did = self.answer_from_below(now)? || (self.pending.is_clear() && self.next(now)?);
        if did {
            self.send_out(now);
            self.observe();
        }
        Ok(self.carry_on_order()? || did)
    }

    /// What is done when no answer has come: what waited here, probes, and new requests.
    fn next(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        if self.bank.has_work() {
            self.bank.work()?;
            return Ok(true);
        }
        for inlet in &self.below {
            if let Some(packet) = inlet.front(Lane::Coherence).map(|packet| *packet)
                && self.bank.offer(packet.msg)? == Offer::Taken
            {
                inlet.try_recv(Lane::Coherence);
                return Ok(true);
            }
        }
        if self.atomic()? {
            return Ok(true);
        }
        for port in self.turns.order() {
            if self.request(port, now)? {
                self.turns.grant(|turn| turn == port);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes an answer from below, if one is there. Answers are always taken.
    fn answer_from_below(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        let Some(msg) = self.below.iter().find_map(next_answer) else { return Ok(false) };
        let Packet { msg, atomic } = msg;
        if let (Above::Requesters { front, wires }, Some(_)) = (&mut self.above, atomic) {
            let answer = front.changed(&msg, now);
            reply(wires, answer.to, answer.reply);
            return Ok(true);
        }
        if msg.line == WHOLE {
            let order = self.order.as_mut().expect("only an order for all lines is answered for all lines");
            order.awaited -= 1;
            return Ok(true);
        }
        self.bank.offer(msg)?;
        if let (Above::Requesters { front, wires }, Kind::Ack) = (&mut self.above, msg.kind)
            && let Some(answer) = front.landed(&msg, now)
        {
            reply(wires, answer.to, answer.reply);
        }
        Ok(true)
    }

    /// Takes a request from above, if there is one and it can be taken.
    fn request(&mut self, port: usize, now: u64) -> Result<bool, Box<Impossible>> {
        match &mut self.above {
            Above::Requesters { front, wires } => {
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
            }
            Above::Caches { from, .. } => {
                let from = &from[port];
                if from.is_empty() {
                    return Ok(false);
                }
                let next = [Lane::Coherence, Lane::Request].map(|lane| from.front(lane).map(|packet| *packet));
                match next.map(|packet| packet.map(|packet| packet.msg)) {
                    [Some(order), _] if order.line == WHOLE => {
                        if self.order.is_some() {
                            return Ok(false);
                        }
                        let (kind, answer) = (order.kind, Answer::Done(order.from));
                        self.order = Some(Order { kind, answer, further: false, awaited: 0 });
                        self.bank.sweep(kind)?;
                        from.try_recv(Lane::Coherence);
                    }
                    [None, Some(_)] if next[1].is_some_and(|packet| packet.atomic.is_some()) => {
                        if self.atomics.len() == ATOMICS {
                            return Ok(false);
                        }
                        self.atomics.extend(from.try_recv(Lane::Request));
                    }
                    [Some(msg), _] | [None, Some(msg)] => {
                        if self.bank.offer(msg)? == Offer::Refused {
                            self.refused.increment();
                            return Ok(false);
                        }
                        from.try_recv(lane(&msg));
                    }
                    [None, None] => return Ok(false),
                }
            }
        }
        self.requests.increment();
        Ok(true)
    }

    /// Performs the oldest atomic access if its line is here, and has the line brought here otherwise. Says whether it did
    /// anything. What it does to the line are steps of the protocol: a read, and a write that nothing can come before.
    fn atomic(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(Packet { msg, atomic: Some(atomic) }) = self.atomics.front().copied() else { return Ok(false) };
        if let Some(old) = self.bank.whole(msg.line) {
            let new = atomic.apply(&old, &msg.data);
            self.bank.offer(Msg::new(self.me, self.me, Kind::Write, msg.line, new))?;
            let found = Block::of(old, msg.data.mask());
            if let Some((who, observations)) = &self.observer {
                tell(observations, Observation { who: *who, line: msg.line, seen: Seen::Changed { found, new } });
            }
            if let Above::Caches { to, .. } = &self.above {
                let answer = Msg::new(self.me, msg.from, Kind::Data, msg.line, found);
                let packet = Packet { msg: answer, atomic: Some(atomic) };
                to.way(msg.from).expect("who asked is connected").send(Lane::Reply, packet, bytes(&answer));
            }
            self.atomics.pop_front();
            self.fetching = None;
            return Ok(true);
        }
        if self.fetching == Some(msg.line) || self.bank.is_busy(msg.line) {
            return Ok(false);
        }
        if self.bank.offer(Msg::new(self.me, self.me, Kind::Read, msg.line, Block::EMPTY))? == Offer::Taken {
            self.fetching = Some(msg.line);
        }
        Ok(true)
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
                self.downwards.way(*home).expect("homes are connected").send(Lane::Coherence, msg.into(), HEADER);
            }
            return Ok(true);
        }
        let order = self.order.take().expect("it was there a moment ago");
        match (&self.above, order.answer) {
            (Above::Requesters { wires, .. }, Answer::Reply(port, reply)) => {
                wires[port].2.send(Lane::Reply, reply, HEADER);
            }
            (Above::Caches { to, .. }, Answer::Done(node)) => {
                let msg = Msg::new(self.me, node, Kind::Done, WHOLE, Block::EMPTY);
                to.way(node).expect("who asked is connected").send(Lane::Reply, msg.into(), HEADER);
            }
            _ => unreachable!("requesters get replies, caches get messages"),
        }
        Ok(true)
    }

    /// Sends what the bank wants to have sent.
    fn send_out(&mut self, now: u64) {
        for msg in self.bank.out.drain(..) {
            if let Some(way) = self.downwards.way(msg.to) {
                way.send(lane(&msg), msg.into(), bytes(&msg));
                continue;
            }
            match &mut self.above {
                Above::Caches { to, .. } => {
                    let way = to.way(msg.to).expect("a protocol speaks to neighbours only");
                    way.send(lane(&msg), msg.into(), bytes(&msg));
                }
                Above::Requesters { front, .. } if msg.kind == Kind::Done => {
                    if let Some(request) = front.forgot(msg.line)
                        && let Access::Atomic(atomic) = request.access
                    {
                        let home = self.homes.of(msg.line);
                        let msg = Msg::new(self.me, home, Kind::Read, msg.line, request.data);
                        let packet = Packet { msg, atomic: Some(atomic) };
                        let way = self.downwards.way(home).expect("homes are connected");
                        way.send(Lane::Request, packet, bytes(&msg));
                    }
                }
                Above::Requesters { front, wires } => {
                    let answer = front.loaded(&msg, now);
                    if let Some((who, observations)) = &self.observer {
                        let seen = Seen::Read(answer.reply.data);
                        tell(observations, Observation { who: *who, line: msg.line, seen });
                    }
                    reply(wires, answer.to, answer.reply);
                }
            }
        }
    }

    /// Tells whoever checks the run what was written here.
    fn observe(&mut self) {
        for msg in self.bank.performed.drain(..) {
            if let Some((who, observations)) = &self.observer {
                tell(observations, Observation { who: *who, line: msg.line, seen: Seen::Wrote(msg.data) });
            }
        }
    }
}

fn next_answer(from: &Inlet<Packet>) -> Option<Packet> {
    if from.is_empty() { None } else { from.try_recv(Lane::Reply) }
}

fn tell(observations: &Outlet<Observation>, observation: Observation) {
    let told = observations.try_send(Lane::Request, observation, 0);
    assert!(told.is_ok(), "the wire to the golden image holds any number");
}

fn reply(wires: &[(Node, Inlet<Request>, Sender<Reply>)], to: Node, reply: Reply) {
    let (.., sender) = wires.iter().find(|(node, ..)| *node == to).expect("who asked is connected");
    sender.send(Lane::Reply, reply, HEADER + reply.data.mask().len() as u64);
}
