//! A decoded instruction: its handler, and the operands in the layout that the handler expects.

use crate::exit::Trouble;
use crate::{Cpu, Fault, Memory, Reg, Stop};

/// A decoded instruction. The handler determines which fields are meaningful.
pub(crate) struct Insn<M> {
    pub handler: Handler<M>,
    /// The displacement of the memory operand; for rip-relative operands, the whole address.
    pub displacement: u64,
    /// The immediate operand, or another value for the handler.
    pub immediate: u64,
    /// A register: its number, plus [`HIGH`] for AH, CH, DH and BH.
    pub destination: u8,
    pub source: u8,
    /// The memory operand's registers; [`Gprs::NONE`](crate::Gprs::NONE) for a missing one.
    pub base: u8,
    pub index: u8,
    /// The shift of the index register in bits.
    pub shift: u8,
    /// Unusual properties of the memory operand: [`FS`], [`GS`], [`NARROW`]. Zero in nearly all cases.
    pub unusual: u8,
    /// The length of the machine code in bytes.
    pub length: u8,
    /// The number of program instructions: two for a comparison fused with the jump after it.
    pub count: u8,
}

/// Added to a register number in [`Insn::destination`] and [`Insn::source`] for the second byte of the register.
pub(crate) const HIGH: u8 = 32;

/// Bits of [`Insn::unusual`].
pub(crate) const FS: u8 = 1;
pub(crate) const GS: u8 = 2;
/// The address is truncated to 32 bits.
pub(crate) const NARROW: u8 = 4;

/// Executes an instruction.
pub(crate) type Handler<M> = fn(&mut Cpu, &mut M, &Insn<M>) -> Outcome;

/// The result of an instruction: one byte, so that the loop over a block is fast.
pub(crate) type Outcome = Result<Flow, Halted>;

/// Where execution continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// At the next instruction.
    Next,
    /// At the block's jump target.
    Taken,
    /// At `rip`, which the handler has set.
    Jump,
    /// At this instruction again: a repeated string instruction has completed a part.
    Again,
}

/// The instruction had no effect; [`Cpu::trouble`] says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halted;

pub(crate) const NEXT: Outcome = Ok(Flow::Next);

impl Cpu {
    /// Ends an instruction with a fault.
    #[cold]
    pub(crate) fn fault(&mut self, fault: Fault) -> Halted {
        self.trouble = Trouble::Fault(fault);
        Halted
    }

    /// Ends an instruction whose memory access failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn stop(&mut self, stop: Stop) -> Halted {
        self.trouble = stop.into();
        Halted
    }
}

impl<M: Memory> Insn<M> {
    /// The address of the memory operand.
    #[inline(always)]
    pub fn address(&self, cpu: &Cpu) -> u64 {
        let index = cpu.gpr.slot(self.index) << (self.shift & 63);
        let address = cpu.gpr.slot(self.base).wrapping_add(index).wrapping_add(self.displacement);
        if self.unusual != 0 { self.unusual_address(cpu, address) } else { address }
    }

    /// The address without its segment base, as `lea` computes it.
    #[inline(always)]
    pub fn offset(&self, cpu: &Cpu) -> u64 {
        let index = cpu.gpr.slot(self.index) << (self.shift & 63);
        let offset = cpu.gpr.slot(self.base).wrapping_add(index).wrapping_add(self.displacement);
        if self.unusual & NARROW != 0 { offset as u32 as u64 } else { offset }
    }

    /// The address `distance` bytes after the memory operand's.
    pub fn address_beyond(&self, cpu: &Cpu, distance: u64) -> u64 {
        self.unusual_address(cpu, self.offset(cpu).wrapping_add(distance))
    }

    #[cold]
    #[inline(never)]
    fn unusual_address(&self, cpu: &Cpu, address: u64) -> u64 {
        let address = if self.unusual & NARROW != 0 { address as u32 as u64 } else { address };
        address.wrapping_add(self.segment_base(cpu))
    }

    /// Whether the memory operand uses the stack segment.
    pub fn uses_stack_segment(&self) -> bool {
        let stack = self.base == Reg::Rsp as u8 || self.base == Reg::Rbp as u8;
        stack && self.unusual & (FS | GS) == 0
    }

    /// The base of the memory operand's segment.
    #[inline(always)]
    pub fn segment_base(&self, cpu: &Cpu) -> u64 {
        match self.unusual & (FS | GS) {
            0 => 0,
            FS => cpu.fs_base,
            _ => cpu.gs_base,
        }
    }
}
