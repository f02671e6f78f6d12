//! Rounding. Every operation of x87 and, off the fast path, of SSE computes an [`Exact`] result (with more bits than
//! any format, and a sticky last bit) and rounds it here once. So the four rounding modes, gradual underflow and the
//! exception flags are implemented in one place.

use super::exact::Exact;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// Floating-point exceptions, at their bits in both the x87 status word and MXCSR, and the direction of rounding.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    pub const NONE: Flags = Flags(0);
    /// IE: an invalid operation.
    pub const INVALID: Flags = Flags(1);
    /// DE: an operand is denormal.
    pub const DENORMAL: Flags = Flags(2);
    /// ZE: an exact infinity from finite operands.
    pub const DIVIDE: Flags = Flags(4);
    /// OE: the result is too large for the format.
    pub const OVERFLOW: Flags = Flags(8);
    /// UE: the result is too small for the format.
    pub const UNDERFLOW: Flags = Flags(16);
    /// PE: the result was rounded.
    pub const INEXACT: Flags = Flags(32);
    /// Not an exception: the result was rounded away from zero (C1 of the x87 status word).
    pub const ROUNDED_UP: Flags = Flags(128);
    /// Exceptions that are detected before the computation; if unmasked, they suppress the operation.
    pub const BEFORE: Flags = Flags(7);
    /// All six exceptions.
    pub const ALL: Flags = Flags(63);

    /// Whether any of `flags` is set here.
    #[inline]
    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 != 0
    }

    /// `self` if `condition` holds, else no flags.
    #[inline]
    pub fn when(self, condition: bool) -> Flags {
        if condition { self } else { Flags::NONE }
    }
}

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitAnd for Flags {
    type Output = Flags;
    #[inline]
    fn bitand(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl Not for Flags {
    type Output = Flags;
    #[inline]
    fn not(self) -> Flags {
        Flags(!self.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = ["IE", "DE", "ZE", "OE", "UE", "PE", "", "up"];
        let set: Vec<_> = (0..8).filter(|bit| self.0 >> bit & 1 == 1).map(|bit| names[bit]).collect();
        write!(f, "[{}]", set.join(" "))
    }
}

/// Rounding modes, with the values of the RC fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest = 0,
    /// Towards minus infinity.
    Down = 1,
    /// Towards plus infinity.
    Up = 2,
    /// Towards zero.
    Zero = 3,
}

impl Rounding {
    /// From the two bits of an RC field.
    #[inline]
    pub fn from_bits(bits: u32) -> Rounding {
        match bits & 3 {
            0 => Rounding::Nearest,
            1 => Rounding::Down,
            2 => Rounding::Up,
            _ => Rounding::Zero,
        }
    }

    /// Whether a magnitude is rounded up; `last` is the last kept bit, `rest` the discarded bits, left-aligned.
    #[inline]
    fn goes_up(self, negative: bool, last: bool, rest: u128) -> bool {
        const HALF: u128 = 1 << 127;
        match self {
            Rounding::Nearest => rest > HALF || rest == HALF && last,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
            Rounding::Zero => false,
        }
    }

    /// Whether an overflow results in infinity rather than the largest finite number.
    fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Rounding::Nearest => true,
            Rounding::Down => negative,
            Rounding::Up => !negative,
            Rounding::Zero => false,
        }
    }
}

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Bits of the significand, including the leading one.
    pub precision: u32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// Exponent of the largest finite number.
    pub max_exponent: i32,
    /// The exponent adjustment of a result whose overflow (subtracted) or underflow (added) exception is unmasked.
    pub wrap: i32,
}

impl Format {
    /// IEEE single precision.
    pub const SINGLE: Format = Format { precision: 24, min_exponent: -126, max_exponent: 127, wrap: 192 };
    /// IEEE double precision.
    pub const DOUBLE: Format = Format { precision: 53, min_exponent: -1022, max_exponent: 1023, wrap: 1536 };
    /// The 80-bit format of x87 registers.
    pub const EXTENDED: Format = Format { precision: 64, min_exponent: -16382, max_exponent: 16383, wrap: 24576 };

    /// This format with fewer significand bits, for x87 precision control.
    pub fn with_precision(self, precision: u32) -> Format {
        Format { precision, ..self }
    }
}

/// A number in a [`Format`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rounded {
    pub negative: bool,
    /// Above `max_exponent` for infinity, `min_exponent` for denormal numbers and zero.
    pub exponent: i32,
    /// Left-aligned: bit 63 stands for 2^exponent and is clear only in denormal numbers and zero.
    pub significand: u64,
    pub flags: Flags,
    /// Whether the result was smaller than every normal number before denormalisation.
    pub tiny: bool,
}

/// The leading bits of a significand after rounding.
struct Kept {
    bits: u64,
    carry: bool,
    flags: Flags,
}

fn keep(significand: u128, precision: u32, negative: bool, rounding: Rounding) -> Kept {
    let kept = (significand >> (128 - precision)) as u64;
    let rest = significand << precision;
    let up = rounding.goes_up(negative, kept & 1 == 1, rest);
    let flags = Flags::INEXACT.when(rest != 0) | Flags::ROUNDED_UP.when(up);
    let sum = u128::from(kept) + u128::from(up);
    let carry = sum >> precision != 0;
    Kept { bits: if carry { 1 << 63 } else { (sum as u64) << (64 - precision) }, carry, flags }
}

impl Exact {
    /// Rounds to `format`. Tininess is detected after rounding, as on x86. An exception that is not in `masked` returns
    /// the result with the wrapped exponent that its handler expects.
    pub fn round(self, format: Format, rounding: Rounding, masked: Flags) -> Rounded {
        let negative = self.negative;
        let kept = keep(self.significand, format.precision, negative, rounding);
        let exponent = self.exponent + i32::from(kept.carry);
        let unbounded = Rounded { negative, exponent, significand: kept.bits, flags: kept.flags, tiny: false };
        if exponent > format.max_exponent {
            return overflowed(unbounded, format, rounding, masked);
        }
        if exponent >= format.min_exponent {
            return unbounded;
        }
        if !masked.has(Flags::UNDERFLOW) {
            let flags = unbounded.flags | Flags::UNDERFLOW;
            if format.wrap == Format::EXTENDED.wrap && exponent + format.wrap < format.min_exponent {
                // Too small even with the wrapped exponent (FSCALE only).
                let flags = Flags::UNDERFLOW | Flags::INEXACT;
                return Rounded { exponent: format.min_exponent, significand: 0, flags, tiny: true, negative };
            }
            return Rounded { exponent: exponent + format.wrap, flags, tiny: true, ..unbounded };
        }
        let places = (i64::from(format.min_exponent) - i64::from(self.exponent)) as u64;
        let kept = keep(shift_right_sticky(self.significand, places), format.precision, negative, rounding);
        let flags = kept.flags | Flags::UNDERFLOW.when(kept.flags.has(Flags::INEXACT));
        Rounded { negative, exponent: format.min_exponent, significand: kept.bits, flags, tiny: true }
    }
}

fn overflowed(unbounded: Rounded, format: Format, rounding: Rounding, masked: Flags) -> Rounded {
    if !masked.has(Flags::OVERFLOW) {
        let flags = unbounded.flags | Flags::OVERFLOW;
        if format.wrap == Format::EXTENDED.wrap && unbounded.exponent - format.wrap > format.max_exponent {
            // Too large even with the wrapped exponent (FSCALE only).
            let (exponent, flags) = (format.max_exponent + 1, Flags::OVERFLOW | Flags::INEXACT | Flags::ROUNDED_UP);
            return Rounded { exponent, significand: 1 << 63, flags, ..unbounded };
        }
        return Rounded { exponent: unbounded.exponent - format.wrap, flags, ..unbounded };
    }
    let flags = Flags::OVERFLOW | Flags::INEXACT;
    if rounding.overflows_to_infinity(unbounded.negative) {
        let exponent = format.max_exponent + 1;
        Rounded { exponent, significand: 1 << 63, flags: flags | Flags::ROUNDED_UP, ..unbounded }
    } else {
        let significand = u64::MAX << (64 - format.precision);
        Rounded { exponent: format.max_exponent, significand, flags, ..unbounded }
    }
}

/// Shifts right; the last bit is set if any one was shifted out.
pub(super) fn shift_right_sticky(bits: u128, places: u64) -> u128 {
    match places {
        0 => bits,
        1..128 => bits >> places | u128::from(bits << (128 - places) != 0),
        _ => u128::from(bits != 0),
    }
}

/// Rounds `magnitude`, whose fraction is the left-aligned `rest`, to an integer.
pub(super) fn round_to_integer(magnitude: u128, rest: u128, negative: bool, rounding: Rounding) -> (u128, Flags) {
    let up = rounding.goes_up(negative, magnitude & 1 == 1, rest);
    let flags = Flags::INEXACT.when(rest != 0) | Flags::ROUNDED_UP.when(up);
    (magnitude + u128::from(up), flags)
}
