//! The properties of an instruction that are known before its execution.

use super::{Class, RegisterSet};

/// An instruction from a timing model's point of view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The length of the machine code in bytes.
    pub length: u8,
    /// Ordered so that each comes after those that produce its inputs. For a repeated string instruction, those of one
    /// element.
    pub micro_ops: Vec<MicroOp>,
    /// The architectural registers that it reads, including those of addresses.
    pub reads: RegisterSet,
    pub writes: RegisterSet,
    pub branch: Branch,
    pub order: Order,
    /// Whether it is a string instruction with a repeat prefix, which retires in parts.
    pub repeats: bool,
}

/// A part of an instruction that a core schedules independently.
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
    /// Computes the address of a store.
    StoreAddress,
    /// Provides the value of a store.
    StoreData,
    /// Computes the address of a line that is written back and dropped (`clflush`).
    Flush,
    /// Computes; the class determines latency and unit.
    Compute(Class),
}

/// How an instruction may change the control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    No,
    /// Jumps to a fixed address.
    Direct,
    /// Jumps to a fixed address, or not.
    Conditional,
    /// Jumps to an address from a register or memory.
    Indirect,
    Call,
    IndirectCall,
    Return,
    /// Enters the kernel.
    Syscall,
}

/// The memory ordering of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Any,
    /// Its read and write are one atomic access: `lock`, or `xchg` with memory. All earlier accesses complete first.
    Atomic,
    LoadFence,
    StoreFence,
    /// `mfence`.
    Fence,
    /// All earlier instructions complete first: `cpuid`, system calls.
    Serialising,
}

impl Outline {
    /// The number of micro-operations with this work.
    pub fn count(&self, wanted: impl Fn(Work) -> bool) -> usize {
        self.micro_ops.iter().filter(|op| wanted(op.work)).count()
    }
}
