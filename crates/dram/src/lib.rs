//! Memories in time.
#![forbid(unsafe_code)]

mod channel;
mod home;
mod memory;

pub use channel::{Channel, Store};
pub use home::{Home, Served, Touched};
pub use memory::{FixedSpec, Memory, MemorySpec, Timing};
