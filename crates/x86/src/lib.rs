//! x86-64 as a user-mode program sees it: registers, instructions, faults.
//!
//! Code is decoded once into blocks of handlers ([`Blocks`]) and then run from there over any [`Memory`]; there is no
//! second copy of the semantics for the timing model. The crate knows neither time nor an operating system: a system
//! call, a fault or a line that is not there yet ends [`Cpu::run`] with an [`Exit`], and whoever drives the CPU acts.
//!
//! What the instructions of the two floating-point units compute is in [`sse`] and [`x87`] (with [`f80`] below it), as
//! functions on values; operands and memory are this side's work. Each of the two says in its `operation` how its
//! instructions are to be called.
#![forbid(unsafe_code)]

mod blocks;
mod cpu;
mod decode;
mod exec;
mod exit;
pub mod f80;
mod flags;
mod flat;
mod insn;
mod memory;
mod registers;
mod run;
pub mod sse;
mod step;
pub mod trace;
pub mod x87;

pub use blocks::Blocks;
pub use cpu::Cpu;
pub use exec::cpuid::Features;
pub use exit::{Exception, Exit, Fault};
pub use flags::Flags;
pub use flat::Flat;
pub use memory::{Access, Memory, Size, Stop};
pub use registers::{Gprs, Reg};
pub use step::Stepped;
