//! The timing of CPU cores.
//!
//! The semantics of instructions are in `x86` alone. A [`Core`] takes instructions from a [`Program`], in program
//! order, and models how long they take: an out-of-order pipeline of six stages over an instruction and a data cache
//! (`[giles 3.2.2]`). A load takes its value when it is fetched, and a store is performed after it has been committed;
//! total store order allows such an execution. Wrong paths are not executed: a misprediction only costs the time in
//! which nothing is fetched.
#![forbid(unsafe_code)]

mod core;
mod predictor;
mod program;
mod spec;

pub use crate::core::{Core, thread_of};
pub use program::{Executed, Fetch, Program, Touch};
pub use spec::{
    CoreSpec, Direction, Jitter, PredictorSpec, Prefetch, PrefetchSpec, Registers, SpecError, Timing, Unit,
};
pub use x86::trace::Class;
