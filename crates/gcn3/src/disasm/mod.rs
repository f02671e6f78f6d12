//! Assembly text, identical to LLVM's: what `llvm-objdump -d --mcpu=gfx803` prints up to the comment.
//!
//! An [`Inst`] implements `Display`. Branches show their distance in words, as LLVM does; [`Inst::branch_target`] gives
//! the address.

mod control;
mod memory;
mod operand;
mod vector;

use std::fmt::{self, Display, Formatter};

use crate::inst::{Extra, Format, Inst};
use crate::ops::{Kind, Op};

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.op.mnemonic())?;
        f.write_str(self.suffix())?;
        match self.format {
            Format::Sop2 | Format::Sop1 | Format::Sopc => self.scalar(f),
            Format::Sopk => self.scalar_constant(f),
            Format::Sopp => control::program(self, f),
            Format::Vop2 | Format::Vop1 | Format::Vopc | Format::Vop3a | Format::Vop3b => vector::plain(self, f),
            Format::Sdwa => vector::sdwa(self, f),
            Format::Dpp => vector::dpp(self, f),
            Format::Smem => memory::scalar(self, f),
            Format::Ds => memory::data_share(self, f),
            Format::Flat => memory::flat(self, f),
            Format::Mubuf | Format::Mtbuf => memory::buffer(self, f),
            Format::Mimg => memory::image(self, f),
        }
    }
}

impl Inst {
    /// The suffix that distinguishes the encodings of an instruction that has several.
    fn suffix(&self) -> &'static str {
        let nameless = matches!(self.op, Op::VNop | Op::VClrexcp);
        let several = self.op.vop3_opcode().is_some() && !nameless;
        let vop3_only = self.op.info().encoding == crate::ops::Encoding::Vop3;
        match self.format {
            Format::Vop1 | Format::Vop2 | Format::Vopc if several => "_e32",
            Format::Vop3a | Format::Vop3b if several && !vop3_only => "_e64",
            Format::Sdwa if self.op.info().dst != Kind::None => "_sdwa",
            Format::Dpp => "_dpp",
            _ => "",
        }
    }

    fn scalar(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let info = self.op.info();
        let mut list = List::new(f);
        if !self.dst.is_none() {
            list.item(self.operand(self.dst, info.dst))?;
        }
        for (source, kind) in self.src.iter().zip(info.src) {
            if !source.is_none() {
                list.item(self.operand(*source, kind))?;
            }
        }
        if self.op == Op::SSetGprIdxOn {
            list.item(control::GprIndexMode(self.imm))?;
        }
        Ok(())
    }

    fn scalar_constant(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let info = self.op.info();
        let register =
            if self.dst.is_none() { self.operand(self.src[0], info.src[0]) } else { self.operand(self.dst, info.dst) };
        let constant = self.imm as u16;
        match (self.op, self.extra) {
            (Op::SGetregB32, Extra::HwReg(field)) => write!(f, " {register}, {}", control::HwRegText(field)),
            (_, Extra::HwReg(field)) => write!(f, " {}, {register}", control::HwRegText(field)),
            (Op::SCbranchIFork, _) => write!(f, " {register}, {constant}"),
            _ => write!(f, " {register}, {constant:#x}"),
        }
    }
}

/// Writes operands, with a space before the first and commas between them.
struct List<'a, 'b> {
    f: &'a mut Formatter<'b>,
    empty: bool,
}

impl<'a, 'b> List<'a, 'b> {
    fn new(f: &'a mut Formatter<'b>) -> Self {
        List { f, empty: true }
    }

    fn item(&mut self, item: impl Display) -> fmt::Result {
        self.f.write_str(if self.empty { " " } else { ", " })?;
        self.empty = false;
        write!(self.f, "{item}")
    }
}
