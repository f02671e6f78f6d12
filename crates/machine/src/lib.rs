//! Machines: files that describe them, and the wiring that makes a system of one.
//!
//! This is the only place where the parts of a system meet. A [`Machine`] is read from a TOML file and checked; with kernels
//! and memory it becomes a [`System`](system), an engine's model that runs in as many threads as are wanted.
#![forbid(unsafe_code)]

pub mod file;
pub mod golden;
pub mod spec;
pub mod system;
pub mod units;
pub mod work;

pub use file::{File, MachineError, shipped};
pub use spec::Machine;
pub use system::{Finished, Options};
pub use work::Work;
