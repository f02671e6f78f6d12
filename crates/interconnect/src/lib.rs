//! Wires between the parts of a memory system: what travels on them, and how it is sent.
#![forbid(unsafe_code)]

mod wire;

pub use wire::{HEADER, Sender, WHOLE, Wire, bytes, lane};
