//! Vector arithmetic with its modifiers.

use std::fmt::{self, Display, Formatter};

use super::List;
use super::operand::OperandText;
use crate::inst::{DppControl, Format, Inst, Mods, Omod, Operand, Select, Unused};
use crate::ops::{Encoding, Kind, Op};

/// VOP1, VOP2, VOPC and VOP3.
pub(super) fn plain(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let vop3 = matches!(inst.format, Format::Vop3a | Format::Vop3b);
    operands(inst, f, |n, operand| Modified { operand, n, mods: inst.mods, sext: false })?;
    if vop3 {
        f.write_str(if inst.mods.clamp { " clamp" } else { "" })?;
        f.write_str(match inst.mods.omod {
            Omod::None => "",
            Omod::Mul2 => " mul:2",
            Omod::Mul4 => " mul:4",
            Omod::Div2 => " div:2",
        })?;
    }
    Ok(())
}

/// Destinations and sources, including implicit ones that assembly shows.
fn operands<'a, D: Display>(
    inst: &'a Inst,
    f: &mut Formatter<'_>,
    mut source_text: impl FnMut(usize, OperandText) -> D + 'a,
) -> fmt::Result {
    let info = inst.op.info();
    let mut list = List::new(f);
    if !inst.dst.is_none() {
        list.item(inst.operand(inst.dst, info.dst))?;
    }
    if !inst.sdst.is_none() {
        list.item(inst.operand(inst.sdst, info.sdst))?;
    }
    let shown = if inst.op.accumulates() { 2 } else { 3 };
    for n in 0..shown {
        // LLVM prints the exponent operand of a half like a half.
        let kind = if inst.op == Op::VLdexpF16 { Kind::F16 } else { info.src[n] };
        if !inst.src[n].is_none() {
            let term = inst.op.has_literal_term() && inst.src[n] == Operand::LITERAL && n > 0;
            if term {
                list.item(format_args!("{:#x}", inst.imm))?;
            } else {
                list.item(source_text(n, inst.operand(inst.src[n], kind)))?;
            }
        }
    }
    Ok(())
}

/// A source with its modifiers: `-v1`, `|v1|`, `-|v1|`, `neg(1.0)`, `sext(v1)`.
struct Modified {
    operand: OperandText,
    n: usize,
    mods: Mods,
    sext: bool,
}

impl Display for Modified {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (abs, neg) = (self.mods.abs >> self.n & 1 != 0, self.mods.neg >> self.n & 1 != 0);
        match (neg, abs) {
            (true, true) => write!(f, "-|{}|", self.operand),
            (false, true) => write!(f, "|{}|", self.operand),
            // With a minus sign it would be a different constant.
            (true, false) if self.operand.is_constant() => write!(f, "neg({})", self.operand),
            (true, false) => write!(f, "-{}", self.operand),
            (false, false) if self.sext => write!(f, "sext({})", self.operand),
            (false, false) => self.operand.fmt(f),
        }
    }
}

pub(super) fn sdwa(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let Some(sdwa) = inst.sdwa() else { return Ok(()) };
    operands(inst, f, |n, operand| Modified { operand, n, mods: inst.mods, sext: sdwa.sext >> n & 1 != 0 })?;
    f.write_str(if inst.mods.clamp { " clamp" } else { "" })?;
    if inst.op.info().encoding != Encoding::Vopc {
        let unused = match sdwa.dst_unused {
            Unused::Pad => "UNUSED_PAD",
            Unused::Sext => "UNUSED_SEXT",
            Unused::Preserve => "UNUSED_PRESERVE",
        };
        write!(f, " dst_sel:{} dst_unused:{unused}", select(sdwa.dst_sel))?;
    }
    write!(f, " src0_sel:{}", select(sdwa.src_sel[0]))?;
    if inst.op.info().src[1] != Kind::None {
        write!(f, " src1_sel:{}", select(sdwa.src_sel[1]))?;
    }
    Ok(())
}

fn select(select: Select) -> &'static str {
    match select {
        Select::Byte0 => "BYTE_0",
        Select::Byte1 => "BYTE_1",
        Select::Byte2 => "BYTE_2",
        Select::Byte3 => "BYTE_3",
        Select::Word0 => "WORD_0",
        Select::Word1 => "WORD_1",
        Select::Dword => "DWORD",
    }
}

pub(super) fn dpp(inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    let Some(dpp) = inst.dpp() else { return Ok(()) };
    operands(inst, f, |n, operand| Modified { operand, n, mods: inst.mods, sext: false })?;
    match dpp.control {
        DppControl::QuadPerm(s) => write!(f, " quad_perm:[{},{},{},{}]", s & 3, s >> 2 & 3, s >> 4 & 3, s >> 6)?,
        DppControl::RowShl(n) => write!(f, " row_shl:{n}")?,
        DppControl::RowShr(n) => write!(f, " row_shr:{n}")?,
        DppControl::RowRor(n) => write!(f, " row_ror:{n}")?,
        DppControl::WaveShl => f.write_str(" wave_shl:1")?,
        DppControl::WaveRol => f.write_str(" wave_rol:1")?,
        DppControl::WaveShr => f.write_str(" wave_shr:1")?,
        DppControl::WaveRor => f.write_str(" wave_ror:1")?,
        DppControl::RowMirror => f.write_str(" row_mirror")?,
        DppControl::RowHalfMirror => f.write_str(" row_half_mirror")?,
        DppControl::RowBcast15 => f.write_str(" row_bcast:15")?,
        DppControl::RowBcast31 => f.write_str(" row_bcast:31")?,
    }
    write!(f, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
    f.write_str(if dpp.bound_ctrl { " bound_ctrl:1" } else { "" })
}
