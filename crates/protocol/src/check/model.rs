//! A system as something to explore: the possible moves ([`moves`]), their effects ([`effects`]), and the invariants
//! ([`properties`]).

mod effects;
mod moves;
mod properties;

use super::{
    explore::{Explore, Invariant},
    fingerprint::Fingerprint,
    system::{BYTES, Network, System},
    world::{Renaming, Slot, Told, World},
};
use crate::{Block, Cell, Controller, Kind, Lane, Line, Msg, Node, Place, Row, Table, WHOLE, Witness, orders::Markers};
use mem::LineAddr;
use smallvec::SmallVec;
use std::{
    hash::Hasher,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Maximum stores in a checked system: its oracle's sets hold the values 0 to 7.
pub const MOST_VALUES: u8 = 7;

/// A move of a checked system.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// A core, or the driver, sends a member a message, which arrives at once.
    Ask(Msg<BYTES>),
    /// A message arrives.
    Deliver(Msg<BYTES>),
    /// A message that has waited is accepted.
    Retry(Msg<BYTES>),
    /// The next stage starts.
    Advance,
    /// Timestamps have overflowed, and all messages in flight wait for the restart: logical time restarts everywhere.
    Restart,
    /// A core's clock advances, as if it had used another line.
    Tick(usize),
}

/// A system, the limits of its exploration, and the cells met so far.
pub struct Check {
    pub system: System,
    pub network: Network,
    /// The queue in which a message waits, on [`Network::Rows`].
    pub row: fn(&Msg<BYTES>) -> Row,
    /// Stores in total, each with a value of its own.
    pub values: u8,
    /// How often all stages are passed before the last work stage.
    pub rounds: u8,
    renamings: Vec<Renaming>,
    /// By table, then by cell: whether it was met.
    met: Vec<Vec<AtomicBool>>,
}

/// The controller that receives a message.
struct Receiver<'a> {
    table: usize,
    controller: &'a dyn Controller<BYTES>,
    place: Place<'a>,
}

/// Records which cells are met, from any thread.
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
        Self { system, network, row: Msg::row, values, rounds, renamings, met }
    }

    /// By table, then by cell, row by row: whether it was met.
    pub fn met(&self) -> Vec<Vec<bool>> {
        self.met.iter().map(|table| table.iter().map(|met| met.load(Relaxed)).collect()).collect()
    }

    fn members(&self) -> usize {
        self.system.members.len()
    }

    fn line_of(&self, address: LineAddr) -> usize {
        address.0 as usize / BYTES
    }

    fn ask(&self, from: Node, to: Node, kind: Kind, line: usize, data: Block<BYTES>) -> Msg<BYTES> {
        Msg::new(from, to, kind, LineAddr((line * BYTES) as u64), data)
    }

    /// Whether two messages wait in the same queue.
    fn share_row(&self, one: &Msg<BYTES>, other: &Msg<BYTES>) -> bool {
        one.to == other.to && self.slot(one) == self.slot(other) && (self.row)(one) == (self.row)(other)
    }

    /// The record that a message is about.
    pub(super) fn slot(&self, msg: &Msg<BYTES>) -> Slot {
        let to = msg.to.0 as usize;
        if msg.line == WHOLE {
            return match self.asker(msg) {
                Some(asker) => Slot::Marking(to * self.members() + asker),
                None => Slot::Whole(to),
            };
        }
        let line = self.line_of(msg.line);
        Slot::Line((line - line % self.system.members[to].controller.lines()) * self.members() + to)
    }

    /// The node whose release a message about all lines concerns, if it is a message of markers.
    fn asker(&self, msg: &Msg<BYTES>) -> Option<usize> {
        let (_, markers) = self.system.members[msg.to.0 as usize].markers.as_ref()?;
        let of_markers = msg.of.is_some() || msg.kind == Kind::Flush && markers.peers.contains(&msg.from);
        of_markers.then(|| Markers::asker(msg).0 as usize)
    }

    /// The index of the table that a message meets.
    pub(super) fn table_of(&self, msg: &Msg<BYTES>) -> usize {
        self.receiver(msg).table
    }

    /// The controller that receives a message, with its table and position.
    fn receiver(&self, msg: &Msg<BYTES>) -> Receiver<'_> {
        let member = &self.system.members[msg.to.0 as usize];
        let place = Place { me: msg.to, below: msg.to, above: &member.above };
        let missing = "orders are given only to members that have a table for them";
        match self.slot(msg) {
            Slot::Line(_) => {
                let place = self.place(msg.to, self.line_of(msg.line));
                Receiver { table: member.table, controller: member.controller, place }
            }
            Slot::Whole(_) => {
                let (table, orders) = member.orders.as_ref().expect(missing);
                Receiver { table: *table, controller: orders, place }
            }
            Slot::Marking(_) => {
                let (table, markers) = member.markers.as_ref().expect(missing);
                Receiver { table: *table, controller: markers, place }
            }
        }
    }

    fn place(&self, me: Node, line: usize) -> Place<'_> {
        let member = &self.system.members[me.0 as usize];
        Place { me, below: member.below[line], above: &member.above }
    }

    /// The cell that this message would meet; `None` if the protocol has no event for it.
    fn cell(&self, world: &World, msg: &Msg<BYTES>) -> Option<&Cell> {
        let Receiver { table, controller, place } = self.receiver(msg);
        let line = self.line(world, msg);
        let event = controller.classify(place, line, msg)?;
        Some(self.system.tables[table].cell(line.state, event))
    }

    /// Whether this message would stall. The cell then counts as met: a stall is a step, too.
    fn stalls(&self, world: &World, msg: &Msg<BYTES>) -> bool {
        let Receiver { table: number, controller, place } = self.receiver(msg);
        let (table, line) = (&self.system.tables[number], self.line(world, msg));
        let Some(event) = controller.classify(place, line, msg) else { return false };
        let stalls = *table.cell(line.state, event) == Cell::Stall;
        if stalls {
            Meter(&self.met[number]).note(table, msg.line, line.state, event);
        }
        stalls
    }

    fn line<'w>(&self, world: &'w World, msg: &Msg<BYTES>) -> &'w Line<BYTES> {
        world.line(self.slot(msg))
    }

    /// Whether a member holds any line, or has a transaction in flight for one.
    fn holds(&self, world: &World, member: Node) -> bool {
        let initial = self.system.tables[self.system.members[member.0 as usize].table].initial();
        world.lines.iter().skip(member.0.into()).step_by(self.members()).any(|line| line.state != initial)
    }

    /// Whether a member is giving up all of its lines: its `Done` to itself waits for that.
    fn is_leaving(&self, world: &World, member: Node) -> bool {
        let gone =
            |msg: &Msg<BYTES>| msg.line == WHOLE && msg.kind == Kind::Done && (msg.from, msg.to) == (member, member);
        world.network.iter().any(gone)
    }

    /// Whether no message or transaction is in flight, no core waits, and the current stage is a work stage.
    fn is_quiet(&self, world: &World) -> bool {
        let at_rest = |line: &Line<BYTES>| line.asked.is_none() && line.acks == 0;
        world.network.is_empty()
            && world.waiting.is_empty()
            && !world.loading.contains(&true)
            && world.modifying.iter().all(|value| *value == 0)
            && !world.told.contains(&Told::Busy)
            && !world.ordered.contains(&Told::Busy)
            && self.system.stages[world.stage].cores().is_some()
            && world.sweeping.iter().all(|lines| *lines == 0)
            && world.lines.iter().chain(&world.whole).chain(&world.marking).all(at_rest)
    }

    fn sort(&self, network: &mut [Msg<BYTES>]) {
        match self.network {
            Network::Unordered | Network::Rows => network.sort_unstable(),
            Network::Ordered { .. } => network.sort_by_key(|msg| self.channel(msg)),
        }
    }

    /// An ordered network keeps the order of the messages of a channel.
    fn channel(&self, msg: &Msg<BYTES>) -> (Node, Node, Lane) {
        let behind_answers = self.system.recalls_behind_answers && msg.kind == Kind::CoreFlush;
        (msg.from, msg.to, if behind_answers { Lane::Reply } else { msg.lane() })
    }
}

impl Explore for Check {
    type State = World;
    type Action = Move;

    fn initial(&self) -> World {
        World::new(&self.system)
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        self.moves(world, moves);
    }

    fn invariants(&self) -> &'static [Invariant<Self>] {
        properties::ALL
    }

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
        self.make(world, action, next)
    }

    fn drained(&self, world: &World) -> bool {
        world.trouble.is_some() || self.is_quiet(world)
    }

    fn progresses(&self, world: &World, action: &Move) -> bool {
        let telling = self.system.stages[world.stage].cores().is_none();
        match action {
            Move::Deliver(_) | Move::Retry(_) | Move::Restart => true,
            Move::Ask(msg) if matches!(msg.kind, Kind::Evict | Kind::Drain) => self.is_leaving(world, msg.to),
            Move::Ask(msg) => msg.kind == Kind::Retry || telling && !matches!(msg.kind, Kind::Evict | Kind::Drain),
            Move::Advance => telling,
            Move::Tick(_) => false,
        }
    }
}
