//! What a network carries: it knows where it goes and what it weighs, nothing else.

use crate::{Packet, Wire, bytes};
use protocol::Node;

/// Something that travels over a network.
pub trait Freight: 'static {
    /// Whom it is for.
    fn to(&self) -> Node;
    /// The bytes that it puts on a wire.
    fn bytes(&self) -> u64;
}

impl Freight for Packet {
    fn to(&self) -> Node {
        self.msg.to
    }

    fn bytes(&self) -> u64 {
        bytes(&self.msg)
    }
}

/// Where elements are attached to a network: who they are, and the wire to them as the network sees it.
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

/// For each node, the number of the station where it is.
pub(crate) struct Directory([u16; 256]);

const NOWHERE: u16 = u16::MAX;

impl Directory {
    pub(crate) fn new<T>(stations: &[Station<T>]) -> Result<Self, NetworkError> {
        let mut directory = [NOWHERE; 256];
        for (number, station) in stations.iter().enumerate() {
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

    /// For each node, the port that `port` says for its station.
    pub(crate) fn routes(&self, port: impl Fn(usize) -> usize) -> Routes {
        Routes(self.0.map(|station| if station == NOWHERE { NO_PORT } else { port(station.into()) as u8 }))
    }
}

/// A switch's table: for each node, the port that leads there.
pub(crate) struct Routes([u8; 256]);

const NO_PORT: u8 = u8::MAX;

impl Routes {
    pub(crate) fn port(&self, to: Node) -> usize {
        let port = self.0[usize::from(to.0)];
        assert!(port != NO_PORT, "a message for {to:?} is on a network to which nobody of that name is attached");
        port.into()
    }
}
