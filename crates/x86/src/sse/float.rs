//! Singles and doubles, on two paths. The fast path is Rust's arithmetic, whose results IEEE 754 defines. It is used
//! when operands and result are ordinary, so that at most "inexact" can be raised, and that flag is already set. The
//! exact path unpacks to [`Number`]s and rounds once, with all flags.

use super::Mxcsr;
use crate::f80::{Exact, Flags, Format, Number};
use std::ops::{Add, Div, Mul, Sub};

/// A single or a double.
pub(super) trait Float:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Bits of the fraction and of the exponent.
    const FRACTION: u32;
    const EXPONENT: u32;
    const FORMAT: Format;
    /// For all numbers in 64 bits: the lowest exponent bits, and the sign bits.
    const UNITS: u64;
    const SIGNS: u64;

    fn from_raw(bits: u64) -> Self;
    fn raw(self) -> u64;
    fn root(self) -> Self;
}

impl Float for f32 {
    const FRACTION: u32 = 23;
    const EXPONENT: u32 = 8;
    const FORMAT: Format = Format::SINGLE;
    const UNITS: u64 = 0x0080_0000_0080_0000;
    const SIGNS: u64 = 0x8000_0000_8000_0000;

    #[inline(always)]
    fn from_raw(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }

    #[inline(always)]
    fn raw(self) -> u64 {
        self.to_bits().into()
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }
}

impl Float for f64 {
    const FRACTION: u32 = 52;
    const EXPONENT: u32 = 11;
    const FORMAT: Format = Format::DOUBLE;
    const UNITS: u64 = 1 << 52;
    const SIGNS: u64 = 1 << 63;

    #[inline(always)]
    fn from_raw(bits: u64) -> Self {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn raw(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }
}

/// The exponent field of all ones.
#[inline(always)]
fn top<F: Float>() -> u64 {
    (1 << F::EXPONENT) - 1
}

#[inline(always)]
fn exponent_field<F: Float>(value: F) -> u64 {
    value.raw() >> F::FRACTION & top::<F>()
}

#[inline(always)]
fn magnitude<F: Float>(value: F) -> u64 {
    value.raw() & ((1 << (F::FRACTION + F::EXPONENT)) - 1)
}

#[inline(always)]
pub(super) fn is_zero<F: Float>(value: F) -> bool {
    magnitude(value) == 0
}

/// Whether a number is normal or zero: as an operand, it raises no exception by itself.
#[inline(always)]
pub(super) fn is_ordinary<F: Float>(value: F) -> bool {
    (exponent_field(value).wrapping_sub(1) < top::<F>() - 1) | is_zero(value)
}

/// Whether a result is so far from both ends of the format that it neither overflowed nor underflowed.
#[inline(always)]
pub(super) fn is_inside<F: Float>(value: F) -> bool {
    exponent_field(value).wrapping_sub(2) < top::<F>() - 2
}

/// Non-zero if any of the numbers in 64 bits has an exponent field below `lowest` (1 or 2) or of all ones. If it is
/// zero, all are normal; this is faster than checking each.
#[inline(always)]
fn outside<F: Float>(numbers: u64, lowest: u64) -> u64 {
    let magnitudes = numbers & !F::SIGNS;
    let large = magnitudes + F::UNITS;
    let small = (magnitudes | F::SIGNS) - lowest * F::UNITS;
    (large | !small) & F::SIGNS
}

/// Whether packed operands and results are such that at most "inexact" was raised.
#[inline(always)]
pub(super) fn are_normal<F: Float>(a: u128, b: u128, results: u128) -> bool {
    let operand = |numbers: u128| outside::<F>(numbers as u64, 1) | outside::<F>((numbers >> 64) as u64, 1);
    let result = |numbers: u128| outside::<F>(numbers as u64, 2) | outside::<F>((numbers >> 64) as u64, 2);
    operand(a) | operand(b) | result(results) == 0
}

/// Whether the operands and result of a scalar operation are such that at most "inexact" was raised.
#[inline(always)]
pub(super) fn is_normal<F: Float>(a: F, b: F, result: F) -> bool {
    let alone = if F::FRACTION == f32::FRACTION { (1.0f32.to_bits() as u64) << 32 } else { 0 };
    outside::<F>(a.raw() | alone, 1) | outside::<F>(b.raw() | alone, 1) | outside::<F>(result.raw() | alone, 2) == 0
}

pub(super) fn is_nan<F: Float>(value: F) -> bool {
    magnitude(value) > top::<F>() << F::FRACTION
}

pub(super) fn is_signalling<F: Float>(value: F) -> bool {
    is_nan(value) && value.raw() & quiet_bit::<F>() == 0
}

fn quiet_bit<F: Float>() -> u64 {
    1 << (F::FRACTION - 1)
}

fn sign_bit<F: Float>(negative: bool) -> u64 {
    u64::from(negative) << (F::FRACTION + F::EXPONENT)
}

/// The NaN as a quiet NaN.
pub(super) fn quieted<F: Float>(nan: F) -> F {
    F::from_raw(nan.raw() | quiet_bit::<F>())
}

/// The quiet NaN that masked invalid operations return.
pub(super) fn indefinite<F: Float>() -> F {
    F::from_raw(sign_bit::<F>(true) | top::<F>() << F::FRACTION | quiet_bit::<F>())
}

/// The effective operand: with DAZ a denormal counts as zero.
pub(super) fn seen<F: Float>(value: F, mxcsr: Mxcsr) -> F {
    if mxcsr.denormals_are_zero() && exponent_field(value) == 0 {
        return F::from_raw(value.raw() & sign_bit::<F>(true));
    }
    value
}

/// DE if an effective operand is denormal.
pub(super) fn denormal<F: Float>(value: F) -> Flags {
    Flags::DENORMAL.when(exponent_field(value) == 0 && !is_zero(value))
}

/// Converts a value that is not a NaN to a number.
pub(super) fn number<F: Float>(value: F) -> Number {
    let bits = value.raw();
    let negative = bits & sign_bit::<F>(true) != 0;
    let fraction = bits & ((1 << F::FRACTION) - 1);
    let unit = F::FORMAT.min_exponent - F::FRACTION as i32;
    let field = exponent_field(value);
    if field == top::<F>() {
        return Number::Infinity { negative };
    }
    let (significand, exponent) =
        if field == 0 { (fraction, unit) } else { (fraction | 1 << F::FRACTION, unit + field as i32 - 1) };
    match Exact::new(negative, significand.into(), exponent) {
        Some(number) => Number::Finite(number),
        None => Number::Zero { negative },
    }
}

/// Rounds a number according to MXCSR.
pub(super) fn rounded<F: Float>(number: Number, mxcsr: Mxcsr) -> (F, Flags) {
    match number {
        Number::Zero { negative } => (F::from_raw(sign_bit::<F>(negative)), Flags::NONE),
        Number::Infinity { negative } => {
            (F::from_raw(sign_bit::<F>(negative) | top::<F>() << F::FRACTION), Flags::NONE)
        }
        Number::Finite(number) => {
            let rounded = number.round(F::FORMAT, mxcsr.rounding(), mxcsr.masked());
            if rounded.tiny && mxcsr.flushes_to_zero() {
                let zero = F::from_raw(sign_bit::<F>(number.negative));
                return (zero, Flags::UNDERFLOW | Flags::INEXACT);
            }
            if rounded.flags.has(Flags::OVERFLOW | Flags::UNDERFLOW) {
                let unmasked = rounded.flags & !mxcsr.masked();
                if unmasked.has(Flags::OVERFLOW | Flags::UNDERFLOW) {
                    // The instruction will fault, so this result is not used.
                    return (F::from_raw(0), rounded.flags);
                }
            }
            (F::from_raw(rounded.pack(F::FRACTION, F::EXPONENT, F::FORMAT)), rounded.flags)
        }
    }
}
