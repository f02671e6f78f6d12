//! VOP1, VOP2 and VOPC in their short form, with a literal, or with an SDWA or DPP word.

use super::{Reason, Words, lookup, sub_dword};
use crate::inst::{Format, Inst, Operand};
use crate::ops::{Kind, Op, by_opcode};

/// Source codes that indicate a second word of another kind.
const SDWA: u32 = 249;
const DPP: u32 = 250;

pub(super) fn decode(words: Words) -> Result<Inst, Reason> {
    let (op, format) = match words.field(25, 6) {
        0x3e => (lookup(&by_opcode::VOPC, words.field(17, 8), "VOPC")?, Format::Vopc),
        0x3f => (lookup(&by_opcode::VOP1, words.field(9, 8), "VOP1")?, Format::Vop1),
        opcode => (lookup(&by_opcode::VOP2, opcode, "VOP2")?, Format::Vop2),
    };
    let info = op.info();
    let mut inst = Inst::bare(op, format, 4);

    // The destination: VOPC has no vector destination; VOP1 and VOP2 have it in the same field.
    inst.dst = match info.dst {
        Kind::None => Operand::NONE,
        Kind::S32 => op.field("sdst").scalar_register(words.field(17, 8), info.dst)?,
        kind => op.field("vdst").vgpr(words.field(17, 8), kind)?,
    };
    if info.sdst != Kind::None {
        inst.sdst = Operand::VCC;
    }

    // Source 1 is a vector register in these encodings.
    if info.src[1] != Kind::None {
        inst.src[1] = op.field("vsrc1").vgpr(words.field(9, 8), info.src[1])?;
    }
    if info.src[2] == Kind::Mask {
        inst.src[2] = Operand::VCC;
    }
    if op.accumulates() {
        inst.src[2] = inst.dst;
    }

    match words.field(0, 9) {
        code @ (SDWA | DPP | 255) if info.src[0] == Kind::None => {
            return Err(op.field("src0").wrong(code as u16, "announces a second word, which it has not"));
        }
        _ if info.src[0] == Kind::None => return Ok(inst),
        SDWA => sub_dword::sdwa(&mut inst, words.second()?)?,
        DPP => sub_dword::dpp(&mut inst, words.second()?)?,
        code => {
            inst.src[0] = op.field("src0").source(code, info.src[0])?;
            if inst.src[0] == Operand::LITERAL || op.has_literal_term() {
                inst.imm = words.second()?;
                inst.size = 8;
            }
        }
    }
    match op {
        // Source 1 of the encoding is the addend, not the factor.
        Op::VMadmkF32 | Op::VMadmkF16 => inst.src = [inst.src[0], Operand::LITERAL, inst.src[1]],
        Op::VMadakF32 | Op::VMadakF16 => inst.src[2] = Operand::LITERAL,
        _ => (),
    }
    inst.needs_vector_source()?;
    Ok(inst)
}

/// The graphics instruction of a VINTRP encoding, for the error message.
pub(super) fn interpolation(word: u32) -> Reason {
    match word >> 16 & 3 {
        0 => Reason::Graphics { mnemonic: "v_interp_p1_f32" },
        1 => Reason::Graphics { mnemonic: "v_interp_p2_f32" },
        2 => Reason::Graphics { mnemonic: "v_interp_mov_f32" },
        opcode => Reason::UnknownOpcode { encoding: "VINTRP", opcode },
    }
}
