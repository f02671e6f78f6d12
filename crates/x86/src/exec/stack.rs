//! The stack: push, pop, frames, flags.
//!
//! The stack pointer changes last, so that a push or pop that faults can be repeated.

use super::operand::{Immediate, Mem, Place, Source};
use super::word::Word;
use crate::insn::{Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Memory, Reg, Size};

fn push<M: Memory, W: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = S::read::<W>(cpu, memory, insn)?;
    let top = cpu.gpr[Reg::Rsp].wrapping_sub(W::SIZE.bytes());
    cpu.store(memory, top, W::SIZE, value)?;
    cpu.gpr[Reg::Rsp] = top;
    NEXT
}

fn pop<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let top = cpu.gpr[Reg::Rsp];
    let value = cpu.load(memory, top, W::SIZE)?;
    cpu.gpr[Reg::Rsp] = top.wrapping_add(W::SIZE.bytes());
    // After the stack pointer has changed, so that `pop rsp` leaves the popped value.
    cpu.write::<W>(insn.destination, value);
    NEXT
}

/// `pop` to memory. The operand's address is computed with the stack pointer after the pop.
fn pop_to_memory<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let top = cpu.gpr[Reg::Rsp];
    let value = cpu.load(memory, top, W::SIZE)?;
    cpu.gpr[Reg::Rsp] = top.wrapping_add(W::SIZE.bytes());
    let address = insn.address(cpu);
    if let Err(halted) = cpu.store(memory, address, W::SIZE, value) {
        cpu.gpr[Reg::Rsp] = top;
        return Err(halted);
    }
    NEXT
}

/// The operand of a push or pop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Register,
    Immediate,
    Memory,
}

pub(crate) fn push_handler<M: Memory>(item: Item, size: Size) -> Handler<M> {
    match (item, size) {
        (Item::Register, Size::B2) => push::<M, u16, Source>,
        (Item::Register, _) => push::<M, u64, Source>,
        (Item::Immediate, Size::B2) => push::<M, u16, Immediate>,
        (Item::Immediate, _) => push::<M, u64, Immediate>,
        (Item::Memory, Size::B2) => push::<M, u16, Mem>,
        (Item::Memory, _) => push::<M, u64, Mem>,
    }
}

pub(crate) fn pop_handler<M: Memory>(item: Item, size: Size) -> Handler<M> {
    match (item, size) {
        (Item::Memory, Size::B2) => pop_to_memory::<M, u16>,
        (Item::Memory, _) => pop_to_memory::<M, u64>,
        (_, Size::B2) => pop::<M, u16>,
        _ => pop::<M, u64>,
    }
}

fn pushf<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, _: &Insn<M>) -> Outcome {
    let top = cpu.gpr[Reg::Rsp].wrapping_sub(W::SIZE.bytes());
    let flags = cpu.flags.get();
    cpu.store(memory, top, W::SIZE, flags)?;
    cpu.gpr[Reg::Rsp] = top;
    NEXT
}

fn popf<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, _: &Insn<M>) -> Outcome {
    let top = cpu.gpr[Reg::Rsp];
    let value = cpu.load(memory, top, W::SIZE)?;
    cpu.gpr[Reg::Rsp] = top.wrapping_add(W::SIZE.bytes());
    let kept = cpu.flags.get() & !W::MASK;
    cpu.flags.set(value | kept);
    NEXT
}

pub(crate) fn pushf_handler<M: Memory>(size: Size) -> Handler<M> {
    if size == Size::B2 { pushf::<M, u16> } else { pushf::<M, u64> }
}

pub(crate) fn popf_handler<M: Memory>(size: Size) -> Handler<M> {
    if size == Size::B2 { popf::<M, u16> } else { popf::<M, u64> }
}

fn leave<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, _: &Insn<M>) -> Outcome {
    let top = cpu.gpr[Reg::Rbp];
    let value = cpu.load(memory, top, W::SIZE)?;
    cpu.gpr[Reg::Rsp] = top.wrapping_add(W::SIZE.bytes());
    cpu.write::<W>(Reg::Rbp as u8, value);
    NEXT
}

pub(crate) fn leave_handler<M: Memory>(size: Size) -> Handler<M> {
    if size == Size::B2 { leave::<M, u16> } else { leave::<M, u64> }
}

/// `enter`: the immediate is the size of the frame, and from bit 16 on the nesting level.
fn enter<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let (room, level) = (insn.immediate & 0xffff, insn.immediate >> 16 & 31);
    let bytes = W::SIZE.bytes();
    let top = cpu.gpr[Reg::Rsp];
    let frame = top.wrapping_sub(bytes);
    let pushed = bytes * (level + 1);
    cpu.probe(memory, top.wrapping_sub(pushed), pushed)?;
    // The outer frame pointers are read before anything is stored, since reading them may fault.
    let mut display = [0; 32];
    let rbp = cpu.gpr[Reg::Rbp];
    for i in 1..level {
        display[i as usize] = cpu.load(memory, rbp.wrapping_sub(i * bytes), W::SIZE)?;
    }
    if level > 0 {
        display[level as usize] = frame;
    }
    cpu.store(memory, frame, W::SIZE, rbp)?;
    for i in 1..=level {
        cpu.store(memory, frame.wrapping_sub(i * bytes), W::SIZE, display[i as usize])?;
    }
    cpu.write::<W>(Reg::Rbp as u8, W::cut(frame));
    cpu.gpr[Reg::Rsp] = frame.wrapping_sub(level * bytes).wrapping_sub(room);
    NEXT
}

pub(crate) fn enter_handler<M: Memory>(size: Size) -> Handler<M> {
    if size == Size::B2 { enter::<M, u16> } else { enter::<M, u64> }
}

/// `lahf`.
pub(crate) fn flags_to_ah<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let flags = cpu.flags.get();
    cpu.write::<u8>(insn.destination, flags);
    NEXT
}

/// `sahf`: sets all arithmetic flags but OF.
pub(crate) fn ah_to_flags<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let of = cpu.flags.get() & crate::flags::OF;
    let ah = cpu.read::<u8>(insn.destination);
    cpu.flags.set_arithmetic(ah | of);
    NEXT
}
