//! User-mode x86-64: registers, instructions, faults.
//!
//! Code is decoded once into blocks of handlers ([`Blocks`]) and then executed from there over any [`Memory`]. The
//! timing model uses the same handlers; there is no second implementation of the semantics. The crate models neither
//! time nor an operating system: a system call, a fault or a missing line ends [`Cpu::run`] with an [`Exit`], which the
//! caller handles.
//!
//! The computations of the two floating-point units are functions on values in [`sse`] and [`x87`] (with [`f80`] below
//! it); this part of the crate accesses operands and memory. Each of the two describes in its `operation` module how
//! its functions are called.
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
