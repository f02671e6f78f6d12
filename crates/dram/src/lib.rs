//! Memories in time.
#![forbid(unsafe_code)]

pub mod fixed;
mod store;

pub use fixed::{Channel, FixedMemory, FixedSpec};
pub use store::Store;
