//! SMEM: loads and stores of scalar registers, and the scalar data cache.

use super::{Pair, Reason, lookup};
use crate::inst::{Extra, Flags, Format, Inst, MemoryFields, Operand};
use crate::ops::{Kind, Op, by_opcode};

pub(super) fn decode(word: Pair) -> Result<Inst, Reason> {
    let op = lookup(&by_opcode::SMEM, word.field(18, 8), "SMEM")?;
    let info = op.info();
    let mut inst = Inst::bare(op, Format::Smem, 8);
    if word.field(13, 3) != 0 {
        return Err(Reason::Modifier { op, what: "has bits 15:13 set, which only later chips know" });
    }
    if info.src[0] != Kind::None {
        // The base field counts register pairs.
        inst.src[0] = op.field("sbase").scalar_register(word.field(0, 6) * 2, info.src[0])?;
        if word.bit(17) {
            inst.src[1] = Operand::LITERAL;
            inst.imm = word.field(32, 20);
        } else {
            inst.src[1] = op.field("soffset").scalar_register(word.field(32, 7), info.src[1])?;
        }
    }
    let data = word.field(6, 7);
    if info.dst != Kind::None && data >= 124 {
        return Err(op.field("sdata").wrong(data as u16, "cannot be loaded"));
    }
    if info.dst != Kind::None {
        inst.dst = op.field("sdata").scalar_register(data, info.dst)?;
    }
    if info.src[2] != Kind::None {
        inst.src[2] = op.field("sdata").scalar_register(data, info.src[2])?;
    }
    let mut memory = MemoryFields { flags: Flags::default().with(Flags::GLC, word.bit(16)), ..MemoryFields::default() };
    if matches!(op, Op::SAtcProbe | Op::SAtcProbeBuffer) {
        // Not a register, but the kind of access to probe for.
        memory.dmask = data as u8;
    }
    inst.extra = Extra::Memory(memory);
    Ok(inst)
}
