//! What a network needs to know of its messages: destination, size and cause.

use crate::{Packet, Wire, bytes, lane};
use engine::Lane;
use protocol::{Kind, Node};

/// The nodes of DMA engines, which access memories directly, bypassing all caches.
pub const ENGINES: std::ops::Range<u16> = 4608..4672;

/// A message that travels over a network.
pub trait Freight: 'static {
    /// The receiver.
    fn to(&self) -> Node;
    /// Number of bytes on a wire.
    fn bytes(&self) -> u64;
    /// The purpose of the message.
    fn cause(&self) -> Cause {
        Cause::Line
    }
    /// Whether it requests a line, or is the reply to such a request.
    fn read(&self) -> Option<Read> {
        None
    }
}

/// A message of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    Asks,
    Answers,
}

/// The purpose of a message between chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A line is requested or supplied.
    Line,
    /// Bytes are written, or a write is acknowledged.
    Write,
    /// An atomic access is performed remotely.
    Atomic,
    /// Coherence traffic, such as probes and invalidations.
    Coherence,
    /// Copies of a DMA engine.
    Copy,
}

impl Cause {
    /// The names of the causes, in the order of their numbers.
    pub const NAMES: &[&str] = &["line", "write", "atomic", "coherence", "copy"];
}

impl Freight for Packet {
    fn to(&self) -> Node {
        self.msg.to
    }

    fn bytes(&self) -> u64 {
        bytes(&self.msg)
    }

    fn cause(&self) -> Cause {
        match self.msg.kind {
            _ if [self.msg.from, self.msg.to].iter().any(|node| ENGINES.contains(&node.0)) => Cause::Copy,
            _ if self.atomic.is_some() => Cause::Atomic,
            Kind::Write | Kind::Ack | Kind::WriteBack | Kind::WriteBackAck => Cause::Write,
            _ if lane(&self.msg) == Lane::Coherence => Cause::Coherence,
            _ => Cause::Line,
        }
    }

    fn read(&self) -> Option<Read> {
        match self.msg.kind {
            Kind::Read => Some(Read::Asks),
            Kind::Data | Kind::Renewed => Some(Read::Answers),
            _ => None,
        }
    }
}

/// An attachment point of a network: the nodes attached there, and the wire to them from the network's side.
pub struct Station<T> {
    pub nodes: Vec<Node>,
    pub wire: Wire<T, T>,
}

/// A network that can't be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("a switch has {ports} ports, and can have {most} at most")]
    TooManyPorts { ports: usize, most: usize },
    #[error("a ring's wires must hold at least 2 messages in each lane, not {capacity}: one place is kept free")]
    NarrowRing { capacity: usize },
    #[error("node {} is attached to the network twice", .0.0)]
    Twice(Node),
}

/// For each node, the number of its station.
pub(crate) struct Directory(Vec<u16>);

const NOWHERE: u16 = u16::MAX;

impl Directory {
    pub(crate) fn new<T>(stations: &[Station<T>]) -> Result<Self, NetworkError> {
        Self::of(stations.iter())
    }

    pub(crate) fn of<'a, T: 'a>(stations: impl Iterator<Item = &'a Station<T>> + Clone) -> Result<Self, NetworkError> {
        let nodes = stations.clone().flat_map(|station| &station.nodes);
        let mut directory = vec![NOWHERE; nodes.map(|node| usize::from(node.0) + 1).max().unwrap_or(0)];
        for (number, station) in stations.enumerate() {
            for node in &station.nodes {
                let entry = &mut directory[usize::from(node.0)];
                if *entry != NOWHERE {
                    return Err(NetworkError::Twice(*node));
                }
                *entry = number as u16;
            }
        }
        Ok(Self(directory))
    }

    /// For each node, the port that `port` returns for its station.
    pub(crate) fn routes(&self, port: impl Fn(usize) -> usize) -> Routes {
        let port = |station: &u16| if *station == NOWHERE { NO_PORT } else { port((*station).into()) as u8 };
        Routes(self.0.iter().map(port).collect())
    }
}

/// The routing table of a switch: for each node, the port that leads there.
pub(crate) struct Routes(Box<[u8]>);

const NO_PORT: u8 = u8::MAX;

impl Routes {
    pub(crate) fn port(&self, to: Node) -> usize {
        let port = self.0.get(usize::from(to.0)).copied().unwrap_or(NO_PORT);
        assert!(port != NO_PORT, "a message for {to:?} is on a network to which no such node is attached");
        port.into()
    }
}
