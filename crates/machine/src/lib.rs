//! Machine files, and the code that builds a running system from one.
//!
//! This is the only crate where the parts of a system meet. A [`Machine`] is read from a TOML file and checked. A
//! [`Session`] is a built machine: an engine model that can run on several threads and executes kernels.
#![forbid(unsafe_code)]

mod bounds;
mod build;
mod caches;
pub mod checkpoint;
mod core;
pub mod cpu_complex;
mod device;
mod driver;
mod energy;
pub mod fabric;
pub mod file;
pub mod golden;
mod implied;
pub mod levels;
mod links;
mod memory;
pub mod memory_sync;
mod migration;
mod moved;
mod network;
mod organisation;
mod parameters;
pub mod plan;
pub mod program;
pub mod run;
pub mod rust_host;
pub mod session;
pub mod spec;
pub mod stress;
pub mod translation;
pub mod units;
mod values;
pub mod zones;

pub use driver::{DriverFacts, DriverSpec};
pub use file::{File, Idle, MachineError, about_part, shipped, shipped_parts};
pub use implied::{Implied, of_cores as implied};
pub use interconnect::{NetworkSpec, Topology};
pub use links::{LinkProbe, links};
pub use migration::migration;
pub use moved::{moved_by_cause, moved_by_link};
pub use parameters::{Parameter, Remark};
pub use run::{run, run_in_parts};
pub use rust_host::{RustHost, RustHostError};
pub use session::{Broken, Ended, Launch, Options, Session, WARM_UP};
pub use spec::Machine;
pub use stress::{Forgotten, Stress, message_passing, moves_pages, stress, stress_pages};
