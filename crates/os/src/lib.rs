//! Linux processes inside cohesim.
//!
//! A program is an ordinary x86-64 ELF file, not built for the simulator. This crate provides what a kernel provides:
//! an address space with page tables in simulated physical memory, threads, signals, an isolated view of files, and
//! clocks that run in simulated time. The program is not trusted: an illegal operation ends in an error number or a
//! signal, and the program sees no file of the host but those that the user mounted.
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
pub mod state;

pub use guest::{Answer, Fault, GuestMemory, Tid, Trap};
pub use process::{End, Options, Process, StartError};
