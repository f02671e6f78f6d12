//! A directory of blocks and the bytes behind it. It knows no time.
//!
//! A record stands for a block, an aligned group of lines ([`Controller::lines`]). The store carries out the
//! directory's commands at once ([`Controller::is_prompt`]); each command is one access to the bytes of a line. A
//! message that the table stalls waits with its block, in the order of [`Row`](protocol::Row): probes come before
//! orders and requests, which may depend on them. A block that is not held needs a way; if all ways are taken,
//! another block has to be evicted first.

use super::{LevelSpec, bytes::Bytes};
use crate::{
    Backing,
    room::{Room, RoomSpec},
};
use interconnect::Reporter;
use mem::{Block, LINE, LineAddr, PhysAddr, Seen, Share, WaitingRoom};
use protocol::{Cell, Impossible, Kind, Lane, Line, Log, Msg, Node, Place, Roster, Table, look, perform, roles::Seat};
use rustc_hash::FxHashMap;
use std::{
    collections::{BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
};

/// Called after each step of a block, with the block's first line and its record.
pub type BlockWatcher = Rc<dyn Fn(LineAddr, &Line<LINE>)>;

/// The part of the address space that the memory holds.
pub enum Extent {
    /// Cached blocks of another memory.
    Cache(RoomSpec),
    /// All bytes of the home memory, which has no level below.
    All(Share, Backing),
}

/// An access to the bytes of a line.
#[derive(Clone, Debug)]
pub struct Access {
    /// The line's address in this memory.
    pub at: PhysAddr,
    pub writes: bool,
    /// Messages to send when the access is done.
    pub sends: Vec<Msg<LINE>>,
}

pub struct Directory {
    controller: Seat,
    table: &'static Table,
    me: Node,
    below: Node,
    above: Arc<Roster>,
    /// The store behind it.
    store: Seat,
    /// The store's node and neighbours.
    store_place: Place<'static>,
    /// For each state, whether no transaction is in flight in it.
    at_rest: Vec<bool>,
    /// Bytes in a block.
    block: u64,
    nothing: Line<LINE>,
    /// Records of blocks that are not in the initial state.
    known: FxHashMap<LineAddr, Line<LINE>>,
    bytes: Bytes,
    /// `None`: every block has a place.
    room: Option<Room>,
    /// Waiting messages, by block.
    waiting: WaitingRoom<Msg<LINE>>,
    /// Blocks still to be flushed.
    flush: VecDeque<LineAddr>,
    /// Flushes that have not been answered.
    flushing: usize,
    /// Blocks still to be given up.
    forget: VecDeque<LineAddr>,
    /// Blocks to be given up that are not gone yet.
    leaving: BTreeSet<LineAddr>,
    /// For each block with a transaction in flight, the neighbours that have been asked and have not answered.
    /// Iterated only for reports, which sort it.
    asked: FxHashMap<LineAddr, Vec<Node>>,
    log: Log,
    store_log: Log,
    sends: Vec<Msg<LINE>>,
    /// Messages to send that need no memory access.
    pub out: Vec<Msg<LINE>>,
    /// Memory accesses, in order.
    pub accesses: Vec<Access>,
    /// Reports reads and writes here to the golden image.
    pub reporter: Option<Reporter>,
    pub watcher: Option<BlockWatcher>,
}

impl Directory {
    pub fn new(spec: &LevelSpec, extent: Extent) -> Self {
        let &LevelSpec { ref directory, ref store, me, below, ref above, history, .. } = spec;
        let (table, lines) = (directory.table(), directory.lines());
        let (bytes, room) = match extent {
            Extent::Cache(spec) => (Bytes::Some(FxHashMap::default()), Some(Room::new(spec))),
            Extent::All(share, store) => (Bytes::All(share, store, FxHashMap::default()), None),
        };
        Self {
            controller: Arc::clone(directory),
            table,
            me,
            below,
            above: Arc::clone(above),
            store: Arc::clone(store),
            store_place: Place::new(Node(me.0 + 1), me),
            at_rest: (0..table.states.len() as u8).map(|state| table.at_rest(state)).collect(),
            block: (lines * LINE) as u64,
            nothing: Line::new(table.initial()),
            known: FxHashMap::default(),
            bytes,
            room,
            waiting: WaitingRoom::default(),
            flush: VecDeque::new(),
            flushing: 0,
            forget: VecDeque::new(),
            leaving: BTreeSet::new(),
            asked: FxHashMap::default(),
            log: Log::new(table, history),
            store_log: Log::new(store.table(), 0),
            sends: Vec::new(),
            out: Vec::new(),
            accesses: Vec::new(),
            reporter: None,
            watcher: None,
        }
    }

    /// Delivers a message to the directory; it is handled now or waits here.
    pub fn offer(&mut self, msg: Msg<LINE>) -> Result<(), Box<Impossible>> {
        let block = self.block_of(msg.line);
        let in_turn = msg.lane() == Lane::Request && self.waiting.is_awaited(block);
        if !in_turn && self.attempt(&msg)? {
            return Ok(());
        }
        if msg.lane() == Lane::Reply {
            return Err(Impossible::stalled_answer(self.table, self.line(block).state, msg.kind));
        }
        // A probe may move ahead: whatever stalls it also stalls the orders and requests behind it.
        self.waiting.park_before(block, msg, |other| other.row() > msg.row());
        Ok(())
    }

    /// Whether a waiting message can be retried, or an order for all blocks can continue.
    pub fn has_work(&self) -> bool {
        self.waiting.next().is_some() || !self.flush.is_empty() || !self.forget.is_empty()
    }

    /// Retries a waiting message, or continues an order for all blocks.
    pub fn work(&mut self) -> Result<(), Box<Impossible>> {
        if let Some(block) = self.waiting.take_next() {
            let Some(&msg) = self.waiting.first(block) else { return Ok(()) };
            if self.attempt(&msg)? {
                self.waiting.leave(block);
            }
        } else if let Some(block) = self.flush.pop_front() {
            self.offer(self.order(Kind::Flush, block))?;
        } else if let Some(block) = self.forget.pop_front() {
            match self.known.get(&block).map(|line| self.at_rest[line.state as usize]) {
                Some(true) => _ = self.attempt(&self.order(Kind::Evict, block))?,
                Some(false) => self.forget.push_back(block),
                None => {}
            }
        }
        Ok(())
    }

    /// Starts to write back every block, or to give it up; [`is_swept`](Directory::is_swept) says when that is done.
    pub fn sweep(&mut self, kind: Kind) {
        let mut blocks: Vec<LineAddr> = self.known.keys().copied().collect();
        blocks.sort_unstable();
        if kind == Kind::Flush {
            self.flushing = blocks.len();
            self.flush = blocks.into();
        } else {
            self.leaving = blocks.iter().copied().collect();
            self.forget = blocks.into();
        }
    }

    /// Whether every block to be flushed or given up is done.
    pub fn is_swept(&self) -> bool {
        self.flushing == 0 && self.leaving.is_empty()
    }

    /// Blocks with a transaction in flight, in order: each with its state, and the neighbours that have not answered
    /// yet.
    pub fn under_way(&self) -> Vec<(LineAddr, &'static str, Vec<Node>)> {
        let state = |block| self.table.states[self.line(block).state as usize];
        let mut blocks: Vec<_> =
            self.asked.iter().map(|(block, nodes)| (*block, state(*block), nodes.clone())).collect();
        blocks.sort_unstable_by_key(|(block, ..)| *block);
        blocks
    }

    /// The line's address in this memory; if its block is not held, only the offset in the block.
    pub fn at(&self, line: LineAddr) -> PhysAddr {
        match (&self.bytes, &self.room) {
            (Bytes::All(share, ..), _) => share.inside(PhysAddr(line.0)),
            (_, room) => {
                let block = self.block_of(line);
                PhysAddr(room.as_ref().and_then(|room| room.at(block)).unwrap_or(0) + line.0 - block.0)
            }
        }
    }

    fn block_of(&self, line: LineAddr) -> LineAddr {
        LineAddr(line.0 / self.block * self.block)
    }

    fn line(&self, block: LineAddr) -> &Line<LINE> {
        self.known.get(&block).unwrap_or(&self.nothing)
    }

    fn order(&self, kind: Kind, block: LineAddr) -> Msg<LINE> {
        Msg::new(self.me, self.me, kind, block, Block::EMPTY)
    }

    /// Delivers a message to its block; returns `false` if it must wait.
    fn attempt(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        let block = self.block_of(msg.line);
        let mut line = *self.line(block);
        let place = Place { me: self.me, below: self.below, above: &self.above };
        let met = look(&*self.controller, self.table, place, &line, msg);
        if let Some((_, Cell::Go(next, _))) = met
            && *next != self.nothing.state
            && !self.known.contains_key(&block)
            && !self.make_room(block)?
        {
            return Ok(false);
        }
        let before = line.state;
        let mut sends = std::mem::take(&mut self.sends);
        let place = Place { me: self.me, below: self.below, above: &self.above };
        if !perform(&*self.controller, self.table, place, &mut line, msg, met, &mut self.log, &mut sends)? {
            self.sends = sends;
            return Ok(false);
        }
        self.known.insert(block, line);
        if let Some(watcher) = &self.watcher {
            watcher(block, &line);
        }
        if msg.lane() == Lane::Reply
            && let Some(asked) = self.asked.get_mut(&block)
            && let Some(at) = asked.iter().position(|node| *node == msg.from)
        {
            asked.swap_remove(at);
        }
        for send in sends.drain(..) {
            if send.to == self.store_place.me {
                self.obey(&send)?;
            } else if send.to != self.me {
                if send.lane() != Lane::Reply {
                    self.asked.entry(block).or_default().push(send.to);
                }
                self.out.push(send);
            } else if send.kind == Kind::Done {
                self.flushing -= 1;
            }
        }
        self.sends = sends;
        self.settle(block, before, line.state);
        Ok(true)
    }

    /// The store carries out a command of the directory.
    fn obey(&mut self, command: &Msg<LINE>) -> Result<(), Box<Impossible>> {
        let mut line = self.bytes.line(command.line);
        let before = line;
        let (controller, table, place) = (&*self.store, self.store.table(), self.store_place);
        let met = look(controller, table, place, &line, command);
        let mut sends = Vec::new();
        perform(controller, table, place, &mut line, command, met, &mut self.store_log, &mut sends)?;
        if line != before {
            self.bytes.keep(command.line, line);
        }
        if let Some(reporter) = &self.reporter {
            if line.data != before.data {
                reporter.tell(command.line, Seen::Landed(line.data));
            }
            let given = sends.iter().map(|send| send.data).filter(|data| !data.mask().is_empty());
            given.for_each(|data| reporter.tell(command.line, Seen::Fetched(data)));
        }
        let writes = !command.data.mask().is_empty();
        if writes || sends.iter().any(|send| !send.data.mask().is_empty()) {
            self.accesses.push(Access { at: self.at(command.line), writes, sends });
        } else {
            self.out.append(&mut sends);
        }
        Ok(())
    }

    /// Updates the books after a step, and wakes the messages that waited for the change.
    fn settle(&mut self, block: LineAddr, before: u8, after: u8) {
        let gone = after == self.nothing.state;
        if self.at_rest[after as usize] {
            self.asked.remove(&block);
        }
        if gone {
            self.known.remove(&block);
            self.leaving.remove(&block);
        }
        self.waiting.changed(block);
        let Some(room) = &mut self.room else { return };
        if gone {
            room.free(block);
        } else {
            room.touch(block);
        }
        let came_to_rest = self.at_rest[after as usize] && !self.at_rest[before as usize];
        if let Some(next) = room.next_wanted(block).filter(|_| gone || came_to_rest) {
            self.waiting.wake(next);
        }
    }

    /// Finds a way for a block that is not held. If none is free, starts an eviction, and the block waits for it.
    fn make_room(&mut self, block: LineAddr) -> Result<bool, Box<Impossible>> {
        let Some(room) = &mut self.room else { return Ok(true) };
        if room.take(block) {
            // Another block may wait for a second free way of the set.
            if let Some(next) = room.next_wanted(block) {
                self.waiting.wake(next);
            }
            return Ok(true);
        }
        let (known, at_rest) = (&self.known, &self.at_rest);
        let victim = room.victim(block, |other| known.get(&other).is_some_and(|line| at_rest[line.state as usize]));
        if let Some(victim) = victim {
            self.attempt(&self.order(Kind::Evict, victim))?;
        }
        Ok(false)
    }
}
