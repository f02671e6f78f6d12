//! General registers.

use std::ops::{Index, IndexMut};

/// A general register, in the order of its number in machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reg {
    Rax,
    Rcx,
    Rdx,
    Rbx,
    Rsp,
    Rbp,
    Rsi,
    Rdi,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
}

/// The general registers: `cpu.gpr[Reg::Rax]`.
///
/// The array has 32 slots, so that a five-bit index needs no bounds check. The slot [`Gprs::NONE`] is always zero and
/// stands for a missing base or index of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gprs {
    slots: [u64; 32],
}

impl Gprs {
    /// The slot that is always zero.
    pub(crate) const NONE: u8 = 16;

    #[inline(always)]
    pub(crate) fn slot(&self, slot: u8) -> u64 {
        self.slots[(slot & 31) as usize]
    }

    #[inline(always)]
    pub(crate) fn slot_mut(&mut self, slot: u8) -> &mut u64 {
        &mut self.slots[(slot & 15) as usize]
    }
}

impl Index<Reg> for Gprs {
    type Output = u64;

    #[inline(always)]
    fn index(&self, register: Reg) -> &u64 {
        &self.slots[register as usize]
    }
}

impl IndexMut<Reg> for Gprs {
    #[inline(always)]
    fn index_mut(&mut self, register: Reg) -> &mut u64 {
        &mut self.slots[register as usize]
    }
}
