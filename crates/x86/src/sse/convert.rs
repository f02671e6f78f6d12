//! Conversions between singles, doubles and integers. A value that does not fit an integer becomes the most negative
//! one.

use super::Mxcsr;
use super::float::{Float, denormal, is_inside, is_nan, is_ordinary, is_signalling, is_zero, number, rounded, seen};
use super::lanes::{f32s, f64s, from_f32s, from_f64s, from_i32s, i32s};
use crate::f80::{Exact, Flags, Number, Rounding};

/// Converts a float to an integer of `bits` bits.
fn to_integer<F: Float>(mxcsr: Mxcsr, value: F, bits: u32, rounding: Rounding) -> (i64, Flags) {
    let indefinite = (i64::MIN >> (64 - bits), Flags::INVALID);
    let value = seen(value, mxcsr);
    if is_nan(value) {
        return indefinite;
    }
    match number(value) {
        Number::Zero { .. } => (0, Flags::NONE),
        Number::Infinity { .. } => indefinite,
        Number::Finite(number) => match number.to_integer(rounding) {
            Some((magnitude, flags)) if magnitude <= (1u128 << (bits - 1)) - u128::from(!number.negative) => {
                let magnitude = magnitude as i64;
                (if number.negative { magnitude.wrapping_neg() } else { magnitude }, flags)
            }
            _ => indefinite,
        },
    }
}

fn from_integer<F: Float>(mxcsr: Mxcsr, value: i64) -> (F, Flags) {
    match Exact::new(value < 0, value.unsigned_abs().into(), 0) {
        Some(number) => rounded(Number::Finite(number), mxcsr),
        None => (F::from_raw(0), Flags::NONE),
    }
}

/// Converts between singles and doubles.
fn to_float<F: Float, G: Float>(mxcsr: Mxcsr, value: F) -> (G, Flags) {
    let value = seen(value, mxcsr);
    if is_nan(value) {
        // A NaN keeps the leading bits of its fraction, and becomes quiet.
        let fraction = value.raw() << (64 - F::FRACTION) >> (64 - F::FRACTION);
        let aligned = if F::FRACTION > G::FRACTION {
            fraction >> (F::FRACTION - G::FRACTION)
        } else {
            fraction << (G::FRACTION - F::FRACTION)
        };
        let sign = value.raw() >> (F::FRACTION + F::EXPONENT) << (G::FRACTION + G::EXPONENT);
        let infinity = ((1 << G::EXPONENT) - 1) << G::FRACTION;
        let result = G::from_raw(sign | infinity | 1 << (G::FRACTION - 1) | aligned);
        return (result, Flags::INVALID.when(is_signalling(value)));
    }
    let (result, flags) = rounded(number(value), mxcsr);
    (result, flags | denormal(value))
}

fn narrowed<const N: usize>(mxcsr: &mut Mxcsr, values: [f64; N]) -> [f32; N] {
    let results = values.map(|value| value as f32);
    let safe = |i: usize| is_ordinary(values[i]) && (is_inside(results[i]) || is_zero(values[i]));
    if mxcsr.is_plain() && (0..N).all(safe) {
        return results;
    }
    noted(mxcsr, values.map(|value| to_float(*mxcsr, value)))
}

fn widened<const N: usize>(mxcsr: &mut Mxcsr, values: [f32; N]) -> [f64; N] {
    if values.iter().all(|&value| is_ordinary(value)) {
        return values.map(f64::from);
    }
    noted(mxcsr, values.map(|value| to_float(*mxcsr, value)))
}

fn noted<T: Copy, const N: usize>(mxcsr: &mut Mxcsr, outcomes: [(T, Flags); N]) -> [T; N] {
    mxcsr.note(outcomes.iter().fold(Flags::NONE, |flags, outcome| flags | outcome.1));
    outcomes.map(|outcome| outcome.0)
}

/// `cvtsi2ss`.
pub(super) fn integer_to_single<const BITS: u32>(mxcsr: &mut Mxcsr, a: u128, value: u64, _: u8) -> u128 {
    let value = (value as i64) << (64 - BITS) >> (64 - BITS);
    let result = if mxcsr.is_plain() {
        value as f32
    } else {
        let [result] = noted(mxcsr, [from_integer(*mxcsr, value)]);
        result
    };
    a & !0xffff_ffff | u128::from(result.to_bits())
}

/// `cvtsi2sd`.
pub(super) fn integer_to_double<const BITS: u32>(mxcsr: &mut Mxcsr, a: u128, value: u64, _: u8) -> u128 {
    let value = (value as i64) << (64 - BITS) >> (64 - BITS);
    let result = if BITS == 32 || mxcsr.is_plain() {
        value as f64
    } else {
        let [result] = noted(mxcsr, [from_integer(*mxcsr, value)]);
        result
    };
    a >> 64 << 64 | u128::from(result.to_bits())
}

/// The rounding mode of an instruction: MXCSR's, or toward zero if it truncates (`cvtt`).
fn rounding(mxcsr: Mxcsr, truncates: bool) -> Rounding {
    if truncates { Rounding::Zero } else { mxcsr.rounding() }
}

/// `cvtss2si` and `cvttss2si`.
pub(super) fn single_to_integer<const BITS: u32, const TRUNCATES: bool>(mxcsr: &mut Mxcsr, b: u128, _: u8) -> u64 {
    scalar_to_integer::<BITS, TRUNCATES>(mxcsr, f64::from(f32::from_bits(b as u32)), f32::from_bits(b as u32))
}

/// `cvtsd2si` and `cvttsd2si`.
pub(super) fn double_to_integer<const BITS: u32, const TRUNCATES: bool>(mxcsr: &mut Mxcsr, b: u128, _: u8) -> u64 {
    scalar_to_integer::<BITS, TRUNCATES>(mxcsr, f64::from_bits(b as u64), f64::from_bits(b as u64))
}

#[inline(always)]
fn scalar_to_integer<const BITS: u32, const TRUNCATES: bool>(mxcsr: &mut Mxcsr, double: f64, value: impl Float) -> u64 {
    let limit = if BITS == 32 { 2147483648.0 } else { 9223372036854775808.0 };
    let mask = u64::MAX >> (64 - BITS);
    if TRUNCATES && mxcsr.is_inexact() && is_ordinary(double) && double.abs() < limit {
        return double as i64 as u64 & mask;
    }
    let [result] = noted(mxcsr, [to_integer(*mxcsr, value, BITS, rounding(*mxcsr, TRUNCATES))]);
    result as u64 & mask
}

/// `cvtss2sd`.
pub(super) fn single_to_double(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let [result] = widened(mxcsr, [f32::from_bits(b as u32)]);
    a >> 64 << 64 | u128::from(result.to_bits())
}

/// `cvtsd2ss`.
pub(super) fn double_to_single(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let [result] = narrowed(mxcsr, [f64::from_bits(b as u64)]);
    a & !0xffff_ffff | u128::from(result.to_bits())
}

/// `cvtps2pd`.
pub(super) fn singles_to_doubles(mxcsr: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let b = f32s(b);
    from_f64s(widened(mxcsr, [b[0], b[1]]))
}

/// `cvtpd2ps`.
pub(super) fn doubles_to_singles(mxcsr: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let [low, high] = narrowed(mxcsr, f64s(b));
    from_f32s([low, high, 0.0, 0.0])
}

/// `cvtdq2ps`.
pub(super) fn integers_to_singles(mxcsr: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    if mxcsr.is_plain() {
        return from_f32s(i32s(b).map(|value| value as f32));
    }
    from_f32s(noted(mxcsr, i32s(b).map(|value| from_integer(*mxcsr, value.into()))))
}

/// `cvtdq2pd`.
pub(super) fn integers_to_doubles(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let b = i32s(b);
    from_f64s([b[0].into(), b[1].into()])
}

/// `cvtps2dq` and `cvttps2dq`.
pub(super) fn singles_to_integers<const TRUNCATES: bool>(mxcsr: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let outcomes = f32s(b).map(|value| to_integer(*mxcsr, value, 32, rounding(*mxcsr, TRUNCATES)));
    from_i32s(noted(mxcsr, outcomes).map(|value| value as i32))
}

/// `cvtpd2dq` and `cvttpd2dq`.
pub(super) fn doubles_to_integers<const TRUNCATES: bool>(mxcsr: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let outcomes = f64s(b).map(|value| to_integer(*mxcsr, value, 32, rounding(*mxcsr, TRUNCATES)));
    let [low, high] = noted(mxcsr, outcomes).map(|value| value as i32);
    from_i32s([low, high, 0, 0])
}
