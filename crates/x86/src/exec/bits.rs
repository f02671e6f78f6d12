//! Bit tests, bit counts, and byte swaps.

use super::operand::{Destination, Immediate, Mem, Place, Source};
use super::word::{Word, sized};
use crate::flags::Traces;
use crate::insn::{Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Memory, Size};

/// How the tested bit is changed after CF has taken it.
pub(crate) trait Change {
    const WRITES: bool = true;
    fn apply(value: u64, bit: u64) -> u64;
}

pub(crate) struct Test;
pub(crate) struct Set;
pub(crate) struct Reset;
pub(crate) struct Complement;

impl Change for Test {
    const WRITES: bool = false;
    fn apply(value: u64, _: u64) -> u64 {
        value
    }
}

impl Change for Set {
    fn apply(value: u64, bit: u64) -> u64 {
        value | bit
    }
}

impl Change for Reset {
    fn apply(value: u64, bit: u64) -> u64 {
        value & !bit
    }
}

impl Change for Complement {
    fn apply(value: u64, bit: u64) -> u64 {
        value ^ bit
    }
}

/// Bit instructions on a register, or with an immediate: the bit number is taken modulo the width.
fn bit<M: Memory, W: Word, C: Change, D: Place<M>, S: Place<M>>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let at = S::read::<W>(cpu, memory, insn)? as u32 % W::BITS;
    let value = if C::WRITES { D::read_to_modify::<W>(cpu, memory, insn)? } else { D::read::<W>(cpu, memory, insn)? };
    if C::WRITES {
        D::write::<W>(cpu, memory, insn, C::apply(value, 1 << at))?;
    }
    cpu.flags.put_cf(value >> at & 1 != 0);
    NEXT
}

/// Bit instructions with a bit number in a register on memory: the number is a signed distance from the operand's first
/// bit.
fn far_bit<M: Memory, W: Word, C: Change>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let number = W::extend(cpu.read::<W>(insn.source));
    let words = number >> W::BITS.trailing_zeros();
    let distance = words.wrapping_mul(W::SIZE.bytes() as i64) as u64;
    let address = insn.address_beyond(cpu, distance);
    let at = number as u32 % W::BITS;
    let value = if C::WRITES {
        let value = cpu.load_to_modify(memory, address, W::SIZE)?;
        cpu.store(memory, address, W::SIZE, C::apply(value, 1 << at))?;
        value
    } else {
        cpu.load(memory, address, W::SIZE)?
    };
    cpu.flags.put_cf(value >> at & 1 != 0);
    NEXT
}

pub(crate) fn bit_handler<M: Memory, C: Change>(form: super::alu::Form, size: Size) -> Handler<M> {
    use super::alu::Form;
    match form {
        Form::RegisterImmediate => sized!(size, bit::<M, _, C, Destination, Immediate>),
        Form::MemoryImmediate => sized!(size, bit::<M, _, C, Mem, Immediate>),
        Form::MemoryRegister => sized!(size, far_bit::<M, _, C>),
        Form::RegisterRegister | Form::RegisterMemory => sized!(size, bit::<M, _, C, Destination, Source>),
    }
}

/// A bit count of a value.
pub(crate) trait Count {
    fn apply<W: Word>(cpu: &mut Cpu, value: u64, old: u64) -> u64;
}

pub(crate) struct Bsf;
pub(crate) struct Bsr;
pub(crate) struct Tzcnt;
pub(crate) struct Lzcnt;
pub(crate) struct Popcnt;

/// For zero, the destination keeps its value and ZF is set. The other flags are undefined and differ between
/// processors; here they are those of a logical operation on the source.
impl Count for Bsf {
    fn apply<W: Word>(cpu: &mut Cpu, value: u64, old: u64) -> u64 {
        cpu.flags.put(Traces::of_logic::<W>(value));
        if value == 0 { old } else { value.trailing_zeros() as u64 }
    }
}

impl Count for Bsr {
    fn apply<W: Word>(cpu: &mut Cpu, value: u64, old: u64) -> u64 {
        cpu.flags.put(Traces::of_logic::<W>(value));
        if value == 0 { old } else { 63 - value.leading_zeros() as u64 }
    }
}

/// CF is set if the source is zero, ZF if the result is.
impl Count for Tzcnt {
    fn apply<W: Word>(cpu: &mut Cpu, value: u64, _: u64) -> u64 {
        let result = value.trailing_zeros().min(W::BITS) as u64;
        cpu.flags.put(Traces::with::<W>(result, value == 0, false));
        result
    }
}

impl Count for Lzcnt {
    fn apply<W: Word>(cpu: &mut Cpu, value: u64, _: u64) -> u64 {
        let result = (value.leading_zeros() - (64 - W::BITS)) as u64;
        cpu.flags.put(Traces::with::<W>(result, value == 0, false));
        result
    }
}

/// Clears all flags but ZF.
impl Count for Popcnt {
    fn apply<W: Word>(cpu: &mut Cpu, value: u64, _: u64) -> u64 {
        cpu.flags.set_arithmetic(if value == 0 { crate::flags::ZF } else { 0 });
        value.count_ones() as u64
    }
}

fn count<M: Memory, W: Word, C: Count, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = S::read::<W>(cpu, memory, insn)?;
    let old = cpu.read::<u64>(insn.destination);
    let result = C::apply::<W>(cpu, value, old);
    // If a 32-bit register keeps its value, its upper half is also kept.
    if value != 0 || result != old {
        cpu.write::<W>(insn.destination, result);
    }
    NEXT
}

pub(crate) fn count_handler<M: Memory, C: Count, S: Place<M>>(size: Size) -> Handler<M> {
    sized!(size, count::<M, _, C, S>)
}

fn bswap<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let value = cpu.read::<W>(insn.destination).swap_bytes() >> (64 - W::BITS);
    // The result for 16 bits is undefined; processors return zero.
    cpu.write::<W>(insn.destination, if W::BITS == 16 { 0 } else { value });
    NEXT
}

pub(crate) fn bswap_handler<M: Memory>(size: Size) -> Handler<M> {
    sized!(size, bswap::<M, _>)
}

/// `movbe`.
fn swapped_load<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = Mem::read::<W>(cpu, memory, insn)?;
    cpu.write::<W>(insn.destination, value.swap_bytes() >> (64 - W::BITS));
    NEXT
}

fn swapped_store<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = cpu.read::<W>(insn.source);
    Mem::write::<W>(cpu, memory, insn, value.swap_bytes() >> (64 - W::BITS))?;
    NEXT
}

pub(crate) fn movbe_handler<M: Memory>(stores: bool, size: Size) -> Handler<M> {
    if stores { sized!(size, swapped_store::<M, _>) } else { sized!(size, swapped_load::<M, _>) }
}

/// `crc32`: CRC-32C of the destination (32 bits) and the operand.
fn crc32<M: Memory, W: Word, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = S::read::<W>(cpu, memory, insn)?;
    let crc = crate::sse::crc32(cpu.read::<u32>(insn.destination) as u32, value, W::SIZE.bytes() as u32);
    cpu.write::<u64>(insn.destination, crc as u64);
    NEXT
}

pub(crate) fn crc32_handler<M: Memory, S: Place<M>>(size: Size) -> Handler<M> {
    sized!(size, crc32::<M, _, S>)
}
