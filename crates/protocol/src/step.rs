//! One step of a controller: a message meets a line.
//!
//! [`step`] is the only place where tables are executed. The checker and the timing model both call it; the timing
//! model only delays, queues and picks victims. A [`Controller`] adds the two things that a table can't express:
//! which event a message is, given the line's record (every guard is an event), and what each action does to the
//! line.

use crate::{Block, Cell, Kind, Lane, Mask, Msg, Node, Roster, Sharers, Stamps, Table};
use mem::{LineAddr, Scope};
use std::hash::{Hash, Hasher};

/// The record of a line in a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line<const N: usize> {
    /// Index into the states of the controller's table.
    pub state: u8,
    /// The bytes held here.
    pub data: Block<N>,
    /// Held bytes that are newer than those below.
    pub dirty: Mask,
    /// Bytes sent below and not acknowledged yet.
    pub in_flight: Mask,
    /// How many acknowledgements are awaited.
    pub acks: u16,
    /// The node that waits for the answer this line is fetching.
    pub asked: Option<Node>,
    /// The nodes above that may hold the line (directories).
    pub sharers: Sharers,
    /// The node on whose behalf the line is given up: it waits for the line, or for the acknowledgement (see
    /// [`Msg::of`]).
    pub join: Option<Node>,
    /// Acknowledgements that came before the answer that states their number.
    pub early: u8,
    /// Which line of a block the waiting node has requested (directories of blocks).
    pub part: u8,
    /// The lease, and the time of the whole controller (protocols with timestamps).
    pub stamps: Stamps,
}

/// What a controller, with everything above it, may do to a line without asking below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    None,
    Read,
    Write,
}

/// The rights that a directory has granted or is about to grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    pub readers: Sharers,
    pub writers: Sharers,
}

impl Granted {
    pub const NOTHING: Self = Self { readers: Sharers::NONE, writers: Sharers::NONE };
}

impl<const N: usize> Hash for Line<N> {
    /// Hashes all fields. `asked` and `join` are hashed as one number each, because the checker spends much time
    /// hashing.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { state, data, dirty, in_flight, acks, asked, sharers, join, early, part, stamps } = self;
        let number = |node: &Option<Node>| node.map_or(0, |node| node.0.wrapping_add(1));
        (*state, *early, *part, *acks, number(asked), number(join)).hash(hasher);
        (data, dirty, in_flight, sharers, stamps).hash(hasher);
    }
}

impl<const N: usize> Line<N> {
    /// A line in the given state that holds no bytes.
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

    /// Whether it holds bytes, and only bytes that were written here.
    pub fn is_partial(&self) -> bool {
        self.is_dirty() && self.dirty == self.data.mask()
    }

    /// Whether a node waits for the line.
    pub fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether bytes are in flight to below.
    pub fn is_writing(&self) -> bool {
        self.acks > 0 && !self.in_flight.is_empty()
    }
}

/// A controller's position for one line: its node, and the nodes below and above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub me: Node,
    pub below: Node,
    /// The nodes above, if the controller keeps records of them: at most [`Sharers::MOST`].
    pub above: &'a Roster,
}

impl Place<'_> {
    /// For a controller that keeps no records of the nodes above.
    pub const fn new(me: Node, below: Node) -> Self {
        static NOBODY: Roster = Roster::NONE;
        Self { me, below, above: &NOBODY }
    }

    /// The set with only this node; empty if it is not above.
    pub fn sharer(&self, node: Node) -> Sharers {
        self.above.sharer(node)
    }
}

/// The outcome of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<const N: usize> {
    /// Nothing has changed; retry the message later.
    Stall,
    /// Done; these messages are to be sent.
    Sends(Vec<Msg<N>>),
}

/// The meaning of a table's labels.
pub trait Controller<const N: usize>: Send + Sync {
    fn table(&self) -> &'static Table;

    /// Which event this message is to this line; `None` if the protocol has no event for it.
    fn classify(&self, place: Place<'_>, line: &Line<N>, msg: &Msg<N>) -> Option<u8>;

    /// Whether the record matches its state: for example, a valid line has its bytes, and a fetching one has a
    /// waiting node.
    fn fits(&self, line: &Line<N>) -> bool;

    /// Whether a line in this state occupies a way of a cache: it holds bytes or awaits them. A line that only awaits
    /// acknowledgements does not.
    fn takes_room(&self, state: u8) -> bool {
        state != self.table().initial()
    }

    /// Number of lines per record of this controller. Messages about any line of such a block, which is aligned, are
    /// delivered to the same [`Line`].
    fn lines(&self) -> usize {
        1
    }

    /// Whether a store that was sent below is performed when its acknowledgement comes, without any other
    /// notification.
    fn stores_land(&self) -> bool {
        false
    }

    /// Whether the controller below is notified of evictions ([`Kind::Evicted`]), because it keeps a record of each
    /// granted line.
    fn tells_evictions(&self) -> bool {
        false
    }

    /// Whether a load of a scope wider than the requester's group claims the line first: like an atomic access, it is
    /// performed where the line may be written.
    fn claims(&self) -> bool {
        false
    }

    /// Whether it belongs to the controller that sends to it (a directory's store) and carries out messages at once,
    /// before any other message.
    fn is_prompt(&self) -> bool {
        false
    }

    /// Whether the bytes in the store match the record.
    fn fits_store(&self, _: &Line<N>, _: &[Line<N>]) -> bool {
        true
    }

    /// Whether probes to this controller need no answer. It must accept them at once: otherwise later messages of the
    /// same sender would wait for requests that this controller has sent to others.
    fn is_merely_told(&self) -> bool {
        false
    }

    /// Whether `cts` is one time for all lines of the controller. The component that runs it then copies `cts` from
    /// the line it stepped to all other lines, also to those without a record. Lines without a record also share one
    /// `wts`: the largest of any line whose record was dropped.
    fn keeps_time(&self) -> bool {
        false
    }

    /// The load scopes that this controller distinguishes: the checker tries each.
    fn scopes(&self) -> &'static [Scope] {
        &[Scope::Group]
    }

    /// What may be done to the line here; only for protocols that keep caches coherent at all times.
    fn access(&self, _: &Line<N>) -> Access {
        Access::None
    }

    /// What the nodes above may do to the line according to the directory's record; `None` if it keeps no record.
    fn granted(&self, _: Place<'_>, _: &Line<N>) -> Option<Granted> {
        None
    }

    /// The line without details that can't matter any more: the checker treats lines of equal essence as equal.
    fn essence(&self, line: &Line<N>) -> Line<N> {
        *line
    }

    /// Performs one action. `Err` says why the action is impossible for this line, which is a mistake in the table.
    fn act(&self, action: u8, work: &mut Work<'_, N>) -> Result<(), &'static str>;
}

/// The state that an action works on.
pub struct Work<'a, const N: usize> {
    pub place: Place<'a>,
    pub line: &'a mut Line<N>,
    pub msg: &'a Msg<N>,
    sends: &'a mut Vec<Msg<N>>,
}

impl<const N: usize> Work<'_, N> {
    /// Sends a message about this line.
    pub fn send(&mut self, to: Node, kind: Kind, data: Block<N>) {
        self.sends.push(self.about(to, kind, data));
    }

    /// Sends a message about another line, or to the store of a directory.
    pub fn push(&mut self, msg: Msg<N>) {
        self.sends.push(msg);
    }

    /// Sends a message with a lease or a logical time.
    pub fn send_stamped(&mut self, to: Node, kind: Kind, data: Block<N>, stamps: Stamps) {
        self.sends.push(Msg { stamps, ..self.about(to, kind, data) });
    }

    /// Sends a message on behalf of another node, or one that announces acknowledgements.
    pub fn send_for(&mut self, to: Node, kind: Kind, data: Block<N>, of: Option<Node>, acks: u8) {
        self.sends.push(Msg { of, acks, ..self.about(to, kind, data) });
    }

    /// A message about this line. A request that is passed on keeps its scope.
    fn about(&self, to: Node, kind: Kind, data: Block<N>) -> Msg<N> {
        let scope = if kind.lane() == Lane::Request { self.msg.scope } else { Scope::Group };
        Msg { scope, ..Msg::new(self.place.me, to, kind, self.msg.line, data) }
    }
}

/// Observes the steps of controllers with one table.
pub trait Witness {
    /// An event met a line in a state.
    fn note(&mut self, table: &Table, line: LineAddr, state: u8, event: u8);

    /// The latest steps of a line, oldest first, as far as they were kept.
    fn history(&self, _: LineAddr) -> Vec<Past> {
        Vec::new()
    }
}

/// A controller's log: how often each cell was met, and the latest steps for a report.
#[derive(Clone, Debug, Default)]
pub struct Log {
    counts: Vec<u64>,
    /// The latest steps: line, state and event. When `keep` are there, the oldest is at `oldest`.
    past: Vec<(LineAddr, u8, u8)>,
    oldest: usize,
    keep: usize,
    states: &'static [&'static str],
    events: &'static [&'static str],
}

/// An earlier step, for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    pub line: LineAddr,
    pub state: &'static str,
    pub event: &'static str,
}

impl Log {
    /// Counts cells, and keeps the latest `keep` steps.
    pub fn new(table: &Table, keep: usize) -> Self {
        let Table { states, events, .. } = *table;
        Self { counts: vec![0; states.len() * events.len()], past: Vec::new(), oldest: 0, keep, states, events }
    }

    /// How often an event met a line in a state, including stalls.
    pub fn count(&self, table: &Table, state: u8, event: u8) -> u64 {
        self.counts[table.index(state, event)]
    }

    /// Adds the counts of another log for the same table.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }
}

impl Witness for Log {
    fn note(&mut self, table: &Table, line: LineAddr, state: u8, event: u8) {
        self.counts[table.index(state, event)] += 1;
        if self.past.len() < self.keep {
            self.past.push((line, state, event));
        } else if let Some(oldest) = self.past.get_mut(self.oldest) {
            *oldest = (line, state, event);
            self.oldest += 1;
            self.oldest = if self.oldest < self.keep { self.oldest } else { 0 };
        }
    }

    fn history(&self, line: LineAddr) -> Vec<Past> {
        let (newer, older) = self.past.split_at(self.oldest);
        let past = older.iter().chain(newer).filter(|(other, ..)| *other == line);
        let named = |(line, state, event): &(LineAddr, u8, u8)| Past {
            line: *line,
            state: self.states[usize::from(*state)],
            event: self.events[usize::from(*event)],
        };
        past.map(named).collect()
    }
}

/// An event that the table says can't happen: an error in the protocol, not a stall.
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
    /// The error for a table that stalls an answer. Answers must always be accepted, so that every transaction
    /// completes.
    pub fn stalled_answer(table: &Table, state: u8, kind: Kind) -> Box<Self> {
        let (table, state, event) = (table.name, table.states[state as usize], format!("{kind:?}"));
        Box::new(Self { table, state, event, why: "an answer was made to wait".to_owned(), history: Vec::new() })
    }
}

fn told(history: &[Past]) -> String {
    history.iter().map(|past| format!("\n  line {} in {} met {}", past.line, past.state, past.event)).collect()
}

/// The event and the cell that a message would meet, without executing it; `None` if the protocol has no event for
/// it.
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

/// Delivers a message to a line. The line changes only if the result is [`Step::Sends`].
pub fn step<const N: usize>(
    controller: &dyn Controller<N>,
    table: &Table,
    place: Place<'_>,
    line: &mut Line<N>,
    msg: &Msg<N>,
    log: &mut impl Witness,
) -> Result<Step<N>, Box<Impossible>> {
    let (mut sends, before) = (Vec::new(), *line);
    let met = look(controller, table, place, line, msg);
    let done = perform(controller, table, place, line, msg, met, log, &mut sends);
    let done = done.inspect_err(|_| *line = before)?;
    Ok(if done { Step::Sends(sends) } else { Step::Stall })
}

/// Executes what [`look`] has found, and appends the messages to send to `sends`. Returns `false` on a stall; then
/// nothing has changed. After an error the line may have changed.
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
    let sent = sends.len();
    let mut work = Work { place, line, msg, sends };
    for &action in actions.iter() {
        if let Err(why) = controller.act(action, &mut work) {
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
        assert_eq!(step(&ViL1::ANY_ORDER, &l1::TABLE, PLACE, &mut line, &load, &mut log), Ok(Step::Stall));
        assert_eq!(line, Line::new(l1::State::IV as u8));
        assert_eq!(log.count(&l1::TABLE, l1::State::IV as u8, l1::Event::Load as u8), 1);
    }

    #[test]
    fn a_store_to_a_byte_in_flight_waits_and_one_beside_it_goes() {
        let mut log = Log::new(&l1::TABLE, 4);
        let mut line = Line::new(l1::State::I as u8);
        let mut store = |byte, line: &mut _| {
            step(&ViL1::ANY_ORDER, &l1::TABLE, PLACE, line, &msg(Kind::Store, Block::one(byte, 7)), &mut log)
        };
        assert!(matches!(store(0, &mut line), Ok(Step::Sends(sends)) if sends[0].lane() == crate::Lane::Request));
        assert_eq!(store(0, &mut line), Ok(Step::Stall));
        assert!(matches!(store(1, &mut line), Ok(Step::Sends(_))));
        assert_eq!((line.acks, line.in_flight), (2, Mask::first(2)));
    }

    #[test]
    fn an_impossible_event_is_an_error_with_the_line_s_history() {
        let mut log = Log::new(&l1::TABLE, 4);
        let mut line = Line::new(l1::State::I as u8);
        let load = msg(Kind::Load, Block::EMPTY);
        step(&ViL1::ANY_ORDER, &l1::TABLE, PLACE, &mut line, &load, &mut log).unwrap();
        let ack = msg(Kind::Ack, Block::EMPTY);
        let error = step(&ViL1::ANY_ORDER, &l1::TABLE, PLACE, &mut line, &ack, &mut log).unwrap_err();
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
        let error = step(&ViL1::ANY_ORDER, &l1::TABLE, PLACE, &mut line, &roll, &mut log).unwrap_err();
        assert_eq!((error.state, error.event.as_str()), ("I", "Roll"));
    }
}
