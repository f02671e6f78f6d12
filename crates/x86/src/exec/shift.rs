//! Shifts and rotates.
//!
//! A count is taken modulo 32, or modulo 64 for 64-bit operands. A count of zero changes neither operand nor flags,
//! except that a 32-bit register still loses its upper half. Where the manuals leave OF undefined (counts other than
//! one), the formula for a count of one is used, as processors do.

use super::operand::{Immediate, Place, Source};
use super::word::{Word, sized};
use crate::flags::{Flags, Traces};
use crate::insn::{Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Memory, Size};

/// An operation on a value and a count; the count is 1 to 31, or 1 to 63 for 64-bit operands.
pub(crate) trait Shift {
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64;

    /// The result, and the flags to set once it is stored.
    #[inline(always)]
    fn preview<W: Word>(flags: &Flags, value: u64, count: u32) -> (u64, Flags) {
        let mut flags = *flags;
        let result = Self::compute::<W>(&mut flags, value, count);
        (result, flags)
    }
}

pub(crate) struct Shl;
pub(crate) struct Shr;
pub(crate) struct Sar;
pub(crate) struct Rol;
pub(crate) struct Ror;
pub(crate) struct Rcl;
pub(crate) struct Rcr;

#[inline(always)]
fn bit(value: u64, at: u32) -> bool {
    value >> at & 1 != 0
}

/// `value << count`, also for counts of 64 and more.
#[inline(always)]
fn left(value: u64, count: u32) -> u64 {
    value.checked_shl(count).unwrap_or(0)
}

#[inline(always)]
fn right(value: u64, count: u32) -> u64 {
    value.checked_shr(count).unwrap_or(0)
}

impl Shift for Shl {
    #[inline(always)]
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64 {
        let result = W::cut(left(value, count));
        let cf = count <= W::BITS && bit(value, W::BITS - count);
        flags.put(Traces::with::<W>(result, cf, cf != (result & W::SIGN != 0)));
        result
    }
}

impl Shift for Shr {
    #[inline(always)]
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64 {
        let before = right(value, count - 1);
        let result = before >> 1;
        flags.put(Traces::with::<W>(result, bit(before, 0), before & W::SIGN != 0));
        result
    }
}

impl Shift for Sar {
    #[inline(always)]
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64 {
        let before = W::extend(value) >> (count - 1);
        let result = W::cut((before >> 1) as u64);
        flags.put(Traces::with::<W>(result, before & 1 != 0, false));
        result
    }
}

impl Shift for Rol {
    #[inline(always)]
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64 {
        let count = count % W::BITS;
        let result = if count == 0 { value } else { W::cut(value << count | value >> (W::BITS - count)) };
        let cf = bit(result, 0);
        flags.put_cf_of(cf, cf != (result & W::SIGN != 0));
        result
    }
}

impl Shift for Ror {
    #[inline(always)]
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64 {
        let count = count % W::BITS;
        let result = if count == 0 { value } else { W::cut(value >> count | value << (W::BITS - count)) };
        flags.put_cf_of(result & W::SIGN != 0, bit(result, W::BITS - 1) != bit(result, W::BITS - 2));
        result
    }
}

impl Shift for Rcl {
    #[inline(always)]
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64 {
        let count = count % (W::BITS + 1);
        if count == 0 {
            // Only 8 and 16 bits get here: a full rotation changes nothing.
            return value;
        }
        let carry = (flags.cf() as u64) << (count - 1);
        let result = W::cut(left(value, count) | carry | right(value, W::BITS + 1 - count));
        let cf = bit(value, W::BITS - count);
        flags.put_cf_of(cf, cf != (result & W::SIGN != 0));
        result
    }
}

impl Shift for Rcr {
    #[inline(always)]
    fn compute<W: Word>(flags: &mut Flags, value: u64, count: u32) -> u64 {
        let count = count % (W::BITS + 1);
        if count == 0 {
            return value;
        }
        let carry = (flags.cf() as u64) << (W::BITS - count);
        let result = W::cut(right(value, count) | carry | left(value, W::BITS + 1 - count));
        flags.put_cf_of(bit(value, count - 1), bit(result, W::BITS - 1) != bit(result, W::BITS - 2));
        result
    }
}

#[inline(always)]
fn masked<W: Word>(count: u64) -> u32 {
    (count & if W::BITS == 64 { 63 } else { 31 }) as u32
}

/// A shift by `C`: CL or an immediate byte.
fn shift<M: Memory, W: Word, O: Shift, D: Place<M>, C: Place<M>>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let count = masked::<W>(C::read::<u8>(cpu, memory, insn)?);
    let value = D::read_to_modify::<W>(cpu, memory, insn)?;
    if count == 0 {
        D::write::<W>(cpu, memory, insn, value)?;
        return NEXT;
    }
    let (result, flags) = O::preview::<W>(&cpu.flags, value, count);
    D::write::<W>(cpu, memory, insn, result)?;
    cpu.flags = flags;
    NEXT
}

/// With `by_cl`, CL is the source register.
pub(crate) fn shift_handler<M: Memory, O: Shift, D: Place<M>>(by_cl: bool, size: Size) -> Handler<M> {
    if by_cl { sized!(size, shift::<M, _, O, D, Source>) } else { sized!(size, shift::<M, _, O, D, Immediate>) }
}

/// `shld` and `shrd`: bits of the source register are shifted into the destination.
fn double<M: Memory, W: Word, D: Place<M>, const LEFT: bool>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let count = if insn.immediate == BY_CL { cpu.gpr[crate::Reg::Rcx] } else { insn.immediate };
    let count = masked::<W>(count);
    let source = cpu.read::<W>(insn.source);
    let value = D::read_to_modify::<W>(cpu, memory, insn)?;
    if count == 0 {
        D::write::<W>(cpu, memory, insn, value)?;
        return NEXT;
    }
    let both =
        if LEFT { (value as u128) << W::BITS | source as u128 } else { (source as u128) << W::BITS | value as u128 };
    // A 16-bit shift by more than 16 is undefined in the manuals; it continues with the destination's bits.
    let both = if W::BITS == 16 { both << 32 | both } else { both };
    let (result, cf) = if LEFT {
        let top = if W::BITS == 16 { 64 } else { 2 * W::BITS };
        (W::cut((both >> (top - W::BITS - count)) as u64), both >> (top - count) & 1 != 0)
    } else {
        (W::cut((both >> count) as u64), both >> (count - 1) & 1 != 0)
    };
    D::write::<W>(cpu, memory, insn, result)?;
    cpu.flags.put(Traces::with::<W>(result, cf, (value ^ result) & W::SIGN != 0));
    NEXT
}

/// The immediate of a `shld` or `shrd` whose count is CL.
pub(crate) const BY_CL: u64 = 1 << 32;

pub(crate) fn double_handler<M: Memory, D: Place<M>>(to_the_left: bool, size: Size) -> Handler<M> {
    match (to_the_left, size) {
        (true, Size::B8) => double::<M, u64, D, true>,
        (true, Size::B4) => double::<M, u32, D, true>,
        (true, _) => double::<M, u16, D, true>,
        (false, Size::B8) => double::<M, u64, D, false>,
        (false, Size::B4) => double::<M, u32, D, false>,
        (false, _) => double::<M, u16, D, false>,
    }
}
