//! Operand fields, checked against the existing registers.

use super::Reason;
use crate::inst::{Inst, Operand};
use crate::ops::{Kind, Op};

/// An operand field of an instruction, for error messages.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub op: Op,
    pub name: &'static str,
}

impl Field {
    /// A scalar register field of seven or eight bits.
    pub fn scalar_register(self, code: u32, kind: Kind) -> Result<Operand, Reason> {
        let code = code as u16;
        let registers = u16::from(kind.registers());
        let end = match code {
            0..=101 => 101,
            102..=111 => code | 1, // FLAT_SCRATCH, XNACK_MASK, VCC, TBA and TMA are pairs
            112..=123 => 123,      // TTMP0 to TTMP11
            124 => 124,            // M0
            126..=127 => 127,      // EXEC
            _ => return Err(self.wrong(code, "names no register")),
        };
        if !code.is_multiple_of(registers.clamp(1, 4)) && registers != 3 {
            return Err(self.wrong(code, "is not a multiple of the number of registers (at most 4)"));
        }
        if code + registers > end + 1 {
            return Err(self.wrong(code, "runs past the last register of its kind"));
        }
        Ok(Operand::from_field(code))
    }

    /// A source field of eight or nine bits. Constants are allowed; literals are left to the caller.
    pub fn source(self, code: u32, kind: Kind) -> Result<Operand, Reason> {
        match code {
            0..=127 => self.scalar_register(code, kind),
            128..=208 | 240..=248 | 251..=255 => Ok(Operand::from_field(code as u16)),
            256..=511 => self.vgpr(code - 256, kind),
            _ => Err(self.wrong(code as u16, "is reserved")),
        }
    }

    /// A vector register field of eight bits.
    pub fn vgpr(self, code: u32, kind: Kind) -> Result<Operand, Reason> {
        self.vgprs(code, kind.registers())
    }

    /// Variant of [`Field::vgpr`] for an operand whose length is not in the instruction table.
    pub fn vgprs(self, code: u32, registers: u8) -> Result<Operand, Reason> {
        if code + u32::from(registers) > 256 {
            return Err(self.wrong(code as u16, "runs past v255"));
        }
        Ok(Operand::vgpr(code as u8))
    }

    pub fn wrong(self, code: u16, why: &'static str) -> Reason {
        Reason::Operand { op: self.op, field: self.name, code, why }
    }
}

impl Op {
    /// The sources that support negation and absolute value, one bit each.
    pub(super) fn modified_sources(self) -> u8 {
        if self == Op::VCndmaskB32 {
            return 0b011;
        }
        let fields = if self.accumulates() { 2 } else { 3 };
        (0..fields).filter(|&n| self.info().src[n].is_float()).fold(0, |bits, n| bits | 1 << n)
    }

    pub(super) fn field(self, name: &'static str) -> Field {
        Field { op: self, name }
    }
}

impl Inst {
    /// Checks source 0 of instructions that read lanes or registers by number, which must be a vector register.
    pub(super) fn needs_vector_source(&self) -> Result<(), Reason> {
        let by_number =
            matches!(self.op, Op::VReadfirstlaneB32 | Op::VReadlaneB32 | Op::VMovrelsB32 | Op::VMovrelsdB32);
        if by_number && !self.src[0].is_vgpr() {
            return Err(self.op.field("src0").wrong(self.src[0].code(), "is not a vector register"));
        }
        Ok(())
    }
}
