//! The effects of a move: steps of members, the messages they send, and the answers to cores.

use super::{
    super::{
        oracle::{self, Oracle},
        system::{BYTES, CORES, Clocks, DRIVER, Network, STORED, Stage},
        world::{Told, Trouble, Version, World},
    },
    Check, Meter, Move, Receiver,
};
use crate::{
    Block, FIRST, Impossible, Kind, Lane, Line, Msg, Node, Stamp, Stamps, Step, WHOLE,
    orders::{self, Orders},
    step,
};
use mem::Scope;

impl Check {
    /// Computes the world after a move in `next`; returns `false` if the move is not possible.
    pub(super) fn make(&self, world: &World, action: &Move, next: &mut World) -> bool {
        let waits = self.waits(world, action);
        if let Move::Ask(msg) | Move::Deliver(msg) | Move::Retry(msg) = action
            && !waits
            && self.stalls(world, msg)
        {
            return false;
        }
        next.clone_from(world);
        match action {
            Move::Advance => self.advance(next),
            Move::Restart => self.restart(next),
            Move::Tick(core) => next.times[*core] += 1,
            Move::Ask(msg) if msg.line == WHOLE => {
                next.ordered[(msg.from.0 - CORES) as usize] = Told::Busy;
                if !self.take(next, msg) {
                    return false;
                }
            }
            Move::Ask(msg) => {
                let line = self.line_of(msg.line);
                match msg.kind {
                    Kind::Load => {
                        let core = (msg.from.0 - CORES) as usize;
                        // A line that accepts a load has answered all earlier ones.
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
                    Kind::Modify => {
                        let value = msg.data.get(STORED).expect("an atomic access writes this byte");
                        next.modifying[line * self.system.cores + (msg.from.0 - CORES) as usize] = value;
                        if !self.system.coherent {
                            next.stores += 1;
                            next.oracles[line * BYTES + STORED].modify(value);
                        }
                    }
                    Kind::Evict | Kind::Drain | Kind::Retry | Kind::Roll => {}
                    _ => next.told[line * self.members() + msg.to.0 as usize] = Told::Busy,
                }
                if waits {
                    next.waiting.push(*msg);
                } else if !self.take(next, msg) {
                    return false;
                }
                if self.is_kept(world, msg) {
                    next.network.push(*msg);
                }
                // If stores are answered, the core waits for one that was not answered at once.
                if msg.kind == Kind::Store && next.line(self.slot(msg)).asked == Some(msg.from) {
                    next.loading[line * self.system.cores + (msg.from.0 - CORES) as usize] = true;
                }
            }
            Move::Deliver(msg) => {
                let place = next.network.iter().position(|other| other == msg);
                let Some(place) = place else { return false };
                if !self.is_kept(world, msg) {
                    next.network.remove(place);
                }
                if waits {
                    next.waiting.push(*msg);
                } else if !self.take(next, msg) {
                    return false;
                }
            }
            Move::Retry(msg) => {
                let place = next.waiting.iter().position(|other| other == msg);
                let Some(place) = place else { return false };
                next.waiting.remove(place);
                if !self.take(next, msg) {
                    return false;
                }
            }
        }
        self.sort(&mut next.network);
        true
    }

    /// Whether a message that arrives, or an order, has to wait in its queue: because it stalls, or because others
    /// wait there before it. A probe is tried even behind others, except at first-level caches.
    fn waits(&self, world: &World, action: &Move) -> bool {
        match action {
            // A stalled answer to an atomic access does not block other answers.
            Move::Deliver(msg) if msg.kind == Kind::Modified => {
                matches!(self.network, Network::Ordered { .. }) && self.stalls(world, msg)
            }
            _ if self.network != Network::Rows => false,
            // A core's access that waits for its line to be fetched is in no queue.
            Move::Deliver(msg) if msg.from.0 >= CORES => false,
            Move::Deliver(msg) if msg.lane() != Lane::Reply => {
                let is_first_level = self.system.members[msg.to.0 as usize].core.is_some();
                let in_turn = is_first_level || msg.lane() == Lane::Request;
                in_turn && world.waiting.iter().any(|other| self.share_row(other, msg)) || self.stalls(world, msg)
            }
            Move::Ask(msg) if matches!(msg.kind, Kind::Flush | Kind::Invalidate) && msg.line != WHOLE => {
                let told = world.told[self.line_of(msg.line) * self.members() + msg.to.0 as usize];
                told != Told::Busy && self.stalls(world, msg)
            }
            _ => false,
        }
    }

    /// Whether a message only starts a fetch of its line now, and is delivered to it again.
    fn is_kept(&self, world: &World, msg: &Msg<BYTES>) -> bool {
        let table = &self.system.tables[self.table_of(msg)];
        matches!(msg.kind, Kind::Modify | Kind::Load) && self.cell(world, msg).is_some_and(|cell| table.brings(cell))
    }

    /// Delivers a message to its member; returns `false` if it stalls or its answers have no room.
    fn take(&self, world: &mut World, msg: &Msg<BYTES>) -> bool {
        let Receiver { table, controller, place } = self.receiver(msg);
        let state = world.line_mut(self.slot(msg));
        match step(controller, &self.system.tables[table], place, state, msg, &mut Meter(&self.met[table])) {
            Ok(Step::Stall) => false,
            Ok(Step::Sends(sends)) => {
                if self.system.horizon.is_some() && msg.line != WHOLE {
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

    /// Updates logical time after a step: copies a controller's time to all of its lines, and records writes with
    /// their times.
    fn keep_time(&self, world: &mut World, msg: &Msg<BYTES>, sends: &[Msg<BYTES>]) {
        let (member, line) = (msg.to.0 as usize, self.line_of(msg.line));
        if self.system.members[member].controller.keeps_time() {
            let now = world.lines[line * self.members() + member].stamps.cts;
            let unknown = |line: &Line<BYTES>| line.state == self.system.members[member].initial.state;
            let of_member = world.lines.iter().skip(member).step_by(self.members());
            let written = of_member.filter(|line| unknown(line)).map(|line| line.stamps.wts).max().unwrap_or(0);
            // All lines restart, one after the other.
            let written = if msg.kind == Kind::Reset { 0 } else { written };
            for line in world.lines.iter_mut().skip(member).step_by(self.members()) {
                line.stamps.cts = now;
                if unknown(line) {
                    line.stamps.wts = written;
                }
            }
        }
        if msg.kind == Kind::Reset {
            world.restart_versions();
            world.times.fill(FIRST);
        }
        // A home knows the latest time that it has granted to each line.
        if let Some((_, orders)) = &self.system.members[member].orders
            && orders.table.name == orders::orders_home::TABLE.name
        {
            let latest = sends.iter().map(|send| send.stamps.wts).max().unwrap_or(0);
            let known = &mut world.whole[member].stamps.cts;
            *known = latest.max(*known);
        }
        // The controller that gives a write its time answers it in the same step.
        let answers = |send: &&Msg<BYTES>| match msg.kind {
            Kind::Write => send.kind == Kind::Ack,
            Kind::Modify => send.kind == Kind::Modified,
            _ => false,
        };
        let written = sends.iter().find(|send| answers(send) && send.stamps.wts > 0);
        if let Some(found) = written.and_then(|answer| answer.data.get(STORED)).filter(|_| msg.kind == Kind::Modify)
            && found != world.newest(line * BYTES + STORED, Stamp::MAX)
        {
            world.trouble =
                Some(Trouble::Order(format!("an atomic access to line {line} did not find the newest value")));
        }
        let bytes = written.into_iter().flat_map(|ack| (0..BYTES).map(move |byte| (byte, ack.stamps.wts)));
        for (byte, wts) in bytes {
            if let Some(value) = msg.data.get(byte) {
                world.perform(Version { byte: line * BYTES + byte, wts, value });
            }
        }
    }

    /// Sends a message over the network, or directly to a core or the driver. Returns `false` if there is no room.
    fn send(&self, world: &mut World, msg: Msg<BYTES>) -> bool {
        if msg.line == WHOLE && msg.to.0 >= CORES {
            let core = (msg.to.0 - CORES) as usize;
            world.ordered[core] = Told::Done;
            self.raise(world, core, &msg);
            return true;
        }
        if msg.from == msg.to && (msg.line == WHOLE || msg.kind == Kind::Done) {
            return self.sweep(world, &msg);
        }
        let line = self.line_of(msg.line);
        if msg.kind == Kind::Modified
            && let Some(core) = self.modifier(&msg)
        {
            self.modified(world, line, core, &msg);
            return true;
        }
        if msg.from == msg.to && msg.lane() == Lane::Reply {
            // The answer to the controller's own request: the line has been fetched.
            return true;
        }
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
            let channel = |msg: &Msg<BYTES>| self.channel(msg);
            let full = |depth| world.network.iter().filter(|other| channel(other) == channel(&msg)).count() >= depth;
            // Probes that need no answer could otherwise be sent any number of times.
            let held_up = match self.network {
                Network::Ordered { depth } => full(depth),
                Network::Unordered | Network::Rows => msg.lane() == Lane::Coherence && world.network.contains(&msg),
            };
            if held_up {
                return false;
            }
            world.network.push(msg);
        }
        true
    }

    /// Passes an order of a controller to each of its lines, or counts the answer of a line.
    fn sweep(&self, world: &mut World, msg: &Msg<BYTES>) -> bool {
        let number = msg.to.0 as usize;
        if msg.line == WHOLE && msg.kind == Kind::Evict {
            // Lines that are given up do not answer: the sweep is complete when none is left.
            world.network.push(Msg::new(msg.to, msg.to, Kind::Done, WHOLE, Block::EMPTY));
            return true;
        }
        if msg.line == WHOLE {
            let lines = (0..self.system.lines).step_by(self.system.members[number].controller.lines());
            world.sweeping[number] = lines.len() as u8;
            for line in lines {
                let told = Msg { stamps: msg.stamps, ..self.ask(msg.to, msg.to, msg.kind, line, Block::EMPTY) };
                world.network.push(told);
            }
            return true;
        }
        world.sweeping[number] -= 1;
        world.sweeping[number] > 0 || self.take(world, &Msg::new(msg.to, msg.to, Kind::Done, WHOLE, Block::EMPTY))
    }

    /// Raises a core's clock to the time at which its access took place.
    fn raise(&self, world: &mut World, core: usize, msg: &Msg<BYTES>) {
        if let Some(time) = world.times.get_mut(core) {
            *time = msg.stamps.cts.max(*time);
        }
    }

    /// The core whose atomic access is answered: the receiver, or the core of a first-level cache that answers
    /// itself.
    fn modifier(&self, msg: &Msg<BYTES>) -> Option<usize> {
        match msg.to.0.checked_sub(CORES) {
            Some(core) => Some(core.into()),
            None if msg.from == msg.to => self.system.members[msg.to.0 as usize].core,
            None => None,
        }
    }

    fn modified(&self, world: &mut World, line: usize, core: usize, msg: &Msg<BYTES>) {
        self.raise(world, core, msg);
        let value = std::mem::take(&mut world.modifying[line * self.system.cores + core]);
        let found = msg.data.get(STORED);
        let right = match self.system.coherent {
            true => {
                found == Some(oracle::NEWEST) && world.perform_store(line, self.members(), core, msg.from.0 as usize)
            }
            false => found.is_some_and(|found| world.oracles[line * BYTES + STORED].modified(core, value, found)),
        };
        if !right || value == 0 {
            let found = found.map_or("nothing".to_owned(), |found| found.to_string());
            world.trouble = Some(Trouble::Value(format!("core{core} modified line {line} and found {found}")));
        }
    }

    fn loaded(&self, world: &mut World, line: usize, core: usize, msg: &Msg<BYTES>) {
        self.raise(world, core, msg);
        world.loading[line * self.system.cores + core] = false;
        for byte in 0..BYTES {
            // With several lines, a cache's time advances by other lines, and a lease may have ended on arrival: the
            // read then took place at its end.
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

    fn advance(&self, world: &mut World) {
        if let Stage::Order { kind: Kind::Flush, scope: Scope::System, .. } = self.system.stages[world.stage] {
            for (number, member) in self.system.members.iter().enumerate() {
                let recalls = |(_, orders): &(usize, Orders)| orders.table.name == orders::orders_recalled::TABLE.name;
                if member.orders.as_ref().is_some_and(recalls) && self.holds(world, Node(number as u16)) {
                    let what = format!("{} holds a line after all of its lines were recalled", member.name);
                    world.trouble = Some(Trouble::Value(what));
                }
            }
        }
        if self.system.stages[world.stage].cores().is_some() {
            world.oracles.iter_mut().for_each(Oracle::synchronise);
        }
        if matches!(self.system.stages[world.stage], Stage::Meet) {
            let latest = world.times.iter().copied().max().unwrap_or(0);
            world.times.fill(latest);
        }
        world.told.fill(Told::NotYet);
        world.ordered.fill(Told::NotYet);
        world.stage = (world.stage + 1) % self.system.stages.len();
        world.rounds += u8::from(world.stage == 0);
    }

    /// Restarts logical time everywhere; waiting messages drop their timestamps.
    fn restart(&self, world: &mut World) {
        for msg in world.network.iter_mut().chain(&mut world.waiting) {
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
                        let what = format!("{} does not restart", self.system.members[member].name);
                        world.trouble = Some(Trouble::Impossible(what));
                    }
                    world.told[place] = told;
                }
            }
        }
        // Orders in progress drop their times too, and a home's record of the latest time is reset.
        world.whole.iter_mut().for_each(|whole| whole.stamps = Stamps::ZERO);
        if world.latest() > FIRST && world.trouble.is_none() {
            world.trouble = Some(Trouble::Impossible("logical time did not restart everywhere".to_owned()));
        }
    }
}

fn describe(member: &str, error: &Impossible) -> String {
    format!("{member}: {error}")
}
