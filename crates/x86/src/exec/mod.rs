//! The handlers of instructions.
//!
//! A handler is a function for one instruction in one form and size, instantiated from generic code: a
//! [`Word`](word::Word) is the width, a [`Place`](operand::Place) the location of an operand, and an operation is the
//! computation. The head of each file describes what its instructions have in common; [`decode`](crate::decode) selects
//! handlers.
//!
//! **Invariant:** when a handler returns [`Halted`](crate::insn::Halted), nothing has changed. So it loads and computes
//! first, stores next, and writes registers and flags last.

pub(crate) mod alu;
pub(crate) mod atomic;
pub(crate) mod bits;
pub(crate) mod condition;
pub(crate) mod control;
pub(crate) mod cpuid;
pub(crate) mod fused;
pub(crate) mod mmx;
pub(crate) mod moves;
pub(crate) mod multiply;
pub(crate) mod operand;
pub(crate) mod shift;
pub(crate) mod stack;
pub(crate) mod string;
pub(crate) mod system;
pub(crate) mod vector;
pub(crate) mod word;
pub(crate) mod x87;
