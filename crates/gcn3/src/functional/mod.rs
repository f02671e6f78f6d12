//! A functional GPU: every memory access is answered at once.
//!
//! Workgroups are assigned to threads in order, and each runs to its end before its thread takes the next one. A
//! workgroup that runs very long is suspended after a while, so that workgroups can wait for each other. For programs
//! whose workgroups do not race, the result does not depend on the number of threads.

mod grid;
mod immediate;
mod launch;
mod memory;
mod races;
mod workgroup;

pub use grid::{Execution, Plan, Progress};
pub use immediate::{Immediate, Shared};
pub use launch::{Gpu, LaunchError, Options, Program, Run};
pub use memory::{MappedMemory, MemoryError};
