//! A timed memory: the home of lines, and when its answers leave.
//!
//! The memory handles one message at a time: answers first, because others wait for what they bring; then waiting
//! messages; then new ones, round-robin. Their effects on bytes take place in the order in which they are handled.
//! Answers leave when the [`Timing`] says so. Probes (a directory's invalidations and forwards) leave at once and
//! never delay anything else: a cache that has no room for them may be waiting for an answer of this memory.

use crate::{
    dram::{Dram, DramSpec},
    home::{Changed, Home, Served, Touched},
    room::RoomSpec,
    store::Backing,
};
use engine::{Context, Counter, Cycles, EventCount, Hertz, Inlet, Lane, Outlet, PortSpec, RoundRobin, Scope, Series};
use interconnect::{Packet, Pending, Reporter, Router, Side, WHOLE, bytes, is_order, name_of};
use mem::{Atomic, Block, LINE, LineAddr, PhysAddr, Seen, Share, stamp_of};
use protocol::{
    Impossible, Kind, Line, Log, Msg, Node, Place, Roster, Stamps, Step, flush_of, flushed_line,
    orders::{Orders, orders_home},
    roles::Seat,
    step,
};
use std::{cell::Cell, collections::VecDeque, rc::Rc, sync::Arc};

/// The parameters of a memory.
#[derive(Clone)]
pub struct MemorySpec {
    /// The home's controller.
    pub controller: Seat,
    pub me: Node,
    /// The nodes above, if the controller keeps records of them.
    pub above: Arc<Roster>,
    /// Further nodes above, which another protocol keeps coherent among themselves.
    pub beside: Option<Beside>,
    /// Whether the watcher is called for writes of the first side; otherwise for those of the second.
    pub watch_first: bool,
    /// The addresses that belong to this memory.
    pub share: Share,
    pub timing: Timing,
    /// Capacity for records of lines; `None`: unlimited.
    pub room: Option<RoomSpec>,
    /// How many protocol steps are kept for the report on an impossible event.
    pub history: usize,
}

/// A second protocol over the same bytes. A write of one side is visible to the other only when that side asks the
/// memory.
#[derive(Clone)]
pub struct Beside {
    pub controller: Seat,
    pub members: Arc<Roster>,
}

/// Called for each write of the watched side.
pub type Watcher = Rc<dyn Fn(LineAddr, &Block<LINE>)>;

/// When an answer leaves.
#[derive(Clone, Copy, Debug)]
pub enum Timing {
    Fixed(FixedSpec),
    /// The memory must be built in the clock domain of the DRAM's command clock.
    Dram(DramSpec),
}

impl Timing {
    /// The clock that the memory must be built in; `None`: the clock of the nodes above.
    pub fn clock(&self) -> Option<Hertz> {
        match self {
            Timing::Fixed(_) => None,
            Timing::Dram(dram) => Some(dram.standard.clock),
        }
    }

    /// Peak bandwidth in bytes per second, if the nodes above run at `clock`.
    pub fn peak(&self, clock: Hertz) -> f64 {
        match self {
            Timing::Fixed(fixed) => LINE as f64 / fixed.interval.0 as f64 * clock.0 as f64,
            Timing::Dram(dram) => (dram.channels as u64 * dram.standard.peak()) as f64,
        }
    }
}

/// Every answer takes the same time. Banks, rows and buses are not modelled.
#[derive(Clone, Copy, Debug)]
pub struct FixedSpec {
    /// From accepting a request until its answer leaves.
    pub latency: Cycles,
    /// From accepting one request until the next.
    pub interval: Cycles,
    /// Maximum requests in flight.
    pub outstanding: usize,
}

/// Reporters to the golden image: one for the first side, and one for the second, if there is one.
pub struct Sides {
    pub first: Reporter,
    pub second: Reporter,
}

pub struct Memory {
    me: Node,
    home: Home,
    beside: Option<(Arc<Roster>, Home)>,
    watcher: Option<Watcher>,
    watch_first: bool,
    share: Share,
    pace: Pace,
    dram: Option<Dram>,
    askers: Vec<Inlet<Packet>>,
    turns: RoundRobin,
    under_way: Outlet<Packet>,
    /// Atomic accesses to be performed here, in order.
    atomics: VecDeque<Packet>,
    /// Reports writes with their logical times to the golden image, in protocols with timestamps.
    observer: Option<Reporter>,
    /// Flushes of lines that the second side has to give up first, each with its requester.
    flushes: Vec<(LineAddr, Node)>,
    sides: Option<Sides>,
    tells_fetches: bool,
    ways: Rc<Router<Packet>>,
    bell: EventCount,
    reads: Counter,
    writes: Counter,
    /// Counts records dropped to make room for others.
    forgotten: Option<Counter>,
    /// Counts eviction notices, and records dropped because of one; in protocols that can drop records.
    notices: Option<(Counter, Counter)>,
    /// Counts restarts of logical time, in protocols that have them.
    restarts: Option<Counter>,
    /// How often logical time has restarted.
    era: u32,
    /// The nodes that are notified of a restart.
    above: Vec<Node>,
    /// Answers that have not left yet.
    owed: Rc<Cell<usize>>,
    /// Lines read or written, over time.
    traffic: Series,
}

impl Memory {
    /// Builds the memory at `scope` with its bytes in `store`, and starts the context that sends its answers.
    /// `observer` reports writes with their logical times to the golden image.
    pub fn new(
        spec: MemorySpec,
        above: Side<Packet>,
        store: impl Into<Backing>,
        observer: Option<Reporter>,
        scope: &Scope,
    ) -> Self {
        let store = store.into();
        let Port { port, pace } = Port::of(&spec.timing);
        let (under_way, done) = scope.port("under_way", port, scope);
        let bell = scope.eventcount("work");
        above.from.iter().for_each(|inlet| inlet.ring(&bell));
        let nodes = above.to.iter().flat_map(|(nodes, _)| nodes.iter().copied()).collect();
        // Probes that could not be sent delay nothing, so their count is not used.
        let ways = Rc::new(Router::new(above.to, &Pending::default(), &scope.scope("above"), &bell));
        let (answers, owed) = (Rc::clone(&ways), Rc::new(Cell::new(0)));
        let forgets = spec.controller.table().capabilities().forgets;
        let restarts = spec.controller.table().capabilities().restarts.then(|| scope.counter("restarts"));
        let left = restarts.is_some().then(|| (Rc::clone(&owed), bell.clone()));
        scope.serve("answer", |_| answer(done, answers, left));
        let dram = match spec.timing {
            Timing::Fixed(_) => None,
            Timing::Dram(dram) => Some(Dram::new(dram, &under_way, &bell, scope)),
        };
        let beside = spec.beside.map(|Beside { controller, members }| {
            let home = Home::new(controller, (spec.me, Arc::clone(&members)), spec.share, store.clone(), spec.history);
            (members, home)
        });
        Self {
            me: spec.me,
            home: Home::new(spec.controller, (spec.me, spec.above), spec.share, store, spec.history)
                .with_room(spec.room),
            beside,
            watcher: None,
            watch_first: spec.watch_first,
            share: spec.share,
            pace,
            dram,
            turns: RoundRobin::new(above.from.len()),
            askers: above.from,
            under_way,
            atomics: VecDeque::new(),
            observer,
            flushes: Vec::new(),
            sides: None,
            tells_fetches: true,
            ways,
            bell,
            reads: scope.counter("reads"),
            writes: scope.counter("writes"),
            forgotten: spec.room.map(|_| scope.counter("forgotten")),
            notices: forgets.then(|| (scope.counter("notices"), scope.counter("released"))),
            restarts,
            era: 0,
            above: nodes,
            owed,
            traffic: scope.series("traffic"),
        }
    }

    /// Calls `watcher` for each write of the watched side.
    pub fn watched_by(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// Reports all writes here to the golden image and, if nothing else writes these bytes, all fetches.
    pub fn checked_by(mut self, sides: Option<Sides>, fetches: bool) -> Self {
        self.sides = sides;
        self.tells_fetches = fetches;
        self
    }

    pub async fn run(mut self, cx: Context) {
        let mut messages = 0;
        cx.known_as(name_of(self.me));
        loop {
            match self.next() {
                Ok(Next::Nothing) => {
                    messages = 0;
                    let next = self.bell.count() + 1;
                    while self.bell.rest(next).await {
                        self.ways.explain(&cx);
                    }
                    continue;
                }
                Ok(Next::Waits) => {}
                Ok(Next::Anew) => self.tell_all_to_start_anew().await,
                Ok(Next::Served(served, atomic)) => self.respond(served, atomic, cx.now().0).await,
                Err(hole) => return cx.fail(hole.to_string()),
            }
            messages += 1;
            if messages == self.pace.messages {
                messages = 0;
                cx.pause(self.pace.cycles).await;
            }
        }
    }

    /// Delivers the next message to the home.
    fn next(&mut self) -> Result<Next, Box<Impossible>> {
        let answer = self.askers.iter().find_map(|inlet| take(inlet, Lane::Reply));
        if let Some(packet) = answer {
            return self.offer(packet);
        }
        if self.home.is_over() {
            // All earlier answers must have left before the restart is announced.
            return if self.owed.get() > 0 { Ok(Next::Nothing) } else { self.start_anew() };
        }
        if let Some(next) = self.atomic()? {
            return Ok(next);
        }
        if let Some(line) = self.home.next_work()
            && self.has_room(line)
        {
            return self.work();
        }
        if let Some(line) = self.beside.as_ref().and_then(|(_, home)| home.next_work())
            && self.has_room(line)
            && let Some((_, home)) = &mut self.beside
        {
            let served = home.work()?;
            return Ok(served.map_or(Next::Waits, |(msg, served)| self.of_beside(&msg, served)));
        }
        for port in self.turns.order() {
            let inlet = &self.askers[port];
            if inlet.is_empty() {
                continue;
            }
            let can_take = |lane: &Lane| inlet.front(*lane).is_some_and(|packet| self.has_room(packet.msg.line));
            if let Some(lane) = [Lane::Coherence, Lane::Request].into_iter().find(can_take)
                && let Some(packet) = inlet.try_recv(lane)
            {
                self.turns.grant(|turn| turn == port);
                return self.offer(packet);
            }
        }
        Ok(Next::Nothing)
    }

    /// Has the home retry a waiting message.
    fn work(&mut self) -> Result<Next, Box<Impossible>> {
        let Some((msg, served)) = self.home.work()? else { return Ok(Next::Waits) };
        self.of_first(&msg, &served);
        Ok(Next::Served(served, None))
    }

    /// Whether there is room for the access that a message about this line may cause. Answers are accepted even
    /// without room.
    fn has_room(&self, line: LineAddr) -> bool {
        is_order(line) || self.dram.as_ref().is_none_or(|dram| dram.has_room(self.inside(line)))
    }

    fn inside(&self, line: LineAddr) -> PhysAddr {
        self.share.inside(PhysAddr(line.0))
    }

    fn offer(&mut self, packet: Packet) -> Result<Next, Box<Impossible>> {
        let stamps = if packet.era == self.era { packet.msg.stamps } else { Stamps::ZERO };
        let packet = Packet { msg: Msg { stamps, ..packet.msg }, ..packet };
        let msg = packet.msg;
        if let Some(line) = flushed_line(msg.line) {
            return self.flush_line(line, msg.from);
        }
        if is_order(msg.line) {
            let sends = self.order(&msg)?;
            return Ok(Next::Served(Served { line: msg.line, touched: Touched::Nothing, sends }, None));
        }
        if msg.kind == Kind::Evicted {
            let forgotten = self.home.evicted(&msg)?;
            if let Some((notices, released)) = &self.notices {
                notices.increment();
                released.add(u64::from(forgotten));
            }
            return Ok(Next::Waits);
        }
        if msg.kind == Kind::Modify {
            self.atomics.push_back(packet);
            return Ok(self.atomic()?.unwrap_or(Next::Waits));
        }
        if let Some((members, home)) = &mut self.beside
            && members.contains(msg.from)
        {
            let served = home.offer(msg)?;
            return Ok(served.map_or(Next::Waits, |served| self.of_beside(&msg, served)));
        }
        let served = self.home.offer(msg)?;
        if let Some(served) = &served {
            self.of_first(&msg, served);
        }
        Ok(served.map_or(Next::Waits, |served| Next::Served(served, None)))
    }

    /// The first side has given a line up; memory must then hold its newest bytes: the second side gives it up, too.
    fn flush_line(&mut self, line: LineAddr, asker: Node) -> Result<Next, Box<Impossible>> {
        self.flushes.push((line, asker));
        let evict = Msg::new(self.me, self.me, Kind::Evict, line, Block::EMPTY);
        let served = match &mut self.beside {
            Some((_, home)) => home.offer(evict)?,
            None => Some(Served { line, touched: Touched::Nothing, sends: Vec::new() }),
        };
        Ok(served.map_or(Next::Waits, |served| self.of_beside(&evict, served)))
    }

    /// Answers the flushes of a line, if the second side has none of it.
    fn answer_flushes(&mut self, served: &mut Served) {
        let held = |line| self.beside.as_ref().is_some_and(|(_, home)| home.is_known(line));
        if self.flushes.is_empty() || held(served.line) {
            return;
        }
        let done = self.flushes.extract_if(.., |(line, _)| *line == served.line);
        let answer = |(line, asker)| Msg::new(self.me, asker, Kind::Done, flush_of(line), Block::EMPTY);
        served.sends.extend(done.map(answer));
    }

    /// Restarts logical time.
    fn start_anew(&mut self) -> Result<Next, Box<Impossible>> {
        self.home.start_anew()?;
        self.atomics.iter_mut().for_each(|packet| packet.msg.stamps = Stamps::ZERO);
        self.era += 1;
        if let Some(restarts) = &self.restarts {
            restarts.increment();
        }
        Ok(Next::Anew)
    }

    /// Announces the restart on the path of the answers, so that no earlier answer arrives after it.
    async fn tell_all_to_start_anew(&mut self) {
        for node in &self.above {
            let reset = Msg::new(self.home.me(), *node, Kind::Reset, WHOLE, Block::EMPTY);
            self.owed.set(self.owed.get() + 1);
            self.under_way.send(Lane::Reply, reset.into(), 0).await;
        }
    }

    /// Reports the effects of a message of the first side.
    fn of_first(&self, msg: &Msg<LINE>, served: &Served) {
        if served.touched == Touched::Written && self.watch_first {
            self.watch(msg.line, &msg.data);
        }
        self.tell(|sides| &sides.first, msg, served);
        if msg.kind == Kind::Write {
            self.observe(served, Seen::Wrote(msg.data));
        }
    }

    fn watch(&self, line: LineAddr, data: &Block<LINE>) {
        if let Some(watcher) = &self.watcher {
            watcher(line, data);
        }
    }

    /// Answers an acquire with the latest logical time. Every acknowledged write has taken effect here.
    fn order(&self, msg: &Msg<LINE>) -> Result<Vec<Msg<LINE>>, Box<Impossible>> {
        let orders = Orders { table: &orders_home::TABLE, below: Vec::new(), peers: Vec::new() };
        let mut line = Line { stamps: Stamps::now(self.home.latest()), ..Line::new(0) };
        let place = Place::new(self.me, self.me);
        match step(&orders, orders.table, place, &mut line, msg, &mut Log::new(orders.table, 0))? {
            Step::Sends(sends) => Ok(sends),
            Step::Stall => Ok(Vec::new()),
        }
    }

    /// Reports the effects of a message of the second side.
    fn of_beside(&mut self, msg: &Msg<LINE>, mut served: Served) -> Next {
        if served.touched == Touched::Written && !self.watch_first {
            self.watch(msg.line, &msg.data);
        }
        self.tell(|sides| &sides.second, msg, &served);
        self.answer_flushes(&mut served);
        Next::Served(served, None)
    }

    /// Reports a read or write of one side to the golden image.
    fn tell(&self, side: impl Fn(&Sides) -> &Reporter, msg: &Msg<LINE>, served: &Served) {
        let Some(sides) = &self.sides else { return };
        let seen = match served.touched {
            Touched::Nothing => return,
            Touched::Read if !self.tells_fetches => return,
            Touched::Written => Seen::Landed(msg.data),
            Touched::Read => {
                let given = served.sends.iter().map(|send| send.data).find(|data| !data.mask().is_empty());
                Seen::Fetched(given.expect("a line that was read has a receiver"))
            }
        };
        side(sides).tell(msg.line, seen);
    }

    /// Performs the oldest atomic access, if there is one and its line can be written.
    fn atomic(&mut self) -> Result<Option<Next>, Box<Impossible>> {
        let Some(Packet { msg, atomic: Some(atomic), .. }) = self.atomics.front().copied() else { return Ok(None) };
        if !self.has_room(msg.line) {
            return Ok(None);
        }
        let Some(Changed { found, new, served }) = self.home.modify(&msg, atomic)? else { return Ok(None) };
        self.atomics.pop_front();
        if self.watch_first {
            self.watch(msg.line, &new);
        }
        self.observe(&served, Seen::Changed { found, new });
        if let Some(sides) = self.sides.as_ref().filter(|_| self.observer.is_none()) {
            sides.first.tell(msg.line, Seen::Changed { found, new });
            sides.first.tell(msg.line, Seen::Landed(new));
        }
        Ok(Some(Next::Served(served, Some(atomic))))
    }

    /// Reports a write and its logical time to the golden image.
    fn observe(&self, served: &Served, seen: Seen) {
        if let Some(observer) = &self.observer {
            let stamp = stamp_of(self.era, served.sends.iter().map(|send| send.stamps.wts).max().unwrap_or(0));
            observer.tell_at(stamp, served.line, seen);
        }
    }

    /// Sends the messages that a step has produced, or schedules them behind their memory access.
    async fn respond(&mut self, served: Served, atomic: Option<Atomic>, now: u64) {
        let Served { line, touched, mut sends } = served;
        let packet = |msg: &Msg<LINE>| Packet { atomic, ..(*msg).into() };
        let is_answer = |msg: &Msg<LINE>| msg.lane() == protocol::Lane::Reply;
        sends.iter().filter(|msg| !is_answer(msg)).for_each(|probe| self.ways.send(packet(probe)));
        sends.retain(is_answer);
        match touched {
            Touched::Read => self.reads.increment(),
            Touched::Written => self.writes.increment(),
            Touched::Nothing => {}
        }
        if let Some(forgotten) = &self.forgotten {
            forgotten.add(std::mem::take(&mut self.home.forgotten));
        }
        if self.restarts.is_some() {
            self.owed.set(self.owed.get() + sends.len());
        }
        self.traffic.count(u64::from(touched != Touched::Nothing));
        if let Some(dram) = &self.dram {
            let address = self.inside(line);
            match touched {
                Touched::Read => {
                    // The answers that wait for the read are passed with it; it returns those that need not wait.
                    let answers = dram.read(now, address, sends.drain(..).map(|msg| packet(&msg)).collect());
                    for answer in answers.unwrap_or_default() {
                        self.under_way.send(Lane::Reply, answer, 0).await;
                    }
                }
                Touched::Written => dram.write(now, address),
                Touched::Nothing => {}
            }
        }
        for answer in &sends {
            let answer = packet(answer);
            if let Err(answer) = self.under_way.try_send(Lane::Reply, answer, 0) {
                self.under_way.send(Lane::Reply, answer, 0).await;
            }
        }
        self.home.recycle(sends);
    }
}

/// How many messages are accepted per number of cycles.
pub(crate) struct Pace {
    pub messages: usize,
    pub cycles: Cycles,
}

/// The port that delays answers, and how fast messages are accepted.
pub(crate) struct Port {
    pub port: PortSpec,
    pub pace: Pace,
}

impl Port {
    pub fn of(timing: &Timing) -> Self {
        let (latency, capacity, pace) = match timing {
            Timing::Fixed(fixed) => (fixed.latency, fixed.outstanding, Pace { messages: 1, cycles: fixed.interval }),
            Timing::Dram(dram) => {
                let outstanding = dram.channels * (dram.read_queue + dram.write_queue);
                (dram.latency, outstanding, Pace { messages: dram.channels, cycles: Cycles(1) })
            }
        };
        Self { port: PortSpec { capacity, latency, bytes_per_cycle: None }, pace }
    }
}

/// The outcome of looking for the next message.
enum Next {
    /// No message can be handled now.
    Nothing,
    /// The message waits with its line, or needs no answer.
    Waits,
    /// Logical time has restarted, and the nodes above have to be notified.
    Anew,
    Served(Served, Option<Atomic>),
}

pub(crate) fn take(from: &Inlet<Packet>, lane: Lane) -> Option<Packet> {
    if from.is_empty() { None } else { from.try_recv(lane) }
}

/// Sends each answer to its requester. Caches always accept answers. `left`: the number of answers not sent yet, and
/// the event count to advance when there are none.
pub(crate) async fn answer(done: Inlet<Packet>, ways: Rc<Router<Packet>>, left: Option<(Rc<Cell<usize>>, EventCount)>) {
    loop {
        let packet = done.recv(Lane::Reply).await;
        ways.to(packet.msg.to).outlet().send(Lane::Reply, packet, bytes(&packet.msg)).await;
        if let Some((owed, bell)) = &left {
            owed.set(owed.get() - 1);
            if owed.get() == 0 {
                bell.advance();
            }
        }
    }
}
