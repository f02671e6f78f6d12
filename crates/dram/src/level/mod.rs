//! A memory that is a level of a hierarchy: a GPU's memory, which caches blocks of the host's, or the host's memory
//! itself (`[umh 5]`). The protocol's directory and store ([`directory`]) decide what happens; this module adds timing.
//!
//! The level handles one message at a time: answers first, then waiting messages, then new ones, round-robin. The
//! directory alone handles what needs no bytes; every line that is read or written is an access to the memory behind
//! it. **Invariant: answers are always accepted, and requests and probes are sent at once, even while other messages
//! are blocked.** Levels send requests to each other, so two levels that waited for each other to accept a message
//! would deadlock.

mod bytes;
mod directory;

pub use directory::{Access, BlockWatcher, Directory, Extent};

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

/// The parameters of a level.
#[derive(Clone)]
pub struct LevelSpec {
    pub directory: Seat,
    pub store: Seat,
    /// The directory's node. The store has the next number.
    pub me: Node,
    pub below: Node,
    pub above: Arc<Roster>,
    pub timing: memory::Timing,
    /// How many protocol steps are kept for the report on an impossible event.
    pub history: usize,
}

pub struct Level {
    me: Node,
    directory: Directory,
    pace: memory::Pace,
    dram: Option<Dram>,
    from: Vec<Inlet<Packet>>,
    turns: RoundRobin,
    /// Answers on their way out.
    answers: Sender<Packet>,
    /// Answers that have found no room yet. While there are any, no requests are accepted.
    unanswered: Pending,
    ways: Rc<Router<Packet>>,
    /// The record of an order for all blocks.
    order: Line<LINE>,
    /// Whether blocks are being flushed or given up for the order.
    sweeping: bool,
    bell: EventCount,
    reads: Counter,
    writes: Counter,
    /// Lines read or written, over time.
    traffic: Series,
}

impl Level {
    /// Builds the level at `scope`, and starts the context that sends its answers. `neighbours`: the wires to all
    /// nodes above, below and beside.
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

    /// Reports all reads and writes here to the golden image.
    pub fn checked_by(mut self, reporter: Option<Reporter>) -> Self {
        self.directory.reporter = reporter;
        self
    }

    /// Calls `watcher` after each step of a block.
    pub fn watched_by(mut self, watcher: Option<BlockWatcher>) -> Self {
        self.directory.watcher = watcher;
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

    /// Adds what this level waits for to the report on a run that makes no progress.
    fn explain(&self, cx: &Context) {
        self.ways.explain(cx);
        self.answers.explain(cx);
        for (block, state, nodes) in self.directory.under_way() {
            let needs = |node| cx.needs(format!("block {:#x}, which is in state {state}", block.0), name_of(node));
            nodes.into_iter().for_each(needs);
        }
    }

    /// Delivers the next message to the directory; returns whether there was one.
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

    /// Whether there is room for the access that a message may cause. Answers are accepted even without room.
    fn has_room(&self, msg: &Msg<LINE>) -> bool {
        if msg.line == WHOLE {
            return !self.order.is_asked();
        }
        self.dram.as_ref().is_none_or(|dram| dram.has_room(self.directory.at(msg.line)))
    }

    /// Sends the messages that a step has produced, or schedules them behind their memory access.
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

    /// One step of the table of orders. It starts a sweep over all blocks, or answers the sender of the order.
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

/// Answers leave after the memory's latency; requests and probes leave at once.
fn send(ways: &Router<Packet>, answers: &Sender<Packet>, msg: Msg<LINE>) {
    match lane(&msg) {
        Lane::Reply => answers.send(Lane::Reply, msg.into(), 0),
        _ => ways.send(msg.into()),
    }
}
