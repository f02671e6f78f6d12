//! A cache in time: a context that shows its bank one message a cycle.
//!
//! Answers from below come first, for they free what others wait for; then messages that waited here, then probes, then new
//! requests from above, in turn. New requests are left where they are, and so hold their senders up, while something
//! could not be sent or no more can wait here. How long a look-up takes is in the latency of the wires to the cache:
//! it is pipelined, and partitions can be cut there.

use crate::{
    bank::{Bank, BankSpec, Offer},
    front::Front,
};
use engine::{Context, Counter, EventCount, Lane, Outlet, RoundRobin, Scope};
use interconnect::{HEADER, Sender, WHOLE, Wire, bytes, lane};
use mem::{Access, Block, LINE, Observation, Observer, Reply, Request, Seen};
use protocol::{Impossible, Kind, Msg, Node};

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
    Caches(Vec<(Node, Wire<Msg<LINE>, Msg<LINE>>)>),
}

/// Who is asked.
pub type Below = Vec<(Node, Wire<Msg<LINE>, Msg<LINE>>)>;

/// Those who ask, as the running cache sees them.
enum Above {
    Requesters { front: Front, wires: Vec<(Node, engine::Inlet<Request>, Sender<Reply>)> },
    Caches(Vec<(Node, engine::Inlet<Msg<LINE>>, Sender<Msg<LINE>>)>),
}

/// Somebody who wants every line flushed or invalidated.
struct Order {
    from: usize,
    kind: Kind,
    /// What is answered when it has been done.
    answer: Answer,
    /// It goes on to the caches below when it is done here; so many have not answered.
    further: bool,
    awaited: usize,
}

enum Answer {
    Reply(Reply),
    Done,
}

pub struct Cache {
    me: Node,
    bank: Bank,
    above: Above,
    below: Vec<(Node, engine::Inlet<Msg<LINE>>, Sender<Msg<LINE>>)>,
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
        let bell = scope.eventcount("work");
        let connect = |number: usize, side: &str, wire: Wire<Msg<LINE>, Msg<LINE>>| {
            wire.from.ring(&bell);
            (wire.from, Sender::new(wire.to, &scope.scope((side, number)), &bell))
        };
        let above = match top {
            Top::Requesters(wires) => {
                let front = Front::new(me, scope.histogram("load_cycles"), scope.histogram("store_cycles"));
                let wires = wires.into_iter().enumerate().map(|(number, (node, wire))| {
                    wire.from.ring(&bell);
                    (node, wire.from, Sender::new(wire.to, &scope.scope(("above", number)), &bell))
                });
                Above::Requesters { front, wires: wires.collect() }
            }
            Top::Caches(wires) => {
                let wires = wires.into_iter().enumerate().map(|(number, (node, wire))| {
                    let (from, to) = connect(number, "above", wire);
                    (node, from, to)
                });
                Above::Caches(wires.collect())
            }
        };
        let below = below.into_iter().enumerate().map(|(number, (node, wire))| {
            let (from, to) = connect(number, "below", wire);
            (node, from, to)
        });
        let below: Vec<_> = below.collect();
        let askers = match &above {
            Above::Requesters { wires, .. } => wires.len(),
            Above::Caches(wires) => wires.len(),
        };
        Self {
            me,
            bank: Bank::new(spec.bank, spec.history, scope),
            above,
            below,
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
        let did = self.answer_from_below(now)? || (self.is_clear() && self.next(now)?);
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
        for port in 0..self.below.len() {
            if let Some(msg) = self.below[port].1.front(Lane::Coherence).map(|msg| *msg)
                && self.bank.offer(msg)? == Offer::Taken
            {
                self.below[port].1.try_recv(Lane::Coherence);
                return Ok(true);
            }
        }
        for port in self.turns.order() {
            if self.request(port, now)? {
                self.turns.grant(|turn| turn == port);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_clear(&self) -> bool {
        let above = match &self.above {
            Above::Requesters { wires, .. } => wires.iter().all(|(.., to)| to.is_clear()),
            Above::Caches(wires) => wires.iter().all(|(.., to)| to.is_clear()),
        };
        above && self.below.iter().all(|(.., to)| to.is_clear())
    }

    /// Takes an answer from below, if one is there. Answers are always taken.
    fn answer_from_below(&mut self, now: u64) -> Result<bool, Box<Impossible>> {
        let Some(msg) = self.below.iter().find_map(|(_, from, _)| from.try_recv(Lane::Reply)) else { return Ok(false) };
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
                    Access::Load | Access::Store => {
                        if self.bank.offer(front.message(&request, *node))? == Offer::Refused {
                            self.refused.increment();
                            return Ok(false);
                        }
                        front.taken(&request, *node, now);
                    }
                    Access::Invalidate | Access::Flush if self.order.is_some() => return Ok(false),
                    Access::Invalidate | Access::Flush => {
                        let kind = if request.access == Access::Flush { Kind::Flush } else { Kind::Invalidate };
                        let answer = Answer::Reply(Reply { id: request.id, data: Block::EMPTY });
                        let further = request.scope == mem::Scope::System;
                        self.order = Some(Order { from: port, kind, answer, further, awaited: 0 });
                        self.bank.sweep(kind)?;
                    }
                }
                from.try_recv(Lane::Request);
            }
            Above::Caches(wires) => {
                let (_, from, _) = &wires[port];
                let next = [Lane::Coherence, Lane::Request].map(|lane| from.front(lane).map(|msg| *msg));
                match next {
                    [Some(order), _] if order.line == WHOLE => {
                        if self.order.is_some() {
                            return Ok(false);
                        }
                        let (kind, answer) = (order.kind, Answer::Done);
                        self.order = Some(Order { from: port, kind, answer, further: false, awaited: 0 });
                        self.bank.sweep(kind)?;
                        from.try_recv(Lane::Coherence);
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

    /// Answers an order for all lines when it has been carried out, here and if need be below.
    fn carry_on_order(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(order) = &mut self.order else { return Ok(false) };
        if !self.bank.is_swept() || order.awaited > 0 {
            return Ok(false);
        }
        if order.further {
            order.further = false;
            order.awaited = self.below.len();
            for (node, _, to) in &self.below {
                let msg = Msg { from: self.me, to: *node, kind: order.kind, line: WHOLE, data: Block::EMPTY };
                to.send(Lane::Coherence, msg, HEADER);
            }
            return Ok(true);
        }
        let order = self.order.take().expect("it was there a moment ago");
        match (&self.above, order.answer) {
            (Above::Requesters { wires, .. }, Answer::Reply(reply)) => {
                wires[order.from].2.send(Lane::Reply, reply, HEADER);
            }
            (Above::Caches(wires), _) => {
                let (node, _, to) = &wires[order.from];
                let msg = Msg { from: self.me, to: *node, kind: Kind::Done, line: WHOLE, data: Block::EMPTY };
                to.send(Lane::Reply, msg, HEADER);
            }
            (Above::Requesters { .. }, Answer::Done) => unreachable!("requesters are answered by replies"),
        }
        Ok(true)
    }

    /// Sends what the bank wants to have sent.
    fn send_out(&mut self, now: u64) {
        for msg in self.bank.out.drain(..) {
            if let Some((.., to)) = self.below.iter().find(|(node, ..)| *node == msg.to) {
                to.send(lane(&msg), msg, bytes(&msg));
                continue;
            }
            match &mut self.above {
                Above::Caches(wires) => {
                    let to = wires.iter().find(|(node, ..)| *node == msg.to);
                    to.expect("a protocol speaks to neighbours only").2.send(lane(&msg), msg, bytes(&msg));
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

fn tell(observations: &Outlet<Observation>, observation: Observation) {
    let told = observations.try_send(Lane::Request, observation, 0);
    assert!(told.is_ok(), "the wire to the golden image holds any number");
}

fn reply(wires: &[(Node, engine::Inlet<Request>, Sender<Reply>)], to: Node, reply: Reply) {
    let (.., sender) = wires.iter().find(|(node, ..)| *node == to).expect("who asked is connected");
    sender.send(Lane::Reply, reply, HEADER + reply.data.mask().len() as u64);
}
