//! The state of a checked system.

use super::{
    fingerprint::Fingerprint,
    oracle::{self, Oracle},
    system::{BYTES, CORES, DRIVER, READ, STORED, System},
};
use crate::{Block, FIRST, Line, Mask, Msg, Node, Roster, Sharers, Stamp};
use smallvec::{Array, SmallVec};
use std::hash::{Hash, Hasher};

/// How far a member is with what it was told about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    NotYet,
    Busy,
    Done,
}

/// What has gone wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// An `x` was reached, or an action made no sense.
    Impossible(String),
    /// A read returned what it may not.
    Value(String),
    /// A read at a logical time returned something else than the newest write up to it.
    Order(String),
}

/// A write of a byte, at its logical time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The byte, counted through all lines.
    pub byte: usize,
    pub wts: Stamp,
    pub value: u8,
}

/// One of a world's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A line, by its place among all.
    Line(usize),
    /// What a member knows of an order for all of its lines.
    Whole(usize),
    /// What a member knows of a peer's release: by member, then by peer.
    Marking(usize),
}

/// Everything that is known of a system at one moment. Small systems need no memory beside it: a search makes many millions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// By line, then by member.
    pub lines: SmallVec<[Line<BYTES>; 8]>,
    /// Messages under way: sorted, or in order within each lane between two nodes.
    pub network: SmallVec<[Msg<BYTES>; 6]>,
    /// Messages that have arrived and wait, in that order.
    pub waiting: SmallVec<[Msg<BYTES>; 2]>,
    /// By line, then by core: it waits for a load.
    pub loading: SmallVec<[bool; 16]>,
    /// The same: what its atomic access writes that has not been answered, or 0.
    pub modifying: SmallVec<[u8; 16]>,
    /// By line, then by byte.
    pub oracles: SmallVec<[Oracle; 2]>,
    /// By line, then by member: what has come of the present stage's message.
    pub told: SmallVec<[Told; 16]>,
    /// Where accesses are ordered by logical time: every write that memory has performed, in that order for each byte.
    pub versions: SmallVec<[Version; 2]>,
    /// By core, where cores have clocks.
    pub times: SmallVec<[Stamp; 4]>,
    /// By member, where there are orders: the record of its order, and how many of its lines have not answered a sweep.
    pub whole: SmallVec<[Line<BYTES>; 8]>,
    pub sweeping: SmallVec<[u8; 16]>,
    /// By member, then by peer, where there are markers.
    pub marking: SmallVec<[Line<BYTES>; 4]>,
    /// By core, where there are orders: how far it is with that of the present stage.
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

    /// Keeps its own memory: the search makes most worlds only to find that it knows them.
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

    /// The latest logical time that anybody knows of.
    pub fn latest(&self) -> Stamp {
        let lines = self.lines.iter().map(|line| line.stamps.cts.max(line.stamps.rts));
        lines.chain(self.times.iter().copied()).max().unwrap_or(0)
    }

    /// Remembers a write that memory has performed.
    pub fn perform(&mut self, version: Version) {
        let place = self.versions.partition_point(|known| *known < version);
        self.versions.insert(place, version);
    }

    /// What a read of a byte at a logical time has to return.
    pub fn newest(&self, byte: usize, time: Stamp) -> u8 {
        let written = self.versions.iter().rev().find(|version| version.byte == byte && version.wts <= time);
        written.map_or(0, |version| version.value)
    }

    /// Logical time starts anew: of each byte the newest value is as old as time.
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

    /// A member has performed a core's store to a line: every value gets the name it has from now on.
    ///
    /// The store writes one byte and, as an atomic operation does, makes a new value of the other from the one it finds
    /// there. `false` if that was not the newest.
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

    /// Hashes the world as it is with members and cores renamed, without making that world. `sort` puts a network in order.
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
    /// What a set of equal members looks like from within: the same whatever the sets are called.
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

/// Stands for anybody outside a set.
const OUTSIDE: Node = DRIVER;

/// Rows of `order.len()` entries, the entries of each in a new order.
fn permuted<'a, T>(rows: &'a [T], order: &'a [usize]) -> impl Iterator<Item = &'a T> {
    rows.chunks(order.len()).flat_map(|row| order.iter().map(|&old| &row[old]))
}

/// New names for members and cores: entry `i` says who becomes number `i`.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// Which set takes which's place.
    sets: Vec<usize>,
    members: Vec<usize>,
    cores: Vec<usize>,
    new_members: Vec<u16>,
    new_cores: Vec<u16>,
    /// By member: those above it.
    above: Vec<Roster>,
    /// Values name cores.
    coherent: bool,
}

impl Renaming {
    /// Every renaming under which the system stays the same: the sets of equal members change places.
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

    /// Puts the sets in the order of their signatures. Some renaming always does; several do if sets look alike.
    pub fn sorts(&self, signatures: &[u64]) -> bool {
        self.sets.iter().map(|&set| signatures[set]).is_sorted()
    }

    /// A line of member `old` with everybody renamed.
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

    /// A value, which may name a core.
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
