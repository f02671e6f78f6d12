//! The second word of VOP1, VOP2 and VOPC instructions in SDWA and DPP form.

use super::Reason;
use crate::inst::{Dpp, DppControl, Extra, Format, Inst, Mods, Omod, Operand, Sdwa, Select, Unused};
use crate::ops::{Encoding, Kind, Op};

/// Sub-dword addressing.
pub(super) fn sdwa(inst: &mut Inst, word: u32) -> Result<(), Reason> {
    let op = inst.op;
    if is_whole_only(op) {
        return Err(Reason::Modifier { op, what: "has no SDWA form" });
    }
    let field = |low: u32, width: u32| word >> low & ((1 << width) - 1);
    let two_sources = op.info().src[1] != Kind::None;
    let compares = op.info().encoding == Encoding::Vopc;
    let select = |code, part| select(code).ok_or(op.field(part).wrong(code as u16, "selects no part of a register"));

    let whole = Sdwa { dst_sel: Select::Dword, dst_unused: Unused::Pad, src_sel: [Select::Dword; 2], sext: 0 };
    let mut sdwa = Sdwa { src_sel: [select(field(16, 3), "src0_sel")?, Select::Dword], ..whole };
    let mut bits = [field(19, 3), 0];
    if two_sources {
        sdwa.src_sel[1] = select(field(24, 3), "src1_sel")?;
        bits[1] = field(27, 3);
    }
    // A compare writes a mask, which has no sub-dword parts.
    if !compares {
        sdwa.dst_sel = select(field(8, 3), "dst_sel")?;
        sdwa.dst_unused = match field(11, 2) {
            0 => Unused::Pad,
            1 => Unused::Sext,
            2 => Unused::Preserve,
            code => return Err(op.field("dst_unused").wrong(code as u16, "is reserved")),
        };
    }
    let mut mods = Mods { clamp: field(13, 1) != 0, omod: Omod::None, ..Mods::default() };
    for (n, bits) in bits.into_iter().enumerate() {
        sdwa.sext |= ((bits & 1) << n) as u8;
        mods.neg |= ((bits >> 1 & 1) << n) as u8;
        mods.abs |= ((bits >> 2 & 1) << n) as u8;
    }

    if (mods.abs | mods.neg) & !op.modified_sources() != 0 {
        return Err(Reason::Modifier { op, what: "cannot negate or make absolute an integer" });
    }
    if sdwa.sext & op.modified_sources() != 0 {
        return Err(Reason::Modifier { op, what: "cannot sign-extend a float" });
    }
    inst.src[0] = Operand::vgpr(field(0, 8) as u8);
    inst.format = Format::Sdwa;
    inst.size = 8;
    inst.mods = mods;
    inst.extra = Extra::Sdwa(sdwa);
    Ok(())
}

fn select(code: u32) -> Option<Select> {
    use Select::*;
    [Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword].get(code as usize).copied()
}

/// Data-parallel primitives.
pub(super) fn dpp(inst: &mut Inst, word: u32) -> Result<(), Reason> {
    let op = inst.op;
    if is_whole_only(op) || op.info().encoding == Encoding::Vopc {
        return Err(Reason::Modifier { op, what: "has no DPP form" });
    }
    let field = |low: u32, width: u32| word >> low & ((1 << width) - 1);
    let code = field(8, 9);
    let control = match code {
        0x000..=0x0ff => DppControl::QuadPerm(code as u8),
        0x101..=0x10f => DppControl::RowShl(code as u8 & 15),
        0x111..=0x11f => DppControl::RowShr(code as u8 & 15),
        0x121..=0x12f => DppControl::RowRor(code as u8 & 15),
        0x130 => DppControl::WaveShl,
        0x134 => DppControl::WaveRol,
        0x138 => DppControl::WaveShr,
        0x13c => DppControl::WaveRor,
        0x140 => DppControl::RowMirror,
        0x141 => DppControl::RowHalfMirror,
        0x142 => DppControl::RowBcast15,
        0x143 => DppControl::RowBcast31,
        _ => return Err(op.field("dpp_ctrl").wrong(code as u16, "is reserved")),
    };
    let two_sources = op.info().src[1] != Kind::None;
    let sources = if two_sources { 0b11 } else { 0b01 };
    inst.mods.neg = (field(20, 1) | field(22, 1) << 1) as u8 & sources;
    inst.mods.abs = (field(21, 1) | field(23, 1) << 1) as u8 & sources;
    if (inst.mods.abs | inst.mods.neg) & !op.modified_sources() != 0 {
        return Err(Reason::Modifier { op, what: "cannot negate or make absolute an integer" });
    }
    inst.src[0] = Operand::vgpr(field(0, 8) as u8);
    inst.format = Format::Dpp;
    inst.size = 8;
    inst.extra = Extra::Dpp(Dpp {
        control,
        row_mask: field(28, 4) as u8,
        bank_mask: field(24, 4) as u8,
        bound_ctrl: field(19, 1) != 0,
    });
    Ok(())
}

/// Whether an instruction has neither form, because it has operands longer than a register or reads registers by
/// number.
fn is_whole_only(op: Op) -> bool {
    let info = op.info();
    let wide = |kind: &Kind| *kind != Kind::Mask && kind.registers() > 1;
    let by_number = matches!(op, Op::VReadfirstlaneB32 | Op::VMovreldB32 | Op::VMovrelsB32 | Op::VMovrelsdB32);
    wide(&info.dst) || info.src.iter().any(wide) || op.has_literal_term() || by_number
}
