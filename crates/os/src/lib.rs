//! Linux processes inside cohesim.
//!
//! A program is an x86-64 ELF file that knows nothing of the simulator. This crate gives it what a kernel gives: an address
//! space with page tables in simulated physical memory, threads, signals, files behind a wall, and clocks that run in
//! simulated time. The program is not trusted: whatever it does, it gets an error number or a signal, and it sees no file of
//! the host but those it was shown.
#![deny(unsafe_code)]

mod calls;
pub mod compiler;
pub mod errno;
pub mod files;
pub mod forward;
pub mod guest;
pub mod memory;
pub mod opencl;
pub mod process;
pub mod program;
pub mod signal;

pub use guest::{Answer, Fault, GuestMemory, Tid, Trap};
pub use process::{End, Options, Process, StartError};
