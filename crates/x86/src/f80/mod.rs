//! The 80-bit numbers of x87. Rust has no such type, so they are computed here with integers: the same bits on every
//! host, for every precision and rounding mode of the control word. musl's `printf` formats every floating-point number
//! in this format, so a wrong last bit would be visible in programs' output.
//!
//! Arithmetic, remainders, conversions and comparisons give the exact bits and flags of the hardware. Transcendental
//! functions ([`transcendental`]) are rounded from 120 correct bits and agree with the hardware within one unit in the
//! last place, the accuracy that Intel specifies.

mod arith;
mod convert;
mod exact;
mod remainder;
mod round;
mod series;
#[cfg(test)]
mod tests;
pub mod transcendental;

pub use arith::{Outcome, Settings, compare};
pub use convert::Decimal;
pub use exact::{Exact, Number};
pub use remainder::Remainder;
pub use round::{Flags, Format, Rounded, Rounding};

/// An 80-bit number: sign, 15 bits of exponent, and a significand with an explicit leading one.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct F80 {
    /// Bit 15 is the sign, the others are the exponent with a bias of 16383.
    pub sign_exponent: u16,
    pub significand: u64,
}

/// The class of an [`F80`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Number(Number),
    /// Smaller than every normal number. Includes pseudo-denormals, which have a leading one.
    Denormal(Exact),
    Quiet,
    Signalling,
    /// The leading one is missing (unnormals, pseudo-infinities, pseudo-NaNs): every operation on it is invalid.
    Unsupported,
}

pub(crate) const BIAS: i32 = 16383;
const LEADING: u64 = 1 << 63;
const QUIET: u64 = 1 << 62;

impl F80 {
    pub const ZERO: F80 = F80::from_parts(false, 0, 0);
    pub const ONE: F80 = F80::from_parts(false, 0x3fff, LEADING);
    /// The quiet NaN that masked invalid operations return.
    pub const INDEFINITE: F80 = F80::from_parts(true, 0x7fff, LEADING | QUIET);

    const fn from_parts(negative: bool, exponent: u16, significand: u64) -> F80 {
        F80 { sign_exponent: exponent | (negative as u16) << 15, significand }
    }

    pub const fn zero(negative: bool) -> F80 {
        F80::from_parts(negative, 0, 0)
    }

    pub const fn infinity(negative: bool) -> F80 {
        F80::from_parts(negative, 0x7fff, LEADING)
    }

    /// Decodes the ten bytes of the memory format.
    pub fn from_bytes(bytes: [u8; 10]) -> F80 {
        let [a, b, c, d, e, f, g, h, low, high] = bytes;
        F80 {
            significand: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            sign_exponent: u16::from_le_bytes([low, high]),
        }
    }

    /// Encodes the ten bytes of the memory format.
    pub fn to_bytes(self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&self.significand.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sign_exponent.to_le_bytes());
        bytes
    }

    pub fn exponent_field(self) -> u16 {
        self.sign_exponent & 0x7fff
    }

    pub fn is_negative(self) -> bool {
        self.sign_exponent >> 15 != 0
    }

    /// FCHS.
    pub fn negated(self) -> F80 {
        F80 { sign_exponent: self.sign_exponent ^ 0x8000, ..self }
    }

    /// FABS.
    pub fn magnitude(self) -> F80 {
        F80 { sign_exponent: self.sign_exponent & 0x7fff, ..self }
    }

    pub fn is_zero(self) -> bool {
        self.exponent_field() == 0 && self.significand == 0
    }

    pub fn is_nan(self) -> bool {
        matches!(self.class(), Class::Quiet | Class::Signalling)
    }

    /// The NaN as a quiet NaN.
    pub fn quieted(self) -> F80 {
        F80 { significand: self.significand | QUIET, ..self }
    }

    pub fn class(self) -> Class {
        let negative = self.is_negative();
        let leading = self.significand & LEADING != 0;
        match self.exponent_field() {
            0 => match Exact::new(negative, u128::from(self.significand), 1 - BIAS - 63) {
                Some(number) => Class::Denormal(number),
                None => Class::Number(Number::Zero { negative }),
            },
            _ if !leading => Class::Unsupported,
            0x7fff if self.significand == LEADING => Class::Number(Number::Infinity { negative }),
            0x7fff if self.significand & QUIET != 0 => Class::Quiet,
            0x7fff => Class::Signalling,
            exponent => Class::Number(Number::Finite(Exact {
                negative,
                exponent: i32::from(exponent) - BIAS,
                significand: u128::from(self.significand) << 64,
            })),
        }
    }
}

impl From<Rounded> for F80 {
    fn from(rounded: Rounded) -> F80 {
        let Rounded { negative, exponent, significand, .. } = rounded;
        if exponent > Format::EXTENDED.max_exponent {
            return F80::infinity(negative);
        }
        let field = if significand & LEADING == 0 { 0 } else { exponent + BIAS };
        F80::from_parts(negative, field as u16, significand)
    }
}

impl std::fmt::Debug for F80 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04x}:{:016x}", self.sign_exponent, self.significand)
    }
}
