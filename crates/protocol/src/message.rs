//! What controllers say to each other.
//!
//! All protocols share one vocabulary, so that queues, networks and traces need not know which protocol runs. A controller
//! that gets a message its protocol has no event for fails loudly (see [`Impossible`](crate::Impossible)).

use crate::{Block, Stamps, WHOLE, is_order};
use mem::{LineAddr, Scope};
use std::fmt;

/// Someone who sends and receives: a core, a cache, a home, a memory. The system that wires them gives the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u16);

/// The virtual network a message travels on. A reply never waits behind a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Request,
    Reply,
    Coherence,
}

/// The row in which a message waits at its receiver while its line has something under way. Messages of one line and row keep their
/// order; those of one row never wait for those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// What others want of the line, and what comes back from above. The levels below may need the answer before they can end what
    /// this one has under way.
    Probe,
    /// What the cache itself is told to do with its lines: to flush, to forget.
    Order,
    /// What is asked from above.
    Request,
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
    /// Logical time starts anew (protocols with timestamps): forget every lease, then `Done`.
    Reset,
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
    /// An atomic access: the bytes of the message's data take the place of those held, and `Modified` says what was there. On its way to the
    /// controller that performs it the data are the operands; what becomes of the bytes is arithmetic, and done by the component that runs
    /// that controller.
    Modify,
    /// Answers `Modify`, with the bytes that were found.
    Modified,
    /// To the one who asked: a store has been performed (MESI; there each store is answered).
    Stored,
    /// The cache finds time to send a line of its write-back queue below (MESI).
    Drain,
    /// The cache tries a refused request of its retry queue again (MESI).
    Retry,
    /// A fetch: the line to read, never to write (MESI).
    GetS,
    /// A load: the line to read, exclusively if nobody else has it (MESI).
    Get,
    /// A store: the line to write (MESI).
    GetX,
    /// A store by somebody who has the line to read: the right to write it (MESI).
    Upgrade,
    /// The line to read.
    PutS,
    /// The line exclusively, as it is below.
    PutClnX,
    /// The line to write, once `acks` acknowledgements of invalidations have come.
    PutX,
    /// The right to write, once `acks` acknowledgements of invalidations have come.
    UpgradeAck,
    /// A request is refused: try again later.
    Nack,
    /// Give up a line that can be read, and acknowledge it to `of`.
    Inval,
    /// Give the line to `of` to read, and keep it to read.
    GetFwd,
    /// Give the line to `of` to write.
    GetXFwd,
    /// Give the line up and send it down.
    CoreFlush,
    /// Send the line down and keep it to read.
    Downgrade,
    /// A line comes back from above, changed.
    WriteBack,
    /// Answers `WriteBack`.
    WriteBackAck,
    /// Answers `Inval`.
    InvAck,
    /// Answers `GetFwd`: done, with the line if it had changed.
    FwdAck,
    /// Answers `GetXFwd`: done.
    FwdAckX,
    /// Answers `GetFwd`: the line is not here any more.
    FwdNack,
    /// Answers `GetXFwd`: the line is not here any more.
    FwdNackX,
    /// Answers `Read`: what the reader holds still counts, until a later time (G-TSC).
    Renewed,
    /// Answers `CoreFlush`, `Downgrade`, and an `Inval` by the cache right below; with the line if it had changed.
    Flushed,
    /// A notice that a line has been evicted, with the lease on which it was held. It is for whoever keeps records of holders, asks for
    /// nothing, and may come late: no table has an event for it.
    Evicted,
}

impl Kind {
    /// The lane its messages travel on.
    pub const fn lane(self) -> Lane {
        match self {
            Kind::Load | Kind::Store | Kind::Read | Kind::Write | Kind::Modify => Lane::Request,
            Kind::GetS | Kind::Get | Kind::GetX | Kind::Upgrade | Kind::Evicted => Lane::Request,
            Kind::Loaded | Kind::Done | Kind::Data | Kind::Ack | Kind::Stored => Lane::Reply,
            Kind::PutS | Kind::PutClnX | Kind::PutX | Kind::UpgradeAck | Kind::Nack | Kind::WriteBackAck => Lane::Reply,
            Kind::InvAck | Kind::Flushed | Kind::Renewed | Kind::Modified => Lane::Reply,
            Kind::FwdAck | Kind::FwdAckX | Kind::FwdNack | Kind::FwdNackX => Lane::Reply,
            Kind::Evict | Kind::Flush | Kind::Invalidate | Kind::Call | Kind::Return | Kind::Roll => Lane::Coherence,
            Kind::Reset => Lane::Coherence,
            Kind::Drain | Kind::Retry | Kind::WriteBack => Lane::Coherence,
            Kind::Inval | Kind::GetFwd | Kind::GetXFwd | Kind::CoreFlush | Kind::Downgrade => Lane::Coherence,
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
    /// On whose behalf, where that is not the sender: whom the data of a forward or the acknowledgement of an invalidation go to.
    pub of: Option<Node>,
    /// How many acknowledgements the receiver has to await from others.
    pub acks: u8,
    /// The lease on which a line is given out, or the sender's time.
    pub stamps: Stamps,
    /// Of a request: whose writes must be seen. A cache nearer than that scope reaches does not answer from what it holds.
    pub scope: Scope,
}

impl<const N: usize> Msg<N> {
    /// A message on the sender's own behalf that asks for no acknowledgements.
    pub const fn new(from: Node, to: Node, kind: Kind, line: LineAddr, data: Block<N>) -> Self {
        Self { from, to, kind, line, data, of: None, acks: 0, stamps: Stamps::ZERO, scope: Scope::Group }
    }

    pub const fn lane(&self) -> Lane {
        self.kind.lane()
    }

    /// Where it waits if it has to. Answers never do.
    pub const fn row(&self) -> Row {
        match (self.lane(), self.kind) {
            (Lane::Request, _) => Row::Request,
            (_, Kind::Flush | Kind::Invalidate) => Row::Order,
            _ => Row::Probe,
        }
    }
}

impl<const N: usize> fmt::Display for Msg<N> {
    /// `Write line 0 [. 7]`: the kind, the line and the bytes, a dot for each that is not meant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            WHOLE => write!(f, "{:?} all lines", self.kind)?,
            page if is_order(page) => write!(f, "{:?} the lines of page {:#x}", self.kind, page.0 - 1)?,
            line => write!(f, "{:?} {line}", self.kind)?,
        }
        if !self.data.mask().is_empty() {
            let bytes: Vec<_> = (0..N).map(|b| self.data.get(b).map_or(".".to_owned(), |v| v.to_string())).collect();
            write!(f, " [{}]", bytes.join(" "))?;
        }
        if self.scope != Scope::Group {
            write!(f, " {:?}", self.scope)?;
        }
        if self.stamps != Stamps::ZERO {
            write!(f, " {}", self.stamps)?;
        }
        if self.acks > 0 {
            write!(f, " after {} acks", self.acks)?;
        }
        Ok(())
    }
}
