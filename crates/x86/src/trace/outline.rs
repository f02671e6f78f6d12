//! What is known of an instruction before it runs.

use super::{Class, RegisterSet};

/// An instruction, as a timing model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The bytes of machine code.
    pub length: u8,
    /// In an order in which each finds its inputs. Of a repeated string instruction, those of one element.
    pub micro_ops: Vec<MicroOp>,
    /// The registers that a program can name that it reads, those of addresses included.
    pub reads: RegisterSet,
    pub writes: RegisterSet,
    pub branch: Branch,
    pub order: Order,
    /// Whether it is a string instruction with a repeat prefix: it retires in parts.
    pub repeats: bool,
}

/// A part of an instruction that a core schedules by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroOp {
    pub work: Work,
    pub reads: RegisterSet,
    pub writes: RegisterSet,
}

/// What a micro-operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Load,
    /// Computes an address to be stored to.
    StoreAddress,
    /// Brings the value to be stored.
    StoreData,
    /// Computes; the class says how long that takes and on what unit.
    Compute(Class),
}

/// How an instruction may change the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    No,
    /// To an address that is known.
    Direct,
    /// To an address that is known, or not.
    Conditional,
    /// To an address from a register or memory.
    Indirect,
    Call,
    IndirectCall,
    Return,
    /// To whoever drives the CPU.
    Syscall,
}

/// What an instruction demands of the accesses before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Any,
    /// Its read and its write are one: `lock`, or `xchg` with memory. All accesses before it are done first.
    Atomic,
    LoadFence,
    StoreFence,
    /// `mfence`.
    Fence,
    /// Everything before it is done first: `cpuid`, system calls.
    Serialising,
}

impl Outline {
    /// How many micro-operations do this.
    pub fn count(&self, wanted: impl Fn(Work) -> bool) -> usize {
        self.micro_ops.iter().filter(|op| wanted(op.work)).count()
    }
}
