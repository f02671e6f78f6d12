//! A bank: lines, their storage, and waiting messages. It knows no time.
//!
//! A message to a line is one step of the protocol. The message must wait if the table says so (`z`), if the line
//! needs a way and none can be freed, if all MSHRs are in use, or if the write-back queue is full. Messages about one
//! line keep their order: all but the first wait in the line's join queue. Waiting messages are retried when the
//! resource or the line they wait for changes. Answers never wait, so every transaction in flight completes. Each
//! queue is bounded. A request that finds a queue full stays with its sender and stalls it (`[giles 3.2.5.1]`);
//! protocols that can refuse requests refuse it.
//!
//! A line occupies a way as long as its protocol says so ([`takes_room`](protocol::Controller::takes_room)). A line
//! that was evicted and waits for its write-back to be acknowledged, or that was written through without being held,
//! is kept in the write-back queue. A look-up searches that queue as well as the ways, and a line that its protocol
//! takes back moves from there to a way. Protocols with a `Drain` event keep lines there until the bank sends them
//! below ([`Bank::drain`]). Requests that were refused below wait for a retry ([`Bank::refused`]).

mod aside;
mod bring;
mod offer;
mod room;
mod spec;
mod sweep;
mod waiting;

pub use bring::Meets;
pub use offer::Offer;
pub use spec::BankSpec;
use waiting::slots;

use crate::array::{Array, Way};
use engine::{Counter, Level, Matrix, Scope};
use interconnect::is_order;
use mem::{Block, LINE, LineAddr, WaitingRoom};
use protocol::{Access, Cell, Impossible, Kind, Lane, Line, Log, Msg, Node, Place, Roster, Table, look, perform};
use rustc_hash::FxHashMap;
use std::{
    collections::{BTreeSet, VecDeque},
    rc::Rc,
};

/// Called after each step with the message, the line's new state, and whether no transaction on it is in flight.
pub type LineWatcher = Rc<dyn Fn(&Msg<LINE>, &Line<LINE>, bool)>;

/// Why a message waits.
enum Wait {
    /// A transaction on the line must complete first.
    Line,
    /// No way can be freed.
    Way,
    /// No MSHR is free.
    Mshr,
    /// The lines that would be evicted do not fit in the write-back queue.
    WriteBack(Aside),
}

/// How many lines need a place in the write-back queue, and whether their home is a peer.
#[derive(Clone, Copy)]
struct Aside {
    count: usize,
    away: bool,
}

/// Where a line is.
#[derive(Clone, Copy)]
enum Where {
    Way(Way),
    Aside,
    Nowhere,
}

/// Identifies a queue of messages about one line. In protocols with probes, a line has a queue for each
/// [`Row`](protocol::Row) of messages. The value is the line's address; one of its low bits is set for probes, another
/// for orders.
type Slot = LineAddr;

/// The event of a message and the table's cell for it; `None` if the protocol has no such event here.
type Met = Option<(u8, &'static Cell)>;

pub struct Bank {
    spec: BankSpec,
    table: &'static Table,
    /// For each state, whether no transaction is in flight in it.
    at_rest: Vec<bool>,
    /// For each state, whether a line in it occupies a way.
    takes_room: Vec<bool>,
    /// For each state, whether a line in it waits to be drained.
    drains: Vec<bool>,
    /// For each state, whether a line in it waits for a retry.
    retries: Vec<bool>,
    /// Lines of the write-back queue that wait to be drained, oldest first; some may have been taken back since.
    write_backs: VecDeque<LineAddr>,
    /// Lines whose request was refused below, to be retried ([`Bank::retry`]).
    pub refused: Vec<LineAddr>,
    /// Lines whose transaction has completed; filled only if requests can be refused.
    pub settled: Vec<LineAddr>,
    can_retry: bool,
    /// The line of a locked access: no probe may take it.
    locked: Option<LineAddr>,
    array: Array,
    /// The line used for every address that is not held.
    nothing: Line<LINE>,
    /// Whether all lines share one logical time, which is kept in `nothing`.
    keeps_time: bool,
    /// Whether the controller below is notified of evictions.
    tells_evictions: bool,
    /// Whether a forward-backward table below is notified of lines that are gone.
    pub tells_gone: bool,
    /// The write-back queue.
    aside: FxHashMap<LineAddr, Line<LINE>>,
    /// How many lines of the write-back queue have a transaction in flight.
    landing: usize,
    /// Lines with a transaction in flight.
    busy: usize,
    /// How many of the `busy` lines have a peer as home.
    busy_away: usize,
    /// Waiting messages, each with the number of its lanes.
    waiting: WaitingRoom<(Msg<LINE>, u8)>,
    /// Whether probes, orders and requests wait in separate queues.
    apart: bool,
    /// Whether this cache can refuse requests from above, which are then repeated.
    nacks: bool,
    /// How many lanes of messages wait.
    waits: usize,
    /// How many of `waits` are for lines whose home is a peer.
    waits_away: usize,
    /// For each set, lines whose first message needs a way.
    need_way: FxHashMap<usize, Vec<Slot>>,
    /// Lines whose first message needs an MSHR.
    need_mshr: VecDeque<Slot>,
    /// Lines whose first message needs places in the write-back queue.
    need_write_back: VecDeque<(Slot, Aside)>,
    /// A sweep over many lines: the messages not yet accepted.
    sweep: VecDeque<Msg<LINE>>,
    /// How many messages of the sweep are not answered yet.
    swept: usize,
    /// Lines to be given up that are not gone yet.
    leaving: BTreeSet<LineAddr>,
    /// Messages to send, in order.
    pub out: Vec<Msg<LINE>>,
    /// In a checked run, the performed stores in order, each with the length of `out` before its step.
    pub performed: Option<Vec<(usize, Msg<LINE>)>>,
    pub watcher: Option<LineWatcher>,
    log: Log,
    steps: Matrix,
    accesses: Matrix,
    /// Counts of reads that missed in the requester's TLB, if they are counted.
    pub tlb_missed: Option<Matrix>,
    /// The outcome of the last request: hit, miss or merged, as an index.
    last: usize,
    /// Whether the last step started a transaction that is in flight now.
    began: bool,
    evictions: Counter,
    mshr_full: Counter,
    no_way: Counter,
    write_back_full: Counter,
    join_full: Counter,
    /// Occupancy of the queues.
    kept_aside: Level,
    parked: Level,
}

impl Bank {
    /// The lines with a transaction in flight, each with the name of its state, in order.
    pub fn under_way(&self) -> Vec<(LineAddr, &'static str)> {
        let mut lines: Vec<LineAddr> = self.array.tags().chain(self.aside.keys().copied()).collect();
        lines.sort_unstable();
        let state = |line| self.line(self.find(line), line).state as usize;
        let busy = lines.into_iter().map(|line| (line, state(line))).filter(|(_, state)| !self.at_rest[*state]);
        busy.map(|(line, state)| (line, self.spec.controller.table().states[state])).collect()
    }

    /// The nodes above of which the bank keeps records.
    pub fn above(&self) -> &Roster {
        &self.spec.above
    }

    /// `history`: how many steps are kept for the report on an impossible event.
    pub fn new(spec: BankSpec, history: usize, scope: &Scope) -> Self {
        let table = spec.controller.table();
        let (states, can) = (0..table.states.len() as u8, table.capabilities());
        Self {
            table,
            at_rest: states.clone().map(|state| table.at_rest(state)).collect(),
            takes_room: states.clone().map(|state| spec.controller.takes_room(state)).collect(),
            drains: states.clone().map(|state| table.drains(state)).collect(),
            retries: states.clone().map(|state| table.retries(state)).collect(),
            write_backs: VecDeque::new(),
            refused: Vec::new(),
            settled: Vec::new(),
            can_retry: can.retries,
            locked: None,
            nothing: Line::new(table.initial()),
            keeps_time: spec.controller.keeps_time(),
            tells_evictions: spec.controller.tells_evictions(),
            tells_gone: false,
            array: Array::new(spec.shape),
            aside: FxHashMap::default(),
            landing: 0,
            busy: 0,
            busy_away: 0,
            waiting: WaitingRoom::default(),
            apart: can.probes_apart,
            nacks: can.nacks,
            waits: 0,
            waits_away: 0,
            need_way: FxHashMap::default(),
            need_mshr: VecDeque::new(),
            need_write_back: VecDeque::new(),
            sweep: VecDeque::new(),
            swept: 0,
            leaving: BTreeSet::new(),
            out: Vec::new(),
            performed: None,
            watcher: None,
            log: Log::new(table, history),
            steps: scope.matrix("steps", table.states, table.events),
            accesses: scope.matrix("accesses", &["read", "write"], &["hit", "miss", "merged"]),
            tlb_missed: None,
            last: 0,
            began: false,
            evictions: scope.counter("evictions"),
            mshr_full: scope.counter("mshr_full"),
            no_way: scope.counter("no_way"),
            write_back_full: scope.counter("write_back_full"),
            join_full: scope.counter("join_full"),
            kept_aside: scope.level("write_back_queue"),
            parked: scope.level("waiting"),
            spec,
        }
    }

    /// Delivers a message if the table can answer it now, ahead of messages that wait for the line; returns whether
    /// it was answered.
    pub fn at_once(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        Ok(self.attempt(msg)?.is_ok())
    }

    /// Performs an access on a line that was fetched for it and is writable; returns whether it was performed. The
    /// access needs neither an MSHR nor a place in the write-back queue. If it had to wait for one, probes could take
    /// the line away unused again and again, and the holders of these resources may be waiting for the same block.
    pub fn use_line(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        Ok(self.attempt_with(msg, false)?.is_ok())
    }

    /// Whether a line has a transaction in flight, or messages wait for it.
    pub fn is_busy(&self, line: LineAddr) -> bool {
        !self.at_rest[self.line(self.find(line), line).state as usize] || self.waiting.is_awaited(line)
    }

    pub fn mshrs(&self) -> usize {
        self.spec.mshrs
    }

    /// Whether lines are probed from below. Probes must get through even while requests from above are blocked.
    pub fn is_probed(&self) -> bool {
        self.apart
    }

    /// The bytes of a line, if it may be written without a request to below.
    pub fn writable(&self, line: LineAddr) -> Option<[u8; LINE]> {
        let found = self.line(self.find(line), line);
        let may = self.spec.controller.access(found) == Access::Write && self.at_rest[found.state as usize];
        may.then(|| *found.data.bytes())
    }

    /// The bytes that are held of a line.
    pub fn held(&self, line: LineAddr) -> Block<LINE> {
        self.line(self.find(line), line).data
    }

    /// From now on no probe can take the line. A requester that locks a line stores to it before it locks another: a
    /// locked access stays within a line, and the threads of a core lock in turn.
    pub fn lock(&mut self, line: LineAddr) {
        debug_assert!(self.locked.is_none_or(|held| held == line), "{line} is locked while another line is");
        self.locked = Some(line);
    }

    /// Releases the locked line; probes that waited for it are retried.
    pub fn unlock(&mut self) {
        let Some(line) = self.locked.take() else { return };
        for slot in slots(line).into_iter().filter(|slot| *slot != line) {
            if self.waiting.is_awaited(slot) {
                self.waiting.wake_once_more(slot);
            }
        }
    }

    pub fn locked(&self) -> Option<LineAddr> {
        self.locked
    }

    /// Whether a line's home is a peer.
    fn is_away(&self, line: LineAddr) -> bool {
        !self.spec.peers.is_empty() && self.spec.peers.contains(self.spec.below.of(line.0))
    }

    /// The controller's neighbours for a line.
    fn place(&self, line: LineAddr) -> Place<'_> {
        stands(&self.spec, *self.spec.below.of(line.0))
    }

    fn find(&self, line: LineAddr) -> Where {
        match self.array.find(line) {
            Some(way) => Where::Way(way),
            None if self.aside.contains_key(&line) => Where::Aside,
            None => Where::Nowhere,
        }
    }

    fn line(&self, place: Where, tag: LineAddr) -> &Line<LINE> {
        match place {
            Where::Way(way) => self.array.line(way),
            Where::Aside => &self.aside[&tag],
            Where::Nowhere => &self.nothing,
        }
    }

    /// Copies the cache's logical time to a line.
    fn set_time(&mut self, place: Where, tag: LineAddr) {
        if self.keeps_time {
            let now = self.nothing.stamps.cts;
            match place {
                Where::Way(way) => self.array.line_mut(way).stamps.cts = now,
                Where::Aside => self.aside.get_mut(&tag).expect("it has just been found").stamps.cts = now,
                Where::Nowhere => {}
            }
        }
    }

    fn state(&self, line: LineAddr) -> u8 {
        self.line(self.find(line), line).state
    }

    fn look(&self, line: &Line<LINE>, msg: &Msg<LINE>) -> Met {
        self.look_above(*self.spec.below.of(msg.line.0), line, msg)
    }

    /// Variant of [`look`](Self::look) with the node below given.
    fn look_above(&self, below: Node, line: &Line<LINE>, msg: &Msg<LINE>) -> Met {
        look(&*self.spec.controller, self.table, stands(&self.spec, below), line, msg)
    }

    /// Delivers a message to its line, unless it must wait.
    fn attempt(&mut self, msg: &Msg<LINE>) -> Result<Result<(), Wait>, Box<Impossible>> {
        self.attempt_with(msg, takes_register(msg.kind))
    }

    /// `needs_register`: whether a transaction that the message starts needs an MSHR and, if the line moves there, a
    /// place in the write-back queue.
    fn attempt_with(&mut self, msg: &Msg<LINE>, needs_register: bool) -> Result<Result<(), Wait>, Box<Impossible>> {
        debug_assert!(!is_order(msg.line), "orders for many lines are swept");
        if self.locked == Some(msg.line) && msg.lane() == Lane::Coherence {
            return Ok(Err(Wait::Line));
        }
        let (mut place, below) = (self.find(msg.line), *self.spec.below.of(msg.line.0));
        self.set_time(place, msg.line);
        let line = self.line(place, msg.line);
        let met = self.look_above(below, line, msg);
        if let Some((_, Cell::Go(next, _))) = met {
            let next = *next as usize;
            // Probes take no MSHR: caches that probe each other could otherwise deadlock.
            if needs_register && self.at_rest[line.state as usize] && !self.at_rest[next] && self.lacks_mshr(msg.line) {
                self.mshr_full.increment();
                return Ok(Err(Wait::Mshr));
            }
            if needs_register && self.goes_aside(place, next) {
                let aside = Aside { count: 1, away: self.is_away(msg.line) };
                if !self.has_room_for(aside) {
                    self.write_back_full.increment();
                    return Ok(Err(Wait::WriteBack(aside)));
                }
            }
            let state = line.state;
            if self.takes_room[next] && !matches!(place, Where::Way(_)) {
                if self.would_take_last_way(msg.line) {
                    self.no_way.increment();
                    return Ok(Err(Wait::Way));
                }
                match self.make_room(msg.line)? {
                    Ok(way) => {
                        let line = self.take_aside(msg.line, state).unwrap_or(self.nothing);
                        self.array.put(way, msg.line, line);
                        place = Where::Way(way);
                    }
                    Err(why) => return Ok(Err(why)),
                }
            }
        }
        let done = self.step(place, below, met, msg)?;
        Ok(if done { Ok(()) } else { Err(Wait::Line) })
    }

    /// One step of the protocol; its messages go to `out`. Returns `false` on a stall.
    fn step(&mut self, place: Where, below: Node, met: Met, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        self.set_time(place, msg.line);
        let mut nothing = None;
        let (controller, table, way) = (&*self.spec.controller, self.table, stands(&self.spec, below));
        let line = match place {
            Where::Way(way) => self.array.line_mut(way),
            Where::Aside => self.aside.get_mut(&msg.line).expect("it has just been found"),
            Where::Nowhere => nothing.insert(self.nothing),
        };
        let (before, sent) = (line.state, self.out.len());
        if let Some((event, _)) = met {
            self.steps.count(before.into(), event.into());
        }
        if !perform(controller, table, way, line, msg, met, &mut self.log, &mut self.out)? {
            return Ok(false);
        }
        let after = line.state;
        if let Some(watcher) = &self.watcher {
            watcher(msg, line, self.at_rest[after as usize]);
        }
        if self.keeps_time {
            self.nothing.stamps.cts = line.stamps.cts;
        }
        if let Some(line) = nothing.filter(|line| line.state != self.nothing.state) {
            self.put_aside(msg.line, line);
        }
        self.settle(place, msg.line, before, after);
        if msg.kind == Kind::Store
            && let Some(performed) = &mut self.performed
        {
            performed.push((sent, *msg));
        }
        // A `Modified` message to this node answers an atomic access; it is not internal.
        let own = |send: &Msg<LINE>| send.to == self.spec.me && send.kind != Kind::Modified;
        if self.out[sent..].iter().any(own) {
            let own = self.out.extract_if(sent.., |send| own(send));
            self.swept -= own.filter(|send| send.kind == Kind::Done).count();
        }
        Ok(true)
    }

    /// Moves a line that has changed to its way or the write-back queue, and wakes the messages that waited for the
    /// change.
    fn settle(&mut self, place: Where, tag: LineAddr, before: u8, after: u8) {
        let (was_busy, is_busy) = (!self.at_rest[before as usize], !self.at_rest[after as usize]);
        self.began = is_busy && !was_busy;
        let room = self.takes_room[after as usize];
        match place {
            Where::Way(way) if room => self.array.touch(way),
            Where::Way(way) => {
                if after != self.nothing.state {
                    self.put_aside(tag, *self.array.line(way));
                }
                self.array.clear(way);
            }
            Where::Aside if after == self.nothing.state => _ = self.take_aside(tag, before),
            Where::Aside => self.landing = self.landing + usize::from(is_busy) - usize::from(was_busy),
            Where::Nowhere => {}
        }
        if self.drains[after as usize] && !self.drains[before as usize] {
            self.write_backs.push_back(tag);
        }
        if self.retries[after as usize] && !self.retries[before as usize] {
            self.refused.push(tag);
        }
        if self.can_retry && was_busy && !is_busy {
            self.settled.push(tag);
        }
        if after == self.nothing.state && before != after {
            self.leaving.remove(&tag);
            if self.tells_gone {
                let below = *self.spec.below.of(tag.0);
                self.out.push(Msg::new(self.spec.me, below, Kind::Evicted, tag, Block::EMPTY));
            }
        }
        self.busy = self.busy + usize::from(is_busy) - usize::from(was_busy);
        if self.is_away(tag) {
            self.busy_away = self.busy_away + usize::from(is_busy) - usize::from(was_busy);
        }
        let came_free = matches!(place, Where::Way(_)) && (!room || (was_busy && !is_busy));
        if came_free
            && !self.need_way.is_empty()
            && let Some(lines) = self.need_way.remove(&self.array.set(tag))
        {
            lines.into_iter().for_each(|slot| self.waiting.wake_once_more(slot));
        }
        match self.apart {
            _ if self.waiting.is_empty() => {}
            true => slots(tag).into_iter().for_each(|slot| self.waiting.changed(slot)),
            false => self.waiting.changed(tag),
        }
    }
}

/// The bank's neighbours for a line whose home is `below`.
fn stands(spec: &BankSpec, below: Node) -> Place<'_> {
    Place { me: spec.me, below, above: &spec.above }
}

/// Whether a transaction started by a message of this kind needs an MSHR.
fn takes_register(kind: Kind) -> bool {
    let probe = matches!(kind, Kind::Inval | Kind::GetFwd | Kind::GetXFwd | Kind::CoreFlush | Kind::Downgrade);
    !probe && !matches!(kind, Kind::WriteBack | Kind::Drain | Kind::Retry | Kind::Evict) && kind.lane() != Lane::Reply
}
