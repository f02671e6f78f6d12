//! The layout of operands that most handlers expect.
//!
//! The first operand is the destination, the second the source. Each is a register or the memory operand. The second
//! may be an immediate, which is truncated to the width of the first.

use crate::exec::alu::Form;
use crate::insn::{FS, GS, HIGH, Insn, NARROW};
use crate::{Gprs, Memory, Reg, Size};
use iced_x86::{Instruction, OpKind, Register};

/// Fills in the operands.
pub(super) fn fill<M: Memory>(insn: &mut Insn<M>, instruction: &Instruction) {
    for i in 0..instruction.op_count() {
        match instruction.op_kind(i) {
            OpKind::Register => {
                let register = number(instruction.op_register(i));
                match i {
                    0 => insn.destination = register,
                    1 => insn.source = register,
                    _ => {}
                }
            }
            OpKind::Memory => memory(insn, instruction),
            kind if is_immediate(kind) => insn.immediate = instruction.immediate(i),
            _ => {}
        }
    }
    if instruction.is_stack_instruction() && !instruction.op_kinds().any(|kind| kind == OpKind::Memory) {
        // The address is not computed from this base, but the kind of fault depends on it.
        insn.base = Reg::Rsp as u8;
    }
}

fn memory<M: Memory>(insn: &mut Insn<M>, instruction: &Instruction) {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    insn.displacement = instruction.memory_displacement64();
    insn.shift = instruction.memory_index_scale().trailing_zeros() as u8;
    // For rip-relative addresses the displacement is already the sum.
    insn.base = if base.is_ip() { Gprs::NONE } else { slot(base) };
    insn.index = slot(index);
    let narrow_displacement = base == Register::None && index == Register::None && instruction.memory_displ_size() == 4;
    if base.size() == 4 || index.size() == 4 || narrow_displacement {
        insn.unusual |= NARROW;
    }
    insn.unusual |= segment(instruction.memory_segment());
}

/// The bits of a segment in [`Insn::unusual`]; only FS and GS have a base.
pub(super) fn segment(register: Register) -> u8 {
    match register {
        Register::FS => FS,
        Register::GS => GS,
        _ => 0,
    }
}

fn slot(register: Register) -> u8 {
    if register == Register::None { Gprs::NONE } else { register.number() as u8 }
}

/// The number of a register of any class.
pub(super) fn number(register: Register) -> u8 {
    match register {
        Register::AH => HIGH,
        Register::CH => HIGH + 1,
        Register::DH => HIGH + 2,
        Register::BH => HIGH + 3,
        // Among the 8-bit registers, these four come before SPL.
        other if other.is_gpr8() && other.number() >= 8 => other.number() as u8 - 4,
        other => other.number() as u8,
    }
}

pub(super) fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate8_2nd
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}

pub(super) fn is_memory(instruction: &Instruction, operand: u32) -> bool {
    instruction.op_kind(operand) == OpKind::Memory
}

/// The size of an operand of up to eight bytes.
pub(super) fn size(instruction: &Instruction, operand: u32) -> Option<Size> {
    let bytes = match instruction.op_kind(operand) {
        OpKind::Register => instruction.op_register(operand).size(),
        OpKind::Memory => instruction.memory_size().size(),
        _ => return None,
    };
    of_bytes(bytes)
}

pub(super) fn of_bytes(bytes: usize) -> Option<Size> {
    Some(match bytes {
        1 => Size::B1,
        2 => Size::B2,
        4 => Size::B4,
        8 => Size::B8,
        _ => return None,
    })
}

/// The form of a two-operand instruction, and the size of the first operand.
pub(super) fn form(instruction: &Instruction) -> Option<(Form, Size)> {
    let size = size(instruction, 0)?;
    let form = match (instruction.op_kind(0), instruction.op_kind(1)) {
        (OpKind::Register, OpKind::Register) => Form::RegisterRegister,
        (OpKind::Register, OpKind::Memory) => Form::RegisterMemory,
        (OpKind::Memory, OpKind::Register) => Form::MemoryRegister,
        (OpKind::Register, kind) if is_immediate(kind) => Form::RegisterImmediate,
        (OpKind::Memory, kind) if is_immediate(kind) => Form::MemoryImmediate,
        _ => return None,
    };
    Some((form, size))
}
