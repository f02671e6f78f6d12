//! A bank: lines, the room for them, and messages that must wait. No time.
//!
//! A message that meets a line is answered by a step of the protocol. It must wait if the table says so (`z`), if the line
//! needs a way and none can be had, if as many lines have something under way as there are miss registers, or if the
//! write-back queue is full. Messages about one line keep their order: all but the first stand in its join queue. Those that
//! wait are tried again when what held them up has changed. Answers never wait, so whatever is under way comes to its end.
//! Each of these queues has an end; a request that finds one full stays with its sender, and holds that up
//! (`003_07d33ec44b25be67.txt`, 3.2.5.1).
//!
//! A line takes up a way as long as its protocol says so ([`Controller::takes_room`]). One that was given up and only waits
//! for its write-back to land, or that was written through without having been here, is kept aside: that is the write-back
//! queue. It is searched like the ways, and a line whose protocol takes it back goes from there to a way again. Protocols that name
//! a time to send its lines below (`Drain`) keep them there until then ([`Bank::drain`]). Requests that were refused below wait
//! for another try ([`Bank::refused`]).

use crate::array::{Array, Shape, Way};
use engine::{Counter, Level, Matrix, Scope};
use interconnect::WHOLE;
use mem::{Block, LINE, LineAddr};
use protocol::{
    Access, Cell, Controller, Impossible, Kind, Lane, Line, Log, Msg, Node, Place, Stamp, Stamps, Table, look, perform,
};
use rustc_hash::FxHashMap;
use std::{
    collections::{BTreeSet, VecDeque},
    rc::Rc,
};

/// Whom a cache asks about a line: lines are dealt in turn over the nodes.
#[derive(Clone, Debug)]
pub struct Homes {
    pub nodes: Vec<Node>,
    /// So many bytes go to one before it is the next one's turn.
    pub stride: u64,
}

impl Homes {
    pub fn of(&self, line: LineAddr) -> Node {
        self.nodes[(line.0 / self.stride) as usize % self.nodes.len()]
    }
}

/// What a bank is made of.
#[derive(Clone)]
pub struct BankSpec {
    pub controller: &'static dyn Controller<LINE>,
    pub me: Node,
    pub below: Homes,
    /// The first of those above; the others have the numbers that follow.
    pub above: Node,
    pub shape: Shape,
    /// How many lines may have something under way.
    pub mshrs: usize,
    /// How many messages may wait here, and how many of them for one line.
    pub waiting: usize,
    pub join_queue: usize,
    /// How many lines may be kept aside until what they wrote has landed; with `Drain`, until they are sent below before anything
    /// new is begun.
    pub write_back_queue: usize,
    /// Caches beside this one that are homes of lines. Their lines never take the last way, miss register or place to wait: what
    /// peers ask of this one must get through whatever it asks of them.
    pub peers: Vec<Node>,
}

/// Whoever is told what a line has become by a message, and whether nothing is under way.
pub type LineWatcher = Rc<dyn Fn(&Msg<LINE>, &Line<LINE>, bool)>;

/// What came of a message that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It has been answered, or waits here.
    Taken,
    /// There is no room for it to wait: offer it again later.
    Refused,
}

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

/// So many lines for the write-back queue, and whether their home is a peer.
#[derive(Clone, Copy)]
struct Aside {
    count: usize,
    away: bool,
}

/// What came of a request when it was first shown its line: answered from here; something had to be asked below; the line
/// had something under way already, and it waits for that.
#[derive(Clone, Copy)]
enum Came {
    Hit,
    Miss,
    Merged,
}

/// Where a line is.
#[derive(Clone, Copy)]
enum Where {
    Way(Way),
    Aside,
    Nowhere,
}

/// A row of messages about one line: all of them, or (where probes must not wait behind requests, nor requests behind probes) those
/// of one kind. The address of the line, with a bit set for probes.
type Slot = LineAddr;

/// A line's messages that wait, in their order.
type Queue = VecDeque<Msg<LINE>>;

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
    /// A line that nobody may take away now.
    locked: Option<LineAddr>,
    array: Array,
    /// A line of which nothing is here, and whether all lines have one time, which is in it.
    nothing: Line<LINE>,
    keeps_time: bool,
    aside: FxHashMap<LineAddr, Line<LINE>>,
    /// How many of those aside have something under way.
    landing: usize,
    /// Lines with something under way, and those of them whose home is a peer.
    busy: usize,
    busy_away: usize,
    waiting: FxHashMap<Slot, Queue>,
    /// Whether probes wait apart from requests.
    apart: bool,
    /// Queues that are empty, to be used again.
    spare: Vec<Queue>,
    /// How many messages wait, and how many of those for lines whose home is a peer.
    waits: usize,
    waits_away: usize,
    /// Lines of each set whose first message needs a way; lines whose first message needs a miss register.
    need_way: FxHashMap<usize, Vec<Slot>>,
    need_mshr: VecDeque<Slot>,
    /// Lines whose first message needs places in the write-back queue.
    need_write_back: VecDeque<(Slot, Aside)>,
    /// Lines whose first message is to be tried again.
    again: VecDeque<Slot>,
    /// A sweep over all lines: the messages still to be shown, and how many are to be answered.
    sweep: VecDeque<Msg<LINE>>,
    swept: usize,
    /// Lines that are to be given up, and are not gone yet.
    leaving: BTreeSet<LineAddr>,
    /// To be sent, in order.
    pub out: Vec<Msg<LINE>>,
    /// Stores that have met their line, in order, if anybody watches.
    pub performed: Option<Vec<Msg<LINE>>>,
    pub watcher: Option<LineWatcher>,
    log: Log,
    steps: Matrix,
    accesses: Matrix,
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
    /// `history`: how many steps are kept to be told if the protocol turns out to have a hole.
    pub fn new(spec: BankSpec, history: usize, scope: &Scope) -> Self {
        let table = spec.controller.table();
        let states = 0..table.states.len() as u8;
        Self {
            table,
            at_rest: states.clone().map(|state| table.at_rest(state)).collect(),
            takes_room: states.map(|state| spec.controller.takes_room(state)).collect(),
            drains: table.takes("Drain"),
            retries: table.takes("Retry"),
            write_backs: VecDeque::new(),
            refused: Vec::new(),
            locked: None,
            nothing: Line::new(table.initial()),
            keeps_time: spec.controller.keeps_time(),
            array: Array::new(spec.shape),
            aside: FxHashMap::default(),
            landing: 0,
            busy: 0,
            busy_away: 0,
            waiting: FxHashMap::default(),
            apart: table.events.iter().any(|event| ["Retry", "CoreFlush"].contains(event)),
            spare: Vec::new(),
            waits: 0,
            waits_away: 0,
            need_way: FxHashMap::default(),
            need_mshr: VecDeque::new(),
            need_write_back: VecDeque::new(),
            again: VecDeque::new(),
            sweep: VecDeque::new(),
            swept: 0,
            leaving: BTreeSet::new(),
            out: Vec::new(),
            performed: None,
            watcher: None,
            log: Log::new(table, history),
            steps: scope.matrix("steps", table.states, table.events),
            accesses: scope.matrix("accesses", &["read", "write"], &["hit", "miss", "merged"]),
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

    /// Shows the bank a message. What it gives rise to is in [`out`](Bank::out).
    pub fn offer(&mut self, msg: Msg<LINE>) -> Result<Offer, Box<Impossible>> {
        if msg.lane() == Lane::Reply {
            return match self.attempt(&msg)? {
                Ok(()) => Ok(Offer::Taken),
                Err(_) => Err(Box::new(Impossible {
                    table: self.table.name,
                    state: "?",
                    event: format!("{:?}", msg.kind),
                    why: "an answer was made to wait".to_owned(),
                    history: Vec::new(),
                })),
            };
        }
        let own_place = self.is_away(msg.line) && self.waits_away + 1 >= self.spec.waiting;
        // What those below want, and what comes back from above, must get through whatever is asked from above.
        if msg.lane() == Lane::Request && (own_place || self.waits >= self.spec.waiting) {
            // It could be answered at once only if nothing waits before it.
            if self.is_awaited(self.slot(&msg)) || self.attempt(&msg)?.is_err() {
                return Ok(Offer::Refused);
            }
            self.count(&msg, if self.began { Came::Miss } else { Came::Hit });
            return Ok(Offer::Taken);
        }
        if self.is_awaited(self.slot(&msg)) {
            if msg.lane() == Lane::Request && self.waiting[&self.slot(&msg)].len() >= self.spec.join_queue {
                self.join_full.increment();
                return Ok(Offer::Refused);
            }
            self.count(&msg, Came::Merged);
            self.park(msg);
            return Ok(Offer::Taken);
        }
        match self.attempt(&msg)? {
            Ok(()) => self.count(&msg, if self.began { Came::Miss } else { Came::Hit }),
            Err(why) => {
                self.count(&msg, if matches!(why, Wait::Line) { Came::Merged } else { Came::Miss });
                self.park(msg);
                self.register(self.slot(&msg), why);
            }
        }
        Ok(Offer::Taken)
    }

    /// Counts a request of somebody above.
    fn count(&self, msg: &Msg<LINE>, came: Came) {
        if msg.lane() == Lane::Request {
            let writes = !msg.data.mask().is_empty() || matches!(msg.kind, Kind::GetX | Kind::Upgrade);
            self.accesses.count(usize::from(writes), came as usize);
        }
    }

    /// Shows the bank a message if it can be answered now, before any that wait for the line; says whether it was.
    pub fn at_once(&mut self, msg: &Msg<LINE>) -> Result<bool, Box<Impossible>> {
        Ok(self.attempt(msg)?.is_ok())
    }

    /// The bytes of a line, if all of them are here and nothing is under way.
    pub fn whole(&self, line: LineAddr) -> Option<[u8; LINE]> {
        let found = self.line(self.find(line), line);
        (self.at_rest[found.state as usize] && found.data.is_full()).then(|| *found.data.bytes())
    }

    /// Whether a line has something under way, or messages wait for it.
    pub fn is_busy(&self, line: LineAddr) -> bool {
        !self.at_rest[self.line(self.find(line), line).state as usize] || self.is_awaited(line)
    }

    /// Whether those below want lines back: that must get through whatever is asked from above.
    pub fn is_probed(&self) -> bool {
        self.apart
    }

    /// The row that a message waits in.
    fn slot(&self, msg: &Msg<LINE>) -> Slot {
        LineAddr(msg.line.0 | u64::from(self.apart && msg.lane() == Lane::Coherence))
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

    /// From now on nobody can take the line away.
    pub fn lock(&mut self, line: LineAddr) {
        self.locked = Some(line);
    }

    /// Whoever waited for a locked line may have it.
    pub fn unlock(&mut self) {
        let line = self.locked.take();
        self.again.extend(line.map(|line| LineAddr(line.0 | 1)).filter(|slot| self.is_awaited(*slot)));
    }

    pub fn locked(&self) -> Option<LineAddr> {
        self.locked
    }

    /// Whether more lines wait in the write-back queue to be sent below than may.
    pub fn has_too_many_write_backs(&self) -> bool {
        self.write_backs.len() > self.spec.write_back_queue
    }

    /// Sends the oldest line of the write-back queue below; says whether there was one.
    pub fn drain(&mut self) -> Result<bool, Box<Impossible>> {
        while let Some(line) = self.write_backs.pop_front() {
            if self.drains[self.line(self.find(line), line).state as usize] {
                let drain = Msg::new(self.spec.me, self.spec.me, Kind::Drain, line, Block::EMPTY);
                return self.at_once(&drain);
            }
        }
        Ok(false)
    }

    /// Tries a refused request again, if it has not come to an end otherwise.
    pub fn retry(&mut self, line: LineAddr) -> Result<(), Box<Impossible>> {
        if self.retries[self.line(self.find(line), line).state as usize] {
            let retry = Msg::new(self.spec.me, self.spec.me, Kind::Retry, line, Block::EMPTY);
            self.at_once(&retry)?;
        }
        Ok(())
    }

    /// Whether messages wait in a row.
    fn is_awaited(&self, slot: Slot) -> bool {
        self.waits > 0 && self.waiting.contains_key(&slot)
    }

    /// Whether a message that waits, or the next of a sweep, can be tried.
    pub fn has_work(&self) -> bool {
        !self.again.is_empty()
            || !self.sweep.is_empty()
            || self.has_mshr_for_another()
            || self.need_write_back.iter().any(|(_, aside)| self.has_room_for(*aside))
    }

    fn has_mshr_for_another(&self) -> bool {
        self.busy < self.spec.mshrs && self.need_mshr.iter().any(|line| !self.lacks_mshr(*line))
    }

    /// Tries a message that waits, or shows the next of a sweep.
    pub fn work(&mut self) -> Result<(), Box<Impossible>> {
        if self.again.is_empty()
            && let Some(next) = self.need_mshr.iter().position(|line| !self.lacks_mshr(*line))
        {
            self.again.extend(self.need_mshr.remove(next));
        }
        if self.again.is_empty()
            && let Some(next) = self.need_write_back.iter().position(|(_, aside)| self.has_room_for(*aside))
        {
            self.again.extend(self.need_write_back.remove(next).map(|(line, _)| line));
        }
        if let Some(line) = self.again.pop_front() {
            let Some(&msg) = self.waiting.get(&line).and_then(VecDeque::front) else { return Ok(()) };
            match self.attempt(&msg)? {
                Ok(()) => self.unpark(line),
                Err(why) => self.register(line, why),
            }
            return Ok(());
        }
        let Some(msg) = self.sweep.front().copied() else { return Ok(()) };
        if self.offer(msg)? == Offer::Taken {
            self.sweep.pop_front();
        }
        Ok(())
    }

    /// Starts to flush or invalidate every line; [`is_swept`](Bank::is_swept) says when that is done. What has nothing to
    /// write back and nothing under way goes at once. `time`: what time it is at least, in protocols that have one.
    pub fn sweep(&mut self, kind: Kind, time: Stamp) -> Result<(), Box<Impossible>> {
        let mut lines: Vec<LineAddr> = self.array.tags().chain(self.aside.keys().copied()).collect();
        lines.sort_unstable();
        if lines.is_empty() && self.keeps_time {
            // Even a cache that holds nothing has to know the time.
            lines.push(LineAddr(0));
        }
        for line in lines {
            let found = self.line(self.find(line), line);
            let at_once = self.at_rest[found.state as usize] && !found.is_dirty();
            let stamps = Stamps::now(time);
            let msg = Msg { stamps, ..Msg::new(self.spec.me, self.spec.me, kind, line, Block::EMPTY) };
            self.swept += 1;
            if !(at_once && self.attempt(&msg)?.is_ok()) {
                self.sweep.push_back(msg);
            }
        }
        Ok(())
    }

    /// Logical time starts anew: every line is told, and whatever waits here forgets the times that it carries. `teller` is told that
    /// a line has.
    pub fn start_anew(&mut self, teller: Node) -> Result<(), Box<Impossible>> {
        let waiting = self.waiting.values_mut().flatten().chain(&mut self.sweep);
        waiting.for_each(|msg| msg.stamps = Stamps::ZERO);
        let mut lines: Vec<LineAddr> = self.array.tags().chain(self.aside.keys().copied()).collect();
        lines.sort_unstable();
        for line in lines {
            let told = self.at_once(&Msg::new(teller, self.spec.me, Kind::Reset, line, Block::EMPTY))?;
            assert!(told, "a table with `Reset` lets no line wait for it");
        }
        self.nothing.stamps = Stamps::ZERO;
        Ok(())
    }

    /// Starts to give every line up; [`is_swept`](Bank::is_swept) says when that is done.
    pub fn empty(&mut self) {
        self.leaving = self.array.tags().chain(self.aside.keys().copied()).collect();
    }

    /// Gives up a line that is to leave and can; says whether there was one. The others have something under way.
    pub fn give_up(&mut self) -> Result<bool, Box<Impossible>> {
        let (state, room) = (|bank: &Self, line| bank.line(bank.find(line), line).state, &self.takes_room);
        let ready = |line: &LineAddr| room[state(self, *line) as usize] && self.at_rest[state(self, *line) as usize];
        let Some(line) = self.leaving.iter().copied().find(ready) else { return Ok(false) };
        self.at_once(&Msg::new(self.spec.me, self.spec.me, Kind::Evict, line, Block::EMPTY))
    }

    /// Whether no line is left that was to be flushed, invalidated or given up.
    pub fn is_swept(&self) -> bool {
        self.swept == 0 && self.leaving.is_empty()
    }

    fn park(&mut self, msg: Msg<LINE>) {
        let (slot, spare) = (self.slot(&msg), &mut self.spare);
        self.waiting.entry(slot).or_insert_with(|| spare.pop().unwrap_or_default()).push_back(msg);
        self.waits += 1;
        self.waits_away += usize::from(self.is_away(msg.line));
        self.parked.set(self.waits as u64);
    }

    fn unpark(&mut self, line: LineAddr) {
        let away = self.is_away(line);
        let queue = self.waiting.get_mut(&line).expect("the message that was tried waits here");
        queue.pop_front();
        self.waits -= 1;
        self.waits_away -= usize::from(away);
        self.parked.set(self.waits as u64);
        if queue.is_empty() {
            self.spare.extend(self.waiting.remove(&line));
        } else {
            self.again.push_back(line);
        }
    }

    fn register(&mut self, line: LineAddr, why: Wait) {
        match why {
            Wait::Line => {}
            Wait::Way => self.need_way.entry(self.array.set(line)).or_default().push(line),
            Wait::Mshr => self.need_mshr.push_back(line),
            Wait::WriteBack(aside) => self.need_write_back.push_back((line, aside)),
        }
    }

    /// Whether a line's home is a peer.
    fn is_away(&self, line: LineAddr) -> bool {
        !self.spec.peers.is_empty() && self.spec.peers.contains(&self.spec.below.of(line))
    }

    fn lacks_mshr(&self, line: LineAddr) -> bool {
        self.busy >= self.spec.mshrs || self.is_away(line) && self.busy_away + 1 >= self.spec.mshrs
    }

    /// Whether so many lines more fit the write-back queue. A way of more sectors than it has places empties it first. Protocols with
    /// `Drain` make room before they begin anything new.
    fn has_room_for(&self, Aside { count, away }: Aside) -> bool {
        let places = self.spec.write_back_queue;
        let of_peers = || self.aside.keys().filter(|line| self.is_away(**line)).count();
        let fits = self.landing == 0 || self.landing + count <= places || self.drains.contains(&true);
        fits && !(away && of_peers() + count >= places)
    }

    /// Whether a line leaves its way, or comes from nowhere, for the write-back queue.
    fn goes_aside(&self, place: Where, next: usize) -> bool {
        !matches!(place, Where::Aside) && !self.takes_room[next] && !self.at_rest[next]
    }

    fn put_aside(&mut self, tag: LineAddr, line: Line<LINE>) {
        self.landing += usize::from(!self.at_rest[line.state as usize]);
        self.aside.insert(tag, line);
        self.kept_aside.set(self.aside.len() as u64);
    }

    /// Takes a line out of the write-back queue that was in `state` before.
    fn take_aside(&mut self, tag: LineAddr, state: u8) -> Option<Line<LINE>> {
        let line = self.aside.remove(&tag)?;
        self.landing -= usize::from(!self.at_rest[state as usize]);
        self.kept_aside.set(self.aside.len() as u64);
        Some(line)
    }

    /// Whether every other way of the set is taken by lines that wait for peers.
    fn would_take_last_way(&self, line: LineAddr) -> bool {
        let waits =
            |way: &Way| !self.at_rest[self.array.line(*way).state as usize] && self.is_away(self.array.tag(*way));
        self.is_away(line) && self.array.beside(line).filter(waits).count() + 1 >= self.array.ways()
    }

    /// Where this bank stands for a line.
    fn place(&self, line: LineAddr) -> Place {
        Place { me: self.spec.me, below: self.spec.below.of(line), above: self.spec.above }
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

    fn look(&self, line: &Line<LINE>, msg: &Msg<LINE>) -> Met {
        look(self.spec.controller, self.table, self.place(msg.line), line, msg)
    }

    /// Shows a message to its line, if nothing is in the way.
    fn attempt(&mut self, msg: &Msg<LINE>) -> Result<Result<(), Wait>, Box<Impossible>> {
        debug_assert!(msg.line != WHOLE, "orders for all lines are swept");
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
            if takes_register(msg.kind)
                && self.at_rest[line.state as usize]
                && !self.at_rest[next]
                && self.lacks_mshr(msg.line)
            {
                self.mshr_full.increment();
                return Ok(Err(Wait::Mshr));
            }
            let aside = Aside { count: 1, away: self.is_away(msg.line) };
            if takes_register(msg.kind) && self.goes_aside(place, next) && !self.has_room_for(aside) {
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
        let (controller, table, way) = (self.spec.controller, self.table, self.place(msg.line));
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
            performed.push(*msg);
        }
        let own = self.out.extract_if(sent.., |send| send.to == self.spec.me);
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
            self.again.extend(lines);
        }
        for slot in [LineAddr(tag.0 | 1), tag] {
            if self.is_awaited(slot) && !self.again.contains(&slot) {
                self.again.push_back(slot);
            }
        }
    }

    /// A free place for a line, made free if need be by giving up the first way that can go; all that it holds goes.
    fn make_room(&mut self, line: LineAddr) -> Result<Result<Way, Wait>, Box<Impossible>> {
        if let Some(way) = self.array.free(line) {
            return Ok(Ok(way));
        }
        let mut victims = self.array.victims(line);
        'way: while let Some(held) = self.array.next_victim(&mut victims) {
            let (mut busy, mut aside) = (self.busy, 0);
            for way in held.clone() {
                let victim = self.array.line(way);
                if self.locked == Some(self.array.tag(way)) {
                    continue 'way;
                }
                let Some((_, Cell::Go(next, _))) = self.look(victim, &self.evict(way)) else { continue 'way };
                if self.at_rest[victim.state as usize] && !self.at_rest[*next as usize] {
                    busy += 1;
                }
                aside += usize::from(self.goes_aside(Where::Way(way), *next as usize));
            }
            // A line of many sectors may need more registers than there are: it goes when all are free.
            if self.busy > 0 && busy > self.spec.mshrs.max(self.busy) {
                self.mshr_full.increment();
                return Ok(Err(Wait::Mshr));
            }
            let aside = Aside { count: aside, away: false };
            if aside.count > 0 && !self.has_room_for(aside) {
                self.write_back_full.increment();
                return Ok(Err(Wait::WriteBack(aside)));
            }
            for way in held {
                self.evictions.increment();
                let evict = self.evict(way);
                let met = self.look(self.array.line(way), &evict);
                self.step(Where::Way(way), met, &evict)?;
            }
            match self.array.free(line) {
                Some(free) => return Ok(Ok(free)),
                None => break,
            }
        }
        self.no_way.increment();
        Ok(Err(Wait::Way))
    }

    fn evict(&self, way: Way) -> Msg<LINE> {
        Msg::new(self.spec.me, self.spec.me, Kind::Evict, self.array.tag(way), Block::EMPTY)
    }
}

/// Whether a message that starts something needs a miss register for it.
fn takes_register(kind: Kind) -> bool {
    let probe = matches!(kind, Kind::Inval | Kind::GetFwd | Kind::GetXFwd | Kind::CoreFlush | Kind::Downgrade);
    !probe && !matches!(kind, Kind::WriteBack | Kind::Drain | Kind::Retry | Kind::Evict) && kind.lane() != Lane::Reply
}
