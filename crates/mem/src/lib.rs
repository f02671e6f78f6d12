//! The words in which every part of cohesim speaks of memory.
//!
//! Addresses and sizes are types, never bare integers across a boundary, so that a virtual address can't be taken
//! for a physical one. Requests and replies of the modelled memory system join them here when the timing model
//! needs them.
#![forbid(unsafe_code)]

mod address;
mod frames;

pub use address::{Bytes, LineAddr, PhysAddr, VirtAddr};
pub use frames::{FRAME, FrameId, Frames};
