//! The messages of controllers.
//!
//! All protocols share one set of message kinds, so that queues, networks and traces need not know which protocol
//! runs. A message that the receiver's protocol has no event for is an error ([`Impossible`](crate::Impossible)).

use crate::{Block, Stamps, WHOLE, flushed_line, is_order};
use mem::{LineAddr, Scope};
use std::fmt;

/// A sender and receiver of messages: a core, a cache, a home or a memory. The system that connects them assigns the
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u16);

/// The virtual network a message travels on. A reply never waits behind a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Request,
    Reply,
    Coherence,
}

/// The queue in which a message waits at its receiver while its line has a transaction in flight. Messages of one
/// line and queue keep their order; messages of different queues never wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// Probes, and lines returned from above. The levels below may need the answer before they can complete a
    /// transaction of this controller.
    Probe,
    /// Orders to the cache about its lines: flush, invalidate.
    Order,
    /// Requests from above.
    Request,
}

/// What a message requests or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A core (or compute unit, or host program) reads the line.
    Load,
    /// A core writes the bytes of the message's data.
    Store,
    /// The cache evicts the line.
    Evict,
    /// End of a kernel, or a release: everything written must have arrived below before `Done`.
    Flush,
    /// Start of a kernel, or an acquire: drop copies that may be stale, then `Done`.
    Invalidate,
    /// The accelerator is about to start (ADSM).
    Call,
    /// The accelerator has finished (ADSM).
    Return,
    /// Too many blocks are dirty and this one is the oldest (ADSM, rolling-update).
    Roll,
    /// Logical time restarts (protocols with timestamps): drop every lease, then `Done`.
    Reset,
    /// To the requester: the data of a load.
    Loaded,
    /// To the sender: a flush, an invalidation, a call or a return is complete.
    Done,
    /// Read the line from below.
    Read,
    /// Write the bytes of the message's data below.
    Write,
    /// Answers `Read`.
    Data,
    /// Answers `Write`: these bytes have arrived below.
    Ack,
    /// An atomic access. On its way, the data are the operands. Where it is performed, the component that runs the
    /// controller computes the new bytes and puts them in the message; they replace the held bytes, which `Modified`
    /// returns.
    Modify,
    /// Answers `Modify`: the bytes that were replaced.
    Modified,
    /// To the requester: a store has been performed (MESI, where each store is answered).
    Stored,
    /// The cache sends a line of its write-back queue below (MESI).
    Drain,
    /// The cache retries a refused request of its retry queue (MESI).
    Retry,
    /// An instruction fetch: requests a shared copy, never to be written (MESI).
    GetS,
    /// A load: requests a copy, exclusive if there is no other (MESI).
    Get,
    /// A store: requests the line for writing (MESI).
    GetX,
    /// A store to a line that is held shared: requests the right to write (MESI).
    Upgrade,
    /// Grants a shared copy.
    PutS,
    /// Grants an exclusive, clean copy.
    PutClnX,
    /// Grants the line for writing, once `acks` acknowledgements of invalidations have arrived.
    PutX,
    /// Grants the right to write, once `acks` acknowledgements of invalidations have arrived.
    UpgradeAck,
    /// Refuses a request: retry later.
    Nack,
    /// Give up a shared line, and acknowledge to `of`.
    Inval,
    /// Send the line to `of` for reading, and keep a shared copy.
    GetFwd,
    /// Send the line to `of` for writing.
    GetXFwd,
    /// Give up the line and send it below.
    CoreFlush,
    /// Send the line below and keep a shared copy.
    Downgrade,
    /// Returns a modified line from above.
    WriteBack,
    /// Answers `WriteBack`.
    WriteBackAck,
    /// Answers `Inval`.
    InvAck,
    /// Answers `GetFwd`: done, with the line if it was modified.
    FwdAck,
    /// Answers `GetXFwd`: done.
    FwdAckX,
    /// Answers `GetFwd`: the line is no longer held.
    FwdNack,
    /// Answers `GetXFwd`: the line is no longer held.
    FwdNackX,
    /// Answers `Read`: the reader's copy is still current, on a later lease (G-TSC).
    Renewed,
    /// Answers `CoreFlush`, `Downgrade`, and an `Inval` by the cache right below; with the line if it was modified.
    Flushed,
    /// Tells a controller that keeps records of holders that a line was evicted, with the lease it was held on. It
    /// needs no answer and may come late. No table has an event for it: the component that receives it handles it.
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
    /// The node on whose behalf it is sent, if that is not the sender: the receiver of a forward's data or of an
    /// invalidation's acknowledgement.
    pub of: Option<Node>,
    /// How many acknowledgements the receiver has to await from other nodes.
    pub acks: u8,
    /// The lease on which a line is granted, or the sender's logical time.
    pub stamps: Stamps,
    /// Scope of a request: whose writes must be visible. A cache within that scope does not answer from its own copy.
    pub scope: Scope,
}

impl<const N: usize> Msg<N> {
    /// A message on the sender's own behalf without acknowledgements.
    pub const fn new(from: Node, to: Node, kind: Kind, line: LineAddr, data: Block<N>) -> Self {
        Self { from, to, kind, line, data, of: None, acks: 0, stamps: Stamps::ZERO, scope: Scope::Group }
    }

    pub const fn lane(&self) -> Lane {
        self.kind.lane()
    }

    /// The row in which the message waits if its line stalls it. Answers never wait.
    pub const fn row(&self) -> Row {
        match (self.lane(), self.kind) {
            (Lane::Request, _) => Row::Request,
            (_, Kind::Flush | Kind::Invalidate) => Row::Order,
            _ => Row::Probe,
        }
    }
}

impl<const N: usize> fmt::Display for Msg<N> {
    /// `Write line 0 [. 7]`: the kind, the line and the bytes, with a dot for each byte that is not included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            WHOLE => write!(f, "{:?} all lines", self.kind)?,
            order if flushed_line(order).is_some() => write!(f, "{:?} line {:#x} everywhere", self.kind, order.0 & !3)?,
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
