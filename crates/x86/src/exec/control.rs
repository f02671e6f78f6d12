//! Jumps, calls and returns, which end a block.
//!
//! A jump with a known target returns `Flow::Taken`, and the block provides the target, so that blocks can be chained.
//! Only indirect jumps set `rip`.

use super::condition::{by_condition, holds};
use super::operand::Place;
use super::word::Word;
use crate::exit::canonical;
use crate::insn::{Flow, Handler, Insn, Outcome};
use crate::{Cpu, Fault, Memory, Reg, Size};

const TAKEN: Outcome = Ok(Flow::Taken);

#[inline(always)]
pub(crate) fn taken_if(condition: bool) -> Outcome {
    Ok(if condition { Flow::Taken } else { Flow::Next })
}

pub(crate) fn jump<M: Memory>(_: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    TAKEN
}

fn jump_if<M: Memory, const C: u8>(cpu: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    taken_if(holds::<C>(&cpu.flags))
}

pub(crate) fn jump_if_handler<M: Memory>(condition: u8) -> Handler<M> {
    by_condition!(condition, C => jump_if::<M, C> as Handler<M>)
}

/// `jecxz`, `jrcxz`.
pub(crate) fn jump_if_rcx_zero<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    taken_if(cpu.read::<W>(Reg::Rcx as u8) == 0)
}

/// `loop`, `loope` and `loopne`, whose immediates are 0, 1 and 2.
pub(crate) fn loop_<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let left = W::cut(cpu.read::<W>(Reg::Rcx as u8).wrapping_sub(1));
    cpu.write::<W>(Reg::Rcx as u8, left);
    let go_on = match insn.immediate {
        0 => true,
        1 => cpu.flags.zf(),
        _ => !cpu.flags.zf(),
    };
    taken_if(left != 0 && go_on)
}

#[inline(always)]
fn jump_to(cpu: &mut Cpu, target: u64) -> Outcome {
    if !canonical(target) {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    cpu.rip = target;
    Ok(Flow::Jump)
}

pub(crate) fn jump_indirect<M: Memory, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let target = S::read::<u64>(cpu, memory, insn)?;
    jump_to(cpu, target)
}

/// `call`. The immediate is the return address.
pub(crate) fn call<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let top = cpu.gpr[Reg::Rsp].wrapping_sub(8);
    cpu.store(memory, top, Size::B8, insn.immediate)?;
    cpu.gpr[Reg::Rsp] = top;
    TAKEN
}

pub(crate) fn call_indirect<M: Memory, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let target = S::read::<u64>(cpu, memory, insn)?;
    if !canonical(target) {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    let top = cpu.gpr[Reg::Rsp].wrapping_sub(8);
    cpu.store(memory, top, Size::B8, insn.immediate)?;
    cpu.gpr[Reg::Rsp] = top;
    cpu.rip = target;
    Ok(Flow::Jump)
}

/// `ret`. The immediate is the number of argument bytes to drop.
pub(crate) fn ret<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let top = cpu.gpr[Reg::Rsp];
    let target = cpu.load(memory, top, Size::B8)?;
    let outcome = jump_to(cpu, target)?;
    cpu.gpr[Reg::Rsp] = top.wrapping_add(8).wrapping_add(insn.immediate);
    Ok(outcome)
}
