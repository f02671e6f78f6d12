//! A memory that is a level of a hierarchy: a GPU's, which holds blocks of the host's, or the host's itself (UMH,
//! `[umh]`, 5). What it does is the affair of its protocol's directory and store ([`directory`]); this adds time.
//!
//! A context takes one message at a time: answers first, then messages that waited here, then new ones, in turn. The directory answers
//! by itself what needs no bytes; every line that is read or written is an access of the memory behind it. **Answers are always
//! taken, and what is asked or told leaves at once, whatever else could not**: levels ask and answer each other, and one that waited
//! for another to take something might be what that one waits for.

mod bytes;
mod directory;

pub use directory::{Access, Directory, Extent};

use crate::{dram::Dram, memory};
use engine::{Context, Counter, EventCount, Inlet, Lane, Outlet, RoundRobin, Scope, Series};
use interconnect::{Packet, Pending, Reporter, Router, Sender, Side, WHOLE, lane, name_of};
use mem::{Block, LINE};
use protocol::{
    Impossible, Kind, Line, Log, Msg, Node, Place, Roster, Step,
    orders::{Orders, orders_level},
    roles::Seat,
    step,
};
use std::{rc::Rc, sync::Arc};

/// What a level is made of.
#[derive(Clone)]
pub struct LevelSpec {
    pub directory: Seat,
    pub store: Seat,
    /// The directory's node; the store's is the next.
    pub me: Node,
    pub below: Node,
    pub above: Arc<Roster>,
    pub timing: memory::Timing,
    /// How many steps of the protocol are kept, to be told if it turns out to have a hole.
    pub history: usize,
}

pub struct Level {
    me: Node,
    directory: Directory,
    pace: memory::Pace,
    dram: Option<Dram>,
    from: Vec<Inlet<Packet>>,
    turns: RoundRobin,
    /// Answers on their way out, and how many of them have found no room yet: no more is taken on then.
    answers: Sender<Packet>,
    unanswered: Pending,
    ways: Rc<Router<Packet>>,
    /// The record of an order for all blocks, and whether these are being told.
    order: Line<LINE>,
    sweeping: bool,
    bell: EventCount,
    reads: Counter,
    writes: Counter,
    /// Lines read or written, over time.
    traffic: Series,
}

impl Level {
    /// Builds the level at `scope`, and starts the context that sends its answers. `neighbours`: whoever is above, below and beside.
    pub fn new(spec: LevelSpec, extent: Extent, neighbours: Side<Packet>, scope: &Scope) -> Self {
        let memory::Port { port, pace } = memory::Port::of(&spec.timing);
        let (under_way, done): (Outlet<Packet>, Inlet<Packet>) = scope.port("under_way", port, scope);
        let bell = scope.eventcount("work");
        neighbours.from.iter().for_each(|inlet| inlet.ring(&bell));
        let ways = Rc::new(Router::new(neighbours.to, &Pending::default(), &scope.scope("neighbours"), &bell));
        let leaving = Rc::clone(&ways);
        scope.serve("answer", |_| memory::answer(done, leaving, None));
        let dram = match spec.timing {
            memory::Timing::Fixed(_) => None,
            memory::Timing::Dram(dram) => Some(Dram::new(dram, &under_way, &bell, scope)),
        };
        let unanswered = Pending::default();
        Self {
            me: spec.me,
            directory: Directory::new(&spec, extent),
            pace,
            dram,
            turns: RoundRobin::new(neighbours.from.len()),
            from: neighbours.from,
            answers: Sender::new(under_way, &unanswered, &scope.scope("answers"), &bell),
            unanswered,
            ways,
            order: Line::new(0),
            sweeping: false,
            bell,
            reads: scope.counter("reads"),
            writes: scope.counter("writes"),
            traffic: scope.series("traffic"),
        }
    }

    /// Has the golden image told of all that is read and written here.
    pub fn checked_by(mut self, reporter: Option<Reporter>) -> Self {
        self.directory.reporter = reporter;
        self
    }

    pub async fn run(mut self, cx: Context) {
        let mut messages = 0;
        cx.known_as(name_of(self.me));
        self.from.iter().for_each(|inlet| cx.takes(inlet));
        loop {
            let done =
                self.next().and_then(|did| if did { self.respond(cx.now().0).map(|()| true) } else { Ok(false) });
            match done {
                Ok(true) => {}
                Ok(false) => {
                    messages = 0;
                    let next = self.bell.count() + 1;
                    while self.bell.rest(next).await {
                        self.explain(&cx);
                    }
                    continue;
                }
                Err(hole) => return cx.fail(hole.to_string()),
            }
            messages += 1;
            if messages == self.pace.messages {
                messages = 0;
                cx.pause(self.pace.cycles).await;
            }
        }
    }

    /// Tells a report on a run that does not get on what this level waits for.
    fn explain(&self, cx: &Context) {
        self.ways.explain(cx);
        self.answers.explain(cx);
        for (block, state, nodes) in self.directory.under_way() {
            let needs = |node| cx.needs(format!("block {:#x}, which is in state {state}", block.0), name_of(node));
            nodes.into_iter().for_each(needs);
        }
    }

    /// Shows the directory its next message; says whether there was one.
    fn next(&mut self) -> Result<bool, Box<Impossible>> {
        if let Some(answer) = self.from.iter().find_map(|inlet| memory::take(inlet, Lane::Reply)) {
            self.directory.offer(answer.msg)?;
            return Ok(true);
        }
        if !self.unanswered.is_clear() {
            return Ok(false);
        }
        if self.directory.has_work() {
            self.directory.work()?;
            return Ok(true);
        }
        for port in self.turns.order() {
            let inlet = &self.from[port];
            if inlet.is_empty() {
                continue;
            }
            let can_take = |lane: &Lane| inlet.front(*lane).is_some_and(|packet| self.has_room(&packet.msg));
            if let Some(lane) = [Lane::Coherence, Lane::Request].into_iter().find(can_take)
                && let Some(Packet { msg, .. }) = inlet.try_recv(lane)
            {
                self.turns.grant(|turn| turn == port);
                if msg.line == WHOLE {
                    self.show_order(&msg)?;
                } else {
                    self.directory.offer(msg)?;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether what a message may bring about has room. Answers are taken even if not.
    fn has_room(&self, msg: &Msg<LINE>) -> bool {
        if msg.line == WHOLE {
            return !self.order.is_asked();
        }
        self.dram.as_ref().is_none_or(|dram| dram.has_room(self.directory.at(msg.line)))
    }

    /// Sends what a step gave rise to, or sees to it that it will be sent.
    fn respond(&mut self, now: u64) -> Result<(), Box<Impossible>> {
        for msg in self.directory.out.drain(..) {
            send(&self.ways, &self.answers, msg);
        }
        for access in self.directory.accesses.drain(..) {
            let counter = if access.writes { &self.writes } else { &self.reads };
            counter.increment();
            self.traffic.count(1);
            let answers: Vec<Packet> = access.sends.into_iter().map(Packet::from).collect();
            let answers = match &self.dram {
                Some(dram) if access.writes => {
                    dram.write(now, access.at);
                    answers
                }
                Some(dram) => dram.read(now, access.at, answers).unwrap_or_default(),
                None => answers,
            };
            answers.into_iter().for_each(|Packet { msg, .. }| send(&self.ways, &self.answers, msg));
        }
        if self.sweeping && self.directory.is_swept() {
            self.sweeping = false;
            self.show_order(&Msg::new(self.me, self.me, Kind::Done, WHOLE, Block::EMPTY))?;
        }
        Ok(())
    }

    /// One step of the table of orders: blocks are told, or who ordered something is.
    fn show_order(&mut self, msg: &Msg<LINE>) -> Result<(), Box<Impossible>> {
        let orders = Orders { table: &orders_level::TABLE, below: Vec::new(), peers: Vec::new() };
        let place = Place::new(self.me, self.me);
        let done = step(&orders, orders.table, place, &mut self.order, msg, &mut Log::new(orders.table, 0))?;
        let Step::Sends(sends) = done else { return Ok(()) };
        for told in sends {
            if told.to == self.me {
                self.sweeping = true;
                self.directory.sweep(told.kind);
            } else {
                send(&self.ways, &self.answers, told);
            }
        }
        Ok(())
    }
}

/// Answers leave when they are due; what is asked or told leaves at once.
fn send(ways: &Router<Packet>, answers: &Sender<Packet>, msg: Msg<LINE>) {
    match lane(&msg) {
        Lane::Reply => answers.send(Lane::Reply, msg.into(), 0),
        _ => ways.send(msg.into()),
    }
}
