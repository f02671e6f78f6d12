//! What SSE instructions compute, as functions on values.
//!
//! [`operation`] gives for an instruction the function that does it. The interpreter has found the operands by then: it
//! loads a memory operand (as many bytes as the instruction names, zero-extended; zero when there is none), calls the
//! function with MXCSR, and asks [`Mxcsr::take_fault`]: if it says yes, the result is thrown away and the instruction
//! faults; the flags that say why stay. Plain moves between registers and memory (`movaps`, `movups`, `movss`, `movsd`,
//! `movd`, `movq`, `movlps`, `movhps`, `lddqu`, `movnt` and theirs) are not here: the interpreter does them, as it does
//! `maskmovdqu`, `ldmxcsr` and `stmxcsr`.
//!
//! Floating-point results are Rust's own where MXCSR rounds to nearest and nothing unusual can have happened ([`float`]);
//! everything else, and every flag, comes from exact arithmetic rounded once ([`crate::f80`]), so that results do not
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
