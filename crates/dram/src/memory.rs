//! A memory in time: the home of lines, and when its answers leave.
//!
//! A context takes one message at a time: answers first, for others wait for what they bring; then messages that waited here;
//! then new ones, in turn. What they do to bytes takes effect in the order in which they are taken. Answers leave when the
//! [`Timing`] says so. Probes (a directory's invalidations and forwards) leave at once, and never hold up anything else: a
//! cache that has no room for them may be waiting for an answer of this memory.

use crate::{
    dram::{Dram, DramSpec},
    home::{Changed, Home, Served, Touched},
    room::RoomSpec,
    store::Backing,
};
use engine::{Context, Counter, Cycles, EventCount, Hertz, Inlet, Lane, Outlet, PortSpec, RoundRobin, Scope, Series};
use interconnect::{Packet, Pending, Reporter, Router, Side, WHOLE, bytes, is_order, lane, name_of};
use mem::{Atomic, Block, LINE, LineAddr, PhysAddr, Seen, Share, stamp_of};
use protocol::{
    Impossible, Kind, Line, Log, Msg, Node, Place, Roster, Stamps, Step,
    orders::{Orders, orders_home},
    roles::Seat,
    step,
};
use std::{cell::Cell, collections::VecDeque, rc::Rc, sync::Arc};

/// What a memory is made of.
#[derive(Clone)]
pub struct MemorySpec {
    /// The home's side of the protocol.
    pub controller: Seat,
    pub me: Node,
    /// Those above, where the controller keeps records of them.
    pub above: Arc<Roster>,
    /// Others above, whom another protocol keeps coherent among themselves: its side of the home, and their numbers.
    pub beside: Option<Beside>,
    /// Whether a watcher hears of the writes of the first side; else of the second's.
    pub watch_first: bool,
    /// The addresses that belong to it.
    pub share: Share,
    pub timing: Timing,
    /// Room for what is known of lines beside their bytes; none: for all of them.
    pub room: Option<RoomSpec>,
    /// How many steps of the protocol are kept, to be told if it turns out to have a hole.
    pub history: usize,
}

/// A second protocol over the same bytes. What one side writes the other sees when it asks memory, no sooner.
#[derive(Clone)]
pub struct Beside {
    pub controller: Seat,
    pub members: Arc<Roster>,
}

/// Whoever is told of what the second side writes.
pub type Watcher = Rc<dyn Fn(LineAddr, &Block<LINE>)>;

/// When an answer leaves.
#[derive(Clone, Copy, Debug)]
pub enum Timing {
    Fixed(FixedSpec),
    /// The memory must be built in the clock domain of the DRAM's command clock.
    Dram(DramSpec),
}

impl Timing {
    /// The clock that the memory must be built in, if not that of those above it.
    pub fn clock(&self) -> Option<Hertz> {
        match self {
            Timing::Fixed(_) => None,
            Timing::Dram(dram) => Some(dram.standard.clock),
        }
    }

    /// Bytes that it can move in a second at most, if those above it run at `clock`.
    pub fn peak(&self, clock: Hertz) -> f64 {
        match self {
            Timing::Fixed(fixed) => LINE as f64 / fixed.interval.0 as f64 * clock.0 as f64,
            Timing::Dram(dram) => (dram.channels as u64 * dram.standard.peak()) as f64,
        }
    }
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

/// How the golden image is told what those above fetch and write; and what a second side does, if there is one.
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
    /// To the golden image, where logical time says what was written last.
    observer: Option<Reporter>,
    sides: Option<Sides>,
    tells_fetches: bool,
    ways: Rc<Router<Packet>>,
    bell: EventCount,
    reads: Counter,
    writes: Counter,
    /// Lines that were forgotten to make room for others.
    forgotten: Option<Counter>,
    /// Notices of evictions, and lines that were forgotten for one; where records can be given up.
    notices: Option<(Counter, Counter)>,
    /// How often logical time has started anew, where it does, and the caches that are told so.
    restarts: Option<Counter>,
    era: u32,
    above: Vec<Node>,
    /// Answers that have not left.
    owed: Rc<Cell<usize>>,
    /// Lines read or written, over time.
    traffic: Series,
}

impl Memory {
    /// Builds the memory at `scope`, with its bytes in `store`, and starts the context that sends its answers.
    /// `observer` tells the golden image what is written here, and when in logical time.
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
        // Probes that have not gone out hold up nobody, so nobody asks for them.
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

    /// Has somebody told of what the second side writes.
    pub fn watched_by(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// Has the golden image told of all that is written here and, if nothing else writes these bytes, of all that is fetched.
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

    /// Shows the home its next message.
    fn next(&mut self) -> Result<Next, Box<Impossible>> {
        let answer = self.askers.iter().find_map(|inlet| take(inlet, Lane::Reply));
        if let Some(packet) = answer {
            return self.offer(packet);
        }
        if self.home.is_over() {
            // Whatever has been answered so far must reach everybody before they hear of the new beginning.
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

    /// Has the home try a message that waited.
    fn work(&mut self) -> Result<Next, Box<Impossible>> {
        let Some((msg, served)) = self.home.work()? else { return Ok(Next::Waits) };
        self.of_first(&msg, &served);
        Ok(Next::Served(served, None))
    }

    /// Whether what a message about this line may bring about has room. Answers are taken even if not.
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

    /// Logical time starts anew here.
    fn start_anew(&mut self) -> Result<Next, Box<Impossible>> {
        self.home.start_anew()?;
        self.atomics.iter_mut().for_each(|packet| packet.msg.stamps = Stamps::ZERO);
        self.era += 1;
        if let Some(restarts) = &self.restarts {
            restarts.increment();
        }
        Ok(Next::Anew)
    }

    /// On the way of answers, so that none that was given before comes later.
    async fn tell_all_to_start_anew(&mut self) {
        for node in &self.above {
            let reset = Msg::new(self.home.me(), *node, Kind::Reset, WHOLE, Block::EMPTY);
            self.owed.set(self.owed.get() + 1);
            self.under_way.send(Lane::Reply, reset.into(), 0).await;
        }
    }

    /// What a message of the first side has come to.
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

    /// An order: an acquire asks how late it is. Everything that has been written and acknowledged is here.
    fn order(&self, msg: &Msg<LINE>) -> Result<Vec<Msg<LINE>>, Box<Impossible>> {
        let orders = Orders { table: &orders_home::TABLE, below: Vec::new(), peers: Vec::new() };
        let mut line = Line { stamps: Stamps::now(self.home.latest()), ..Line::new(0) };
        let place = Place::new(self.me, self.me);
        match step(&orders, orders.table, place, &mut line, msg, &mut Log::new(orders.table, 0))? {
            Step::Sends(sends) => Ok(sends),
            Step::Stall => Ok(Vec::new()),
        }
    }

    /// What a message of the second side has come to.
    fn of_beside(&self, msg: &Msg<LINE>, served: Served) -> Next {
        if served.touched == Touched::Written && !self.watch_first {
            self.watch(msg.line, &msg.data);
        }
        self.tell(|sides| &sides.second, msg, &served);
        Next::Served(served, None)
    }

    /// Tells the golden image what a message of a side has read or written.
    fn tell(&self, side: impl Fn(&Sides) -> &Reporter, msg: &Msg<LINE>, served: &Served) {
        let Some(sides) = &self.sides else { return };
        let seen = match served.touched {
            Touched::Nothing => return,
            Touched::Read if !self.tells_fetches => return,
            Touched::Written => Seen::Landed(msg.data),
            Touched::Read => {
                let given = served.sends.iter().map(|send| send.data).find(|data| !data.mask().is_empty());
                Seen::Fetched(given.expect("a line that was read is sent to somebody"))
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

    /// Tells the golden image what was written, and when in logical time.
    fn observe(&self, served: &Served, seen: Seen) {
        if let Some(observer) = &self.observer {
            let stamp = stamp_of(self.era, served.sends.iter().map(|send| send.stamps.wts).max().unwrap_or(0));
            observer.tell_at(stamp, served.line, seen);
        }
    }

    /// Sends what a step gave rise to, or sees to it that it will be sent.
    async fn respond(&mut self, served: Served, atomic: Option<Atomic>, now: u64) {
        let sends = served.sends.into_iter().map(|msg| Packet { atomic, ..msg.into() });
        let (mut answers, probes): (Vec<_>, Vec<_>) = sends.partition(|packet| lane(&packet.msg) == Lane::Reply);
        probes.into_iter().for_each(|probe| self.ways.send(probe));
        match served.touched {
            Touched::Read => self.reads.increment(),
            Touched::Written => self.writes.increment(),
            Touched::Nothing => {}
        }
        if let Some(forgotten) = &self.forgotten {
            forgotten.add(std::mem::take(&mut self.home.forgotten));
        }
        if self.restarts.is_some() {
            self.owed.set(self.owed.get() + answers.len());
        }
        self.traffic.count(u64::from(!matches!(served.touched, Touched::Nothing)));
        if let Some(dram) = &self.dram {
            let address = self.inside(served.line);
            match served.touched {
                // What can't be answered before it has been read waits for that.
                Touched::Read => answers = dram.read(now, address, answers).unwrap_or_default(),
                Touched::Written => dram.write(now, address),
                Touched::Nothing => {}
            }
        }
        for answer in answers {
            self.under_way.send(Lane::Reply, answer, 0).await;
        }
    }
}

/// How many messages are taken in how many cycles.
pub(crate) struct Pace {
    pub messages: usize,
    pub cycles: Cycles,
}

/// The way of answers through a memory, and how fast it takes messages.
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

/// What is to be done.
enum Next {
    /// Nothing.
    Nothing,
    /// The message waits with its line.
    Waits,
    /// Everybody is to hear that logical time has started anew.
    Anew,
    Served(Served, Option<Atomic>),
}

pub(crate) fn take(from: &Inlet<Packet>, lane: Lane) -> Option<Packet> {
    if from.is_empty() { None } else { from.try_recv(lane) }
}

/// Sends each answer to the one who asked. Caches always take answers. `left`: counts those that have not been sent, and who is to know that all
/// have.
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
