//! What a timing model needs to know of an instruction.
//!
//! Part of it is known before execution: its [`Outline`], with its micro-operations, the registers that these read and
//! write, and its memory ordering. The rest comes from execution by [`Cpu::step_traced`]: its accesses, and where it
//! jumped. The semantics are those of the handlers, as in [`Cpu::run`](crate::Cpu::run): a [`Recorder`] around the
//! memory records their accesses.

mod class;
mod outline;
mod recorder;
mod registers;
mod rules;

pub use class::Class;
pub use outline::{Branch, MicroOp, Order, Outline, Work};
pub use recorder::{MemOp, MemOpKind, Recorder};
pub use registers::RegisterSet;

pub(crate) use rules::outline;

use crate::{Blocks, Cpu, Exit, Memory, Stop};
use std::rc::Rc;

/// An executed instruction.
#[derive(Debug)]
pub struct Retired<'a> {
    /// Its address.
    pub rip: u64,
    /// The address of the next one.
    pub next: u64,
    /// Whether it jumped.
    pub taken: bool,
    /// Whether it is complete; a repeated string instruction retires in parts.
    pub whole: bool,
    pub outline: &'a Rc<Outline>,
    /// Its accesses, in order.
    pub accesses: &'a [MemOp],
}

impl Cpu {
    /// Executes one instruction, or a part of at most 64 bytes of a repeated string instruction, and reports what it
    /// did. A system call ends with [`Exit::Syscall`]; its outline can be requested before.
    pub fn step_traced<'a, M: Memory>(
        &mut self,
        memory: &'a mut Recorder<M>,
        blocks: &'a mut Blocks<Recorder<M>>,
    ) -> Result<Retired<'a>, Exit> {
        memory.clear();
        let rip = self.rip;
        let flow = self.step(memory, blocks)?;
        let outline = blocks.outline(memory, rip).map_err(|stop| self.exit_by(stop.into()))?;
        let (taken, whole) = (flow.jumped, flow.whole);
        Ok(Retired { rip, next: self.rip, taken, whole, outline, accesses: memory.accesses() })
    }
}

impl<M: Memory> Blocks<M> {
    /// The outline of the instruction at an address.
    pub fn outline(&mut self, memory: &mut M, address: u64) -> Result<&Rc<Outline>, Stop> {
        self.refresh(memory);
        self.steps.outline(memory, address)
    }
}
