//! The state of a checked system.

use super::{
    fingerprint::Fingerprint,
    oracle::{self, Oracle},
    system::{BYTES, CORES, DRIVER, READ, STORED, System},
};
use crate::{Block, FIRST, Line, Mask, Msg, Node, Roster, Sharers, Stamp};
use smallvec::{Array, SmallVec};
use std::hash::{Hash, Hasher};

/// A member's progress with a message of the current stage about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    NotYet,
    Busy,
    Done,
}

/// An error that a step has met.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// An `x` cell was met, or an action was impossible.
    Impossible(String),
    /// A read returned a value that it may not return.
    Value(String),
    /// A read at a logical time did not return the newest write up to that time.
    Order(String),
}

/// A write of a byte at a logical time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The index of the byte among those of all lines.
    pub byte: usize,
    pub wts: Stamp,
    pub value: u8,
}

/// The location of a record in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A line's record, by its index in `lines`.
    Line(usize),
    /// A member's record of an order for all of its lines.
    Whole(usize),
    /// A member's record of a peer's release: by member, then by peer.
    Marking(usize),
}

/// The state of a system. It needs no heap memory in small systems, because a search creates many millions of them.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// By line, then by member.
    pub lines: SmallVec<[Line<BYTES>; 8]>,
    /// Messages in flight: sorted, or in order within each lane between two nodes.
    pub network: SmallVec<[Msg<BYTES>; 6]>,
    /// Messages that have arrived and wait, in order of arrival.
    pub waiting: SmallVec<[Msg<BYTES>; 2]>,
    /// By line, then by core: whether the core waits for a load.
    pub loading: SmallVec<[bool; 16]>,
    /// By line, then by core: the value of its pending atomic access, or 0.
    pub modifying: SmallVec<[u8; 16]>,
    /// The oracle of each byte: by line, then by byte.
    pub oracles: SmallVec<[Oracle; 2]>,
    /// By line, then by member: the progress with the current stage's message.
    pub told: SmallVec<[Told; 16]>,
    /// With logical time: every write that memory has performed, by byte and time.
    pub versions: SmallVec<[Version; 2]>,
    /// By core, if cores have clocks.
    pub times: SmallVec<[Stamp; 4]>,
    /// By member, if there are orders: the record of its order.
    pub whole: SmallVec<[Line<BYTES>; 8]>,
    /// By member, if there are orders: how many of its lines have not answered a sweep.
    pub sweeping: SmallVec<[u8; 16]>,
    /// By member, then by peer, if there are markers.
    pub marking: SmallVec<[Line<BYTES>; 4]>,
    /// By core, if there are orders: its progress with the current stage's order.
    pub ordered: SmallVec<[Told; 16]>,
    pub stage: usize,
    pub stores: u8,
    pub rounds: u8,
    pub trouble: Option<Trouble>,
}

impl Clone for World {
    fn clone(&self) -> Self {
        let Self { lines, network, waiting, loading, oracles, told, versions, times, .. } = self;
        let Self { whole, sweeping, marking, ordered, modifying, .. } = self;
        Self {
            lines: SmallVec::from_slice(lines),
            network: SmallVec::from_slice(network),
            waiting: SmallVec::from_slice(waiting),
            loading: SmallVec::from_slice(loading),
            modifying: SmallVec::from_slice(modifying),
            oracles: SmallVec::from_slice(oracles),
            told: SmallVec::from_slice(told),
            versions: SmallVec::from_slice(versions),
            times: SmallVec::from_slice(times),
            whole: SmallVec::from_slice(whole),
            sweeping: SmallVec::from_slice(sweeping),
            marking: SmallVec::from_slice(marking),
            ordered: SmallVec::from_slice(ordered),
            stage: self.stage,
            stores: self.stores,
            rounds: self.rounds,
            trouble: self.trouble.clone(),
        }
    }

    /// Reuses its own memory: most worlds that the search creates are already known.
    fn clone_from(&mut self, other: &Self) {
        let Self { lines, network, waiting, loading, oracles, told, versions, times, .. } = other;
        copy(&mut self.lines, lines);
        copy(&mut self.network, network);
        copy(&mut self.waiting, waiting);
        copy(&mut self.loading, loading);
        copy(&mut self.oracles, oracles);
        copy(&mut self.told, told);
        copy(&mut self.versions, versions);
        copy(&mut self.times, times);
        let Self { whole, sweeping, marking, ordered, modifying, .. } = other;
        copy(&mut self.modifying, modifying);
        copy(&mut self.whole, whole);
        copy(&mut self.sweeping, sweeping);
        copy(&mut self.marking, marking);
        copy(&mut self.ordered, ordered);
        (self.stage, self.stores, self.rounds) = (other.stage, other.stores, other.rounds);
        self.trouble.clone_from(&other.trouble);
    }
}

fn copy<A: Array<Item: Copy>>(to: &mut SmallVec<A>, from: &[A::Item]) {
    to.clear();
    to.extend_from_slice(from);
}

impl World {
    pub fn line(&self, slot: Slot) -> &Line<BYTES> {
        match slot {
            Slot::Line(place) => &self.lines[place],
            Slot::Whole(member) => &self.whole[member],
            Slot::Marking(place) => &self.marking[place],
        }
    }

    pub fn line_mut(&mut self, slot: Slot) -> &mut Line<BYTES> {
        match slot {
            Slot::Line(place) => &mut self.lines[place],
            Slot::Whole(member) => &mut self.whole[member],
            Slot::Marking(place) => &mut self.marking[place],
        }
    }

    /// The latest logical time of any line or clock.
    pub fn latest(&self) -> Stamp {
        let lines = self.lines.iter().map(|line| line.stamps.cts.max(line.stamps.rts));
        lines.chain(self.times.iter().copied()).max().unwrap_or(0)
    }

    /// Records a write that memory has performed.
    pub fn perform(&mut self, version: Version) {
        let place = self.versions.partition_point(|known| *known < version);
        self.versions.insert(place, version);
    }

    /// The value that a read of a byte at a logical time must return.
    pub fn newest(&self, byte: usize, time: Stamp) -> u8 {
        let written = self.versions.iter().rev().find(|version| version.byte == byte && version.wts <= time);
        written.map_or(0, |version| version.value)
    }

    /// Logical time restarts: the newest value of each byte gets time 0.
    pub fn restart_versions(&mut self) {
        let newest: SmallVec<[Version; 2]> = self
            .versions
            .iter()
            .enumerate()
            .filter(|&(place, version)| self.versions.get(place + 1).is_none_or(|next| next.byte != version.byte))
            .map(|(_, version)| Version { wts: 0, ..*version })
            .collect();
        self.versions = newest;
    }

    pub fn new(system: &System) -> Self {
        let per_line = |_| system.members.iter().map(|member| member.initial);
        let members = system.members.len();
        let ordered = if system.members.iter().any(|member| member.orders.is_some()) { members } else { 0 };
        let marked = if system.members.iter().any(|member| member.markers.is_some()) { members } else { 0 };
        Self {
            lines: (0..system.lines).flat_map(per_line).collect(),
            network: SmallVec::new(),
            waiting: SmallVec::new(),
            loading: SmallVec::from_elem(false, system.lines * system.cores),
            modifying: SmallVec::from_elem(0, if system.modifies { system.lines * system.cores } else { 0 }),
            oracles: SmallVec::from_elem(
                Oracle::new(system.cores),
                if system.coherent { 0 } else { system.lines * BYTES },
            ),
            told: SmallVec::from_elem(Told::NotYet, system.lines * system.members.len()),
            versions: SmallVec::new(),
            times: SmallVec::from_elem(FIRST, if system.has_core_clocks() { system.cores } else { 0 }),
            whole: SmallVec::from_elem(Line::new(0), ordered),
            sweeping: SmallVec::from_elem(0, ordered),
            marking: SmallVec::from_elem(Line::new(0), marked * marked),
            ordered: SmallVec::from_elem(Told::NotYet, if ordered > 0 { system.cores } else { 0 }),
            stage: 0,
            stores: 0,
            rounds: 0,
            trouble: None,
        }
    }

    /// A member has performed a core's store to a line: renames the values (see `oracle.rs`).
    ///
    /// The store writes one byte and, as an atomic operation does, replaces the other byte by a new value made from
    /// the one it finds. Returns `false` if it did not find the newest value.
    pub fn perform_store(&mut self, line: usize, members: usize, core: usize, writer: usize) -> bool {
        let row = line * members..(line + 1) * members;
        let found = self.lines[row.clone()][writer].data.get(READ);
        let rename = |data: Block<BYTES>| {
            let older = |value| if value == oracle::NEWEST { oracle::STALE } else { value };
            data.map(STORED, |value| oracle::after_store(core, value)).map(READ, older)
        };
        for held in &mut self.lines[row.clone()] {
            held.data = rename(held.data);
        }
        let messages = self.network.iter_mut().chain(&mut self.waiting);
        for msg in messages.filter(|msg| msg.line.0 as usize / BYTES == line) {
            msg.data = rename(msg.data);
        }
        let written = &mut self.lines[row][writer];
        written.data = written.data.map(READ, |_| oracle::NEWEST);
        written.dirty = written.dirty.or(Mask::byte(READ));
        found == Some(oracle::NEWEST)
    }

    /// Hashes the world with members and cores renamed, without creating that world. `sort` sorts a network.
    pub fn hash_renamed(&self, renaming: &Renaming, sort: impl Fn(&mut [Msg<BYTES>]), hasher: &mut impl Hasher) {
        for row in self.lines.chunks(renaming.members.len()) {
            for &old in &renaming.members {
                renaming.line(old, &row[old]).hash(hasher);
            }
        }
        let message = |msg: &Msg<BYTES>| Msg {
            from: renaming.node(msg.from),
            to: renaming.node(msg.to),
            of: msg.of.map(|node| renaming.node(node)),
            data: renaming.data(&msg.data),
            ..*msg
        };
        let mut network: SmallVec<[_; 16]> = self.network.iter().map(message).collect();
        sort(&mut network);
        network.hash(hasher);
        let mut waiting: SmallVec<[_; 4]> = self.waiting.iter().map(message).collect();
        waiting.sort_by_key(|msg| msg.to);
        waiting.hash(hasher);
        permuted(&self.loading, &renaming.cores).for_each(|loading| loading.hash(hasher));
        if !self.modifying.is_empty() {
            permuted(&self.modifying, &renaming.cores).for_each(|value| (renaming.value(*value)).hash(hasher));
        }
        permuted(&self.told, &renaming.members).for_each(|told| told.hash(hasher));
        self.oracles.iter().for_each(|oracle| oracle.hash_renamed(&renaming.cores, hasher));
        self.versions.hash(hasher);
        if !self.times.is_empty() {
            permuted(&self.times, &renaming.cores).for_each(|time| time.hash(hasher));
        }
        if !self.whole.is_empty() {
            for &old in &renaming.members {
                renaming.line(old, &self.whole[old]).hash(hasher);
                self.sweeping[old].hash(hasher);
            }
            permuted(&self.ordered, &renaming.cores).for_each(|ordered| ordered.hash(hasher));
        }
        if !self.marking.is_empty() {
            for (&member, &peer) in renaming.members.iter().flat_map(|a| renaming.members.iter().map(move |b| (a, b))) {
                renaming.line(member, &self.marking[member * renaming.members.len() + peer]).hash(hasher);
            }
        }
        (self.stage, self.stores, self.rounds, &self.trouble).hash(hasher);
    }
}

impl World {
    /// A hash of a set of equal members as seen from within: it does not depend on the names of the sets.
    pub fn signature(&self, system: &System, set: &[Node]) -> u64 {
        let members = system.members.len();
        let relative = |node: Node| set.iter().position(|&own| own == node).map_or(OUTSIDE, |place| Node(place as u16));
        let own =
            |value: u8| set.iter().any(|node| system.members[node.0 as usize].core.map(oracle::waiting) == Some(value));
        let rename = |value: u8| match value {
            oracle::STALE | oracle::NEWEST => value,
            waiting => oracle::waiting(usize::from(!own(waiting))),
        };
        let data = |data: &Block<BYTES>| if system.coherent { data.map(STORED, rename) } else { *data };
        let mut hasher = Fingerprint::default();
        for &node in set {
            let number = node.0 as usize;
            for line in 0..system.lines {
                let place = line * members + number;
                let held = &self.lines[place];
                let (asked, join) = (held.asked.map(relative), held.join.map(relative));
                Line { asked, join, data: data(&held.data), ..*held }.hash(&mut hasher);
                self.told[place].hash(&mut hasher);
            }
            if let Some(held) = self.whole.get(number) {
                Line { asked: held.asked.map(relative), ..*held }.hash(&mut hasher);
                self.sweeping[number].hash(&mut hasher);
            }
            if let Some(core) = system.members[number].core {
                self.ordered.get(core).hash(&mut hasher);
                self.loading.iter().skip(core).step_by(system.cores).for_each(|loading| loading.hash(&mut hasher));
                let modifying = self.modifying.iter().skip(core).step_by(system.cores);
                modifying.for_each(|value| {
                    if system.coherent { (*value > 0).hash(&mut hasher) } else { value.hash(&mut hasher) }
                });
                self.oracles.iter().for_each(|oracle| oracle.hash_core(core, &mut hasher));
                self.times.get(core).hash(&mut hasher);
            }
        }
        let messages =
            self.network.iter().chain(&self.waiting).filter(|msg| set.contains(&msg.from) || set.contains(&msg.to));
        let messages = messages.map(|msg| {
            let mut hasher = Fingerprint::default();
            let (from, to, of) = (relative(msg.from), relative(msg.to), msg.of.map(relative));
            Msg { from, to, of, data: data(&msg.data), ..*msg }.hash(&mut hasher);
            hasher.finish()
        });
        hasher.finish().wrapping_add(messages.fold(0, u64::wrapping_add))
    }
}

/// Stands for all nodes outside a set.
const OUTSIDE: Node = DRIVER;

/// Yields the entries of each row of `order.len()` entries in a new order.
fn permuted<'a, T>(rows: &'a [T], order: &'a [usize]) -> impl Iterator<Item = &'a T> {
    rows.chunks(order.len()).flat_map(|row| order.iter().map(|&old| &row[old]))
}

/// New names for members and cores: entry `i` is the old number of the new number `i`.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// By set: the set that takes its place.
    sets: Vec<usize>,
    members: Vec<usize>,
    cores: Vec<usize>,
    new_members: Vec<u16>,
    new_cores: Vec<u16>,
    /// By member: the nodes above it.
    above: Vec<Roster>,
    /// Whether values name cores.
    coherent: bool,
}

impl Renaming {
    /// All renamings that leave the system unchanged: permutations of the sets of equal members.
    pub fn all(system: &System) -> Vec<Self> {
        let sets = &system.equals;
        permutations(sets.len()).into_iter().map(|order| Self::new(system, &order)).collect()
    }

    fn new(system: &System, order: &[usize]) -> Self {
        let mut members: Vec<_> = (0..system.members.len()).collect();
        let mut cores: Vec<_> = (0..system.cores).collect();
        for (set, &from) in order.iter().enumerate() {
            for (new, old) in system.equals[set].iter().zip(&system.equals[from]) {
                let (new, old) = (new.0 as usize, old.0 as usize);
                members[new] = old;
                if let (Some(new), Some(old)) = (system.members[new].core, system.members[old].core) {
                    cores[new] = old;
                }
            }
        }
        let (new_members, new_cores) = (inverse(&members), inverse(&cores));
        let above = system.members.iter().map(|member| member.above.clone()).collect();
        let (sets, coherent) = (order.to_vec(), system.coherent);
        Self { sets, members, cores, new_members, new_cores, above, coherent }
    }

    /// Whether it puts the sets in the order of their signatures. At least one renaming does; several do if sets look
    /// alike.
    pub fn sorts(&self, signatures: &[u64]) -> bool {
        self.sets.iter().map(|&set| signatures[set]).is_sorted()
    }

    /// A line of member `old` with all nodes renamed.
    fn line(&self, old: usize, line: &Line<BYTES>) -> Line<BYTES> {
        let new = self.new_members[old] as usize;
        Line {
            asked: line.asked.map(|node| self.node(node)),
            join: line.join.map(|node| self.node(node)),
            data: self.data(&line.data),
            sharers: self.sharers(&self.above[old], &self.above[new], line.sharers),
            ..*line
        }
    }

    fn sharers(&self, above: &Roster, new_above: &Roster, sharers: Sharers) -> Sharers {
        if sharers.is_empty() {
            return sharers;
        }
        let renamed = sharers.numbers().map(|number| new_above.sharer(self.node(above.member(number))));
        renamed.fold(Sharers::NONE, Sharers::or)
    }

    fn data(&self, data: &Block<BYTES>) -> Block<BYTES> {
        if !self.coherent {
            return *data;
        }
        data.map(STORED, |value| self.value(value))
    }

    /// A value, which may contain a core's number.
    fn value(&self, value: u8) -> u8 {
        match value.checked_sub(oracle::waiting(0)) {
            Some(core) if self.coherent => oracle::waiting(self.new_cores[core as usize] as usize),
            _ => value,
        }
    }

    fn node(&self, node: Node) -> Node {
        match self.new_members.get(node.0 as usize) {
            Some(&new) => Node(new),
            None => match self.new_cores.get((node.0 - CORES) as usize) {
                Some(&new) => Node(CORES + new),
                None => node,
            },
        }
    }
}

fn inverse(order: &[usize]) -> Vec<u16> {
    let mut inverse = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        inverse[old] = new as u16;
    }
    inverse
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let insert = |shorter: &Vec<usize>, place| {
        let mut longer = shorter.clone();
        longer.insert(place, last);
        longer
    };
    permutations(last).iter().flat_map(|shorter| (0..count).map(move |place| insert(shorter, place))).collect()
}
