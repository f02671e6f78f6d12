//! String instructions, single or repeated.
//!
//! A repeated one counts as one instruction. It returns to the loop ([`Flow::Again`]) after the number of elements in
//! its immediate, so that no instruction runs without limit. RCX, RSI and RDI advance with each element, so that it
//! continues where it was after a fault or a pause.

use super::alu::{Binary, Sub};
use super::word::{Word, sized};
use crate::insn::{Flow, Halted, Handler, Insn, NARROW, NEXT, Outcome};
use crate::{Cpu, Memory, Reg, Size};

/// The operation on one element, or on sixteen bytes at once.
pub(crate) trait Element {
    /// Whether the repetition depends on ZF.
    const COMPARES: bool = false;

    fn one<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<(), Halted>;

    /// Processes sixteen bytes upwards, if the result is the same and no access fails. Otherwise returns false, and the
    /// caller proceeds element by element.
    fn sixteen<M: Memory, W: Word>(_: &mut Cpu, _: &mut M, _: &Insn<M>) -> bool {
        false
    }
}

pub(crate) struct Movs;
pub(crate) struct Stos;
pub(crate) struct Lods;
pub(crate) struct Cmps;
pub(crate) struct Scas;

const RAX: u8 = Reg::Rax as u8;

impl Element for Movs {
    #[inline(always)]
    fn one<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<(), Halted> {
        let value = cpu.load(memory, from(cpu, insn), W::SIZE)?;
        cpu.store(memory, to(cpu, insn), W::SIZE, value)?;
        advance::<M, W>(cpu, insn, Reg::Rsi);
        advance::<M, W>(cpu, insn, Reg::Rdi);
        Ok(())
    }

    #[inline(always)]
    fn sixteen<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> bool {
        let (from, to) = (from(cpu, insn), to(cpu, insn));
        // An overlapping copy to less than 16 bytes above its source repeats a pattern.
        if to.wrapping_sub(from) < 16 {
            return false;
        }
        let Ok(value) = memory.load128(from) else { return false };
        if memory.store128(to, value).is_err() {
            return false;
        }
        cpu.gpr[Reg::Rsi] = cpu.gpr[Reg::Rsi].wrapping_add(16);
        cpu.gpr[Reg::Rdi] = cpu.gpr[Reg::Rdi].wrapping_add(16);
        true
    }
}

impl Element for Stos {
    #[inline(always)]
    fn one<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<(), Halted> {
        let value = cpu.read::<W>(RAX);
        cpu.store(memory, to(cpu, insn), W::SIZE, value)?;
        advance::<M, W>(cpu, insn, Reg::Rdi);
        Ok(())
    }

    #[inline(always)]
    fn sixteen<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> bool {
        // The quotient has a one at the bottom of each word.
        let value = cpu.read::<W>(RAX) as u128 * (u128::MAX / W::MASK as u128);
        if memory.store128(to(cpu, insn), value).is_err() {
            return false;
        }
        cpu.gpr[Reg::Rdi] = cpu.gpr[Reg::Rdi].wrapping_add(16);
        true
    }
}

impl Element for Lods {
    #[inline(always)]
    fn one<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<(), Halted> {
        let value = cpu.load(memory, from(cpu, insn), W::SIZE)?;
        cpu.write::<W>(RAX, value);
        advance::<M, W>(cpu, insn, Reg::Rsi);
        Ok(())
    }
}

impl Element for Cmps {
    const COMPARES: bool = true;

    #[inline(always)]
    fn one<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<(), Halted> {
        // Processors detect faults in this order.
        let b = cpu.load(memory, to(cpu, insn), W::SIZE)?;
        let a = cpu.load(memory, from(cpu, insn), W::SIZE)?;
        let (_, traces) = Sub::compute::<W>(&cpu.flags, a, b);
        cpu.flags.put(traces);
        advance::<M, W>(cpu, insn, Reg::Rsi);
        advance::<M, W>(cpu, insn, Reg::Rdi);
        Ok(())
    }
}

impl Element for Scas {
    const COMPARES: bool = true;

    #[inline(always)]
    fn one<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<(), Halted> {
        let a = cpu.read::<W>(RAX);
        let b = cpu.load(memory, to(cpu, insn), W::SIZE)?;
        let (_, traces) = Sub::compute::<W>(&cpu.flags, a, b);
        cpu.flags.put(traces);
        advance::<M, W>(cpu, insn, Reg::Rdi);
        Ok(())
    }
}

/// A register as an address; with a 32-bit address size, its lower half.
#[inline(always)]
fn pointer<M: Memory>(cpu: &Cpu, insn: &Insn<M>, register: Reg) -> u64 {
    let value = cpu.gpr[register];
    if insn.unusual & NARROW != 0 { value as u32 as u64 } else { value }
}

/// The source address. Only the source can have a segment override.
#[inline(always)]
fn from<M: Memory>(cpu: &Cpu, insn: &Insn<M>) -> u64 {
    pointer(cpu, insn, Reg::Rsi).wrapping_add(insn.segment_base(cpu))
}

#[inline(always)]
fn to<M: Memory>(cpu: &Cpu, insn: &Insn<M>) -> u64 {
    pointer(cpu, insn, Reg::Rdi)
}

#[inline(always)]
fn advance<M: Memory, W: Word>(cpu: &mut Cpu, insn: &Insn<M>, register: Reg) {
    let bytes = W::SIZE.bytes();
    let value = pointer(cpu, insn, register);
    let value = if cpu.flags.df() { value.wrapping_sub(bytes) } else { value.wrapping_add(bytes) };
    cpu.gpr[register] = if insn.unusual & NARROW != 0 { value as u32 as u64 } else { value };
}

fn once<M: Memory, W: Word, E: Element>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    E::one::<M, W>(cpu, memory, insn)?;
    NEXT
}

/// `rep` and `repe` continue while ZF is set, `repne` while it is clear; only comparisons check ZF.
fn repeated<M: Memory, W: Word, E: Element, const WHILE_EQUAL: bool>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let per_sixteen = 16 / W::SIZE.bytes();
    let wide = !E::COMPARES && !cpu.flags.df() && insn.unusual & NARROW == 0;
    let mut elements = insn.immediate;
    loop {
        let left = pointer(cpu, insn, Reg::Rcx);
        if left == 0 {
            if insn.unusual & NARROW != 0 {
                cpu.gpr[Reg::Rcx] = 0;
            }
            return NEXT;
        }
        if elements == 0 {
            return Ok(Flow::Again);
        }
        if wide && left >= per_sixteen && elements >= per_sixteen && E::sixteen::<M, W>(cpu, memory, insn) {
            cpu.gpr[Reg::Rcx] = left - per_sixteen;
            elements -= per_sixteen;
            continue;
        }
        E::one::<M, W>(cpu, memory, insn)?;
        cpu.gpr[Reg::Rcx] = left - 1;
        elements -= 1;
        if E::COMPARES && cpu.flags.zf() != WHILE_EQUAL {
            return NEXT;
        }
    }
}

/// The repetition prefix of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    No,
    WhileEqual,
    WhileNotEqual,
}

pub(crate) fn string_handler<M: Memory, E: Element>(repeat: Repeat, size: Size) -> Handler<M> {
    match (repeat, size) {
        (Repeat::No, size) => sized!(size, once::<M, _, E>),
        (Repeat::WhileEqual, Size::B1) => repeated::<M, u8, E, true>,
        (Repeat::WhileEqual, Size::B2) => repeated::<M, u16, E, true>,
        (Repeat::WhileEqual, Size::B4) => repeated::<M, u32, E, true>,
        (Repeat::WhileEqual, Size::B8) => repeated::<M, u64, E, true>,
        (Repeat::WhileNotEqual, Size::B1) => repeated::<M, u8, E, false>,
        (Repeat::WhileNotEqual, Size::B2) => repeated::<M, u16, E, false>,
        (Repeat::WhileNotEqual, Size::B4) => repeated::<M, u32, E, false>,
        (Repeat::WhileNotEqual, Size::B8) => repeated::<M, u64, E, false>,
    }
}
