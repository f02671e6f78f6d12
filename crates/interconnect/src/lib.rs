//! Wires and networks between the elements of a memory system, and the packets they carry.
#![forbid(unsafe_code)]

mod bus;
mod deal;
mod fabric;
mod freight;
mod mesh;
mod network;
mod reporter;
mod ring;
mod switch;
mod wire;

pub use deal::deal;
pub use fabric::{ChannelSpec, FabricWire, fabric};
pub use freight::{Cause, ENGINES, Freight, NetworkError, Station};
pub use network::{NetworkSpec, Topology, network};
pub use protocol::{WHOLE, is_order, whole_page};
pub use reporter::Reporter;
pub use wire::{HEADER, PATIENCE, Packet, Pending, Router, Sender, Side, Wire, bytes, lane, name_of};
