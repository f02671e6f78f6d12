//! One step of a controller: a message meets a line.
//!
//! [`step`] is the only place where tables are obeyed. The checker and the timing model both call it; the timing model only
//! delays, queues and picks victims. A [`Controller`] adds the two things a table can't say: which event a message is, given
//! what is known of the line (every guard is an event), and what each action does to the line.

use crate::{Block, Cell, Kind, Lane, Mask, Msg, Node, Roster, Sharers, Stamps, Table};
use mem::{LineAddr, Scope};
use std::{
    collections::VecDeque,
    hash::{Hash, Hasher},
};

/// A line in a controller: everything that is known of it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line<const N: usize> {
    /// Index into the states of the controller's table.
    pub state: u8,
    /// The bytes held here.
    pub data: Block<N>,
    /// Those of them that are newer than below.
    pub dirty: Mask,
    /// Bytes sent below whose arrival has not been acknowledged.
    pub in_flight: Mask,
    /// How many acknowledgements are awaited.
    pub acks: u16,
    /// Who waits for the answer that this line is fetching.
    pub asked: Option<Node>,
    /// Those above who may hold it (directories).
    pub sharers: Sharers,
    /// On whose behalf it is being given up: who waits for the line, or for the acknowledgement (see [`Msg::of`]).
    pub join: Option<Node>,
    /// Acknowledgements that came before the answer that says how many there will be.
    pub early: u8,
    /// Which line of a block the one who waits has asked for (directories of blocks).
    pub part: u8,
    /// Its lease, and the time of the whole controller (protocols with timestamps).
    pub stamps: Stamps,
}

/// What a controller, with everything above it, may do to a line without asking below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    None,
    Read,
    Write,
}

/// What a directory has given out, or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    pub readers: Sharers,
    pub writers: Sharers,
}

impl Granted {
    pub const NOTHING: Self = Self { readers: Sharers::NONE, writers: Sharers::NONE };
}

impl<const N: usize> Hash for Line<N> {
    /// All of it; whether somebody waits and who is one number, as the checker hashes lines more than anything else.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { state, data, dirty, in_flight, acks, asked, sharers, join, early, part, stamps } = self;
        let number = |node: &Option<Node>| node.map_or(0, |node| node.0.wrapping_add(1));
        (*state, *early, *part, *acks, number(asked), number(join)).hash(hasher);
        (data, dirty, in_flight, sharers, stamps).hash(hasher);
    }
}

impl<const N: usize> Line<N> {
    /// A line of which nothing is held, in the given state.
    pub const fn new(state: u8) -> Self {
        let (data, none) = (Block::EMPTY, Mask::NONE);
        let sharers = Sharers::NONE;
        Self {
            state,
            data,
            dirty: none,
            in_flight: none,
            acks: 0,
            asked: None,
            sharers,
            join: None,
            early: 0,
            part: 0,
            stamps: Stamps::ZERO,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.data.mask().is_empty()
    }

    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Holds bytes, and only such as were written here.
    pub fn is_partial(&self) -> bool {
        self.is_dirty() && self.dirty == self.data.mask()
    }

    /// Somebody waits for it.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Bytes are on their way below.
    pub fn is_writing(&self) -> bool {
        self.acks > 0 && !self.in_flight.is_empty()
    }
}

/// Where a controller stands for one line: who it is, and whom it asks about this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub me: Node,
    pub below: Node,
    /// Those above, as far as the controller keeps records of them: at most [`Sharers::MOST`].
    pub above: &'a Roster,
}

impl Place<'_> {
    /// For a controller that keeps no record of who is above it.
    pub const fn new(me: Node, below: Node) -> Self {
        static NOBODY: Roster = Roster::NONE;
        Self { me, below, above: &NOBODY }
    }

    /// The set with just this one of those above; of anybody else, nobody.
    pub fn sharer(&self, node: Node) -> Sharers {
        self.above.sharer(node)
    }
}

/// What comes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<const N: usize> {
    /// Nothing has changed; try the message again later.
    Stall,
    /// Done; these are to be sent.
    Sends(Vec<Msg<N>>),
}

/// The meaning of a table's labels.
pub trait Controller<const N: usize>: Send + Sync {
    fn table(&self) -> &'static Table;

    /// Which event this message is to this line; `None` if the protocol has no such message here.
    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8>;

    /// Whether the line holds what its state says: a valid line its bytes, a fetching one somebody who waits.
    fn fits(&self, line: &Line<N>) -> bool;

    /// Whether a line in this state takes up room in a cache: it holds bytes or awaits them. A line that only waits for
    /// acknowledgements of what it sent does not.
    fn takes_room(&self, state: u8) -> bool {
        state != self.table().initial()
    }

    /// How many lines one record of this controller stands for. Messages about any line of a block, an aligned row of so many
    /// lines, are shown to the same [`Line`].
    fn lines(&self) -> usize {
        1
    }

    /// Whether a store that was sent below has been performed when its acknowledgement comes, and nothing else says so.
    fn stores_land(&self) -> bool {
        false
    }

    /// Whether the controller below is told of lines that are evicted ([`Kind::Evicted`]), because it keeps a record of each that was given out.
    fn tells_evictions(&self) -> bool {
        false
    }

    /// Whether a load that must see what others than the requester's group write claims the line first: it is performed where the line may
    /// be written, as an atomic access is.
    fn claims(&self) -> bool {
        false
    }

    /// Whether it belongs to the one who sends to it and obeys at once: nothing can come between.
    fn is_prompt(&self) -> bool {
        false
    }

    /// Whether the store that keeps the bytes of its lines holds what the record says.
    fn fits_store(&self, _: &Line<N>, _: &[Line<N>]) -> bool {
        true
    }

    /// Whether nobody waits for its answers to what it is told about a line. It must take that at once: whatever comes behind from the
    /// same sender would have to wait for what this one has asked of others.
    fn is_merely_told(&self) -> bool {
        false
    }

    /// Whether `cts` is the time of the whole controller, one for all of its lines: then whoever drives it copies it from the line
    /// it stepped to the others, those that it knows nothing of included. Of the latter, `wts` is one for all, too: the largest that any was left with.
    fn keeps_time(&self) -> bool {
        false
    }

    /// The scopes of loads that make a difference here: the checker tries each.
    fn scopes(&self) -> &'static [Scope] {
        &[Scope::Group]
    }

    /// What may be done to the line here; only of protocols that keep caches coherent at all times.
    fn access(&self, _: &Line<N>) -> Access {
        Access::None
    }

    /// What those above may do to the line, as far as a directory knows; `None` if it keeps no record.
    fn granted(&self, _: Place<'_>, _: &Line<N>) -> Option<Granted> {
        None
    }

    /// The line without what can't make a difference any more: the checker takes lines with the same essence as one.
    fn essence(&self, line: &Line<N>) -> Line<N> {
        *line
    }

    /// Does one action. `Err` says why it makes no sense for this line; that is a hole in the table.
    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str>;
}

/// What an action works on.
pub struct Work<'a, const N: usize> {
    pub place: Place<'a>,
    pub line: &'a mut Line<N>,
    pub msg: &'a Msg<N>,
    sends: &'a mut Vec<Msg<N>>,
}

impl<const N: usize> Work<'_, N> {
    /// Says something about this line to somebody.
    pub fn send(&mut self, to: Node, kind: Kind, data: Block<N>) {
        self.sends.push(self.about(to, kind, data));
    }

    /// Says something about another line, or to another's store.
    pub fn push(&mut self, msg: Msg<N>) {
        self.sends.push(msg);
    }

    /// Says something with a lease, or with the time it is here.
    pub fn send_stamped(&mut self, to: Node, kind: Kind, data: Block<N>, stamps: Stamps) {
        self.sends.push(Msg { stamps, ..self.about(to, kind, data) });
    }

    /// Says something on another's behalf, or something that has others acknowledge.
    pub fn send_for(&mut self, to: Node, kind: Kind, data: Block<N>, of: Option<Node>, acks: u8) {
        self.sends.push(Msg { of, acks, ..self.about(to, kind, data) });
    }

    /// A request that is passed on keeps its scope.
    fn about(&self, to: Node, kind: Kind, data: Block<N>) -> Msg<N> {
        let scope = if kind.lane() == Lane::Request { self.msg.scope } else { Scope::Group };
        Msg { scope, ..Msg::new(self.place.me, to, kind, self.msg.line, data) }
    }
}

/// Whoever watches the steps of controllers with one table.
pub trait Witness {
    /// An event met a line in a state.
    fn note(&mut self, table: &Table, line: LineAddr, state: u8, event: u8);

    /// The latest steps of a line, oldest first, as far as they are remembered.
    fn history(&self, _: LineAddr) -> Vec<Past> {
        Vec::new()
    }
}

/// What a controller remembers of its steps: how often each cell was met, and the latest of them for a report.
#[derive(Clone, Debug, Default)]
pub struct Log {
    counts: Vec<u64>,
    past: VecDeque<Past>,
    keep: usize,
}

/// One step of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    pub line: LineAddr,
    pub state: &'static str,
    pub event: &'static str,
}

impl Log {
    /// Counts cells, and keeps the latest `keep` steps.
    pub fn new(table: &Table, keep: usize) -> Self {
        Self { counts: vec![0; table.states.len() * table.events.len()], past: VecDeque::with_capacity(keep), keep }
    }

    /// How often an event met a line in a state, stalls included.
    pub fn count(&self, table: &Table, state: u8, event: u8) -> u64 {
        self.counts[table.index(state, event)]
    }

    /// Adds another log's counts: logs of controllers with the same table.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }
}

impl Witness for Log {
    fn note(&mut self, table: &Table, line: LineAddr, state: u8, event: u8) {
        self.counts[table.index(state, event)] += 1;
        if self.keep > 0 {
            if self.past.len() == self.keep {
                self.past.pop_front();
            }
            let (state, event) = (table.states[state as usize], table.events[event as usize]);
            self.past.push_back(Past { line, state, event });
        }
    }

    fn history(&self, line: LineAddr) -> Vec<Past> {
        self.past.iter().filter(|past| past.line == line).cloned().collect()
    }
}

/// Something happened that the table says can't: a hole in the protocol, never something to wait for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{table}: a line in state {state} met '{event}', which the table says can't happen: {why}{}", told(.history))]
pub struct Impossible {
    pub table: &'static str,
    pub state: &'static str,
    /// The event, or the message if the protocol has no event for it.
    pub event: String,
    pub why: String,
    /// The latest steps of this line, oldest first, as far as the log kept them.
    pub history: Vec<Past>,
}

impl Impossible {
    /// A table stalls an answer, which always has to be taken: whatever is in flight must come to its end.
    pub fn stalled_answer(table: &Table, state: u8, kind: Kind) -> Box<Self> {
        let (table, state, event) = (table.name, table.states[state as usize], format!("{kind:?}"));
        Box::new(Self { table, state, event, why: "an answer was made to wait".to_owned(), history: Vec::new() })
    }
}

fn told(history: &[Past]) -> String {
    history.iter().map(|past| format!("\n  line {} in {} met {}", past.line, past.state, past.event)).collect()
}

/// What would come of a message, without doing it: the event it is and the cell it meets; `None` if the protocol has no such
/// message here.
pub fn look<'t, const N: usize>(
    controller: &dyn Controller<N>,
    table: &'t Table,
    place: Place<'_>,
    line: &Line<N>,
    msg: &Msg<N>,
) -> Option<(u8, &'t Cell)> {
    let event = controller.classify(place, line, msg)?;
    Some((event, table.cell(line.state, event)))
}

/// Shows a message to a line. The line changes only if the answer is [`Step::Sends`].
pub fn step<const N: usize>(
    controller: &dyn Controller<N>,
    table: &Table,
    place: Place<'_>,
    line: &mut Line<N>,
    msg: &Msg<N>,
    log: &mut impl Witness,
) -> Result<Step<N>, Box<Impossible>> {
    let mut sends = Vec::new();
    let met = look(controller, table, place, line, msg);
    let done = perform(controller, table, place, line, msg, met, log, &mut sends)?;
    Ok(if done { Step::Sends(sends) } else { Step::Stall })
}

/// Does what [`look`] has found, with what is to be sent put behind what `sends` holds. Says whether it was no stall; only
/// then anything has changed.
#[expect(clippy::too_many_arguments, reason = "the arguments of `step`, what `look` found and where sends go")]
pub fn perform<const N: usize>(
    controller: &dyn Controller<N>,
    table: &Table,
    place: Place<'_>,
    line: &mut Line<N>,
    msg: &Msg<N>,
    met: Option<(u8, &Cell)>,
    log: &mut impl Witness,
    sends: &mut Vec<Msg<N>>,
) -> Result<bool, Box<Impossible>> {
    let state = line.state;
    let impossible = |event: String, why: String, history: Vec<Past>| {
        let state = table.states[state as usize];
        Box::new(Impossible { table: table.name, state, event, why, history })
    };
    let Some((event, cell)) = met else {
        let (event, why) = (format!("{:?}", msg.kind), "it has no event for this message".to_owned());
        return Err(impossible(event, why, log.history(msg.line)));
    };
    let event_name = || table.events[event as usize].to_owned();
    log.note(table, msg.line, state, event);
    let (next, actions) = match cell {
        Cell::Stall => return Ok(false),
        Cell::Never => return Err(impossible(event_name(), "its cell is x".to_owned(), log.history(msg.line))),
        Cell::Go(next, actions) => (*next, actions),
    };
    let (before, sent) = (*line, sends.len());
    let mut work = Work { place, line, msg, sends };
    for &action in actions.iter() {
        if let Err(why) = controller.act(action, &mut work) {
            *work.line = before;
            work.sends.truncate(sent);
            let why = format!("{} {why}", table.actions[action as usize]);
            return Err(impossible(event_name(), why, log.history(msg.line)));
        }
    }
    work.line.state = next;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vi_l1::{ViL1, l1};

    const PLACE: Place = Place::new(Node(0), Node(1));

    fn msg(kind: Kind, data: Block<2>) -> Msg<2> {
        Msg::new(Node(9), PLACE.me, kind, LineAddr(0x40), data)
    }

    #[test]
    fn a_stalled_message_changes_nothing() {
        let mut log = Log::new(&l1::TABLE, 4);
        let mut line = Line::new(l1::State::IV as u8);
        let load = msg(Kind::Load, Block::EMPTY);
        assert_eq!(step(&ViL1, &l1::TABLE, PLACE, &mut line, &load, &mut log), Ok(Step::Stall));
        assert_eq!(line, Line::new(l1::State::IV as u8));
        assert_eq!(log.count(&l1::TABLE, l1::State::IV as u8, l1::Event::Load as u8), 1);
    }

    #[test]
    fn a_store_to_a_byte_in_flight_waits_and_one_beside_it_goes() {
        let mut log = Log::new(&l1::TABLE, 4);
        let mut line = Line::new(l1::State::I as u8);
        let mut store =
            |byte, line: &mut _| step(&ViL1, &l1::TABLE, PLACE, line, &msg(Kind::Store, Block::one(byte, 7)), &mut log);
        assert!(matches!(store(0, &mut line), Ok(Step::Sends(sends)) if sends[0].lane() == crate::Lane::Request));
        assert_eq!(store(0, &mut line), Ok(Step::Stall));
        assert!(matches!(store(1, &mut line), Ok(Step::Sends(_))));
        assert_eq!((line.acks, line.in_flight), (2, Mask::first(2)));
    }

    #[test]
    fn what_cannot_happen_is_an_error_that_tells_the_line_s_history() {
        let mut log = Log::new(&l1::TABLE, 4);
        let mut line = Line::new(l1::State::I as u8);
        let load = msg(Kind::Load, Block::EMPTY);
        step(&ViL1, &l1::TABLE, PLACE, &mut line, &load, &mut log).unwrap();
        let ack = msg(Kind::Ack, Block::EMPTY);
        let error = step(&ViL1, &l1::TABLE, PLACE, &mut line, &ack, &mut log).unwrap_err();
        let told = "l1: a line in state IV met 'AckLast', which the table says can't happen: its cell is x
  line 0x40 in I met Load
  line 0x40 in IV met AckLast";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn a_message_of_another_protocol_is_an_error() {
        let mut log = Log::new(&l1::TABLE, 4);
        let mut line = Line::new(l1::State::I as u8);
        let roll = msg(Kind::Roll, Block::EMPTY);
        let error = step(&ViL1, &l1::TABLE, PLACE, &mut line, &roll, &mut log).unwrap_err();
        assert_eq!((error.state, error.event.as_str()), ("I", "Roll"));
    }
}
