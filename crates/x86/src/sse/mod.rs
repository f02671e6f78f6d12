//! The computations of SSE instructions, as functions on values.
//!
//! [`operation`] returns the function of an instruction. The interpreter first loads a memory operand (as many bytes as
//! the instruction names, zero-extended; zero if there is none). It calls the function with MXCSR, and then
//! [`Mxcsr::take_fault`]: if that returns true, the interpreter discards the result, and the instruction faults; the
//! flags that say why stay. Plain moves between registers and memory (`movaps`, `movups`, `movss`, `movsd`, `movd`,
//! `movq`, `movlps`, `movhps`, `lddqu`, `movnt` and variants) are not here: the interpreter does them, and also
//! `maskmovdqu`, `ldmxcsr` and `stmxcsr`.
//!
//! Floating-point results are Rust's own if MXCSR rounds to nearest and no unusual case can have occurred (`float.rs`).
//! All other results, and all flags, come from exact arithmetic rounded once ([`crate::f80`]), so that results do not
//! depend on the host.

mod approximate;
mod arith;
mod compare;
mod convert;
mod crc32;
mod float;
mod integer;
mod lanes;
mod mmx;
mod multiply;
mod mxcsr;
mod operation;
mod round;
mod shuffle;
mod strings;
#[cfg(test)]
mod tests;

pub use crc32::crc32;
pub use mmx::{MmxOperation, mmx_operation};
pub use mxcsr::Mxcsr;
pub use operation::{Operation, operation};
pub use strings::StringResult;
