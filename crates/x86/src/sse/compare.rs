//! Comparisons to masks and to flags, minimum and maximum.

use super::Mxcsr;
use super::float::{Float, denormal, is_nan, is_ordinary, is_signalling, seen};
use super::lanes::{f32s, f64s, from_f32s, from_f64s, from_u32s, from_u64s};
use crate::f80::Flags;
use crate::flags::{CF, PF, ZF};
use std::cmp::Ordering;

/// Compares two operands; also returns the exceptions. `quietly`: quiet NaNs are not invalid operands.
fn compared<F: Float>(mxcsr: Mxcsr, a: F, b: F, quietly: bool) -> (Option<Ordering>, Flags) {
    if is_ordinary(a) & is_ordinary(b) {
        return (a.partial_cmp(&b), Flags::NONE);
    }
    let (a, b) = (seen(a, mxcsr), seen(b, mxcsr));
    if is_nan(a) || is_nan(b) {
        let invalid = !quietly || is_signalling(a) || is_signalling(b);
        return (None, Flags::INVALID.when(invalid));
    }
    (a.partial_cmp(&b), denormal(a) | denormal(b))
}

/// Whether one of the eight relations of `cmpps` holds, with the exceptions.
fn related<F: Float>(mxcsr: Mxcsr, a: F, b: F, relation: u8) -> (bool, Flags) {
    let quietly = !matches!(relation & 3, 1 | 2);
    let (ordering, flags) = compared(mxcsr, a, b, quietly);
    let holds = match relation & 3 {
        0 => ordering == Some(Ordering::Equal),
        1 => ordering == Some(Ordering::Less),
        2 => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        _ => ordering.is_none(),
    };
    (holds != (relation & 4 != 0), flags)
}

fn masks<F: Float, const N: usize>(mxcsr: &mut Mxcsr, a: [F; N], b: [F; N], relation: u8) -> [bool; N] {
    let outcomes: [(bool, Flags); N] = std::array::from_fn(|i| related(*mxcsr, a[i], b[i], relation));
    mxcsr.note(outcomes.iter().fold(Flags::NONE, |flags, outcome| flags | outcome.1));
    outcomes.map(|outcome| outcome.0)
}

/// `cmpps`.
pub(super) fn packed_single(mxcsr: &mut Mxcsr, a: u128, b: u128, relation: u8) -> u128 {
    from_u32s(masks(mxcsr, f32s(a), f32s(b), relation).map(|holds| u32::from(holds).wrapping_neg()))
}

/// `cmppd`.
pub(super) fn packed_double(mxcsr: &mut Mxcsr, a: u128, b: u128, relation: u8) -> u128 {
    from_u64s(masks(mxcsr, f64s(a), f64s(b), relation).map(|holds| u64::from(holds).wrapping_neg()))
}

/// `cmpss`.
pub(super) fn single(mxcsr: &mut Mxcsr, a: u128, b: u128, relation: u8) -> u128 {
    let [holds] = masks(mxcsr, [f32::from_bits(a as u32)], [f32::from_bits(b as u32)], relation);
    a & !0xffff_ffff | if holds { 0xffff_ffff } else { 0 }
}

/// `cmpsd`.
pub(super) fn double(mxcsr: &mut Mxcsr, a: u128, b: u128, relation: u8) -> u128 {
    let [holds] = masks(mxcsr, [f64::from_bits(a as u64)], [f64::from_bits(b as u64)], relation);
    a >> 64 << 64 | if holds { u64::MAX.into() } else { 0 }
}

fn to_flags<F: Float>(mxcsr: &mut Mxcsr, a: F, b: F, quietly: bool) -> u64 {
    let (ordering, flags) = compared(*mxcsr, a, b, quietly);
    if flags != Flags::NONE {
        mxcsr.note(flags);
    }
    match ordering {
        Some(Ordering::Greater) => 0,
        Some(Ordering::Less) => CF,
        Some(Ordering::Equal) => ZF,
        None => ZF | PF | CF,
    }
}

/// `comiss`, and `ucomiss`, which is quiet.
pub(super) fn single_to_flags<const QUIETLY: bool>(mxcsr: &mut Mxcsr, a: u128, b: u128) -> u64 {
    to_flags(mxcsr, f32::from_bits(a as u32), f32::from_bits(b as u32), QUIETLY)
}

/// `comisd`, and `ucomisd`, which is quiet.
pub(super) fn double_to_flags<const QUIETLY: bool>(mxcsr: &mut Mxcsr, a: u128, b: u128) -> u64 {
    to_flags(mxcsr, f64::from_bits(a as u64), f64::from_bits(b as u64), QUIETLY)
}

/// `minps` and `maxps`: the first operand if the comparison gives `wanted`, else the second, unchanged.
fn extremes<F: Float, const N: usize>(mxcsr: &mut Mxcsr, a: [F; N], b: [F; N], wanted: Ordering) -> [F; N] {
    let mut all = Flags::NONE;
    let results = std::array::from_fn(|i| {
        let (ordering, flags) = compared(*mxcsr, a[i], b[i], false);
        all |= flags;
        seen(if ordering == Some(wanted) { a[i] } else { b[i] }, *mxcsr)
    });
    if all != Flags::NONE {
        mxcsr.note(all);
    }
    results
}

fn wanted(max: bool) -> Ordering {
    if max { Ordering::Greater } else { Ordering::Less }
}

pub(super) fn extreme_packed_single<const MAX: bool>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    from_f32s(extremes(mxcsr, f32s(a), f32s(b), wanted(MAX)))
}

pub(super) fn extreme_packed_double<const MAX: bool>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    from_f64s(extremes(mxcsr, f64s(a), f64s(b), wanted(MAX)))
}

pub(super) fn extreme_single<const MAX: bool>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let [result] = extremes(mxcsr, [f32::from_bits(a as u32)], [f32::from_bits(b as u32)], wanted(MAX));
    a & !0xffff_ffff | u128::from(result.to_bits())
}

pub(super) fn extreme_double<const MAX: bool>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let [result] = extremes(mxcsr, [f64::from_bits(a as u64)], [f64::from_bits(b as u64)], wanted(MAX));
    a >> 64 << 64 | u128::from(result.to_bits())
}
