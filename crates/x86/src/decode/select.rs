//! The handler of each instruction, except those of the floating-point units.

use super::operands::{form, is_memory, of_bytes, segment, size};
use super::vector;
use crate::cpu::MARKS;
use crate::exec::operand::{Destination, Mem, Source};
use crate::exec::{alu, atomic, bits, condition, control, cpuid, fused, moves, multiply, shift, stack, string, system};
use crate::insn::{HIGH, Handler, Insn, NARROW};
use crate::{Memory, Size};
use iced_x86::{Code, ConditionCode, Instruction, Mnemonic as Op, OpKind, Register};

/// The number of elements that a repeated string instruction processes before it returns to the loop.
pub(crate) const ELEMENTS: u64 = 4096;

/// The handler of an instruction, whose operands are stored in `insn` as it expects them; none if there is no handler.
pub(super) fn handler<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    if is_privileged(i) {
        return Some(system::privileged::<M>);
    }
    if i.is_string_instruction() {
        return strings(insn, i);
    }
    arithmetic(insn, i)
        .or_else(|| data(insn, i))
        .or_else(|| bit_by_bit(insn, i))
        .or_else(|| flow(insn, i))
        .or_else(|| machine(insn, i))
        .or_else(|| vector::handler(insn, i))
}

/// Whether an instruction is privileged and exists on every x86-64 processor: a program gets a general protection
/// fault. Privileged instructions of extensions that `cpuid` does not announce (virtual machines, `xsetbv`, `invpcid`)
/// count as invalid instead.
fn is_privileged(i: &Instruction) -> bool {
    match i.mnemonic() {
        Op::Mov => (0..2).any(|operand| i.op_register(operand).is_cr() || i.op_register(operand).is_dr()),
        Op::Cli | Op::Sti | Op::Hlt | Op::In | Op::Out | Op::Insb | Op::Insw | Op::Insd => true,
        Op::Outsb | Op::Outsw | Op::Outsd => true,
        Op::Lgdt | Op::Lidt | Op::Lldt | Op::Ltr | Op::Lmsw | Op::Clts => true,
        Op::Invd | Op::Wbinvd | Op::Invlpg | Op::Swapgs | Op::Sysret | Op::Sysretq | Op::Sysexit | Op::Sysexitq => true,
        Op::Rdmsr | Op::Wrmsr | Op::Rdpmc => true,
        _ => false,
    }
}

fn arithmetic<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    let op = i.mnemonic();
    match op {
        Op::Add | Op::Adc | Op::Sub | Op::Sbb | Op::And | Op::Or | Op::Xor | Op::Cmp | Op::Test => {
            let (form, size) = form(i)?;
            insn.immediate &= size.mask();
            Some(match op {
                Op::Add => alu::binary_handler::<M, alu::Add>(form, size),
                Op::Adc => alu::binary_handler::<M, alu::Adc>(form, size),
                Op::Sub => alu::binary_handler::<M, alu::Sub>(form, size),
                Op::Sbb => alu::binary_handler::<M, alu::Sbb>(form, size),
                Op::And => alu::binary_handler::<M, alu::And>(form, size),
                Op::Or => alu::binary_handler::<M, alu::Or>(form, size),
                Op::Xor => alu::binary_handler::<M, alu::Xor>(form, size),
                Op::Cmp => alu::compare_handler::<M, alu::Sub>(form, size),
                _ => alu::compare_handler::<M, alu::And>(form, size),
            })
        }
        Op::Inc => unary(i, alu::Unary::Inc),
        Op::Dec => unary(i, alu::Unary::Dec),
        Op::Neg => unary(i, alu::Unary::Neg),
        Op::Not => unary(i, alu::Unary::Not),
        Op::Mul => wide(insn, i, multiply::Wide::Mul),
        Op::Div => wide(insn, i, multiply::Wide::Div),
        Op::Idiv => wide(insn, i, multiply::Wide::Idiv),
        Op::Imul if i.op_count() == 1 => wide(insn, i, multiply::Wide::Imul),
        Op::Imul => {
            let size = size(i, 0)?;
            insn.immediate &= size.mask();
            let by_immediate = i.op_count() == 3;
            Some(if is_memory(i, 1) {
                multiply::imul_handler::<M, Mem>(by_immediate, size)
            } else {
                multiply::imul_handler::<M, Source>(by_immediate, size)
            })
        }
        Op::Cbw => Some(multiply::widen_handler(Size::B1)),
        Op::Cwde => Some(multiply::widen_handler(Size::B2)),
        Op::Cdqe => Some(multiply::widen_handler(Size::B4)),
        Op::Cwd => Some(multiply::sign_handler(Size::B2)),
        Op::Cdq => Some(multiply::sign_handler(Size::B4)),
        Op::Cqo => Some(multiply::sign_handler(Size::B8)),
        Op::Shl | Op::Sal => shifted::<M, shift::Shl>(i),
        Op::Shr => shifted::<M, shift::Shr>(i),
        Op::Sar => shifted::<M, shift::Sar>(i),
        Op::Rol => shifted::<M, shift::Rol>(i),
        Op::Ror => shifted::<M, shift::Ror>(i),
        Op::Rcl => shifted::<M, shift::Rcl>(i),
        Op::Rcr => shifted::<M, shift::Rcr>(i),
        Op::Shld | Op::Shrd => {
            let size = size(i, 0)?;
            if i.op_kind(2) == OpKind::Register {
                insn.immediate = shift::BY_CL;
            }
            Some(if is_memory(i, 0) {
                shift::double_handler::<M, Mem>(op == Op::Shld, size)
            } else {
                shift::double_handler::<M, Destination>(op == Op::Shld, size)
            })
        }
        _ => None,
    }
}

fn unary<M: Memory>(i: &Instruction, operation: alu::Unary) -> Option<Handler<M>> {
    let size = size(i, 0)?;
    Some(if is_memory(i, 0) {
        alu::unary_handler::<M, Mem>(operation, size)
    } else {
        alu::unary_handler::<M, Destination>(operation, size)
    })
}

/// Multiplications and divisions whose only operand is a source.
fn wide<M: Memory>(insn: &mut Insn<M>, i: &Instruction, operation: multiply::Wide) -> Option<Handler<M>> {
    insn.source = insn.destination;
    let size = size(i, 0)?;
    Some(if is_memory(i, 0) {
        multiply::wide_handler::<M, Mem>(operation, size)
    } else {
        multiply::wide_handler::<M, Source>(operation, size)
    })
}

fn shifted<M: Memory, O: shift::Shift>(i: &Instruction) -> Option<Handler<M>> {
    let size = size(i, 0)?;
    let by_cl = i.op_kind(1) == OpKind::Register;
    Some(if is_memory(i, 0) {
        shift::shift_handler::<M, O, Mem>(by_cl, size)
    } else {
        shift::shift_handler::<M, O, Destination>(by_cl, size)
    })
}

/// Moves, exchanges and the stack.
fn data<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    match i.mnemonic() {
        Op::Mov if i.op_register(0).is_segment_register() || i.op_register(1).is_segment_register() => {
            selector(insn, i)
        }
        Op::Mov | Op::Movnti => {
            let (form, size) = form(i)?;
            insn.immediate &= size.mask();
            Some(moves::mov_handler(form, size))
        }
        op @ (Op::Movzx | Op::Movsx | Op::Movsxd) => {
            let (to, from) = (size(i, 0)?, size(i, 1)?);
            let signed = op != Op::Movzx;
            Some(if is_memory(i, 1) {
                moves::extend_handler::<M, Mem>(signed, from, to)
            } else {
                moves::extend_handler::<M, Source>(signed, from, to)
            })
        }
        Op::Lea => Some(moves::lea_handler(size(i, 0)?)),
        Op::Xlatb => {
            insn.unusual = segment(i.memory_segment());
            if i.memory_base() == Register::EBX {
                insn.unusual |= NARROW;
            }
            Some(moves::xlat::<M>)
        }
        Op::Xchg => exchange(i, atomic::Exchange::Xchg),
        Op::Xadd => exchange(i, atomic::Exchange::Xadd),
        Op::Cmpxchg => exchange(i, atomic::Exchange::Cmpxchg),
        Op::Cmpxchg8b => Some(atomic::cmpxchg8b::<M>),
        Op::Cmpxchg16b => Some(atomic::cmpxchg16b::<M>),
        Op::Push => {
            insn.source = insn.destination;
            let item = item(i);
            if item == stack::Item::Register && i.op0_register().is_segment_register() {
                insn.immediate = selector_of(i.op0_register());
                return Some(stack::push_handler(stack::Item::Immediate, stacked(i)?));
            }
            Some(stack::push_handler(item, stacked(i)?))
        }
        Op::Pop if !i.op0_register().is_segment_register() => Some(stack::pop_handler(item(i), stacked(i)?)),
        Op::Pushf | Op::Pushfq => Some(stack::pushf_handler(stacked(i)?)),
        Op::Popf | Op::Popfq => Some(stack::popf_handler(stacked(i)?)),
        Op::Leave => Some(stack::leave_handler(if i.code() == Code::Leavew { Size::B2 } else { Size::B8 })),
        Op::Enter => {
            insn.immediate = i.immediate16() as u64 | (i.immediate8_2nd() as u64) << 16;
            Some(stack::enter_handler(if i.code() == Code::Enterw_imm16_imm8 { Size::B2 } else { Size::B8 }))
        }
        Op::Lahf => {
            insn.destination = HIGH;
            Some(stack::flags_to_ah::<M>)
        }
        Op::Sahf => {
            insn.destination = HIGH;
            Some(stack::ah_to_flags::<M>)
        }
        _ => None,
    }
}

/// The number of bytes that an instruction pushes or pops.
fn stacked(i: &Instruction) -> Option<Size> {
    of_bytes(i.stack_pointer_increment().unsigned_abs() as usize)
}

fn item(i: &Instruction) -> stack::Item {
    match i.op0_kind() {
        OpKind::Register => stack::Item::Register,
        OpKind::Memory => stack::Item::Memory,
        _ => stack::Item::Immediate,
    }
}

fn exchange<M: Memory>(i: &Instruction, operation: atomic::Exchange) -> Option<Handler<M>> {
    let size = size(i, 0)?;
    Some(if is_memory(i, 0) {
        atomic::exchange_handler::<M, Mem>(operation, size)
    } else {
        atomic::exchange_handler::<M, Destination>(operation, size)
    })
}

/// The selectors of a 64-bit process in Linux.
fn selector_of(register: Register) -> u64 {
    match register {
        Register::CS => 0x33,
        Register::SS => 0x2b,
        _ => 0,
    }
}

fn selector<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    if i.op_register(0).is_segment_register() {
        insn.immediate = selector_of(i.op_register(0));
        return match i.op_register(0) {
            Register::CS => None,
            _ if is_memory(i, 1) => Some(moves::write_selector::<M, Mem>),
            _ => Some(moves::write_selector::<M, Source>),
        };
    }
    insn.immediate = selector_of(i.op_register(1));
    Some(if is_memory(i, 0) {
        moves::read_selector_handler::<M, Mem>(Size::B2)
    } else {
        moves::read_selector_handler::<M, Destination>(size(i, 0)?)
    })
}

/// Conditions, single bits and counts.
fn bit_by_bit<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    match i.mnemonic() {
        Op::Bt => bit::<M, bits::Test>(insn, i),
        Op::Bts => bit::<M, bits::Set>(insn, i),
        Op::Btr => bit::<M, bits::Reset>(insn, i),
        Op::Btc => bit::<M, bits::Complement>(insn, i),
        Op::Bsf => count::<M, bits::Bsf>(i),
        Op::Bsr => count::<M, bits::Bsr>(i),
        Op::Tzcnt => count::<M, bits::Tzcnt>(i),
        Op::Lzcnt => count::<M, bits::Lzcnt>(i),
        Op::Popcnt => count::<M, bits::Popcnt>(i),
        Op::Bswap => Some(bits::bswap_handler(size(i, 0)?)),
        Op::Movbe => Some(bits::movbe_handler(is_memory(i, 0), size(i, 0)?)),
        Op::Crc32 => {
            let size = size(i, 1)?;
            Some(if is_memory(i, 1) {
                bits::crc32_handler::<M, Mem>(size)
            } else {
                bits::crc32_handler::<M, Source>(size)
            })
        }
        Op::Clc => immediate(insn, 0, alu::carry::<M>),
        Op::Stc => immediate(insn, 1, alu::carry::<M>),
        Op::Cmc => immediate(insn, 2, alu::carry::<M>),
        _ if (Code::Cmovo_r16_rm16..=Code::Cmovg_r64_rm64).contains(&i.code()) => {
            let condition = condition_of(i)?;
            let size = size(i, 0)?;
            Some(if is_memory(i, 1) {
                condition::cmov_handler::<M, Mem>(condition, size)
            } else {
                condition::cmov_handler::<M, Source>(condition, size)
            })
        }
        _ if (Code::Seto_rm8..=Code::Setg_rm8).contains(&i.code()) => {
            let condition = condition_of(i)?;
            Some(if is_memory(i, 0) {
                condition::set_handler::<M, Mem>(condition)
            } else {
                condition::set_handler::<M, Destination>(condition)
            })
        }
        _ => None,
    }
}

/// The number of an instruction's condition code.
fn condition_of(i: &Instruction) -> Option<u8> {
    match i.condition_code() {
        ConditionCode::None => None,
        code => Some(code as u8 - ConditionCode::o as u8),
    }
}

fn immediate<M: Memory>(insn: &mut Insn<M>, value: u64, handler: Handler<M>) -> Option<Handler<M>> {
    insn.immediate = value;
    Some(handler)
}

fn bit<M: Memory, C: bits::Change>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    let (form, size) = form(i)?;
    insn.immediate &= size.mask();
    Some(bits::bit_handler::<M, C>(form, size))
}

fn count<M: Memory, C: bits::Count>(i: &Instruction) -> Option<Handler<M>> {
    let size = size(i, 0)?;
    Some(if is_memory(i, 1) {
        bits::count_handler::<M, C, Mem>(size)
    } else {
        bits::count_handler::<M, C, Source>(size)
    })
}

fn flow<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    if i.is_jcc_short_or_near() {
        return Some(control::jump_if_handler(condition_of(i)?));
    }
    match i.code() {
        Code::Jmp_rel8_64 | Code::Jmp_rel32_64 => Some(control::jump::<M>),
        Code::Jmp_rm64 if is_memory(i, 0) => Some(control::jump_indirect::<M, Mem>),
        Code::Jmp_rm64 => {
            insn.source = insn.destination;
            Some(control::jump_indirect::<M, Source>)
        }
        Code::Call_rel32_64 => immediate(insn, i.next_ip(), control::call::<M>),
        Code::Call_rm64 if is_memory(i, 0) => immediate(insn, i.next_ip(), control::call_indirect::<M, Mem>),
        Code::Call_rm64 => {
            insn.source = insn.destination;
            immediate(insn, i.next_ip(), control::call_indirect::<M, Source>)
        }
        Code::Retnq | Code::Retnq_imm16 => Some(control::ret::<M>),
        Code::Jecxz_rel8_64 => Some(control::jump_if_rcx_zero::<M, u32>),
        Code::Jrcxz_rel8_64 => Some(control::jump_if_rcx_zero::<M, u64>),
        Code::Loop_rel8_64_ECX => immediate(insn, 0, control::loop_::<M, u32>),
        Code::Loop_rel8_64_RCX => immediate(insn, 0, control::loop_::<M, u64>),
        Code::Loope_rel8_64_ECX => immediate(insn, 1, control::loop_::<M, u32>),
        Code::Loope_rel8_64_RCX => immediate(insn, 1, control::loop_::<M, u64>),
        Code::Loopne_rel8_64_ECX => immediate(insn, 2, control::loop_::<M, u32>),
        Code::Loopne_rel8_64_RCX => immediate(insn, 2, control::loop_::<M, u64>),
        _ => None,
    }
}

/// Whether a `nop` is a begin or end marker of a region of interest.
pub(crate) fn is_mark(i: &Instruction) -> bool {
    let is_nop = matches!(i.mnemonic(), Op::Nop | Op::Reservednop);
    is_nop && i.memory_base() != Register::None && MARKS.contains(&i.memory_displacement64())
}

fn machine<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    match i.mnemonic() {
        Op::Nop | Op::Reservednop if is_mark(i) => {
            insn.displacement = i.memory_displacement64();
            immediate(insn, 0, system::mark::<M>)
        }
        Op::Nop
        | Op::Reservednop
        | Op::Endbr64
        | Op::Endbr32
        | Op::Pause
        | Op::Lfence
        | Op::Mfence
        | Op::Sfence
        | Op::Prefetch
        | Op::Prefetchnta
        | Op::Prefetcht0
        | Op::Prefetcht1
        | Op::Prefetcht2
        | Op::Prefetchw
        | Op::Cldemote => Some(system::nop::<M>),
        Op::Clflush | Op::Clflushopt | Op::Clwb => Some(system::flush::<M>),
        Op::Syscall => immediate(insn, i.next_ip(), system::syscall::<M>),
        Op::Cpuid => Some(cpuid::cpuid::<M>),
        Op::Rdtsc => immediate(insn, 0, system::rdtsc::<M>),
        Op::Rdtscp => immediate(insn, 0, system::rdtscp::<M>),
        Op::Cld => immediate(insn, 0, system::direction::<M>),
        Op::Std => immediate(insn, 1, system::direction::<M>),
        Op::Int3 => Some(system::breakpoint::<M>),
        Op::Int | Op::Int1 | Op::Iretq => Some(system::privileged::<M>),
        _ => None,
    }
}

fn strings<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    use string::{Cmps, Lods, Movs, Repeat, Scas, Stos, string_handler};
    insn.immediate = ELEMENTS;
    insn.unusual = (0..i.op_count()).map(|operand| string_pointer(i, operand)).fold(0, |all, one| all | one);
    let repeat = if i.has_repne_prefix() {
        Repeat::WhileNotEqual
    } else if i.has_rep_prefix() {
        Repeat::WhileEqual
    } else {
        Repeat::No
    };
    Some(match i.mnemonic() {
        Op::Movsb => string_handler::<M, Movs>(repeat, Size::B1),
        Op::Movsw => string_handler::<M, Movs>(repeat, Size::B2),
        Op::Movsd => string_handler::<M, Movs>(repeat, Size::B4),
        Op::Movsq => string_handler::<M, Movs>(repeat, Size::B8),
        Op::Stosb => string_handler::<M, Stos>(repeat, Size::B1),
        Op::Stosw => string_handler::<M, Stos>(repeat, Size::B2),
        Op::Stosd => string_handler::<M, Stos>(repeat, Size::B4),
        Op::Stosq => string_handler::<M, Stos>(repeat, Size::B8),
        Op::Lodsb => string_handler::<M, Lods>(repeat, Size::B1),
        Op::Lodsw => string_handler::<M, Lods>(repeat, Size::B2),
        Op::Lodsd => string_handler::<M, Lods>(repeat, Size::B4),
        Op::Lodsq => string_handler::<M, Lods>(repeat, Size::B8),
        Op::Cmpsb => string_handler::<M, Cmps>(repeat, Size::B1),
        Op::Cmpsw => string_handler::<M, Cmps>(repeat, Size::B2),
        Op::Cmpsd => string_handler::<M, Cmps>(repeat, Size::B4),
        Op::Cmpsq => string_handler::<M, Cmps>(repeat, Size::B8),
        Op::Scasb => string_handler::<M, Scas>(repeat, Size::B1),
        Op::Scasw => string_handler::<M, Scas>(repeat, Size::B2),
        Op::Scasd => string_handler::<M, Scas>(repeat, Size::B4),
        Op::Scasq => string_handler::<M, Scas>(repeat, Size::B8),
        _ => return None,
    })
}

/// The address size and segment of a string instruction's operand.
fn string_pointer(i: &Instruction, operand: u32) -> u8 {
    match i.op_kind(operand) {
        OpKind::MemorySegESI | OpKind::MemorySegSI => NARROW | segment(i.memory_segment()),
        OpKind::MemorySegRSI => segment(i.memory_segment()),
        OpKind::MemoryESEDI | OpKind::MemoryESDI => NARROW,
        _ => 0,
    }
}

/// The handler of a comparison fused with the conditional jump after it; the operands are the comparison's.
pub(crate) fn fuse<M: Memory>(comparison: &Instruction, jump: &Instruction) -> Option<Handler<M>> {
    if !jump.is_jcc_short_or_near() || !matches!(comparison.mnemonic(), Op::Cmp | Op::Test) {
        return None;
    }
    let condition = condition_of(jump)?;
    let (form, size) = form(comparison)?;
    Some(match comparison.mnemonic() {
        Op::Cmp => fused::cmp_jump_handler(form, size, condition),
        _ => fused::test_jump_handler(form, size, condition),
    })
}

#[cfg(test)]
mod tests {
    use super::super::operands::number;
    use super::*;

    #[test]
    fn high_bytes_have_numbers_of_their_own() {
        let named = [Register::BL, Register::AH, Register::SPL, Register::R9L, Register::R9D];
        assert_eq!(named.map(number), [3, HIGH, 4, 9, 9]);
    }
}
