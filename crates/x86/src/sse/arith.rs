//! Addition, subtraction, multiplication, division and square root, scalar and packed.

use super::Mxcsr;
use super::float::{
    Float, are_normal, denormal, indefinite, is_inside, is_nan, is_normal, is_ordinary, is_signalling, is_zero, number,
    quieted, rounded, seen,
};
use super::lanes::{f32s, f64s, from_f32s, from_f64s};
use crate::f80::{Flags, Number, Rounding};

/// An operation on two numbers.
pub(super) trait Binary {
    fn native<F: Float>(a: F, b: F) -> F;

    /// Whether the native operation on ordinary operands raised at most "inexact".
    fn is_safe<F: Float>(a: F, b: F, result: F) -> bool;

    /// The exact result; none if the operation is invalid.
    fn exact(a: Number, b: Number, rounding: Rounding) -> Option<(Number, Flags)>;
}

pub(super) struct Add;
pub(super) struct Sub;
pub(super) struct Mul;
pub(super) struct Div;

impl Binary for Add {
    #[inline(always)]
    fn native<F: Float>(a: F, b: F) -> F {
        a + b
    }

    /// A sum below the smallest normal number is exact and raises no flag; a denormal result is left to the exact path
    /// because of FTZ.
    #[inline(always)]
    fn is_safe<F: Float>(_: F, _: F, result: F) -> bool {
        is_ordinary(result)
    }

    fn exact(a: Number, b: Number, rounding: Rounding) -> Option<(Number, Flags)> {
        a.plus(b, rounding).map(|sum| (sum, Flags::NONE))
    }
}

impl Binary for Sub {
    #[inline(always)]
    fn native<F: Float>(a: F, b: F) -> F {
        a - b
    }

    #[inline(always)]
    fn is_safe<F: Float>(_: F, _: F, result: F) -> bool {
        is_ordinary(result)
    }

    fn exact(a: Number, b: Number, rounding: Rounding) -> Option<(Number, Flags)> {
        a.plus(b.negated(), rounding).map(|difference| (difference, Flags::NONE))
    }
}

impl Binary for Mul {
    #[inline(always)]
    fn native<F: Float>(a: F, b: F) -> F {
        a * b
    }

    #[inline(always)]
    fn is_safe<F: Float>(a: F, b: F, result: F) -> bool {
        is_inside(result) | is_zero(a) | is_zero(b)
    }

    fn exact(a: Number, b: Number, _: Rounding) -> Option<(Number, Flags)> {
        a.times(b).map(|product| (product, Flags::NONE))
    }
}

impl Binary for Div {
    #[inline(always)]
    fn native<F: Float>(a: F, b: F) -> F {
        a / b
    }

    #[inline(always)]
    fn is_safe<F: Float>(a: F, b: F, result: F) -> bool {
        !is_zero(b) & (is_inside(result) | is_zero(a))
    }

    fn exact(a: Number, b: Number, _: Rounding) -> Option<(Number, Flags)> {
        a.over(b)
    }
}

/// The result by exact arithmetic, and its flags.
#[cold]
#[inline(never)]
fn exactly<O: Binary, F: Float>(mxcsr: Mxcsr, a: F, b: F) -> (F, Flags) {
    let (a, b) = (seen(a, mxcsr), seen(b, mxcsr));
    if let Some(outcome) = propagated(a, b) {
        return outcome;
    }
    match O::exact(number(a), number(b), mxcsr.rounding()) {
        Some((result, flags)) => {
            if flags.has(Flags::DIVIDE) {
                // A denormal dividend is not reported in this case.
                return (rounded(result, mxcsr).0, flags);
            }
            let (result, more) = rounded(result, mxcsr);
            (result, more | denormal(a) | denormal(b))
        }
        None => (indefinite(), Flags::INVALID),
    }
}

/// The result if an operand is a NaN: the first NaN, made quiet.
pub(super) fn propagated<F: Float>(a: F, b: F) -> Option<(F, Flags)> {
    let flags = Flags::INVALID.when(is_signalling(a) || is_signalling(b));
    if is_nan(a) { Some((quieted(a), flags)) } else { is_nan(b).then(|| (quieted(b), flags)) }
}

/// Applies the operation to all lanes. The flags of one lane do not affect another.
#[inline(never)]
fn all<O: Binary, F: Float, const N: usize>(mxcsr: &mut Mxcsr, a: [F; N], b: [F; N]) -> [F; N] {
    let results: [F; N] = std::array::from_fn(|i| O::native(a[i], b[i]));
    let mut safe = mxcsr.is_plain();
    for i in 0..N {
        safe &= is_ordinary(a[i]) & is_ordinary(b[i]) & O::is_safe(a[i], b[i], results[i]);
    }
    if safe { results } else { all_exactly::<O, F, N>(mxcsr, a, b) }
}

#[cold]
#[inline(never)]
fn all_exactly<O: Binary, F: Float, const N: usize>(mxcsr: &mut Mxcsr, a: [F; N], b: [F; N]) -> [F; N] {
    let outcomes: [(F, Flags); N] = std::array::from_fn(|i| exactly::<O, F>(*mxcsr, a[i], b[i]));
    mxcsr.note(outcomes.iter().fold(Flags::NONE, |flags, outcome| flags | outcome.1));
    outcomes.map(|outcome| outcome.0)
}

/// `addps` and similar.
pub(super) fn packed_single<O: Binary>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let (lanes_a, lanes_b) = (f32s(a), f32s(b));
    let results = from_f32s(std::array::from_fn(|i| O::native(lanes_a[i], lanes_b[i])));
    if mxcsr.is_plain() && are_normal::<f32>(a, b, results) {
        return results;
    }
    from_f32s(all::<O, f32, 4>(mxcsr, lanes_a, lanes_b))
}

/// `addpd` and similar.
pub(super) fn packed_double<O: Binary>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let (lanes_a, lanes_b) = (f64s(a), f64s(b));
    let results = from_f64s(std::array::from_fn(|i| O::native(lanes_a[i], lanes_b[i])));
    if mxcsr.is_plain() && are_normal::<f64>(a, b, results) {
        return results;
    }
    from_f64s(all::<O, f64, 2>(mxcsr, lanes_a, lanes_b))
}

/// Applies the operation to one lane.
#[inline(always)]
fn one<O: Binary, F: Float>(mxcsr: &mut Mxcsr, a: F, b: F) -> F {
    let result = O::native(a, b);
    if mxcsr.is_plain() && is_normal(a, b, result) {
        return result;
    }
    let [result] = all::<O, F, 1>(mxcsr, [a], [b]);
    result
}

/// `addss` and similar: the upper lanes are kept.
pub(super) fn single<O: Binary>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let result = one::<O, f32>(mxcsr, f32::from_bits(a as u32), f32::from_bits(b as u32));
    a & !0xffff_ffff | u128::from(result.to_bits())
}

/// `addsd` and similar: the upper lane is kept.
pub(super) fn double<O: Binary>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let result = one::<O, f64>(mxcsr, f64::from_bits(a as u64), f64::from_bits(b as u64));
    a >> 64 << 64 | u128::from(result.to_bits())
}

/// `addsubps`: differences in the even lanes, sums in the odd ones.
pub(super) fn alternating_single(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    alternating(mxcsr, f32s(a), f32s(b), from_f32s)
}

/// `addsubpd`.
pub(super) fn alternating_double(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    alternating(mxcsr, f64s(a), f64s(b), from_f64s)
}

fn alternating<F: Float, const N: usize>(mxcsr: &mut Mxcsr, a: [F; N], b: [F; N], join: fn([F; N]) -> u128) -> u128 {
    let outcomes: [(F, Flags); N] = std::array::from_fn(|i| {
        if i % 2 == 0 { exactly::<Sub, F>(*mxcsr, a[i], b[i]) } else { exactly::<Add, F>(*mxcsr, a[i], b[i]) }
    });
    mxcsr.note(outcomes.iter().fold(Flags::NONE, |flags, outcome| flags | outcome.1));
    join(outcomes.map(|outcome| outcome.0))
}

/// `haddps` and `hsubps`: on adjacent lanes of the first operand, then of the second.
pub(super) fn horizontal_single<O: Binary>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let (a, b) = (f32s(a), f32s(b));
    from_f32s(all::<O, f32, 4>(mxcsr, [a[0], a[2], b[0], b[2]], [a[1], a[3], b[1], b[3]]))
}

/// `haddpd` and `hsubpd`.
pub(super) fn horizontal_double<O: Binary>(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let (a, b) = (f64s(a), f64s(b));
    from_f64s(all::<O, f64, 2>(mxcsr, [a[0], b[0]], [a[1], b[1]]))
}

/// `dpps`: the sum of the products selected by the high half of `imm`, stored in the lanes selected by the low half.
/// Each of the three steps raises its own exceptions; an unmasked one ends the instruction.
pub(super) fn dot_single(mxcsr: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let (a, b) = (f32s(a), f32s(b));
    let selected = |i: usize| imm >> (4 + i) & 1 != 0;
    let pick = |lanes: [f32; 4]| std::array::from_fn(|i| if selected(i) { lanes[i] } else { 0.0 });
    let products: [f32; 4] = all::<Mul, f32, 4>(mxcsr, pick(a), pick(b));
    if mxcsr.has_fault() {
        return 0;
    }
    // Each lane is added to its neighbour, then across the halves: the lane determines which NaN results.
    let [p, q, r, s] = products;
    let pairs = all::<Add, f32, 4>(mxcsr, [q, p, s, r], products);
    if mxcsr.has_fault() {
        return 0;
    }
    let [p, q, r, s] = pairs;
    let sums = all::<Add, f32, 4>(mxcsr, pairs, [r, s, p, q]);
    from_f32s(std::array::from_fn(|i| if imm >> i & 1 != 0 { sums[i] } else { 0.0 }))
}

/// `dppd`.
pub(super) fn dot_double(mxcsr: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let (a, b) = (f64s(a), f64s(b));
    let selected = |i: usize| imm >> (4 + i) & 1 != 0;
    let pick = |lanes: [f64; 2]| std::array::from_fn(|i| if selected(i) { lanes[i] } else { 0.0 });
    let products: [f64; 2] = all::<Mul, f64, 2>(mxcsr, pick(a), pick(b));
    if mxcsr.has_fault() {
        return 0;
    }
    let [p, q] = products;
    let sums = all::<Add, f64, 2>(mxcsr, [p, q], [q, p]);
    from_f64s(std::array::from_fn(|i| if imm >> i & 1 != 0 { sums[i] } else { 0.0 }))
}

/// Square roots of all lanes.
fn roots<F: Float, const N: usize>(mxcsr: &mut Mxcsr, values: [F; N]) -> [F; N] {
    let zero = F::from_raw(0);
    if mxcsr.is_plain() && values.iter().all(|&value| is_ordinary(value) && value >= zero) {
        return values.map(F::root);
    }
    let outcomes = values.map(|value| root_exactly(*mxcsr, value));
    mxcsr.note(outcomes.iter().fold(Flags::NONE, |flags, outcome| flags | outcome.1));
    outcomes.map(|outcome| outcome.0)
}

fn root_exactly<F: Float>(mxcsr: Mxcsr, value: F) -> (F, Flags) {
    let value = seen(value, mxcsr);
    if let Some(outcome) = propagated(value, value) {
        return outcome;
    }
    match number(value).root() {
        Some(root) => {
            let (root, flags) = rounded(root, mxcsr);
            (root, flags | denormal(value))
        }
        None => (indefinite(), Flags::INVALID),
    }
}

pub(super) fn root_packed_single(mxcsr: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    from_f32s(roots(mxcsr, f32s(b)))
}

pub(super) fn root_packed_double(mxcsr: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    from_f64s(roots(mxcsr, f64s(b)))
}

pub(super) fn root_single(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let [root] = roots(mxcsr, [f32::from_bits(b as u32)]);
    a & !0xffff_ffff | u128::from(root.to_bits())
}

pub(super) fn root_double(mxcsr: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let [root] = roots(mxcsr, [f64::from_bits(b as u64)]);
    a >> 64 << 64 | u128::from(root.to_bits())
}
