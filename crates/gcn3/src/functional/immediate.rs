//! The interface to memory that answers at once.
//!
//! The functional GPU runs over regions of its own ([`MappedMemory`]) or over memory with another owner, such as the
//! address space of a process that shares it with the GPU.

use super::memory::MappedMemory;
use crate::{
    error::Fault,
    memop::{MemOp, ScalarOp},
};

/// Performs the accesses of wavefronts.
pub trait Immediate {
    fn perform(&mut self, op: &mut MemOp) -> Result<(), Fault>;
    fn perform_scalar(&mut self, op: &mut ScalarOp) -> Result<(), Fault>;

    /// Called when the following accesses are those of this workgroup.
    fn turn_to(&mut self, workgroup: u64) {
        let _ = workgroup;
    }
}

/// Regions as accessed by one thread.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    pub memory: &'a MappedMemory,
    /// Whether no other thread accesses the memory.
    pub alone: bool,
}

impl Immediate for Shared<'_> {
    #[inline]
    fn perform(&mut self, op: &mut MemOp) -> Result<(), Fault> {
        self.memory.perform(op, self.alone)
    }

    #[inline]
    fn perform_scalar(&mut self, op: &mut ScalarOp) -> Result<(), Fault> {
        self.memory.perform_scalar(op)
    }
}
