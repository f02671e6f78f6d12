//! Memories in time.
#![forbid(unsafe_code)]

pub mod fixed;

pub use fixed::{Channel, FixedMemory, FixedSpec, Harvest};
