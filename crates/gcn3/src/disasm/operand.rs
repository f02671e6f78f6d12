//! Registers and constants in LLVM's syntax.

use std::fmt::{self, Display, Formatter};

use crate::inst::{Inst, Operand};
use crate::ops::Kind;

impl Inst {
    /// The text of `operand` as a `kind`.
    pub(super) fn operand(&self, operand: Operand, kind: Kind) -> OperandText {
        OperandText { operand, kind, literal: self.imm }
    }
}

#[derive(Clone, Copy)]
pub(super) struct OperandText {
    operand: Operand,
    kind: Kind,
    literal: u32,
}

impl OperandText {
    pub(super) fn is_constant(&self) -> bool {
        (self.operand.as_inline_integer().is_some()) || self.operand.as_inline_float().is_some()
    }
}

impl Display for OperandText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let registers = u16::from(self.kind.registers());
        match self.operand.code() {
            255 => literal(f, self.literal, self.kind),
            code @ 0..=127 => scalar_register(f, code, registers),
            _ if self.operand.is_vgpr() => Vgprs(self.operand, registers as u8).fmt(f),
            251 => f.write_str("src_vccz"),
            252 => f.write_str("src_execz"),
            253 => f.write_str("src_scc"),
            254 => f.write_str("src_lds_direct"),
            code => match (self.operand.as_inline_integer(), self.operand.as_inline_float()) {
                (Some(integer), _) => write!(f, "{integer}"),
                (_, Some(_)) => inline_float(f, code, self.kind),
                _ => write!(f, "<operand {code}>"),
            },
        }
    }
}

fn scalar_register(f: &mut Formatter<'_>, code: u16, registers: u16) -> fmt::Result {
    let (name, first) = match code {
        0..=101 => ("s", 0),
        112..=123 => ("ttmp", 112),
        124 => return f.write_str("m0"),
        _ => {
            let pair = match code & !1 {
                102 => "flat_scratch",
                104 => "xnack_mask",
                106 => "vcc",
                108 => "tba",
                110 => "tma",
                126 => "exec",
                _ => return write!(f, "<register {code}>"),
            };
            let half = ["_lo", "_hi"][usize::from(code & 1)];
            return write!(f, "{pair}{}", if registers == 1 { half } else { "" });
        }
    };
    range(f, name, code - first, registers)
}

/// Consecutive vector registers.
#[derive(Clone, Copy)]
pub(super) struct Vgprs(pub Operand, pub u8);

impl Display for Vgprs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.as_vgpr() {
            Some(first) => range(f, "v", u16::from(first), u16::from(self.1)),
            None => f.write_str("off"),
        }
    }
}

/// Consecutive scalar registers, if their number is not in the instruction table.
#[derive(Clone, Copy)]
pub(super) struct Sgprs(pub Operand, pub u8);

impl Display for Sgprs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        scalar_register(f, self.0.code(), u16::from(self.1))
    }
}

fn range(f: &mut Formatter<'_>, name: &str, first: u16, registers: u16) -> fmt::Result {
    match registers {
        0 | 1 => write!(f, "{name}{first}"),
        n => write!(f, "{name}[{first}:{}]", first + n - 1),
    }
}

const INLINE_FLOATS: [&str; 9] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"];
const INLINE_F16: [u16; 9] = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118];
const INLINE_F32: [f32; 9] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, std::f32::consts::FRAC_1_PI / 2.0];

fn inline_float(f: &mut Formatter<'_>, code: u16, kind: Kind) -> fmt::Result {
    let n = usize::from(code - 240);
    match (code, kind) {
        (_, Kind::I16) => write!(f, "{:#x}", INLINE_F16[n]),
        (248, Kind::I64 | Kind::F64 | Kind::Mask) => f.write_str("0.15915494309189532"),
        _ => f.write_str(INLINE_FLOATS[n]),
    }
}

/// A literal constant. One that could be an inline constant is printed like that constant.
fn literal(f: &mut Formatter<'_>, value: u32, kind: Kind) -> fmt::Result {
    // A 16-bit operand uses the low half, but LLVM recognises integer constants by all 32 bits. A 64-bit integer is
    // zero-extended; for a double the literal is the high half.
    let double = u64::from(value) << 32;
    let integer = match kind {
        Kind::F16 => i64::from(value as i16),
        Kind::F64 => double as i64,
        Kind::I64 | Kind::Mask => i64::from(value),
        _ => i64::from(value as i32),
    };
    let float = match kind {
        Kind::F16 => INLINE_F16.iter().position(|&float| float == value as u16),
        Kind::F64 => INLINE_F32.iter().position(|&float| f64::from(float).to_bits() == double),
        Kind::I16 | Kind::I32 | Kind::F32 | Kind::S32 => INLINE_F32.iter().position(|f| f.to_bits() == value),
        _ => None,
    };
    match (integer, float) {
        (-16..=64, _) => write!(f, "{integer}"),
        (_, Some(n)) => f.write_str(INLINE_FLOATS[n]),
        _ if matches!(kind, Kind::I16 | Kind::F16) => write!(f, "{:#x}", value as u16),
        _ => write!(f, "{value:#x}"),
    }
}
