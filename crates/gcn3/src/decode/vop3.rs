//! VOP3: vector instructions with up to three arbitrary sources, modifiers, and a selectable scalar destination.

use super::{Pair, Reason, lookup};
use crate::inst::{Format, Inst, Mods, Omod, Operand};
use crate::ops::{Encoding, Info, Kind, Op, by_opcode};

pub(super) fn decode(word: Pair) -> Result<Inst, Reason> {
    let opcode = word.field(16, 10);
    if let Some(mnemonic) = interpolation(opcode) {
        return Err(Reason::Graphics { mnemonic });
    }
    let op = lookup(&by_opcode::VOP3, opcode, "VOP3")?;
    let info = op.info();
    let compares = info.encoding == Encoding::Vopc;
    let has_sdst = info.sdst != Kind::None && !compares;
    let mut inst = Inst::bare(op, if has_sdst { Format::Vop3b } else { Format::Vop3a }, 8);

    inst.dst = match info.dst {
        Kind::None => Operand::NONE,
        Kind::S32 => op.field("sdst").scalar_register(word.field(0, 8), info.dst)?,
        kind => op.field("vdst").vgpr(word.field(0, 8), kind)?,
    };
    if compares {
        inst.sdst = op.field("sdst").scalar_register(word.field(0, 8), info.sdst)?;
    } else if has_sdst {
        inst.sdst = op.field("sdst").scalar_register(word.field(8, 7), info.sdst)?;
    }

    for (n, (name, low)) in [("src0", 32), ("src1", 41), ("src2", 50)].into_iter().enumerate() {
        if info.src[n] != Kind::None {
            inst.src[n] = source(op, n, name, word.field(low, 9))?;
        }
    }
    if op.accumulates() {
        inst.src[2] = inst.dst;
    }
    inst.needs_vector_source()?;
    inst.mods = modifiers(op, word, has_sdst)?;
    Ok(inst)
}

fn source(op: Op, n: usize, name: &'static str, code: u32) -> Result<Operand, Reason> {
    let field = op.field(name);
    if op.accumulates() && n == 2 {
        return Ok(Operand::NONE); // the field is unused: the destination is the third source
    }
    let kind = op.info().src[n];
    let operand = field.source(code, kind)?;
    let wrong = match kind {
        _ if operand == Operand::LITERAL => Some("is a literal, which VOP3 has no room for"),
        Kind::Mask if code > 127 => Some("is not a pair of scalar registers"),
        Kind::S32 if operand.is_vgpr() => Some("is a vector register; a scalar register is required"),
        _ => None,
    };
    wrong.map_or(Ok(operand), |why| Err(field.wrong(code as u16, why)))
}

/// The abs, neg, omod and clamp fields; fields that the instruction does not support are rejected.
fn modifiers(op: Op, word: Pair, has_sdst: bool) -> Result<Mods, Reason> {
    let info = op.info();
    let refuse = |what| Err(Reason::Modifier { op, what });
    let abs = if has_sdst { 0 } else { word.field(8, 3) as u8 };
    let neg = word.field(61, 3) as u8;
    let omod = word.field(59, 2);
    let clamp = word.bit(15);
    if (abs | neg) & !op.modified_sources() != 0 {
        return refuse("cannot negate or make absolute this source");
    }
    if omod != 0 && !has_omod(op, info) {
        return refuse("has no output multiplier");
    }
    if clamp && !has_clamp(op, info) {
        return refuse("cannot clamp its result");
    }
    let omod = [Omod::None, Omod::Mul2, Omod::Mul4, Omod::Div2][omod as usize];
    Ok(Mods { abs, neg, omod, clamp })
}

fn touches_float(info: &Info) -> bool {
    info.dst.is_float() || info.src[0].is_float()
}

fn has_omod(op: Op, info: &Info) -> bool {
    let without = matches!(
        op,
        Op::VCvtRpiI32F32
            | Op::VCvtFlrI32F32
            | Op::VFrexpExpI32F32
            | Op::VCvtPknormI16F32
            | Op::VCvtPknormU16F32
            | Op::VCvtPkU8F32
            | Op::VCvtPkaccumU8F32
    );
    touches_float(info) && info.encoding != Encoding::Vopc && !without
}

fn has_clamp(op: Op, info: &Info) -> bool {
    let integer = matches!(
        op,
        Op::VMulI32I24
            | Op::VMulU32U24
            | Op::VMadI32I24
            | Op::VMadU32U24
            | Op::VAddU16
            | Op::VSubU16
            | Op::VSubrevU16
            | Op::VMadU16
            | Op::VMadI16
            | Op::VSadU8
            | Op::VSadHiU8
            | Op::VSadU16
            | Op::VSadU32
            | Op::VMsadU8
            | Op::VQsadPkU16U8
            | Op::VMqsadPkU16U8
            | Op::VMqsadU32U8
    );
    let carries = info.sdst != Kind::None && info.encoding != Encoding::Vopc;
    integer || carries || touches_float(info) && !info.mnemonic.contains("_class_")
}

fn interpolation(opcode: u32) -> Option<&'static str> {
    Some(match opcode {
        0x270 => "v_interp_p1_f32",
        0x271 => "v_interp_p2_f32",
        0x272 => "v_interp_mov_f32",
        0x274 => "v_interp_p1ll_f16",
        0x275 => "v_interp_p1lv_f16",
        0x276 => "v_interp_p2_f16",
        _ => return None,
    })
}
