//! `roundps` and its variants: round to integral floating-point values. Bit 2 of the immediate selects MXCSR's rounding
//! mode instead of bits 0 and 1; bit 3 suppresses "inexact".

use super::Mxcsr;
use super::arith::propagated;
use super::float::{Float, number, rounded, seen};
use super::lanes::{f32s, f64s, from_f32s, from_f64s};
use crate::f80::{Exact, Flags, Number, Rounding};

fn integral<F: Float>(mxcsr: Mxcsr, value: F, imm: u8) -> (F, Flags) {
    let value = seen(value, mxcsr);
    if let Some(outcome) = propagated(value, value) {
        return outcome;
    }
    let Number::Finite(number) = number(value) else {
        return (value, Flags::NONE);
    };
    if number.exponent >= F::FRACTION as i32 {
        return (value, Flags::NONE);
    }
    let rounding = if imm & 4 != 0 { mxcsr.rounding() } else { Rounding::from_bits(imm.into()) };
    let (magnitude, flags) = number.to_integer(rounding).expect("smaller than its significand");
    let whole = match Exact::new(number.negative, magnitude, 0) {
        Some(whole) => Number::Finite(whole),
        None => Number::Zero { negative: number.negative },
    };
    let flags = if imm & 8 != 0 { Flags::NONE } else { flags & Flags::INEXACT };
    (rounded(whole, mxcsr).0, flags)
}

fn all<F: Float, const N: usize>(mxcsr: &mut Mxcsr, values: [F; N], imm: u8) -> [F; N] {
    let outcomes = values.map(|value| integral(*mxcsr, value, imm));
    mxcsr.note(outcomes.iter().fold(Flags::NONE, |flags, outcome| flags | outcome.1));
    outcomes.map(|outcome| outcome.0)
}

pub(super) fn packed_single(mxcsr: &mut Mxcsr, _: u128, b: u128, imm: u8) -> u128 {
    from_f32s(all(mxcsr, f32s(b), imm))
}

pub(super) fn packed_double(mxcsr: &mut Mxcsr, _: u128, b: u128, imm: u8) -> u128 {
    from_f64s(all(mxcsr, f64s(b), imm))
}

pub(super) fn single(mxcsr: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let [result] = all(mxcsr, [f32::from_bits(b as u32)], imm);
    a & !0xffff_ffff | u128::from(result.to_bits())
}

pub(super) fn double(mxcsr: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let [result] = all(mxcsr, [f64::from_bits(b as u64)], imm);
    a >> 64 << 64 | u128::from(result.to_bits())
}
