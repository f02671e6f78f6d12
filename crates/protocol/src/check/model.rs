//! A system as a `stateright::Model`: what may happen next, and what must hold.

use super::{
    fingerprint::Fingerprint,
    oracle::{self, Oracle},
    search::Explore,
    system::{BYTES, CORES, Clocks, DRIVER, Network, STORED, Stage, System},
    world::{Renaming, Told, Trouble, Version, World},
};
use crate::{
    Access, Block, Cell, FIRST, Impossible, Kind, Lane, Line, Msg, Node, Place, Stamp, Stamps, Step, Table, Witness,
    step,
};
use mem::LineAddr;
use smallvec::SmallVec;
use stateright::{Model, Property};
use std::{
    hash::Hasher,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// The most stores of a checked system: its oracle's sets hold the values 0 to 7.
pub const MOST_VALUES: u8 = 7;

/// Something that may happen.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// A core, or the driver, asks a member something.
    Ask(Msg<BYTES>),
    /// A message arrives.
    Deliver(Msg<BYTES>),
    /// The next stage begins.
    Advance,
    /// Logical time has run over: whatever is under way waits for it to start anew, and now it does, everywhere.
    Restart,
    /// A core's clock goes on, as if it had used another line.
    Tick(usize),
}

/// A system, how far to look, and which cells have been met.
pub struct Check {
    pub system: System,
    pub network: Network,
    /// Stores in all; each writes a value of its own.
    pub values: u8,
    /// How often the stages are gone through before the last stretch of work.
    pub rounds: u8,
    renamings: Vec<Renaming>,
    /// By table, then by cell: it was met.
    met: Vec<Vec<AtomicBool>>,
}

/// Sees which cells are met, from any thread.
struct Meter<'a>(&'a [AtomicBool]);

impl Witness for Meter<'_> {
    fn note(&mut self, table: &Table, _: LineAddr, state: u8, event: u8) {
        let met = &self.0[table.index(state, event)];
        if !met.load(Relaxed) {
            met.store(true, Relaxed);
        }
    }
}

impl Check {
    pub fn new(system: System, network: Network, values: u8, rounds: u8) -> Self {
        assert!(values <= MOST_VALUES, "the oracle's sets hold the values 0 to {MOST_VALUES}");
        let renamings = Renaming::all(&system);
        let met = system.tables.iter().map(|table| table.cells().map(|_| AtomicBool::new(false)).collect()).collect();
        Self { system, network, values, rounds, renamings, met }
    }

    /// By table, then by cell, row after row: whether it was met.
    pub fn met(&self) -> Vec<Vec<bool>> {
        self.met.iter().map(|table| table.iter().map(|met| met.load(Relaxed)).collect()).collect()
    }

    fn members(&self) -> usize {
        self.system.members.len()
    }

    fn line_of(&self, address: LineAddr) -> usize {
        address.0 as usize / BYTES
    }

    /// What the driver asks. A fence brings a cache over memory the latest time of any cache, another the time of the one
    /// below it: no cache may be ahead of that.
    fn tell(&self, world: &World, to: Node, kind: Kind, line: usize) -> Msg<BYTES> {
        let mut msg = self.ask(DRIVER, to, kind, line, Block::EMPTY);
        if kind == Kind::Invalidate && self.tells_time() {
            let below = |node: Node| self.system.members[node.0 as usize].below[line];
            let time = |node: Node| world.lines[node.0 as usize].stamps.cts;
            let is_home = |node: Node| below(node) == node;
            let caches = (0..self.members()).map(|number| Node(number as u16)).filter(|&node| !is_home(node));
            let latest = || caches.map(time).max().unwrap_or(0);
            msg.stamps.cts = if is_home(below(to)) { latest() } else { time(below(to)) };
        }
        msg
    }

    /// An acquire brings caches the latest time.
    fn tells_time(&self) -> bool {
        self.system.horizon.is_some_and(|horizon| horizon.clocks == Clocks::Caches && horizon.told)
    }

    fn ask(&self, from: Node, to: Node, kind: Kind, line: usize, data: Block<BYTES>) -> Msg<BYTES> {
        Msg::new(from, to, kind, LineAddr((line * BYTES) as u64), data)
    }

    /// Where the line is that a message is about.
    pub(super) fn slot(&self, msg: &Msg<BYTES>) -> usize {
        let (line, to) = (self.line_of(msg.line), msg.to.0 as usize);
        (line - line % self.system.members[to].controller.lines()) * self.members() + to
    }

    fn place(&self, me: Node, line: usize) -> Place {
        let member = &self.system.members[me.0 as usize];
        Place { me, below: member.below[line], above: member.above }
    }

    /// What the cell says that this message would meet; `None` if the protocol has no such message there.
    fn cell(&self, world: &World, msg: &Msg<BYTES>) -> Option<&Cell> {
        let member = &self.system.members[msg.to.0 as usize];
        let line = self.line(world, msg);
        let event = member.controller.classify(self.place(msg.to, self.line_of(msg.line)), line, msg)?;
        Some(self.system.tables[member.table].cell(line.state, event))
    }

    /// The cell that this message would meet says `z`. Counts as met: a stall is a step, too.
    fn stalls(&self, world: &World, msg: &Msg<BYTES>) -> bool {
        let member = &self.system.members[msg.to.0 as usize];
        let (table, line) = (&self.system.tables[member.table], self.line(world, msg));
        let Some(event) = member.controller.classify(self.place(msg.to, self.line_of(msg.line)), line, msg) else {
            return false;
        };
        let stalls = *table.cell(line.state, event) == Cell::Stall;
        if stalls {
            Meter(&self.met[member.table]).note(table, msg.line, line.state, event);
        }
        stalls
    }

    fn line<'w>(&self, world: &'w World, msg: &Msg<BYTES>) -> &'w Line<BYTES> {
        &world.lines[self.slot(msg)]
    }

    /// What cores may ask in this world.
    fn requests(&self, world: &World) -> SmallVec<[Msg<BYTES>; 16]> {
        let stage = &self.system.stages[world.stage];
        let Some(cores) = stage.cores() else { return SmallVec::new() };
        if self.system.horizon.is_some_and(|horizon| world.latest() >= horizon.end) {
            return SmallVec::new();
        }
        let mut requests = SmallVec::new();
        for (number, member) in self.system.members.iter().enumerate() {
            let Some(core) = member.core.filter(|core| cores.contains(core)) else { continue };
            let (from, to) = (Node(CORES + core as u16), Node(number as u16));
            let cts = world.times.get(core).copied().unwrap_or(0);
            let ask = |kind, line, data| {
                let msg = self.ask(from, to, kind, line, data);
                Msg { stamps: Stamps::now(cts), ..msg }
            };
            for line in 0..self.system.lines {
                if !member.uses[line] {
                    continue;
                }
                let held = &world.lines[line * self.members() + number];
                if matches!(stage, Stage::Claim { .. }) && member.controller.access(held) != Access::Write {
                    requests.push(ask(Kind::Store, line, Block::EMPTY));
                    continue;
                }
                let load = |&scope| Msg { scope, ..ask(Kind::Load, line, Block::EMPTY) };
                requests.extend(member.controller.scopes().iter().map(load));
                if matches!(stage, Stage::Free { .. }) {
                    let claim = ask(Kind::Store, line, Block::EMPTY);
                    requests.extend(self.cell(world, &claim).map(|_| claim));
                }
                if self.system.coherent {
                    let store = ask(Kind::Store, line, Block::one(STORED, oracle::waiting(core)));
                    requests.extend(self.cell(world, &store).map(|_| store));
                } else if world.stores < self.values {
                    let store = |byte| ask(Kind::Store, line, Block::one(byte, world.stores + 1));
                    requests.extend((0..BYTES).map(store).filter(|store| self.cell(world, store).is_some()));
                }
            }
        }
        requests
    }

    /// Cores that wait for nothing. A clock that goes on while its core waits would show nothing that it does not show afterwards.
    fn idle(&self, world: &World) -> impl Iterator<Item = usize> {
        let members = self.system.members.iter().enumerate();
        members.filter_map(move |(number, member)| {
            let mut lines = world.lines.iter().skip(number).step_by(self.members());
            member.core.filter(|_| !lines.any(Line::is_asked))
        })
    }

    /// What the system may do of its own accord.
    fn whims<'a>(&'a self, world: &'a World) -> impl Iterator<Item = Msg<BYTES>> {
        let member = |member| [(Node(member as u16), Kind::Evict), (Node(member as u16), Kind::Drain)];
        let everybody = (0..self.members()).flat_map(member);
        let working = self.system.stages[world.stage].cores().is_some();
        let whims = everybody.chain(self.system.whims.iter().copied().filter(move |_| working));
        let lines = |to: Node| self.system.members[to.0 as usize].controller.lines();
        let each_line =
            whims.flat_map(move |whim| (0..self.system.lines).step_by(lines(whim.0)).map(move |line| (whim, line)));
        let asks = each_line.map(move |((to, kind), line)| self.tell(world, to, kind, line));
        let busy = move |msg: &Msg<BYTES>| {
            !matches!(msg.kind, Kind::Evict | Kind::Drain)
                && world.told[self.line_of(msg.line) * self.members() + msg.to.0 as usize] == Told::Busy
        };
        asks.filter(move |msg| match self.cell(world, msg) {
            Some(Cell::Go(..)) => !busy(msg),
            Some(Cell::Stall) => true,
            Some(Cell::Never) | None => false,
        })
    }

    /// What brings the system nearer to rest: messages arrive, members are told what their stage is about, and only then are
    /// refused requests tried again.
    fn progress(&self, world: &World, moves: &mut Vec<Move>) {
        let channel = |msg: &Msg<BYTES>| (msg.from, msg.to, msg.lane());
        for (place, msg) in world.network.iter().enumerate() {
            let earlier = &world.network[..place];
            let waits = match self.network {
                Network::Unordered => earlier.last() == Some(msg),
                Network::Ordered { .. } => earlier.iter().any(|other| channel(other) == channel(msg)),
            };
            if !waits {
                moves.push(Move::Deliver(*msg));
            }
        }
        let waits =
            |next: &Move| matches!(next, Move::Deliver(msg) if msg.lane() == Lane::Request && self.stalls(world, msg));
        let runs_over = self.system.horizon.is_some_and(|horizon| horizon.runs_over);
        if runs_over && !moves.is_empty() && moves.iter().all(waits) {
            moves.push(Move::Restart);
        }
        if let Stage::Tell { kind, members } = &self.system.stages[world.stage] {
            let told = |line: usize, member: Node| world.told[line * self.members() + member.0 as usize];
            let first = |line: usize, member: Node| {
                line.is_multiple_of(self.system.members[member.0 as usize].controller.lines())
            };
            let each = || {
                let all = (0..self.system.lines).flat_map(|line| members.iter().map(move |&member| (line, member)));
                all.filter(|&(line, member)| first(line, member))
            };
            for (line, member) in each().filter(|&(line, member)| told(line, member) == Told::NotYet) {
                moves.push(Move::Ask(self.tell(world, member, *kind, line)));
            }
            if each().all(|(line, member)| told(line, member) == Told::Done) {
                moves.push(Move::Advance);
            }
        }
        let unasked = |msg: &Msg<BYTES>| msg.lane() == Lane::Coherence;
        if matches!(self.system.stages[world.stage], Stage::Meet) && !world.network.iter().any(unasked) {
            moves.push(Move::Advance);
        }
        if self.system.coherent {
            let places = (0..self.system.lines).flat_map(|line| (0..self.members()).map(move |member| (line, member)));
            for (line, member) in places {
                let retry = self.ask(DRIVER, Node(member as u16), Kind::Retry, line, Block::EMPTY);
                if matches!(self.cell(world, &retry), Some(Cell::Go(..) | Cell::Stall)) {
                    moves.push(Move::Ask(retry));
                }
            }
        }
    }

    /// Nothing is under way, nobody waits, and no stage is half done.
    fn is_quiet(&self, world: &World) -> bool {
        let at_rest = |line: &Line<BYTES>| line.asked.is_none() && line.acks == 0;
        world.network.is_empty()
            && !world.loading.contains(&true)
            && !world.told.contains(&Told::Busy)
            && self.system.stages[world.stage].cores().is_some()
            && world.lines.iter().all(at_rest)
    }

    /// Shows a message to its member; `false` if it stalls or its answers have no room.
    fn take(&self, world: &mut World, msg: &Msg<BYTES>) -> bool {
        let member = &self.system.members[msg.to.0 as usize];
        let (table, line) = (&self.system.tables[member.table], self.line_of(msg.line));
        let place = self.place(msg.to, line);
        let state = &mut world.lines[self.slot(msg)];
        match step(member.controller, table, place, state, msg, &mut Meter(&self.met[member.table])) {
            Ok(Step::Stall) => false,
            Ok(Step::Sends(sends)) => {
                if self.system.horizon.is_some() {
                    self.keep_time(world, msg, &sends);
                }
                sends.into_iter().all(|send| self.send(world, send))
            }
            Err(error) => {
                world.trouble = Some(Trouble::Impossible(describe(&self.system.name(msg.to), &error)));
                true
            }
        }
    }

    /// After a step: a controller may have one time for all of its lines, and what was written has its place in logical time.
    fn keep_time(&self, world: &mut World, msg: &Msg<BYTES>, sends: &[Msg<BYTES>]) {
        let (member, line) = (msg.to.0 as usize, self.line_of(msg.line));
        if self.system.members[member].controller.keeps_time() {
            let now = world.lines[line * self.members() + member].stamps.cts;
            world.lines.iter_mut().skip(member).step_by(self.members()).for_each(|line| line.stamps.cts = now);
        }
        if msg.kind == Kind::Reset {
            world.restart_versions();
            world.times.fill(FIRST);
        }
        // Whoever gives a write its time does so at once.
        let stamped = |send: &&Msg<BYTES>| send.kind == Kind::Ack && send.stamps.wts > 0;
        let written = sends.iter().find(|send| msg.kind == Kind::Write && stamped(send));
        let bytes = written.into_iter().flat_map(|ack| (0..BYTES).map(move |byte| (byte, ack.stamps.wts)));
        for (byte, wts) in bytes {
            if let Some(value) = msg.data.get(byte) {
                world.perform(Version { byte: line * BYTES + byte, wts, value });
            }
        }
    }

    /// Puts a message on the network, or gives it to the core or the driver at once. `false` if there is no room.
    fn send(&self, world: &mut World, msg: Msg<BYTES>) -> bool {
        let line = self.line_of(msg.line);
        if msg.to == DRIVER {
            let told = &mut world.told[line * self.members() + msg.from.0 as usize];
            let telling = matches!(self.system.stages[world.stage], Stage::Tell { .. });
            if *told == Told::Busy {
                *told = if telling { Told::Done } else { Told::NotYet };
            }
        } else if msg.to.0 >= CORES && msg.kind == Kind::Stored {
            let core = (msg.to.0 - CORES) as usize;
            world.loading[line * self.system.cores + core] = false;
            if !self.system.coherent {
                self.raise(world, core, &msg);
                return true;
            }
            if !world.perform_store(line, self.members(), core, msg.from.0 as usize) {
                world.trouble = Some(Trouble::Value(format!("core{core} stored into a stale line {line}")));
            }
        } else if self.system.members.get(msg.to.0 as usize).is_some_and(|member| member.controller.is_prompt()) {
            return self.take(world, &msg);
        } else if msg.to.0 >= CORES {
            self.loaded(world, line, (msg.to.0 - CORES) as usize, &msg);
        } else {
            let channel = |msg: &Msg<BYTES>| (msg.from, msg.to, msg.lane());
            let full = |depth| world.network.iter().filter(|other| channel(other) == channel(&msg)).count() >= depth;
            // What nobody answers could be sent any number of times.
            let held_up = match self.network {
                Network::Ordered { depth } => full(depth),
                Network::Unordered => msg.lane() == Lane::Coherence && world.network.contains(&msg),
            };
            if held_up {
                return false;
            }
            world.network.push(msg);
        }
        true
    }

    /// An answer brings the time at which it took place.
    fn raise(&self, world: &mut World, core: usize, msg: &Msg<BYTES>) {
        if let Some(time) = world.times.get_mut(core) {
            *time = msg.stamps.cts.max(*time);
        }
    }

    fn loaded(&self, world: &mut World, line: usize, core: usize, msg: &Msg<BYTES>) {
        self.raise(world, core, msg);
        world.loading[line * self.system.cores + core] = false;
        for byte in 0..BYTES {
            // Where a cache's time goes on by other lines, a lease may be over when it comes: the read took place at its end.
            let leased = self.system.horizon.is_some_and(|horizon| horizon.clocks == Clocks::Caches);
            let end = if leased && self.system.lines > 1 { msg.stamps.rts } else { Stamp::MAX };
            let (time, number) = (msg.stamps.cts.min(end), line * BYTES + byte);
            let newest = world.newest(number, time);
            if self.system.horizon.is_some() && msg.data.get(byte).is_some_and(|value| value != newest) {
                let what = format!("core{core} read byte {byte} of line {line} at time {time}: {newest} is due");
                world.trouble = Some(Trouble::Order(what));
                return;
            }
            let may_read = |value| match self.system.coherent {
                true => value == oracle::NEWEST,
                false => world.oracles[line * BYTES + byte].may_read(core, value),
            };
            if !msg.data.get(byte).is_some_and(may_read) {
                let got = msg.data.get(byte).map_or("nothing".to_owned(), |value| value.to_string());
                world.trouble = Some(Trouble::Value(format!("core{core} read {got} from byte {byte} of line {line}")));
            }
        }
    }

    /// Whoever may write has the line for itself, among the caches that cores work on.
    fn has_single_writer(&self, row: &[Line<BYTES>]) -> bool {
        let first_level = self.system.members.iter().zip(row).filter(|(member, _)| member.core.is_some());
        let accesses = first_level.map(|(member, line)| member.controller.access(line));
        let (mut readers, mut writers) = (0, 0);
        for access in accesses {
            readers += usize::from(access == Access::Read);
            writers += usize::from(access == Access::Write);
        }
        writers == 0 || (writers == 1 && readers == 0)
    }

    /// Nobody can do more than those below it know of.
    fn directories_agree(&self, line: usize, lines: &[Line<BYTES>]) -> bool {
        let row = &lines[line * self.members()..(line + 1) * self.members()];
        self.system.members.iter().zip(row).enumerate().all(|(number, (member, held))| {
            let below = member.below[line];
            let place = self.place(below, line);
            let directory = self.system.members[below.0 as usize].controller;
            let first = line - line % directory.lines();
            let record = &lines[first * self.members() + below.0 as usize];
            let Some(granted) = directory.granted(place, record) else { return true };
            let me = place.sharer(Node(number as u16));
            match member.controller.access(held) {
                Access::Write => granted.writers.meets(me),
                Access::Read => granted.readers.or(granted.writers).meets(me),
                Access::None => true,
            }
        })
    }

    /// Where the bytes of a block are apart from its record: of a block that is not here, nothing is.
    fn stores_fit(&self, world: &World) -> bool {
        let members = self.members();
        (0..world.lines.len()).all(|place| {
            let (line, member) = (place / members, place % members);
            let directory = self.system.members[member].controller;
            let first = line - line % directory.lines();
            let record = &world.lines[first * members + member];
            !directory.has_given_up(record) || world.lines[place + 1].is_empty()
        })
    }

    fn advance(&self, world: &mut World) {
        if self.system.stages[world.stage].cores().is_some() {
            world.oracles.iter_mut().for_each(Oracle::synchronise);
        }
        if matches!(self.system.stages[world.stage], Stage::Meet) {
            let latest = world.times.iter().copied().max().unwrap_or(0);
            world.times.fill(latest);
        }
        world.told.fill(Told::NotYet);
        world.stage = (world.stage + 1) % self.system.stages.len();
        world.rounds += u8::from(world.stage == 0);
    }

    /// Everybody starts logical time anew; requests that wait forget the times that they carry.
    fn restart(&self, world: &mut World) {
        for msg in &mut world.network {
            msg.stamps = Stamps::ZERO;
        }
        for line in 0..self.system.lines {
            for member in 0..self.members() {
                let reset = self.ask(DRIVER, Node(member as u16), Kind::Reset, line, Block::EMPTY);
                let place = line * self.members() + member;
                if self.cell(world, &reset).is_some() {
                    let told = std::mem::replace(&mut world.told[place], Told::Busy);
                    self.take(world, &reset);
                    if world.told[place] == Told::Busy && world.trouble.is_none() {
                        let what = format!("{} does not start anew", self.system.members[member].name);
                        world.trouble = Some(Trouble::Impossible(what));
                    }
                    world.told[place] = told;
                }
            }
        }
        if world.latest() > FIRST && world.trouble.is_none() {
            world.trouble = Some(Trouble::Impossible("logical time did not start anew everywhere".to_owned()));
        }
    }

    fn sort(&self, network: &mut [Msg<BYTES>]) {
        match self.network {
            Network::Unordered => network.sort_unstable(),
            Network::Ordered { .. } => network.sort_by_key(|msg| (msg.from, msg.to, msg.lane())),
        }
    }
}

fn describe(member: &str, error: &Impossible) -> String {
    format!("{member}: {error}")
}

impl Model for Check {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.system)]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        if world.trouble.is_some() {
            return;
        }
        self.progress(world, moves);
        let requests = self.requests(world);
        if !requests.is_empty() && !world.times.is_empty() {
            let end = self.system.horizon.map_or(0, |horizon| horizon.end);
            moves.extend(self.idle(world).filter(|&core| world.times[core] + 1 < end).map(Move::Tick));
        }
        moves.extend(requests.into_iter().map(Move::Ask));
        moves.extend(self.whims(world).map(Move::Ask));
        let more = !self.system.coherent && (world.rounds < self.rounds || world.stage > 0);
        let working = self.system.stages[world.stage].cores().is_some();
        if working && more && !world.loading.contains(&true) && !world.told.contains(&Told::Busy) {
            moves.push(Move::Advance);
        }
    }

    fn next_state(&self, world: &World, action: Move) -> Option<World> {
        let mut next = world.clone();
        self.follow(world, &action, &mut next).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no impossible cell", |_, world: &World| {
                !matches!(world.trouble, Some(Trouble::Impossible(_)))
            }),
            Property::always("a read returns a value it may: none lost, none invented", |_, world: &World| {
                !matches!(world.trouble, Some(Trouble::Value(_)))
            }),
            Property::always("a read returns the newest write up to its logical time", |_, world: &World| {
                !matches!(world.trouble, Some(Trouble::Order(_)))
            }),
            Property::always("a line holds what its state says", |check: &Check, world: &World| {
                let members = || check.system.members.iter().cycle();
                world.trouble.is_some()
                    || world.lines.iter().zip(members()).all(|(line, member)| member.controller.fits(line))
                        && check.stores_fit(world)
            }),
            Property::always("a whole line answers a read at once", |check: &Check, world: &World| {
                let members = check.members();
                world.trouble.is_some()
                    || check.system.coherent
                    || world.lines.iter().enumerate().all(|(place, line)| {
                        let ask = |kind| {
                            check.ask(DRIVER, Node((place % members) as u16), kind, place / members, Block::EMPTY)
                        };
                        // Where logical time has run over, whatever state a line is in, its home waits.
                        let table = &check.system.tables[check.system.members[place % members].table];
                        let stalls = |kind| {
                            matches!(check.cell(world, &ask(kind)), Some(Cell::Stall)) && !table.at_rest(line.state)
                        };
                        // What is held while a lease is renewed, or a write is given its time, is not to be read.
                        let locked = check.system.has_core_clocks() && line.is_asked();
                        let whole = line.data.is_full() && !line.is_partial() && !locked;
                        !whole || !stalls(Kind::Load) && !stalls(Kind::Read)
                    })
            }),
            Property::always("single writer", |check: &Check, world: &World| {
                world.trouble.is_some() || world.lines.chunks(check.members()).all(|row| check.has_single_writer(row))
            }),
            Property::always("directory agrees", |check: &Check, world: &World| {
                world.trouble.is_some()
                    || (0..check.system.lines).all(|line| check.directories_agree(line, &world.lines))
            }),
            Property::always(
                "what is told without waiting for an answer is taken at once",
                |check: &Check, world: &World| {
                    let told = |msg: &&Msg<BYTES>| {
                        msg.lane() == Lane::Coherence
                            && check.system.members[msg.to.0 as usize].controller.is_merely_told()
                    };
                    let waits = |msg: &Msg<BYTES>| matches!(check.cell(world, msg), Some(Cell::Stall));
                    world.trouble.is_some() || !world.network.iter().filter(told).any(waits)
                },
            ),
            Property::always("a line at rest takes any request", |check: &Check, world: &World| {
                let taken = |msg: &Msg<BYTES>| !matches!(check.cell(world, msg), Some(Cell::Stall));
                world.trouble.is_some()
                    || !check.is_quiet(world)
                    || check.requests(world).into_iter().chain(check.whims(world)).all(|msg| taken(&msg))
            }),
        ]
    }
}

impl Explore for Check {
    fn fingerprint(&self, world: &World) -> u64 {
        let essence = self.system.horizon.map(|_| self.essence(world));
        let world = essence.as_ref().unwrap_or(world);
        let hash = |renaming| {
            let mut hasher = Fingerprint::default();
            world.hash_renamed(renaming, |network| self.sort(network), &mut hasher);
            hasher.finish()
        };
        let signature = |set: &Vec<Node>| world.signature(&self.system, set);
        let signatures: SmallVec<[_; 8]> = self.system.equals.iter().map(signature).collect();
        let sorting = self.renamings.iter().filter(|renaming| renaming.sorts(&signatures));
        sorting.map(hash).min().expect("some order is sorted")
    }

    fn follow(&self, world: &World, action: &Move, next: &mut World) -> bool {
        if let Move::Ask(msg) | Move::Deliver(msg) = action
            && self.stalls(world, msg)
        {
            return false;
        }
        next.clone_from(world);
        match action {
            Move::Advance => self.advance(next),
            Move::Restart => self.restart(next),
            Move::Tick(core) => next.times[*core] += 1,
            Move::Ask(msg) => {
                let line = self.line_of(msg.line);
                match msg.kind {
                    Kind::Load => {
                        let core = (msg.from.0 - CORES) as usize;
                        // A line that takes a load has answered those before.
                        if std::mem::replace(&mut next.loading[line * self.system.cores + core], true) {
                            next.trouble =
                                Some(Trouble::Value(format!("core{core} was not answered about line {line}")));
                            return true;
                        }
                    }
                    Kind::Store if self.system.coherent || msg.data.mask().is_empty() => {
                        next.loading[line * self.system.cores + (msg.from.0 - CORES) as usize] = true;
                    }
                    Kind::Store => {
                        next.stores += u8::from(!msg.data.mask().is_empty());
                        for byte in 0..BYTES {
                            if let Some(value) = msg.data.get(byte) {
                                next.oracles[line * BYTES + byte].write((msg.from.0 - CORES) as usize, value);
                            }
                        }
                    }
                    Kind::Evict | Kind::Drain | Kind::Retry | Kind::Roll => {}
                    _ => next.told[line * self.members() + msg.to.0 as usize] = Told::Busy,
                }
                if !self.take(next, msg) {
                    return false;
                }
                // Where stores are answered, the core waits for one that was not answered at once.
                if msg.kind == Kind::Store && next.lines[self.slot(msg)].asked == Some(msg.from) {
                    next.loading[line * self.system.cores + (msg.from.0 - CORES) as usize] = true;
                }
            }
            Move::Deliver(msg) => {
                let place = next.network.iter().position(|other| other == msg);
                let Some(place) = place else { return false };
                next.network.remove(place);
                if !self.take(next, msg) {
                    return false;
                }
            }
        }
        self.sort(&mut next.network);
        true
    }

    fn drained(&self, world: &World) -> bool {
        world.trouble.is_some() || self.is_quiet(world)
    }

    fn progresses(&self, world: &World, action: &Move) -> bool {
        let telling = self.system.stages[world.stage].cores().is_none();
        match action {
            Move::Deliver(_) | Move::Restart => true,
            Move::Ask(msg) => msg.kind == Kind::Retry || telling && !matches!(msg.kind, Kind::Evict | Kind::Drain),
            Move::Advance => telling,
            Move::Tick(_) => false,
        }
    }
}
