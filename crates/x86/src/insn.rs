//! An instruction as the interpreter runs it: a handler, and the operands that the handler expects.

use crate::exit::Trouble;
use crate::{Cpu, Fault, Memory, Reg, Stop};

/// An instruction, decoded. Which fields mean something is the handler's business.
pub(crate) struct Insn<M> {
    pub handler: Handler<M>,
    /// The displacement of the memory operand; with `rip` as its base, the whole address.
    pub displacement: u64,
    /// The immediate operand, or what else the decoder has to say to the handler.
    pub immediate: u64,
    /// A register: its number, plus [`HIGH`] if it is one of AH, CH, DH and BH.
    pub destination: u8,
    pub source: u8,
    /// The memory operand's registers; [`Gprs::NONE`](crate::Gprs::NONE) for one that it does not have.
    pub base: u8,
    pub index: u8,
    /// By how many bits the index is shifted.
    pub shift: u8,
    /// What is unusual about the memory operand: [`FS`], [`GS`], [`NARROW`]. Zero nearly always.
    pub unusual: u8,
    /// The bytes of machine code.
    pub length: u8,
    /// How many instructions of the program this is: two if a comparison was joined with the jump after it.
    pub count: u8,
}

/// In [`Insn::destination`] and [`Insn::source`]: the second byte of a register.
pub(crate) const HIGH: u8 = 32;

/// In [`Insn::unusual`].
pub(crate) const FS: u8 = 1;
pub(crate) const GS: u8 = 2;
/// The address is cut to 32 bits.
pub(crate) const NARROW: u8 = 4;

/// Executes an instruction.
pub(crate) type Handler<M> = fn(&mut Cpu, &mut M, &Insn<M>) -> Outcome;

/// How an instruction ended: one byte, so that the loop over a block has little to look at.
pub(crate) type Outcome = Result<Flow, Halted>;

/// Where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// At the instruction that follows.
    Next,
    /// At the block's other successor.
    Taken,
    /// At `rip`, which the handler has set.
    Jump,
    /// Here once more: a repeated string instruction has a part behind it.
    Again,
}

/// Nothing of the instruction has happened; [`Cpu::trouble`] says why.
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

    /// Ends an instruction whose access was stopped.
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

    /// The address without its segment's base, as `lea` gives it.
    #[inline(always)]
    pub fn offset(&self, cpu: &Cpu) -> u64 {
        let index = cpu.gpr.slot(self.index) << (self.shift & 63);
        let offset = cpu.gpr.slot(self.base).wrapping_add(index).wrapping_add(self.displacement);
        if self.unusual & NARROW != 0 { offset as u32 as u64 } else { offset }
    }

    /// The address so many bytes behind that of the memory operand.
    pub fn address_beyond(&self, cpu: &Cpu, distance: u64) -> u64 {
        self.unusual_address(cpu, self.offset(cpu).wrapping_add(distance))
    }

    #[cold]
    #[inline(never)]
    fn unusual_address(&self, cpu: &Cpu, address: u64) -> u64 {
        let address = if self.unusual & NARROW != 0 { address as u32 as u64 } else { address };
        address.wrapping_add(self.segment_base(cpu))
    }

    /// Whether the memory operand lies on the stack by the rules of segments.
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
