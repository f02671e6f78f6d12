//! What each instruction does.
//!
//! A handler is a function for one instruction in one form and size, made from generic ones: a [`Word`](word::Word) says
//! how wide, a [`Place`](operand::Place) where an operand lies, an operation what is computed. The first lines of a family's file
//! say what its instructions have in common; [`decode`](crate::decode) picks handlers.
//!
//! Every handler keeps one promise: when it ends [`Halted`](crate::insn::Halted), nothing has changed. So it loads and
//! computes first, stores next, and writes registers and flags last.

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
