//! Exchange instructions, which are used with `lock`.
//!
//! The simulator executes the instructions of all CPUs of a process one at a time, so `lock` has no effect here. A
//! timing model learns of it from the instruction's outline.

use super::alu::{Add, Binary, Sub};
use super::operand::Place;
use super::word::{Word, sized};
use crate::insn::{Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Fault, Memory, Reg, Size};

/// `xchg`: the source is a register.
fn xchg<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let a = D::read_to_modify::<W>(cpu, memory, insn)?;
    let b = cpu.read::<W>(insn.source);
    D::write::<W>(cpu, memory, insn, b)?;
    cpu.write::<W>(insn.source, a);
    NEXT
}

/// `xadd`.
fn xadd<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let a = D::read_to_modify::<W>(cpu, memory, insn)?;
    let b = cpu.read::<W>(insn.source);
    let (sum, traces) = Add::compute::<W>(&cpu.flags, a, b);
    if D::IN_MEMORY {
        D::write::<W>(cpu, memory, insn, sum)?;
        cpu.write::<W>(insn.source, a);
    } else {
        // If both are the same register, the sum wins.
        cpu.write::<W>(insn.source, a);
        D::write::<W>(cpu, memory, insn, sum)?;
    }
    cpu.flags.put(traces);
    NEXT
}

/// `cmpxchg`. If the comparison fails, a memory operand is still written, with its old value; a register is not.
fn cmpxchg<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let old = D::read_to_modify::<W>(cpu, memory, insn)?;
    let expected = cpu.read::<W>(Reg::Rax as u8);
    let new = cpu.read::<W>(insn.source);
    let (_, traces) = Sub::compute::<W>(&cpu.flags, expected, old);
    if old == expected {
        D::write::<W>(cpu, memory, insn, new)?;
    } else {
        if D::IN_MEMORY {
            D::write::<W>(cpu, memory, insn, old)?;
        }
        cpu.write::<W>(Reg::Rax as u8, old);
    }
    cpu.flags.put(traces);
    NEXT
}

/// The kind of exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    Xchg,
    Xadd,
    Cmpxchg,
}

pub(crate) fn exchange_handler<M: Memory, D: Place<M>>(operation: Exchange, size: Size) -> Handler<M> {
    match operation {
        Exchange::Xchg => sized!(size, xchg::<M, _, D>),
        Exchange::Xadd => sized!(size, xadd::<M, _, D>),
        Exchange::Cmpxchg => sized!(size, cmpxchg::<M, _, D>),
    }
}

pub(crate) fn cmpxchg8b<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    let old = cpu.load_to_modify(memory, address, Size::B8)?;
    let pair = |cpu: &Cpu, high: Reg, low: Reg| cpu.gpr[high] << 32 | cpu.gpr[low] & 0xffff_ffff;
    let equal = old == pair(cpu, Reg::Rdx, Reg::Rax);
    let new = if equal { pair(cpu, Reg::Rcx, Reg::Rbx) } else { old };
    cpu.store(memory, address, Size::B8, new)?;
    if !equal {
        cpu.gpr[Reg::Rdx] = old >> 32;
        cpu.gpr[Reg::Rax] = old & 0xffff_ffff;
    }
    cpu.flags.put_zf(equal);
    NEXT
}

/// `cmpxchg16b`. The operand must be aligned.
pub(crate) fn cmpxchg16b<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    if address & 15 != 0 {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    cpu.probe(memory, address, 16)?;
    let old = cpu.load128(memory, address)?;
    let pair = |cpu: &Cpu, high: Reg, low: Reg| (cpu.gpr[high] as u128) << 64 | cpu.gpr[low] as u128;
    let equal = old == pair(cpu, Reg::Rdx, Reg::Rax);
    let new = if equal { pair(cpu, Reg::Rcx, Reg::Rbx) } else { old };
    cpu.store128(memory, address, new)?;
    if !equal {
        cpu.gpr[Reg::Rdx] = (old >> 64) as u64;
        cpu.gpr[Reg::Rax] = old as u64;
    }
    cpu.flags.put_zf(equal);
    NEXT
}
