//! Locations of operands, and how they are read and written.

use super::word::Word;
use crate::insn::{HIGH, Halted, Insn};
use crate::{Access, Cpu, Memory, Size, Stop};

/// The location of an operand.
pub(crate) trait Place<M: Memory> {
    /// Whether a write can fail.
    const IN_MEMORY: bool = false;

    fn read<W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u64, Halted>;

    fn write<W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>, value: u64) -> Result<(), Halted>;

    /// Reads an operand that will be written: a fault is reported as a write.
    #[inline(always)]
    fn read_to_modify<W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u64, Halted> {
        Self::read::<W>(cpu, memory, insn)
    }
}

/// The register [`Insn::destination`].
pub(crate) struct Destination;
/// The register [`Insn::source`].
pub(crate) struct Source;
/// [`Insn::immediate`], truncated to the width by the decoder.
pub(crate) struct Immediate;
/// The memory operand.
pub(crate) struct Mem;

impl<M: Memory> Place<M> for Destination {
    #[inline(always)]
    fn read<W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Result<u64, Halted> {
        Ok(cpu.read::<W>(insn.destination))
    }

    #[inline(always)]
    fn write<W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>, value: u64) -> Result<(), Halted> {
        cpu.write::<W>(insn.destination, value);
        Ok(())
    }
}

impl<M: Memory> Place<M> for Source {
    #[inline(always)]
    fn read<W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Result<u64, Halted> {
        Ok(cpu.read::<W>(insn.source))
    }

    #[inline(always)]
    fn write<W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>, value: u64) -> Result<(), Halted> {
        cpu.write::<W>(insn.source, value);
        Ok(())
    }
}

impl<M: Memory> Place<M> for Immediate {
    #[inline(always)]
    fn read<W: Word>(_: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Result<u64, Halted> {
        Ok(insn.immediate)
    }

    fn write<W: Word>(_: &mut Cpu, _: &mut M, _: &Insn<M>, _: u64) -> Result<(), Halted> {
        unreachable!("no instruction writes an immediate")
    }
}

impl<M: Memory> Place<M> for Mem {
    const IN_MEMORY: bool = true;

    #[inline(always)]
    fn read<W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u64, Halted> {
        let address = insn.address(cpu);
        cpu.load(memory, address, W::SIZE)
    }

    #[inline(always)]
    fn write<W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>, value: u64) -> Result<(), Halted> {
        let address = insn.address(cpu);
        cpu.store(memory, address, W::SIZE, value)
    }

    #[inline(always)]
    fn read_to_modify<W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u64, Halted> {
        let address = insn.address(cpu);
        cpu.load_to_modify(memory, address, W::SIZE)
    }
}

impl Cpu {
    #[inline(always)]
    pub(crate) fn read<W: Word>(&self, register: u8) -> u64 {
        let value = self.gpr.slot(register);
        match W::SIZE {
            Size::B1 => (value >> high_byte(register)) & 0xff,
            _ => W::cut(value),
        }
    }

    /// Writes a register: 8 and 16 bits keep the other bits, 32 bits clear the upper half.
    #[inline(always)]
    pub(crate) fn write<W: Word>(&mut self, register: u8, value: u64) {
        let slot = self.gpr.slot_mut(register);
        match W::SIZE {
            Size::B1 => {
                let at = high_byte(register);
                *slot = *slot & !(0xff << at) | (value & 0xff) << at;
            }
            Size::B2 => *slot = *slot & !0xffff | value & 0xffff,
            Size::B4 => *slot = value as u32 as u64,
            Size::B8 => *slot = value,
        }
    }

    #[inline(always)]
    pub(crate) fn load<M: Memory>(&mut self, memory: &mut M, address: u64, size: Size) -> Result<u64, Halted> {
        memory.load(address, size).map_err(|stop| self.stop(stop))
    }

    #[inline(always)]
    pub(crate) fn load_to_modify<M: Memory>(
        &mut self,
        memory: &mut M,
        address: u64,
        size: Size,
    ) -> Result<u64, Halted> {
        memory.load(address, size).map_err(|stop| self.stop(to_modify(stop)))
    }

    #[inline(always)]
    pub(crate) fn store<M: Memory>(
        &mut self,
        memory: &mut M,
        address: u64,
        size: Size,
        value: u64,
    ) -> Result<(), Halted> {
        memory.store(address, size, value).map_err(|stop| self.stop(stop))
    }

    #[inline(always)]
    pub(crate) fn load128<M: Memory>(&mut self, memory: &mut M, address: u64) -> Result<u128, Halted> {
        memory.load128(address).map_err(|stop| self.stop(stop))
    }

    #[inline(always)]
    pub(crate) fn store128<M: Memory>(&mut self, memory: &mut M, address: u64, value: u128) -> Result<(), Halted> {
        memory.store128(address, value).map_err(|stop| self.stop(stop))
    }

    #[inline(always)]
    pub(crate) fn probe<M: Memory>(&mut self, memory: &mut M, address: u64, bytes: u64) -> Result<(), Halted> {
        memory.probe_write(address, bytes).map_err(|stop| self.stop(stop))
    }
}

/// The bit position of an 8-bit register.
#[inline(always)]
fn high_byte(register: u8) -> u32 {
    (register / HIGH * 8) as u32
}

/// Turns a read fault into a write fault: for a read-modify-write access the processor checks for write permission.
#[cold]
pub(crate) fn to_modify(stop: Stop) -> Stop {
    match stop {
        Stop::PageFault { address, access: Access::Read, present } => {
            Stop::PageFault { address, access: Access::Write, present }
        }
        other => other,
    }
}
