//! A memory in time: the home of lines, and when its answers leave.
//!
//! A context takes one message at a time: answers first, for others wait for what they bring; then messages that waited here;
//! then new ones, in turn. What they do to bytes takes effect in the order in which they are taken. Answers leave when the
//! [`Timing`] says so. Probes (a directory's invalidations and forwards) leave at once, and never hold up anything else: a
//! cache that has no room for them may be waiting for an answer of this memory.

use crate::{
    channel::{Channel, Store},
    home::{Home, Served, Touched},
};
use engine::{Context, Counter, Cycles, EventCount, Inlet, Lane, Outlet, PortSpec, RoundRobin, Scope};
use interconnect::{Packet, Pending, Router, Side, bytes, lane};
use mem::LINE;
use protocol::{Controller, Impossible, Msg, Node, Place};
use std::rc::Rc;

/// What a memory is made of.
#[derive(Clone, Copy)]
pub struct MemorySpec {
    /// The home's side of the protocol.
    pub controller: &'static dyn Controller<LINE>,
    pub me: Node,
    /// The first of those above; the others have the numbers that follow.
    pub above: Node,
    pub channel: Channel,
    pub timing: Timing,
    /// How many steps of the protocol are kept, to be told if it turns out to have a hole.
    pub history: usize,
}

/// When an answer leaves.
#[derive(Clone, Copy, Debug)]
pub enum Timing {
    Fixed(FixedSpec),
}

/// Every answer takes the same time. Banks, rows and buses are left out.
#[derive(Clone, Copy, Debug)]
pub struct FixedSpec {
    /// From taking a request until its answer leaves.
    pub latency: Cycles,
    /// From one request until the next can be taken.
    pub interval: Cycles,
    /// How many requests may be under way.
    pub outstanding: usize,
}

pub struct Memory {
    home: Home,
    interval: Cycles,
    askers: Vec<Inlet<Packet>>,
    turns: RoundRobin,
    under_way: Outlet<Msg<LINE>>,
    ways: Rc<Router<Packet>>,
    bell: EventCount,
    reads: Counter,
    writes: Counter,
}

impl Memory {
    /// Builds the memory at `scope`, with its bytes in `store`, and starts the context that sends its answers.
    pub fn new(spec: MemorySpec, above: Side<Packet>, store: Store, scope: &Scope) -> Self {
        let Timing::Fixed(fixed) = spec.timing;
        let port = PortSpec { capacity: fixed.outstanding, latency: fixed.latency, bytes_per_cycle: None };
        let (under_way, done) = scope.port("under_way", port, scope);
        let bell = scope.eventcount("work");
        above.from.iter().for_each(|inlet| inlet.ring(&bell));
        // Probes that have not gone out hold up nobody, so nobody asks for them.
        let ways = Rc::new(Router::new(above.to, &Pending::default(), &scope.scope("above"), &bell));
        let answers = Rc::clone(&ways);
        scope.serve("answer", |_| answer(done, answers));
        let place = Place { me: spec.me, below: spec.me, above: spec.above };
        Self {
            home: Home::new(spec.controller, place, spec.channel, store, spec.history),
            interval: fixed.interval,
            turns: RoundRobin::new(above.from.len()),
            askers: above.from,
            under_way,
            ways,
            bell,
            reads: scope.counter("reads"),
            writes: scope.counter("writes"),
        }
    }

    pub async fn run(mut self, cx: Context) {
        loop {
            match self.next() {
                Ok(Next::Nothing) => self.bell.next().await,
                Ok(Next::Waits) => cx.pause(self.interval).await,
                Ok(Next::Served(served)) => {
                    self.respond(served).await;
                    cx.pause(self.interval).await;
                }
                Err(hole) => return cx.fail(hole.to_string()),
            }
        }
    }

    /// Shows the home its next message.
    fn next(&mut self) -> Result<Next, Box<Impossible>> {
        let answer = self.askers.iter().find_map(|inlet| take(inlet, Lane::Reply));
        if let Some(packet) = answer {
            return self.offer(packet);
        }
        if self.home.has_work() {
            return Ok(self.home.work()?.map_or(Next::Waits, Next::Served));
        }
        for port in self.turns.order() {
            let inlet = &self.askers[port];
            if let Some(packet) = take(inlet, Lane::Coherence).or_else(|| take(inlet, Lane::Request)) {
                self.turns.grant(|turn| turn == port);
                return self.offer(packet);
            }
        }
        Ok(Next::Nothing)
    }

    fn offer(&mut self, packet: Packet) -> Result<Next, Box<Impossible>> {
        debug_assert!(packet.atomic.is_none(), "atomic accesses are performed in caches");
        Ok(self.home.offer(packet.msg)?.map_or(Next::Waits, Next::Served))
    }

    /// Sends what a step gave rise to, or sees to it that it will be sent.
    async fn respond(&mut self, served: Served) {
        match served.touched {
            Touched::Read => self.reads.increment(),
            Touched::Written => self.writes.increment(),
            Touched::Nothing => {}
        }
        for msg in served.sends {
            match lane(&msg) {
                Lane::Reply => self.under_way.send(Lane::Reply, msg, 0).await,
                probe => self.ways.to(msg.to).send(probe, msg.into(), bytes(&msg)),
            }
        }
    }
}

/// What is to be done.
enum Next {
    /// Nothing.
    Nothing,
    /// The message waits with its line.
    Waits,
    Served(Served),
}

fn take(from: &Inlet<Packet>, lane: Lane) -> Option<Packet> {
    if from.is_empty() { None } else { from.try_recv(lane) }
}

/// Sends each answer to the one who asked. Caches always take answers.
async fn answer(done: Inlet<Msg<LINE>>, ways: Rc<Router<Packet>>) {
    loop {
        let msg = done.recv(Lane::Reply).await;
        ways.to(msg.to).outlet().send(Lane::Reply, msg.into(), bytes(&msg)).await;
    }
}
