//! The meaning of every instruction.
//!
//! An instruction is a [`Handler`]: it reads and writes the registers of a wavefront and the local data share, and
//! says in a [`Step`] how the instruction ended. Which handler an instruction has is looked up once, when its code
//! is loaded. There is one file per family, each with a table from [`Op`] to handlers that is meant to be held next
//! to the ISA manual.

use crate::{
    error::Fault,
    inst::Inst,
    memop::{MemOp, ScalarOp},
    ops::Op,
    wave::Wavefront,
};
use lds::Lds;

mod address;
mod buffer;
mod cmp;
mod control;
mod convert;
mod cross;
mod division;
mod elementary;
mod f16;
mod f32;
mod f64;
mod flat;
pub mod float;
mod format;
pub mod image;
mod int;
mod int16;
pub mod lds;
mod lds_ops;
mod operand;
mod salu;
pub mod simd;
mod smem;
pub mod soft;
mod wide;

/// How an instruction ended.
#[derive(Debug)]
pub enum Step {
    /// All is done.
    Done,
    /// All is done, after an access to the local data share, told in [`Lds::last`](lds::Lds) if it is watched.
    Lds,
    /// Memory is to be accessed; then [`Wavefront::complete`].
    Mem(Box<MemOp>),
    /// Memory is to be accessed; then [`Wavefront::complete_scalar`].
    Scalar(Box<ScalarOp>),
    /// The wavefront waits until all others of its workgroup have come to a barrier or ended.
    Barrier,
    /// The wavefront has ended.
    End,
}

/// What the wavefronts of a workgroup share, as far as instructions see it.
#[derive(Debug, Default)]
pub struct Group {
    pub lds: Lds,
    /// What `s_memtime` and `s_memrealtime` read.
    pub clock: u64,
    /// Used operations, to be used again.
    pub spare: Vec<Box<MemOp>>,
}

impl Group {
    /// An operation to fill in, used before if possible.
    fn operation(&mut self) -> Box<MemOp> {
        self.spare.pop().unwrap_or_else(|| Box::new(MemOp::empty()))
    }

    /// Takes back an operation that was completed.
    pub fn recycle(&mut self, op: Box<MemOp>) {
        if self.spare.len() < 8 {
            self.spare.push(op);
        }
    }
}

/// The meaning of an instruction. The program counter already points behind it.
pub type Handler = fn(&mut Wavefront, &Inst, &mut Group) -> Outcome;

/// How an instruction ended, or what it ran into.
pub type Outcome = Result<Step, Fault>;

/// The handler of an instruction, if it is supported.
pub fn handler(op: Op) -> Option<Handler> {
    salu::handler(op)
        .or_else(|| control::handler(op))
        .or_else(|| smem::handler(op))
        .or_else(|| int::handler(op))
        .or_else(|| int16::handler(op))
        .or_else(|| wide::handler(op))
        .or_else(|| f32::handler(op))
        .or_else(|| f64::handler(op))
        .or_else(|| f16::handler(op))
        .or_else(|| convert::handler(op))
        .or_else(|| division::handler(op))
        .or_else(|| elementary::handler(op))
        .or_else(|| cmp::handler(op))
        .or_else(|| cross::handler(op))
        .or_else(|| lds_ops::handler(op))
        .or_else(|| flat::handler(op))
        .or_else(|| buffer::handler(op))
        .or_else(|| image::handler(op))
}

/// The lanes of a mask, lowest first.
pub(crate) fn active(mask: u64) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}
