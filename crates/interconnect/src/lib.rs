//! Wires between the parts of a memory system: what travels on them, and how it is sent.
#![forbid(unsafe_code)]

mod deal;
mod wire;

pub use deal::deal;
pub use wire::{HEADER, Packet, Pending, Router, Sender, Side, WHOLE, Wire, bytes, lane};
