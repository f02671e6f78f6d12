//! Multiplication and division.
//!
//! A product sets CF and OF if its upper half is significant. SF, ZF, AF and PF are undefined; here they are those of a
//! logical operation on the lower half. A division changes no flags.

use super::operand::{Immediate, Place};
use super::word::{Word, sized};
use crate::flags::Traces;
use crate::insn::{HIGH, Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Fault, Memory, Reg, Size};

const RAX: u8 = Reg::Rax as u8;
const RDX: u8 = Reg::Rdx as u8;
const AH: u8 = RAX + HIGH;

/// The register of the upper half: AH next to AL, otherwise the D register.
#[inline(always)]
fn upper<W: Word>() -> u8 {
    if W::BITS == 8 { AH } else { RDX }
}

/// `mul`: the product of the A register and the operand.
fn mul<M: Memory, W: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let b = S::read::<W>(cpu, memory, insn)?;
    let product = cpu.read::<W>(RAX) as u128 * b as u128;
    let (low, high) = (W::cut(product as u64), (product >> W::BITS) as u64);
    cpu.write::<W>(RAX, low);
    cpu.write::<W>(upper::<W>(), high);
    cpu.flags.put(Traces::with::<W>(low, high != 0, high != 0));
    NEXT
}

/// `imul` with one operand.
fn imul<M: Memory, W: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let b = S::read::<W>(cpu, memory, insn)?;
    let product = W::extend(cpu.read::<W>(RAX)) as i128 * W::extend(b) as i128;
    let low = W::cut(product as u64);
    let lost = W::extend(low) as i128 != product;
    cpu.write::<W>(RAX, low);
    cpu.write::<W>(upper::<W>(), W::cut((product >> W::BITS) as u64));
    cpu.flags.put(Traces::with::<W>(low, lost, lost));
    NEXT
}

/// `imul` with a destination register: `A` times `B`.
fn imul_to<M: Memory, W: Word, A: Place<M>, B: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let a = A::read::<W>(cpu, memory, insn)?;
    let b = B::read::<W>(cpu, memory, insn)?;
    let product = W::extend(a) as i128 * W::extend(b) as i128;
    let low = W::cut(product as u64);
    let lost = W::extend(low) as i128 != product;
    cpu.write::<W>(insn.destination, low);
    cpu.flags.put(Traces::with::<W>(low, lost, lost));
    NEXT
}

fn div<M: Memory, W: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let divisor = S::read::<W>(cpu, memory, insn)?;
    let (low, high) = (cpu.read::<W>(RAX), cpu.read::<W>(upper::<W>()));
    if high >= divisor {
        return Err(cpu.fault(Fault::Divide));
    }
    let (quotient, remainder) = if high == 0 {
        (low / divisor, low % divisor)
    } else if W::BITS < 64 {
        let dividend = high << W::BITS | low;
        (dividend / divisor, dividend % divisor)
    } else {
        let dividend = (high as u128) << 64 | low as u128;
        ((dividend / divisor as u128) as u64, (dividend % divisor as u128) as u64)
    };
    cpu.write::<W>(RAX, quotient);
    cpu.write::<W>(upper::<W>(), remainder);
    NEXT
}

fn idiv<M: Memory, W: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let divisor = W::extend(S::read::<W>(cpu, memory, insn)?);
    let (low, high) = (cpu.read::<W>(RAX), W::extend(cpu.read::<W>(upper::<W>())));
    let Some((quotient, remainder)) = signed_quotient::<W>(high, low, divisor) else {
        return Err(cpu.fault(Fault::Divide));
    };
    cpu.write::<W>(RAX, W::cut(quotient as u64));
    cpu.write::<W>(upper::<W>(), W::cut(remainder as u64));
    NEXT
}

/// The quotient and the remainder; none if the divisor is zero or the quotient does not fit.
#[inline(always)]
fn signed_quotient<W: Word>(high: i64, low: u64, divisor: i64) -> Option<(i64, i64)> {
    if W::BITS < 64 {
        let dividend = high << W::BITS | low as i64;
        let quotient = dividend.checked_div(divisor)?;
        (W::extend(quotient as u64) == quotient).then(|| (quotient, dividend.wrapping_rem(divisor)))
    } else if high == (low as i64) >> 63 {
        Some(((low as i64).checked_div(divisor)?, (low as i64).wrapping_rem(divisor)))
    } else {
        let dividend = (high as i128) << 64 | low as i128;
        let quotient = dividend.checked_div(divisor as i128)?;
        let fitting = i64::try_from(quotient).ok()?;
        Some((fitting, (dividend % divisor as i128) as i64))
    }
}

/// `cbw`, `cwde`, `cdqe`: sign-extends the lower half of the A register. `W` is the half.
fn widen<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    let value = W::extend(cpu.read::<W>(RAX)) as u64;
    match W::SIZE {
        Size::B1 => cpu.write::<u16>(RAX, value),
        Size::B2 => cpu.write::<u32>(RAX, value),
        Size::B4 | Size::B8 => cpu.write::<u64>(RAX, value),
    }
    NEXT
}

/// `cwd`, `cdq`, `cqo`: fills the D register with the sign of the A register.
fn sign<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    let value = W::extend(cpu.read::<W>(RAX)) >> 63;
    cpu.write::<W>(RDX, W::cut(value as u64));
    NEXT
}

/// An instruction on the A and D registers and an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    Mul,
    Imul,
    Div,
    Idiv,
}

pub(crate) fn wide_handler<M: Memory, S: Place<M>>(operation: Wide, size: Size) -> Handler<M> {
    match operation {
        Wide::Mul => sized!(size, mul::<M, _, S>),
        Wide::Imul => sized!(size, imul::<M, _, S>),
        Wide::Div => sized!(size, div::<M, _, S>),
        Wide::Idiv => sized!(size, idiv::<M, _, S>),
    }
}

/// `imul r, S` multiplies the destination; `imul r, S, immediate` does not read it.
pub(crate) fn imul_handler<M: Memory, S: Place<M>>(by_immediate: bool, size: Size) -> Handler<M> {
    use super::operand::Destination;
    if by_immediate {
        sized!(size, imul_to::<M, _, S, Immediate>)
    } else {
        sized!(size, imul_to::<M, _, S, Destination>)
    }
}

/// `half` is the source size.
pub(crate) fn widen_handler<M: Memory>(half: Size) -> Handler<M> {
    sized!(half, widen::<M, _>)
}

pub(crate) fn sign_handler<M: Memory>(size: Size) -> Handler<M> {
    sized!(size, sign::<M, _>)
}
