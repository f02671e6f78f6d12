//! Addition, subtraction, logic, and comparisons.

use super::operand::{Destination, Immediate, Mem, Place, Source};
use super::word::{Word, sized};
use crate::flags::Traces;
use crate::insn::{Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Flags, Memory, Size};

/// A two-operand operation whose result goes to the first operand.
pub(crate) trait Binary {
    fn compute<W: Word>(flags: &Flags, a: u64, b: u64) -> (u64, Traces);
}

pub(crate) struct Add;
pub(crate) struct Adc;
pub(crate) struct Sub;
pub(crate) struct Sbb;
pub(crate) struct And;
pub(crate) struct Or;
pub(crate) struct Xor;

impl Binary for Add {
    #[inline(always)]
    fn compute<W: Word>(_: &Flags, a: u64, b: u64) -> (u64, Traces) {
        let result = W::cut(a.wrapping_add(b));
        (result, Traces::of_sum::<W>(a, b, result))
    }
}

impl Binary for Adc {
    #[inline(always)]
    fn compute<W: Word>(flags: &Flags, a: u64, b: u64) -> (u64, Traces) {
        let result = W::cut(a.wrapping_add(b).wrapping_add(flags.cf() as u64));
        (result, Traces::of_sum::<W>(a, b, result))
    }
}

impl Binary for Sub {
    #[inline(always)]
    fn compute<W: Word>(_: &Flags, a: u64, b: u64) -> (u64, Traces) {
        let result = W::cut(a.wrapping_sub(b));
        (result, Traces::of_difference::<W>(a, b, result))
    }
}

impl Binary for Sbb {
    #[inline(always)]
    fn compute<W: Word>(flags: &Flags, a: u64, b: u64) -> (u64, Traces) {
        let result = W::cut(a.wrapping_sub(b).wrapping_sub(flags.cf() as u64));
        (result, Traces::of_difference::<W>(a, b, result))
    }
}

impl Binary for And {
    #[inline(always)]
    fn compute<W: Word>(_: &Flags, a: u64, b: u64) -> (u64, Traces) {
        (a & b, Traces::of_logic::<W>(a & b))
    }
}

impl Binary for Or {
    #[inline(always)]
    fn compute<W: Word>(_: &Flags, a: u64, b: u64) -> (u64, Traces) {
        (a | b, Traces::of_logic::<W>(a | b))
    }
}

impl Binary for Xor {
    #[inline(always)]
    fn compute<W: Word>(_: &Flags, a: u64, b: u64) -> (u64, Traces) {
        (a ^ b, Traces::of_logic::<W>(a ^ b))
    }
}

fn binary<M: Memory, W: Word, O: Binary, D: Place<M>, S: Place<M>>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let b = S::read::<W>(cpu, memory, insn)?;
    let a = D::read_to_modify::<W>(cpu, memory, insn)?;
    let (result, traces) = O::compute::<W>(&cpu.flags, a, b);
    D::write::<W>(cpu, memory, insn, result)?;
    cpu.flags.put(traces);
    NEXT
}

/// `cmp` and `test`: the flags of `sub` and `and` without the result.
fn compare<M: Memory, W: Word, O: Binary, D: Place<M>, S: Place<M>>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let b = S::read::<W>(cpu, memory, insn)?;
    let a = D::read::<W>(cpu, memory, insn)?;
    let (_, traces) = O::compute::<W>(&cpu.flags, a, b);
    cpu.flags.put(traces);
    NEXT
}

/// The locations of the two operands, the destination first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    RegisterRegister,
    RegisterImmediate,
    RegisterMemory,
    MemoryRegister,
    MemoryImmediate,
}

pub(crate) fn binary_handler<M: Memory, O: Binary>(form: Form, size: Size) -> Handler<M> {
    match form {
        Form::RegisterRegister => sized!(size, binary::<M, _, O, Destination, Source>),
        Form::RegisterImmediate => sized!(size, binary::<M, _, O, Destination, Immediate>),
        Form::RegisterMemory => sized!(size, binary::<M, _, O, Destination, Mem>),
        Form::MemoryRegister => sized!(size, binary::<M, _, O, Mem, Source>),
        Form::MemoryImmediate => sized!(size, binary::<M, _, O, Mem, Immediate>),
    }
}

pub(crate) fn compare_handler<M: Memory, O: Binary>(form: Form, size: Size) -> Handler<M> {
    match form {
        Form::RegisterRegister => sized!(size, compare::<M, _, O, Destination, Source>),
        Form::RegisterImmediate => sized!(size, compare::<M, _, O, Destination, Immediate>),
        Form::RegisterMemory => sized!(size, compare::<M, _, O, Destination, Mem>),
        Form::MemoryRegister => sized!(size, compare::<M, _, O, Mem, Source>),
        Form::MemoryImmediate => sized!(size, compare::<M, _, O, Mem, Immediate>),
    }
}

fn inc<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let a = D::read_to_modify::<W>(cpu, memory, insn)?;
    let (result, traces) = Add::compute::<W>(&cpu.flags, a, 1);
    D::write::<W>(cpu, memory, insn, result)?;
    cpu.flags.put_but_cf(traces);
    NEXT
}

fn dec<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let a = D::read_to_modify::<W>(cpu, memory, insn)?;
    let (result, traces) = Sub::compute::<W>(&cpu.flags, a, 1);
    D::write::<W>(cpu, memory, insn, result)?;
    cpu.flags.put_but_cf(traces);
    NEXT
}

fn neg<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let a = D::read_to_modify::<W>(cpu, memory, insn)?;
    let (result, traces) = Sub::compute::<W>(&cpu.flags, 0, a);
    D::write::<W>(cpu, memory, insn, result)?;
    cpu.flags.put(traces);
    NEXT
}

fn not<M: Memory, W: Word, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let a = D::read_to_modify::<W>(cpu, memory, insn)?;
    D::write::<W>(cpu, memory, insn, W::cut(!a))?;
    NEXT
}

/// A one-operand operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Inc,
    Dec,
    Neg,
    Not,
}

pub(crate) fn unary_handler<M: Memory, D: Place<M>>(operation: Unary, size: Size) -> Handler<M> {
    match operation {
        Unary::Inc => sized!(size, inc::<M, _, D>),
        Unary::Dec => sized!(size, dec::<M, _, D>),
        Unary::Neg => sized!(size, neg::<M, _, D>),
        Unary::Not => sized!(size, not::<M, _, D>),
    }
}

/// `clc`, `stc`, `cmc`: CF becomes `immediate` (0 or 1), or its opposite (2).
pub(crate) fn carry<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let cf = match insn.immediate {
        2 => !cpu.flags.cf(),
        set => set != 0,
    };
    cpu.flags.put_cf(cf);
    NEXT
}
