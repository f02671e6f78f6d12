//! The moves of a world: requests of cores, spontaneous actions of members, arrivals of messages, and the stages.

use super::{
    super::{
        oracle,
        system::{BYTES, CORES, Clocks, DRIVER, Network, STORED, Stage},
        world::{Told, World},
    },
    Check, Move,
};
use crate::{Access, Block, Cell, Kind, Lane, Line, Msg, Node, Stamps, WHOLE};
use mem::Scope;
use smallvec::SmallVec;

impl Check {
    /// All moves that may be possible.
    pub(super) fn moves(&self, world: &World, moves: &mut Vec<Move>) {
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
        let synchronises = !self.system.coherent || self.system.stages.len() > 1;
        let more = synchronises && (world.rounds < self.rounds || world.stage > 0);
        let working = self.system.stages[world.stage].cores().is_some();
        if working
            && more
            && !world.loading.contains(&true)
            && world.modifying.iter().all(|value| *value == 0)
            && !world.told.contains(&Told::Busy)
            && !world.ordered.contains(&Told::Busy)
        {
            moves.push(Move::Advance);
        }
    }

    /// The requests that cores may send in this world.
    pub(super) fn requests(&self, world: &World) -> SmallVec<[Msg<BYTES>; 16]> {
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
                // A load whose line is being fetched for it comes before all other accesses of its core.
                let claims =
                    |msg: &Msg<BYTES>| msg.from == from && msg.kind == Kind::Load && self.line_of(msg.line) == line;
                if world.network.iter().any(claims) {
                    continue;
                }
                let held = &world.lines[line * self.members() + number];
                if matches!(stage, Stage::Claim { .. }) {
                    let wide = Msg { scope: Scope::System, ..ask(Kind::Load, line, Block::EMPTY) };
                    requests.extend(Some(wide).filter(|_| member.controller.claims()));
                    if member.controller.access(held) != Access::Write {
                        requests.push(ask(Kind::Store, line, Block::EMPTY));
                        continue;
                    }
                }
                let load = |&scope| Msg { scope, ..ask(Kind::Load, line, Block::EMPTY) };
                requests.extend(member.controller.scopes().iter().map(load));
                if matches!(stage, Stage::Free { .. }) {
                    let claim = ask(Kind::Store, line, Block::EMPTY);
                    requests.extend(self.cell(world, &claim).map(|_| claim));
                }
                let modifying = world.modifying.get(line * self.system.cores + core).is_none_or(|value| *value > 0);
                if self.system.coherent {
                    // Stores also read. With atomic accesses, the fetches for them take the place of stores.
                    let kind = if self.system.modifies { Kind::Modify } else { Kind::Store };
                    let write = ask(kind, line, Block::one(STORED, oracle::waiting(core)));
                    let idle = !self.system.modifies || !modifying;
                    requests.extend(self.cell(world, &write).filter(|_| idle).map(|_| write));
                } else if !self.system.coherent && world.stores < self.values {
                    let write = |kind, byte| ask(kind, line, Block::one(byte, world.stores + 1));
                    // A core does not store to a byte that its pending atomic access modifies: their order would be
                    // open.
                    let bytes = if self.system.modifies && modifying { STORED + 1 } else { 0 }..BYTES;
                    let stores = bytes.map(|byte| write(Kind::Store, byte));
                    let modify = Some(write(Kind::Modify, STORED)).filter(|_| !modifying);
                    requests.extend(stores.chain(modify).filter(|write| self.cell(world, write).is_some()));
                }
            }
        }
        requests
    }

    /// Whether an atomic access, or an access whose line was fetched for it, would be performed now.
    fn performs(&self, world: &World, msg: &Msg<BYTES>) -> bool {
        let table = &self.system.tables[self.table_of(msg)];
        let done = |cell: &Cell| matches!(cell, Cell::Go(..)) && !table.brings(cell);
        (msg.kind == Kind::Modify || msg.from.0 >= CORES) && self.cell(world, msg).is_some_and(done)
    }

    /// Whether a message waits for a fetch of its line that its member has started.
    fn is_being_brought(&self, world: &World, msg: &Msg<BYTES>) -> bool {
        let brings = |other: &Msg<BYTES>| {
            other.from == other.to && other.to == msg.to && other.line == msg.line && other.lane() == Lane::Request
        };
        (msg.kind == Kind::Modify || msg.from.0 >= CORES) && world.network.iter().chain(&world.waiting).any(brings)
    }

    /// Cores without a pending request. Ticks of a waiting core's clock would show nothing that later ticks do not.
    fn idle(&self, world: &World) -> impl Iterator<Item = usize> {
        let members = self.system.members.iter().enumerate();
        members.filter_map(move |(number, member)| {
            let mut lines = world.lines.iter().skip(number).step_by(self.members());
            member.core.filter(|_| !lines.any(Line::is_asked))
        })
    }

    /// An order of a core to its first-level cache.
    fn order(&self, core: usize, kind: Kind, scope: Scope) -> Msg<BYTES> {
        let l1 = self.system.members.iter().position(|member| member.core == Some(core));
        let l1 = Node(l1.expect("each core has a first-level cache") as u16);
        Msg { scope, ..Msg::new(Node(CORES + core as u16), l1, kind, WHOLE, Block::EMPTY) }
    }

    /// What may happen to members spontaneously.
    pub(super) fn whims<'a>(&'a self, world: &'a World) -> impl Iterator<Item = Msg<BYTES>> {
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

    /// The moves that bring the system nearer to rest: arrivals of messages, messages of the stages and, last,
    /// retries of refused requests.
    fn progress(&self, world: &World, moves: &mut Vec<Move>) {
        let channel = |msg: &Msg<BYTES>| self.channel(msg);
        let from = moves.len();
        for (place, msg) in world.network.iter().enumerate() {
            let earlier = &world.network[..place];
            // An order for all lines does not overtake earlier messages of its sender to the receiver.
            let behind = |other: &Msg<BYTES>| other.line != WHOLE && channel(other) == channel(msg);
            // A recall that can't be obeyed yet is put aside: answers do not wait for it.
            let overtakes = |other: &Msg<BYTES>| {
                msg.lane() == Lane::Reply && other.lane() != Lane::Reply && self.stalls(world, other)
            };
            let waits = match self.network {
                Network::Unordered | Network::Rows if msg.line == WHOLE => world.network.iter().any(behind),
                Network::Unordered | Network::Rows => earlier.last() == Some(msg),
                Network::Ordered { .. } => {
                    earlier.iter().any(|other| channel(other) == channel(msg) && !overtakes(other))
                }
            };
            let gone = msg.line == WHOLE && msg.from == msg.to && self.holds(world, msg.to);
            if waits || gone || self.is_being_brought(world, msg) {
                continue;
            }
            moves.push(Move::Deliver(*msg));
            // An access whose line was fetched for it comes before all messages that would take the line away.
            if self.performs(world, msg) {
                let last = moves.len() - 1;
                moves.swap(from, last);
            }
        }
        for (place, msg) in world.waiting.iter().enumerate() {
            if !world.waiting[..place].iter().any(|other| self.share_row(other, msg)) {
                moves.push(Move::Retry(*msg));
            }
        }
        for member in (0..self.members() as u16).map(Node).filter(|member| self.is_leaving(world, *member)) {
            let lines = self.system.members[member.0 as usize].controller.lines();
            for line in (0..self.system.lines).step_by(lines) {
                let asks = [Kind::Evict, Kind::Drain].map(|kind| self.ask(DRIVER, member, kind, line, Block::EMPTY));
                let goes = |ask: &Msg<BYTES>| matches!(self.cell(world, ask), Some(Cell::Go(..)));
                moves.extend(asks.into_iter().filter(goes).map(Move::Ask));
            }
        }
        let of_order = |msg: &Msg<BYTES>| msg.line == WHOLE || msg.from == msg.to;
        let may_wait = |msg: &Msg<BYTES>| msg.lane() == Lane::Request || msg.kind == Kind::Modified || of_order(msg);
        let waits = |next: &Move| matches!(next, Move::Deliver(msg) if may_wait(msg) && self.stalls(world, msg));
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
        if let Stage::Order { kind, scope, cores } = &self.system.stages[world.stage] {
            for &core in cores.iter().filter(|core| world.ordered[**core] == Told::NotYet) {
                moves.push(Move::Ask(self.order(core, *kind, *scope)));
            }
            if cores.iter().all(|core| world.ordered[*core] == Told::Done) {
                moves.push(Move::Advance);
            }
        }
        let unasked = |msg: &Msg<BYTES>| msg.lane() == Lane::Coherence;
        let mut messages = world.network.iter().chain(&world.waiting);
        if matches!(self.system.stages[world.stage], Stage::Meet) && !messages.any(unasked) {
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

    /// A message of the driver. If acquires carry a time, a cache right above memory gets the latest time of any
    /// cache, and any other cache the time of the cache below it, which it must not pass.
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

    /// Whether an acquire passes the latest time to caches.
    fn tells_time(&self) -> bool {
        self.system.horizon.is_some_and(|horizon| horizon.clocks == Clocks::Caches && horizon.told)
    }
}
