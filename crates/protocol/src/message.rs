//! What controllers say to each other.
//!
//! All protocols share one vocabulary, so that queues, networks and traces need not know which protocol runs. A controller
//! that gets a message its protocol has no event for fails loudly (see [`Impossible`](crate::Impossible)).

use crate::Block;
use mem::LineAddr;
use std::fmt;

/// Someone who sends and receives: a core, a cache, a home, a memory. The system that wires them gives the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u8);

/// The virtual network a message travels on. A reply never waits behind a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Request,
    Reply,
    Coherence,
}

/// What a message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A core (or compute unit, or host program) wants to read the line.
    Load,
    /// It writes the bytes of the message's data.
    Store,
    /// The cache needs the room: give the line up.
    Evict,
    /// End of a kernel, or a release: everything written must have arrived below before `Done`.
    Flush,
    /// Start of a kernel, or an acquire: forget what may be stale, then `Done`.
    Invalidate,
    /// The accelerator is about to start (ADSM).
    Call,
    /// The accelerator has finished (ADSM).
    Return,
    /// Too many blocks are dirty and this is the oldest (ADSM, rolling-update).
    Roll,
    /// To the one who asked: the data of a load.
    Loaded,
    /// To the one who asked: a flush, an invalidation, a call or a return is complete.
    Done,
    /// Read the line from below.
    Read,
    /// Write the bytes of the message's data below.
    Write,
    /// Answers `Read`.
    Data,
    /// Answers `Write`, with the bytes that have landed.
    Ack,
}

impl Kind {
    /// The lane its messages travel on.
    pub const fn lane(self) -> Lane {
        match self {
            Kind::Loaded | Kind::Done | Kind::Data | Kind::Ack => Lane::Reply,
            Kind::Evict | Kind::Flush | Kind::Invalidate | Kind::Call | Kind::Return | Kind::Roll => Lane::Coherence,
            Kind::Load | Kind::Store | Kind::Read | Kind::Write => Lane::Request,
        }
    }
}

/// A message about one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Msg<const N: usize> {
    pub from: Node,
    pub to: Node,
    pub kind: Kind,
    pub line: LineAddr,
    pub data: Block<N>,
}

impl<const N: usize> Msg<N> {
    pub const fn lane(&self) -> Lane {
        self.kind.lane()
    }
}

impl<const N: usize> fmt::Display for Msg<N> {
    /// `Write line 0 [. 7]`: the kind, the line and the bytes, a dot for each that is not meant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.line)?;
        if !self.data.mask().is_empty() {
            let bytes: Vec<_> = (0..N).map(|b| self.data.get(b).map_or(".".to_owned(), |v| v.to_string())).collect();
            write!(f, " [{}]", bytes.join(" "))?;
        }
        Ok(())
    }
}
