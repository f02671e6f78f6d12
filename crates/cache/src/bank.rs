//! A bank: lines, the room for them, and messages that must wait. No time.
//!
//! A message that meets a line is answered by a step of the protocol. It must wait if the table says so (`z`), if the line
//! needs a way and none can be had, if as many lines have something under way as there are miss registers, or if the
//! write-back queue is full. Messages about one line keep their order: all but the first stand in its join queue. Those that
//! wait are tried again when what held them up has changed. Answers never wait, so whatever is under way comes to its end.
//! Each of these queues has an end; a request that finds one full stays with its sender, and holds that up
//! (`[giles 3.2.5.1]`), or in protocols that can refuse requests is refused.
//!
//! A line takes up a way as long as its protocol says so ([`takes_room`](protocol::Controller::takes_room)). One that was given up and only waits
//! for its write-back to land, or that was written through without having been here, is kept aside: that is the write-back
//! queue. It is searched like the ways, and a line whose protocol takes it back goes from there to a way again. Protocols that name
//! a time to send its lines below (`Drain`) keep them there until then ([`Bank::drain`]). Requests that were refused below wait
//! for another try ([`Bank::refused`]).

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
use protocol::{Access, Cell, Impossible, Kind, Lane, Line, Log, Msg, Place, Roster, Table, look, perform};
use rustc_hash::FxHashMap;
use std::{
    collections::{BTreeSet, VecDeque},
    rc::Rc,
};

/// Called after each step with the message, the line's new state, and whether no transaction on it is in flight.
pub type LineWatcher = Rc<dyn Fn(&Msg<LINE>, &Line<LINE>, bool)>;

/// Why a message waits.
enum Wait {
    /// The line has something under way that must end first.
    Line,
    /// No way can be had.
    Way,
    /// No miss register is free.
    Mshr,
    /// What is to be given up doesn't fit the write-back queue.
    WriteBack(Aside),
}

/// Lines that need a place in the write-back queue, and whether their home is a peer.
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

/// A row of messages about one line: all of them or, where lines are probed, those of one [`Row`](protocol::Row). The address of the line, with a
/// bit set for probes and another for orders.
type Slot = LineAddr;

/// What a message meets: its event and the cell, if the protocol has one for it.
type Met = Option<(u8, &'static Cell)>;

pub struct Bank {
    spec: BankSpec,
    table: &'static Table,
    /// For each state, whether nothing is under way in it, and whether it takes up room.
    at_rest: Vec<bool>,
    takes_room: Vec<bool>,
    /// For each state, whether it is one of the write-back queue, and of the retry queue.
    drains: Vec<bool>,
    retries: Vec<bool>,
    /// Lines of the write-back queue, the oldest first; some may have been taken back.
    write_backs: VecDeque<LineAddr>,
    /// Lines whose request has been refused below, to be tried again ([`Bank::retry`]).
    pub refused: Vec<LineAddr>,
    /// Lines that have come to rest, where requests can be refused: what they waited for is over.
    pub settled: Vec<LineAddr>,
    can_retry: bool,
    /// The line of a locked access: no probe may take it away.
    locked: Option<LineAddr>,
    array: Array,
    /// A line of which nothing is here, and whether all lines have one time, which is in it.
    nothing: Line<LINE>,
    keeps_time: bool,
    /// Whether those below are told of lines that are evicted.
    tells_evictions: bool,
    aside: FxHashMap<LineAddr, Line<LINE>>,
    /// How many of those aside have something under way.
    landing: usize,
    /// Lines with something under way, and those of them whose home is a peer.
    busy: usize,
    busy_away: usize,
    /// Messages that wait, each with the number of its lanes.
    waiting: WaitingRoom<(Msg<LINE>, u8)>,
    /// Whether probes, orders and requests wait apart.
    apart: bool,
    /// Whether those above can be told to ask again.
    nacks: bool,
    /// How many messages wait, and how many of those for lines whose home is a peer.
    waits: usize,
    waits_away: usize,
    /// Lines of each set whose first message needs a way; lines whose first message needs a miss register.
    need_way: FxHashMap<usize, Vec<Slot>>,
    need_mshr: VecDeque<Slot>,
    /// Lines whose first message needs places in the write-back queue.
    need_write_back: VecDeque<(Slot, Aside)>,
    /// A sweep over all lines: the messages still to be shown, and how many are to be answered.
    sweep: VecDeque<Msg<LINE>>,
    swept: usize,
    /// Lines that are to be given up, and are not gone yet.
    leaving: BTreeSet<LineAddr>,
    /// To be sent, in order.
    pub out: Vec<Msg<LINE>>,
    /// Stores that have met their line, in order, if the run is checked; and how many messages were in `out` before.
    pub performed: Option<Vec<(usize, Msg<LINE>)>>,
    pub watcher: Option<LineWatcher>,
    log: Log,
    steps: Matrix,
    accesses: Matrix,
    /// Reads of requesters whose TLB did not have the page, if they are counted; and what came of the last request.
    pub tlb_missed: Option<Matrix>,
    last: usize,
    /// Whether the last step began something that is under way now.
    began: bool,
    evictions: Counter,
    mshr_full: Counter,
    no_way: Counter,
    write_back_full: Counter,
    join_full: Counter,
    /// How full the queues are.
    kept_aside: Level,
    parked: Level,
}

impl Bank {
    /// The lines that have something under way, each with the name of its state, in order.
    pub fn under_way(&self) -> Vec<(LineAddr, &'static str)> {
        let mut lines: Vec<LineAddr> = self.array.tags().chain(self.aside.keys().copied()).collect();
        lines.sort_unstable();
        let state = |line| self.line(self.find(line), line).state as usize;
        let busy = lines.into_iter().map(|line| (line, state(line))).filter(|(_, state)| !self.at_rest[*state]);
        busy.map(|(line, state)| (line, self.spec.controller.table().states[state])).collect()
    }

    /// Those above, as far as records are kept of them.
    pub fn above(&self) -> &Roster {
        &self.spec.above
    }

    /// `history`: how many steps are kept to be told if the protocol turns out to have a hole.
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

    /// Shows the bank a message if it can be answered now, before any that wait for the line; says whether it was.
    pub fn at_once(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        Ok(self.attempt(msg)?.is_ok())
    }

    /// Shows the bank an access to a line that was brought for it and may be written; says whether it was performed. It needs
    /// neither a miss register nor a place in the write-back queue: if it had to wait for one, probes would take the
    /// line away unused, again and again, and what holds these resources may be waiting for the same block.
    pub fn use_line(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        Ok(self.attempt_with(msg, false)?.is_ok())
    }

    /// Whether a line has something under way, or messages wait for it.
    pub fn is_busy(&self, line: LineAddr) -> bool {
        !self.at_rest[self.line(self.find(line), line).state as usize] || self.waiting.is_awaited(line)
    }

    /// Whether those below want lines back: that must get through whatever is asked from above.
    pub fn is_probed(&self) -> bool {
        self.apart
    }

    /// The bytes of a line that may be written without asking anybody.
    pub fn writable(&self, line: LineAddr) -> Option<[u8; LINE]> {
        let found = self.line(self.find(line), line);
        let may = self.spec.controller.access(found) == Access::Write && self.at_rest[found.state as usize];
        may.then(|| *found.data.bytes())
    }

    /// The bytes that are held of a line.
    pub fn held(&self, line: LineAddr) -> Block<LINE> {
        self.line(self.find(line), line).data
    }

    /// From now on no probe can take the line away. A requester that locks a line stores to it before it locks another: a locked access stays
    /// within a line, and a core's threads lock in turn.
    pub fn lock(&mut self, line: LineAddr) {
        debug_assert!(self.locked.is_none_or(|held| held == line), "{line} is locked while another line is");
        self.locked = Some(line);
    }

    /// Probes that waited for the locked line are tried again.
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

    /// Where this bank stands for a line.
    fn place(&self, line: LineAddr) -> Place<'_> {
        stands(&self.spec, line)
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

    /// Tells a line what time it is in the whole cache.
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
        look(&*self.spec.controller, self.table, self.place(msg.line), line, msg)
    }

    /// Shows a message to its line, if nothing is in the way.
    fn attempt(&mut self, msg: &Msg<LINE>) -> Result<Result<(), Wait>, Box<Impossible>> {
        self.attempt_with(msg, takes_register(msg.kind))
    }

    /// `needs_register`: what it starts takes a miss register and, if its line goes there, a place in the write-back queue.
    fn attempt_with(&mut self, msg: &Msg<LINE>, needs_register: bool) -> Result<Result<(), Wait>, Box<Impossible>> {
        debug_assert!(!is_order(msg.line), "orders for many lines are swept");
        if self.locked == Some(msg.line) && msg.lane() == Lane::Coherence {
            return Ok(Err(Wait::Line));
        }
        let mut place = self.find(msg.line);
        self.set_time(place, msg.line);
        let line = self.line(place, msg.line);
        let met = self.look(line, msg);
        if let Some((_, Cell::Go(next, _))) = met {
            let next = *next as usize;
            // What those below want takes no register: they may be waiting for each other.
            if needs_register && self.at_rest[line.state as usize] && !self.at_rest[next] && self.lacks_mshr(msg.line) {
                self.mshr_full.increment();
                return Ok(Err(Wait::Mshr));
            }
            let aside = Aside { count: 1, away: self.is_away(msg.line) };
            if needs_register && self.goes_aside(place, next) && !self.has_room_for(aside) {
                self.write_back_full.increment();
                return Ok(Err(Wait::WriteBack(aside)));
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
        let done = self.step(place, met, msg)?;
        Ok(if done { Ok(()) } else { Err(Wait::Line) })
    }

    /// One step of the protocol; what it sends goes to `out`. Says whether it was no stall.
    fn step(&mut self, place: Where, met: Met, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        self.set_time(place, msg.line);
        let mut nothing = self.nothing;
        let (controller, table, way) = (&*self.spec.controller, self.table, stands(&self.spec, msg.line));
        let line = match place {
            Where::Way(way) => self.array.line_mut(way),
            Where::Aside => self.aside.get_mut(&msg.line).expect("it has just been found"),
            Where::Nowhere => &mut nothing,
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
        if matches!(place, Where::Nowhere) && after != self.nothing.state {
            self.put_aside(msg.line, nothing);
        }
        self.settle(place, msg.line, before, after);
        if msg.kind == Kind::Store
            && let Some(performed) = &mut self.performed
        {
            performed.push((sent, *msg));
        }
        // An answer to an atomic access is for a requester of its own.
        let own = |send: &mut Msg<LINE>| send.to == self.spec.me && send.kind != Kind::Modified;
        let own = self.out.extract_if(sent.., own);
        self.swept -= own.filter(|send| send.kind == Kind::Done).count();
        Ok(true)
    }

    /// Puts a line that has changed where it belongs now, and lets those try again who waited for that.
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
        if after == self.nothing.state && !self.leaving.is_empty() {
            self.leaving.remove(&tag);
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
        slots(tag).into_iter().for_each(|slot| self.waiting.changed(slot));
    }
}

/// Where a bank stands for a line.
fn stands(spec: &BankSpec, line: LineAddr) -> Place<'_> {
    Place { me: spec.me, below: *spec.below.of(line.0), above: &spec.above }
}

/// Whether a message that starts something needs a miss register for it.
fn takes_register(kind: Kind) -> bool {
    let probe = matches!(kind, Kind::Inval | Kind::GetFwd | Kind::GetXFwd | Kind::CoreFlush | Kind::Downgrade);
    !probe && !matches!(kind, Kind::WriteBack | Kind::Drain | Kind::Retry | Kind::Evict) && kind.lane() != Lane::Reply
}
