//! Generates operands by kind: registers, interesting immediates, addresses in the scratch bytes in all addressing
//! modes.

use super::generate::stores_image;
use super::random::Random;
use super::state::{IMAGE, SCRATCH};
use super::values;
use iced_x86::{Instruction, Mnemonic, OpCodeOperandKind, OpKind, Register};

/// Sets an operand; none if that is not possible.
pub fn choose_operand(
    instruction: &mut Instruction,
    operand: u32,
    kind: OpCodeOperandKind,
    random: &mut Random,
) -> Option<()> {
    use OpCodeOperandKind as K;
    let register = |random: &mut Random, first: Register| {
        // All but rsp, r14 and r15.
        const NUMBERS: [u32; 13] = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13];
        Some(first + random.pick(&NUMBERS))
    };
    let chosen = match kind {
        K::r8_reg | K::r8_opcode => Some(byte_register(random)),
        K::r16_reg | K::r16_rm | K::r16_opcode => register(random, Register::AX),
        K::r32_reg | K::r32_rm | K::r32_opcode => register(random, Register::EAX),
        K::r64_reg | K::r64_rm | K::r64_opcode => register(random, Register::RAX),
        K::r8_or_mem if random.chance(50) => Some(byte_register(random)),
        K::r16_or_mem if random.chance(50) => register(random, Register::AX),
        K::r32_or_mem if random.chance(50) => register(random, Register::EAX),
        K::r64_or_mem if random.chance(50) => register(random, Register::RAX),
        K::xmm_reg | K::xmm_rm => Some(Register::XMM0 + random.below(16) as u32),
        K::xmm_or_mem if random.chance(60) => Some(Register::XMM0 + random.below(16) as u32),
        K::mm_reg | K::mm_rm => Some(Register::MM0 + random.below(8) as u32),
        K::mm_or_mem if random.chance(60) => Some(Register::MM0 + random.below(8) as u32),
        K::al => Some(Register::AL),
        K::cl => Some(Register::CL),
        K::ax => Some(Register::AX),
        K::dx => Some(Register::DX),
        K::eax => Some(Register::EAX),
        K::rax => Some(Register::RAX),
        K::st0 => Some(Register::ST0),
        K::sti_opcode => Some(Register::ST0 + random.below(8) as u32),
        _ => None,
    };
    if let Some(register) = chosen {
        instruction.set_op_kind(operand, OpKind::Register);
        instruction.set_op_register(operand, register);
        return Some(());
    }
    match kind {
        K::r8_or_mem | K::r16_or_mem | K::r32_or_mem | K::r64_or_mem | K::xmm_or_mem | K::mm_or_mem | K::mem => {
            instruction.set_op_kind(operand, OpKind::Memory);
            choose_address(instruction, random);
        }
        K::mem_offs => {
            instruction.set_op_kind(operand, OpKind::Memory);
            instruction.set_memory_displ_size(8);
            instruction.set_memory_displacement64(SCRATCH + 0x400 + random.below(0x200) as u64);
        }
        K::imm8 => {
            instruction.set_op_kind(operand, OpKind::Immediate8);
            instruction.set_immediate8(random.bits() as u8);
        }
        K::imm8_const_1 => {
            instruction.set_op_kind(operand, OpKind::Immediate8);
            instruction.set_immediate8(1);
        }
        K::imm8sex16 => {
            instruction.set_op_kind(operand, OpKind::Immediate8to16);
            instruction.set_immediate8to16(random.bits() as i8 as i16);
        }
        K::imm8sex32 => {
            instruction.set_op_kind(operand, OpKind::Immediate8to32);
            instruction.set_immediate8to32(random.bits() as i8 as i32);
        }
        K::imm8sex64 => {
            instruction.set_op_kind(operand, OpKind::Immediate8to64);
            instruction.set_immediate8to64(random.bits() as i8 as i64);
        }
        K::imm16 => {
            instruction.set_op_kind(operand, OpKind::Immediate16);
            instruction.set_immediate16(values::integer(random) as u16);
        }
        K::imm32 => {
            instruction.set_op_kind(operand, OpKind::Immediate32);
            instruction.set_immediate32(values::integer(random) as u32);
        }
        K::imm32sex64 => {
            instruction.set_op_kind(operand, OpKind::Immediate32to64);
            instruction.set_immediate32to64(values::integer(random) as i32 as i64);
        }
        K::imm64 => {
            instruction.set_op_kind(operand, OpKind::Immediate64);
            instruction.set_immediate64(values::integer(random));
        }
        K::seg_rSI => instruction.set_op_kind(operand, OpKind::MemorySegRSI),
        K::es_rDI => instruction.set_op_kind(operand, OpKind::MemoryESRDI),
        K::seg_rDI => instruction.set_op_kind(operand, OpKind::MemorySegRDI),
        K::seg_rBX_al => {
            instruction.set_op_kind(operand, OpKind::Memory);
            instruction.set_memory_base(Register::RBX);
            instruction.set_memory_index(Register::AL);
        }
        _ => return None,
    }
    Some(())
}

fn byte_register(random: &mut Random) -> Register {
    const BYTES: [Register; 17] = [
        Register::AL,
        Register::CL,
        Register::DL,
        Register::BL,
        Register::AH,
        Register::CH,
        Register::DH,
        Register::BH,
        Register::BPL,
        Register::SIL,
        Register::DIL,
        Register::R8L,
        Register::R9L,
        Register::R10L,
        Register::R11L,
        Register::R12L,
        Register::R13L,
    ];
    random.pick(&BYTES)
}

/// Sets an address in the scratch bytes in a random addressing mode; one in fifty is arbitrary.
fn choose_address(instruction: &mut Instruction, random: &mut Random) {
    if stores_image(instruction) || matches!(instruction.mnemonic(), Mnemonic::Fxrstor | Mnemonic::Fxrstor64) {
        // A random image would be rejected, mostly for its MXCSR: use the location of stored images.
        instruction.set_memory_displ_size(4);
        instruction.set_memory_displacement64(IMAGE);
        return;
    }
    let aligned = random.chance(80);
    let offset = random.below(0x200) as u64 & if aligned { !15 } else { !0 };
    let (base, index, displacement, size) = match random.below(100) {
        0..30 => (Register::R15, Register::None, offset, 4),
        30..45 => (Register::R15, Register::None, offset & 0x7f, 1),
        45..60 => (Register::R15, Register::R14, offset, 4),
        60..75 => (Register::None, Register::None, SCRATCH + 0x400 + offset, 4),
        75..83 => (Register::RIP, Register::None, SCRATCH + 0x400 + offset, 8),
        83..90 => (Register::R15D, Register::None, offset, 4),
        90..95 => (Register::RSP, Register::None, offset & 0x7f, 1),
        95..98 => (Register::None, Register::R14, SCRATCH + 0x400 + offset, 4),
        _ => (Register::RAX + random.below(14) as u32, Register::None, offset & 0x7f, 1),
    };
    if random.chance(4) {
        // Segments with a base of zero.
        let segments = [Register::CS, Register::DS, Register::ES, Register::SS, Register::GS];
        instruction.set_segment_prefix(random.pick(&segments));
    }
    instruction.set_memory_base(base);
    instruction.set_memory_index(index);
    if index != Register::None {
        instruction.set_memory_index_scale(1 << random.below(4));
    }
    instruction.set_memory_displ_size(size);
    instruction.set_memory_displacement64(displacement);
}
