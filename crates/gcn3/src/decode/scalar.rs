//! SOP2, SOPK, SOP1, SOPC and SOPP: scalar arithmetic, and control flow.

use super::{Reason, Words, lookup};
use crate::inst::{Extra, Format, HwReg, Inst, Operand};
use crate::ops::{Kind, Op, by_opcode};

pub(super) fn decode(words: Words) -> Result<Inst, Reason> {
    match words.first >> 23 {
        0b1_0111_1101 => sop1(words),
        0b1_0111_1110 => sopc(words),
        0b1_0111_1111 => sopp(words),
        _ if words.first >> 28 == 0b1011 => sopk(words),
        _ => sop2(words),
    }
}

fn sop2(words: Words) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::SOP2, words.field(23, 7), "SOP2")?;
    let mut inst = Inst::bare(op, Format::Sop2, 4);
    if op.info().dst != Kind::None {
        inst.dst = op.field("sdst").scalar_register(words.field(16, 7), op.info().dst)?;
    }
    inst.scalar_source(words, 0, 0)?;
    inst.scalar_source(words, 1, 8)?;
    Ok(inst)
}

fn sop1(words: Words) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::SOP1, words.field(8, 8), "SOP1")?;
    let mut inst = Inst::bare(op, Format::Sop1, 4);
    if op.info().dst != Kind::None {
        inst.dst = op.field("sdst").scalar_register(words.field(16, 7), op.info().dst)?;
    }
    if op.info().src[0] != Kind::None {
        inst.scalar_source(words, 0, 0)?;
    }
    let by_number = matches!(op, Op::SSetpcB64 | Op::SRfeB64 | Op::SMovrelsB32 | Op::SMovrelsB64 | Op::SCbranchJoin);
    if by_number && inst.src[0].as_scalar_register().is_none() {
        return Err(op.field("ssrc0").wrong(inst.src[0].code(), "is not a register"));
    }
    Ok(inst)
}

fn sopc(words: Words) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::SOPC, words.field(16, 7), "SOPC")?;
    let mut inst = Inst::bare(op, Format::Sopc, 4);
    inst.scalar_source(words, 0, 0)?;
    if op == Op::SSetGprIdxOn {
        // The second source field is a set of flags, not a register.
        inst.imm = words.field(8, 8);
        if inst.src[0] == Operand::LITERAL {
            return Err(op.field("ssrc0").wrong(255, "cannot be a literal here"));
        }
    } else {
        inst.scalar_source(words, 1, 8)?;
    }
    Ok(inst)
}

fn sopp(words: Words) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::SOPP, words.field(16, 7), "SOPP")?;
    let mut inst = Inst::bare(op, Format::Sopp, 4);
    inst.imm = sign_extended(words);
    Ok(inst)
}

fn sopk(words: Words) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::SOPK, words.field(23, 5), "SOPK")?;
    let mut inst = Inst::bare(op, Format::Sopk, 4);
    let info = op.info();
    let unsigned = matches!(info.opcode, 0x08..=0x0d); // s_cmpk_eq_u32 to s_cmpk_le_u32
    inst.imm = if unsigned { words.field(0, 16) } else { sign_extended(words) };
    // The single register field is the destination, the first source, or both.
    let field = op.field("sdst");
    let register = words.field(16, 7);
    match op {
        Op::SMovkI32 | Op::SCmovkI32 => {
            inst.dst = field.scalar_register(register, info.dst)?;
            inst.src[0] = Operand::LITERAL;
        }
        Op::SAddkI32 | Op::SMulkI32 => {
            inst.dst = field.scalar_register(register, info.dst)?;
            inst.src[0] = inst.dst;
            inst.src[1] = Operand::LITERAL;
        }
        Op::SCbranchIFork => inst.src[0] = field.scalar_register(register, info.src[0])?,
        Op::SGetregB32 => {
            inst.dst = field.scalar_register(register, info.dst)?;
            inst.extra = hardware_register(words);
        }
        Op::SSetregB32 => {
            inst.src[0] = field.scalar_register(register, info.src[0])?;
            inst.extra = hardware_register(words);
        }
        Op::SSetregImm32B32 => {
            inst.src[0] = Operand::LITERAL;
            inst.imm = words.second()?;
            inst.size = 8;
            inst.extra = hardware_register(words);
        }
        _ => {
            inst.src[0] = field.scalar_register(register, info.src[0])?;
            inst.src[1] = Operand::LITERAL;
        }
    }
    Ok(inst)
}

fn sign_extended(words: Words) -> u32 {
    words.field(0, 16) as u16 as i16 as u32
}

fn hardware_register(words: Words) -> Extra {
    let (id, offset, size) = (words.field(0, 6), words.field(6, 5), words.field(11, 5) + 1);
    Extra::HwReg(HwReg { id: id as u8, offset: offset as u8, size: size as u8 })
}

impl Inst {
    /// Decodes source `n` of a scalar instruction from the eight bits at `low`, with the literal after the instruction.
    fn scalar_source(&mut self, words: Words, n: usize, low: u32) -> Result<(), Reason> {
        let field = self.op.field(if n == 0 { "ssrc0" } else { "ssrc1" });
        let code = words.field(low, 8);
        self.src[n] = field.source(code, self.op.info().src[n])?;
        if self.src[n] == Operand::LITERAL {
            self.imm = words.second()?;
            self.size = 8;
        }
        if self.src[n] == Operand::LDS_DIRECT {
            return Err(field.wrong(254, "is not a possible source of a scalar instruction"));
        }
        Ok(())
    }
}
