//! CPU cores in time.
//!
//! What instructions do is said in `x86` alone. A [`Core`] asks a [`Program`] for them, one after the other in the order of
//! the program, and finds out how long they take: an out-of-order pipeline of six stages over the caches of code and data
//! (`[giles 3.2.2]`). So a load takes its value when it is fetched and a store is performed when it has been
//! committed, which is an execution that total store order allows; wrong paths are not run, they cost the time in
//! which nothing is fetched.
#![forbid(unsafe_code)]

mod core;
mod predictor;
mod program;
mod spec;

pub use crate::core::{Core, thread_of};
pub use program::{Executed, Fetch, Program, Touch};
pub use spec::{CoreSpec, Direction, Jitter, PredictorSpec, Registers, SpecError, Timing, Unit};
