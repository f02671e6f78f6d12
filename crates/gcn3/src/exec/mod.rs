//! The semantics of every instruction.
//!
//! An instruction is executed by a [`Handler`], which reads and writes the registers of a wavefront and the local data
//! share. A [`Step`] tells how the instruction ended. The handler of an instruction is looked up once, when its code is
//! loaded. There is one file per family, each with a table from [`Op`] to handlers that can be compared with the ISA
//! manual.

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
    /// The instruction is complete.
    Done,
    /// The instruction is complete. It accessed the LDS; if accesses are watched, [`Lds::last`](lds::Lds) has the
    /// access.
    Lds,
    /// The caller must access memory, then call [`Wavefront::complete`].
    Mem(Box<MemOp>),
    /// The caller must access memory, then call [`Wavefront::complete_scalar`].
    Scalar(Box<ScalarOp>),
    /// The wavefront waits until all others of its workgroup have reached a barrier or ended.
    Barrier,
    /// The wavefront has ended.
    End,
}

/// The state that the wavefronts of a workgroup share, as far as instructions access it.
#[derive(Debug, Default)]
pub struct Group {
    pub lds: Lds,
    /// The value of `s_memtime` and `s_memrealtime`.
    pub clock: u64,
    /// Completed operations, for reuse.
    pub spare: Vec<Box<MemOp>>,
}

impl Group {
    /// An operation to fill in, reused if possible.
    fn operation(&mut self) -> Box<MemOp> {
        self.spare.pop().unwrap_or_else(|| Box::new(MemOp::empty()))
    }

    /// Returns a completed operation for reuse.
    pub fn recycle(&mut self, op: Box<MemOp>) {
        if self.spare.len() < 8 {
            self.spare.push(op);
        }
    }
}

/// Executes an instruction. The program counter already points after it.
pub type Handler = fn(&mut Wavefront, &Inst, &mut Group) -> Outcome;

/// How an instruction ended, or its fault.
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
