//! Moves between general registers, immediates and memory.

use super::alu::Form;
use super::operand::{Destination, Immediate, Mem, Place, Source};
use super::word::{Word, sized};
use crate::insn::{Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Fault, Memory, Reg, Size};

fn mov<M: Memory, W: Word, D: Place<M>, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = S::read::<W>(cpu, memory, insn)?;
    D::write::<W>(cpu, memory, insn, value)?;
    NEXT
}

pub(crate) fn mov_handler<M: Memory>(form: Form, size: Size) -> Handler<M> {
    match form {
        Form::RegisterRegister => sized!(size, mov::<M, _, Destination, Source>),
        Form::RegisterImmediate => sized!(size, mov::<M, _, Destination, Immediate>),
        Form::RegisterMemory => sized!(size, mov::<M, _, Destination, Mem>),
        Form::MemoryRegister => sized!(size, mov::<M, _, Mem, Source>),
        Form::MemoryImmediate => sized!(size, mov::<M, _, Mem, Immediate>),
    }
}

/// `movzx`: from `N` to `W` bits.
fn zero_extend<M: Memory, W: Word, N: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = S::read::<N>(cpu, memory, insn)?;
    cpu.write::<W>(insn.destination, value);
    NEXT
}

/// `movsx`, `movsxd`.
fn sign_extend<M: Memory, W: Word, N: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = S::read::<N>(cpu, memory, insn)?;
    cpu.write::<W>(insn.destination, W::cut(N::extend(value) as u64));
    NEXT
}

pub(crate) fn extend_handler<M: Memory, S: Place<M>>(signed: bool, from: Size, to: Size) -> Handler<M> {
    match (signed, from) {
        (false, Size::B1) => sized!(to, zero_extend::<M, _, u8, S>),
        (false, Size::B2) => sized!(to, zero_extend::<M, _, u16, S>),
        (false, _) => sized!(to, zero_extend::<M, _, u32, S>),
        (true, Size::B1) => sized!(to, sign_extend::<M, _, u8, S>),
        (true, Size::B2) => sized!(to, sign_extend::<M, _, u16, S>),
        (true, _) => sized!(to, sign_extend::<M, _, u32, S>),
    }
}

fn lea<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let offset = insn.offset(cpu);
    cpu.write::<W>(insn.destination, W::cut(offset));
    NEXT
}

pub(crate) fn lea_handler<M: Memory>(size: Size) -> Handler<M> {
    sized!(size, lea::<M, _>)
}

/// `xlatb`; the base is RBX.
pub(crate) fn xlat<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let al = cpu.read::<u8>(Reg::Rax as u8);
    let base = cpu.gpr[Reg::Rbx].wrapping_add(al);
    let base = if insn.unusual & crate::insn::NARROW != 0 { base as u32 as u64 } else { base };
    let address = base.wrapping_add(insn.segment_base(cpu));
    let value = cpu.load(memory, address, Size::B1)?;
    cpu.write::<u8>(Reg::Rax as u8, value);
    NEXT
}

/// Reads a segment register. The immediate is the selector that Linux uses.
fn read_selector<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    D::write::<W>(cpu, memory, insn, insn.immediate)?;
    NEXT
}

pub(crate) fn read_selector_handler<M: Memory, D: Place<M>>(size: Size) -> Handler<M> {
    sized!(size, read_selector::<M, _, D>)
}

/// Writes a segment register. A program may load the null selector, which has no effect, or the current one.
pub(crate) fn write_selector<M: Memory, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = S::read::<u16>(cpu, memory, insn)?;
    if value & !3 != 0 && value != insn.immediate {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    NEXT
}
