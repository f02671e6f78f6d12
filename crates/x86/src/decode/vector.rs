//! The handler of each instruction of the two floating-point units.

use super::operands::{is_immediate, is_memory, number, size};
use crate::exec::vector::{Aligned, Narrow, Unaligned, Xmm};
use crate::exec::{mmx, vector, x87};
use crate::insn::{Handler, Insn};
use crate::{Memory, Size};
use iced_x86::{Code, Instruction, Mnemonic as Op, OpKind, Register};

pub(super) fn handler<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    moves(insn, i).or_else(|| computation(insn, i)).or_else(|| stack_unit(insn, i)).or_else(|| mmx(insn, i))
}

/// Moves of xmm registers.
fn moves<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    let (to_memory, from_memory) = (is_memory(i, 0), i.op_count() > 1 && is_memory(i, 1));
    Some(match i.code() {
        Code::Movaps_xmm_xmmm128
        | Code::Movapd_xmm_xmmm128
        | Code::Movdqa_xmm_xmmm128
        | Code::Movntdqa_xmm_m128
        | Code::Movaps_xmmm128_xmm
        | Code::Movapd_xmmm128_xmm
        | Code::Movdqa_xmmm128_xmm
        | Code::Movntps_m128_xmm
        | Code::Movntpd_m128_xmm
        | Code::Movntdq_m128_xmm => match (to_memory, from_memory) {
            (true, _) => vector::store::<M, true>,
            (_, true) => vector::load::<M, Aligned>,
            _ => vector::load::<M, Xmm>,
        },
        Code::Movups_xmm_xmmm128
        | Code::Movupd_xmm_xmmm128
        | Code::Movdqu_xmm_xmmm128
        | Code::Lddqu_xmm_m128
        | Code::Movups_xmmm128_xmm
        | Code::Movupd_xmmm128_xmm
        | Code::Movdqu_xmmm128_xmm => match (to_memory, from_memory) {
            (true, _) => vector::store::<M, false>,
            (_, true) => vector::load::<M, Unaligned>,
            _ => vector::load::<M, Xmm>,
        },
        Code::Movss_xmm_xmmm32 | Code::Movss_xmmm32_xmm => match (to_memory, from_memory) {
            (true, _) => vector::store_part::<M, u32, 0>,
            (_, true) => vector::load::<M, Narrow<u32>>,
            _ => vector::merge::<M, u32>,
        },
        Code::Movsd_xmm_xmmm64 | Code::Movsd_xmmm64_xmm => match (to_memory, from_memory) {
            (true, _) => vector::store_part::<M, u64, 0>,
            (_, true) => vector::load::<M, Narrow<u64>>,
            _ => vector::merge::<M, u64>,
        },
        Code::Movq_xmm_xmmm64 | Code::Movq_xmmm64_xmm => match (to_memory, from_memory) {
            (true, _) => vector::store_part::<M, u64, 0>,
            (_, true) => vector::load::<M, Narrow<u64>>,
            _ => vector::low::<M>,
        },
        Code::Movd_xmm_rm32 if from_memory => vector::load::<M, Narrow<u32>>,
        Code::Movd_xmm_rm32 => vector::from_gpr::<M, u32>,
        Code::Movq_xmm_rm64 if from_memory => vector::load::<M, Narrow<u64>>,
        Code::Movq_xmm_rm64 => vector::from_gpr::<M, u64>,
        Code::Movd_rm32_xmm if to_memory => vector::store_part::<M, u32, 0>,
        Code::Movd_rm32_xmm => vector::to_gpr::<M, u32>,
        Code::Movq_rm64_xmm if to_memory => vector::store_part::<M, u64, 0>,
        Code::Movq_rm64_xmm => vector::to_gpr::<M, u64>,
        Code::Movlps_xmm_m64 | Code::Movlpd_xmm_m64 => vector::half::<M, Narrow<u64>, 0, 0>,
        Code::Movhps_xmm_m64 | Code::Movhpd_xmm_m64 => vector::half::<M, Narrow<u64>, 0, 64>,
        Code::Movlps_m64_xmm | Code::Movlpd_m64_xmm => vector::store_part::<M, u64, 0>,
        Code::Movhps_m64_xmm | Code::Movhpd_m64_xmm => vector::store_part::<M, u64, 64>,
        Code::Movhlps_xmm_xmm => vector::half::<M, Xmm, 64, 0>,
        Code::Movlhps_xmm_xmm => vector::half::<M, Xmm, 0, 64>,
        Code::Maskmovdqu_rDI_xmm_xmm => {
            mask_operands(insn, i);
            vector::store_masked::<M>
        }
        Code::Ldmxcsr_m32 => vector::ldmxcsr::<M>,
        Code::Stmxcsr_m32 => vector::stmxcsr::<M>,
        Code::Fxsave_m512byte | Code::Fxsave64_m512byte => x87::fxsave::<M>,
        Code::Fxrstor_m512byte | Code::Fxrstor64_m512byte => x87::fxrstor::<M>,
        _ => return None,
    })
}

/// SSE instructions that compute.
fn computation<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    let memory = (0..i.op_count()).find(|operand| is_memory(i, *operand));
    let bytes = memory.map(|_| i.memory_size().size() as u64);
    let gpr = if i.op_count() > 1 { size(i, 1).unwrap_or(Size::B8) } else { Size::B8 };
    let handler = vector::handler::<M>(i.code(), bytes, memory == Some(0), gpr)?;
    let immediate = (0..i.op_count()).rev().find(|operand| is_immediate(i.op_kind(*operand)));
    let immediate = immediate.map_or(0, |operand| i.immediate(operand) as u8);
    insn.immediate = vector::pack(i.code(), memory.is_some(), immediate);
    Some(handler)
}

/// Instructions on mm registers.
fn mmx<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    let memory = (0..i.op_count()).any(|operand| is_memory(i, operand));
    let handler = mmx::handler::<M>(i.code(), memory)?;
    if i.code() == Code::Maskmovq_rDI_mm_mm {
        mask_operands(insn, i);
    }
    let immediate = (0..i.op_count()).rev().find(|operand| is_immediate(i.op_kind(*operand)));
    let immediate = immediate.map_or(0, |operand| i.immediate(operand) as u8);
    insn.immediate = mmx::pack(i.code(), if memory { i.memory_size().size() as u8 } else { 0 }, immediate);
    Some(handler)
}

/// The operands of `maskmovdqu` and `maskmovq`; the first is implicit.
fn mask_operands<M: Memory>(insn: &mut Insn<M>, i: &Instruction) {
    insn.destination = number(i.op_register(1));
    insn.source = number(i.op_register(2));
    insn.unusual = super::operands::segment(i.memory_segment());
    if i.op0_kind() == OpKind::MemorySegEDI {
        insn.unusual |= crate::insn::NARROW;
    }
}

/// x87 instructions.
fn stack_unit<M: Memory>(insn: &mut Insn<M>, i: &Instruction) -> Option<Handler<M>> {
    let handler = x87::handler::<M>(i.code(), i.memory_size().size() as u64)?;
    insn.immediate = i.code() as u64;
    insn.source = stack_register(i);
    if let Some(condition) = condition(i.mnemonic()) {
        insn.destination = condition;
    }
    Some(handler)
}

/// The i of the register st(i) that an instruction names besides st(0).
fn stack_register(i: &Instruction) -> u8 {
    let named = (0..i.op_count()).filter(|operand| i.op_kind(*operand) == OpKind::Register).map(|o| i.op_register(o));
    named
        .filter(|register| register.is_st())
        .map(|register| (register as u32 - Register::ST0 as u32) as u8)
        .max()
        .unwrap_or(0)
}

/// The number of the condition of an `fcmovcc`.
fn condition(op: Op) -> Option<u8> {
    Some(match op {
        Op::Fcmovb => 2,
        Op::Fcmovnb => 3,
        Op::Fcmove => 4,
        Op::Fcmovne => 5,
        Op::Fcmovbe => 6,
        Op::Fcmovnbe => 7,
        Op::Fcmovu => 10,
        Op::Fcmovnu => 11,
        _ => return None,
    })
}
