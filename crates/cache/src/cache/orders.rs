//! Orders for all lines: a cache is told to write back or to forget everything, does so in stages, and answers when all is done.
//!
//! They come from requesters (a kernel starts or ends, an acquire or a release) or from the cache above, and go on to those below or
//! beside as the protocol needs it.

use super::{Acquire, Cache};
use engine::Lane;
use interconnect::{HEADER, WHOLE};
use mem::{Block, LINE, Reply, stamp_of};
use protocol::{Impossible, Kind, Msg, Node, Stamp, Stamps};
use std::collections::VecDeque;

/// Somebody who wants every line flushed or invalidated.
pub(super) struct Order {
    kind: Kind,
    scope: mem::Scope,
    /// What is answered when it has been done.
    answer: Answer,
    /// What is still to be done, the next thing first.
    stages: VecDeque<Stage>,
    /// So many have not answered.
    pub awaited: usize,
    /// The latest time that has been heard of.
    pub(super) time: Stamp,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is done to all lines here.
    Sweep,
    /// Those below do it.
    Below,
    /// Peers see to it that what they have told others has arrived.
    Peers,
}

/// A peer wants to know that whatever was told to anybody has arrived: everybody is asked to say so, behind all else.
pub(super) struct Fence {
    asker: Node,
    number: u8,
    awaited: usize,
}

pub(super) enum Answer {
    /// To the requester on this wire.
    Reply(usize, Reply),
    /// To this cache.
    Done(Node),
}

impl Cache {
    /// What an order to a first-level cache takes, one after another.
    pub(super) fn stages_of_request(&self, kind: Kind, scope: mem::Scope) -> &'static [Stage] {
        match (kind, self.acquire, scope) {
            (Kind::Flush, Acquire::Coherent, mem::Scope::System) => &[Stage::Below],
            (_, Acquire::Coherent, _) => &[],
            (.., mem::Scope::System) => &[Stage::Sweep, Stage::Below],
            (Kind::Invalidate, Acquire::Raise, _) => &[Stage::Below, Stage::Sweep],
            (Kind::Invalidate, Acquire::Ask, _) => &[Stage::Below],
            _ => &[Stage::Sweep],
        }
    }

    /// Takes an order of another cache for all lines; says whether it could.
    pub(super) fn order(&mut self, order: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        if order.kind == Kind::Inval {
            let done = Msg::new(self.me, order.from, Kind::Done, WHOLE, Block::EMPTY);
            self.to.send(Msg { acks: order.acks, ..done }.into());
            return Ok(true);
        }
        if self.peers.contains(&order.from) {
            self.fence(order.from);
            return Ok(true);
        }
        if self.order.is_some() {
            return Ok(false);
        }
        let stages: &[Stage] = match (order.kind, self.acquire) {
            (_, Acquire::Coherent) | (Kind::Invalidate, Acquire::Recall) => &[],
            (_, Acquire::PassOn) => &[Stage::Sweep, Stage::Below],
            // All levels are to forget.
            (Kind::Invalidate, _) if order.scope == mem::Scope::System => &[Stage::Sweep],
            (Kind::Invalidate, Acquire::Raise) => &[Stage::Below, Stage::Sweep],
            (Kind::Invalidate, Acquire::Ask) => &[Stage::Below],
            (Kind::Flush, _) => &[Stage::Sweep, Stage::Peers],
            _ => &[Stage::Sweep],
        };
        self.take_order(order.kind, order.scope, Answer::Done(order.from), stages)?;
        Ok(true)
    }

    pub(super) fn take_order(
        &mut self,
        kind: Kind,
        scope: mem::Scope,
        answer: Answer,
        stages: &[Stage],
    ) -> Result<(), Box<Impossible>> {
        let stages = stages.iter().copied().filter(|stage| *stage != Stage::Peers || !self.peers.is_empty());
        self.order = Some(Order { kind, scope, answer, stages: stages.collect(), awaited: 0, time: 0 });
        self.carry_on_order().map(|_| ())
    }

    /// Somebody has done what was ordered, or says that what it was told before has arrived.
    pub(super) fn heard(&mut self, done: &Msg<LINE>) {
        if done.acks > 0 {
            let place = self.fences.iter().position(|fence| fence.number == done.acks);
            let place = place.expect("only what was asked is answered");
            self.fences[place].awaited -= 1;
            if self.fences[place].awaited == 0 {
                let asker = self.fences.remove(place).asker;
                self.to.send(Msg::new(self.me, asker, Kind::Done, WHOLE, Block::EMPTY).into());
            }
            return;
        }
        let order = self.order.as_mut().expect("only an order for all lines is answered for all lines");
        order.awaited -= 1;
        order.time = order.time.max(done.stamps.cts);
    }

    /// Asks all peers to say so when whatever was told to them before has arrived.
    pub(super) fn fence(&mut self, asker: Node) {
        self.fenced = self.fenced % 254 + 1;
        for peer in &self.peers {
            let mark = Msg { acks: self.fenced, ..Msg::new(self.me, *peer, Kind::Inval, WHOLE, Block::EMPTY) };
            self.to.send(mark.into());
        }
        self.fences.push(Fence { asker, number: self.fenced, awaited: self.peers.len() });
    }

    /// Goes on with an order for all lines, and answers it when it has been carried out.
    pub(super) fn carry_on_order(&mut self) -> Result<bool, Box<Impossible>> {
        let Some(order) = &mut self.order else { return Ok(false) };
        if !self.bank.is_swept() || order.awaited > 0 {
            return Ok(false);
        }
        match order.stages.pop_front() {
            Some(Stage::Sweep) => {
                let (kind, time) = (order.kind, order.time);
                match (self.acquire, kind) {
                    (Acquire::Recall, _) | (Acquire::PassOn, Kind::Invalidate) => {
                        self.bank.empty(|line| self.recalled.as_ref().is_none_or(|recalled| recalled(line)));
                    }
                    _ => self.bank.sweep(kind, time)?,
                }
            }
            Some(stage) => {
                let told = if stage == Stage::Below { &self.below } else { &self.peers };
                order.awaited = told.len();
                for node in told {
                    let msg = Msg::new(self.me, *node, order.kind, WHOLE, Block::EMPTY);
                    self.to.send(Msg { scope: order.scope, ..msg }.into());
                }
            }
            None => {
                let order = self.order.take().expect("it was there a moment ago");
                match order.answer {
                    Answer::Reply(port, reply) => {
                        let top = self.top.as_ref().expect("only a first-level cache is given requests");
                        let stamp = stamp_of(self.to.era, order.time);
                        top.wires[port].2.send(Lane::Reply, Reply { stamp, ..reply }, HEADER);
                    }
                    Answer::Done(node) => {
                        let done = Msg::new(self.me, node, Kind::Done, WHOLE, Block::EMPTY);
                        self.to.send(Msg { stamps: Stamps::now(order.time), ..done }.into());
                    }
                }
            }
        }
        Ok(true)
    }
}
