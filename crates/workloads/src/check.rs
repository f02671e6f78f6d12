//! Comparison of results with references.
//!
//! Integers must be equal. Floats must be equal as well if a kernel uses only operations that IEEE 754 defines to the
//! last bit (the kernels disable contraction, and the reference adds in the same order). If a kernel uses an operation
//! that OpenCL permits to be inexact (division, square root, exponentials), a tolerance in units in the last place
//! (ulps) is stated at the comparison, with the reason for it.

use std::fmt::Debug;

use thiserror::Error;

/// A successful comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checked {
    /// Number of values compared.
    pub values: usize,
    /// The largest error, in ulps of the scale of the comparison.
    pub worst_ulps: f64,
}

impl Checked {
    /// Combines two comparisons.
    pub fn and(self, other: Checked) -> Checked {
        Checked { values: self.values + other.values, worst_ulps: self.worst_ulps.max(other.worst_ulps) }
    }
}

/// A failed comparison, described by its first wrong value.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{what}[{index}] is {got}, expected {expected} ({rule}); {wrong} of {of} values are wrong")]
pub struct Mismatch {
    /// The name of the result.
    pub what: &'static str,
    /// Index of the first wrong value.
    pub index: usize,
    /// The wrong value.
    pub got: String,
    /// The expected value.
    pub expected: String,
    /// The rule: `equal`, or a tolerance.
    pub rule: String,
    /// Number of wrong values.
    pub wrong: usize,
    /// Number of values compared.
    pub of: usize,
}

/// Checks that every value equals the reference's.
pub fn equal<T: PartialEq + Debug>(what: &'static str, got: &[T], expected: &[T]) -> Result<Checked, Mismatch> {
    compare(what, got, expected, "equal".to_owned(), |g, e, _| if g == e { 0.0 } else { f64::INFINITY }, 0.0)
}

/// Checks that every float has the reference's bits (except that all NaNs are equal, and -0 equals 0).
pub fn bit_equal(what: &'static str, got: &[f32], expected: &[f32]) -> Result<Checked, Mismatch> {
    let distance = |g: &f32, e: &f32, _| if g == e || (g.is_nan() && e.is_nan()) { 0.0 } else { f64::INFINITY };
    compare(what, got, expected, "bit-equal".to_owned(), distance, 0.0)
}

/// Checks that every float is within `ulps` units in the last place, measured at the magnitude `scale` of its index.
///
/// `scale` is the magnitude of the terms that were summed: if terms cancel, their rounding errors remain, however small
/// the sum is.
pub fn within(
    what: &'static str,
    got: &[f32],
    expected: &[f32],
    scale: impl Fn(usize) -> f32,
    ulps: f64,
) -> Result<Checked, Mismatch> {
    let distance = |g: &f32, e: &f32, i: usize| {
        if g.to_bits() == e.to_bits() {
            0.0
        } else {
            let error = (f64::from(*g) - f64::from(*e)).abs() / f64::from(ulp(scale(i)));
            if error.is_nan() { f64::INFINITY } else { error }
        }
    };
    compare(what, got, expected, format!("within {ulps} ulps"), distance, ulps)
}

fn compare<T: Debug>(
    what: &'static str,
    got: &[T],
    expected: &[T],
    rule: String,
    distance: impl Fn(&T, &T, usize) -> f64,
    limit: f64,
) -> Result<Checked, Mismatch> {
    assert_eq!(got.len(), expected.len(), "{what}: the reference and the kernel agree on how much they compute");
    let mut checked = Checked { values: got.len(), worst_ulps: 0.0 };
    let mut first = None;
    let mut wrong = 0;
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        let error = distance(g, e, i);
        if error > limit {
            wrong += 1;
            first.get_or_insert(i);
        } else {
            checked.worst_ulps = checked.worst_ulps.max(error);
        }
    }
    match first {
        None => Ok(checked),
        Some(index) => Err(Mismatch {
            what,
            index,
            got: format!("{:?}", got[index]),
            expected: format!("{:?}", expected[index]),
            rule,
            wrong,
            of: got.len(),
        }),
    }
}

/// The distance from `x` to the next float away from zero.
fn ulp(x: f32) -> f32 {
    let x = x.abs().max(f32::MIN_POSITIVE);
    if x.is_finite() { f32::from_bits(x.to_bits() + 1) - x } else { f32::NAN }
}

/// Number of steps between two floats: 0 for equal ones, 1 for neighbours.
pub fn ulps_between(a: f32, b: f32) -> u32 {
    let line = |x: f32| {
        let bits = x.to_bits() as i32;
        if bits < 0 { i32::MIN - bits } else { bits }
    };
    line(a).abs_diff(line(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_value_is_reported_with_its_place() {
        let wrong = equal("sum", &[1, 2, 4, 5], &[1, 2, 3, 4]).unwrap_err();
        assert_eq!(wrong.to_string(), "sum[2] is 4, expected 3 (equal); 2 of 4 values are wrong");
    }

    #[test]
    fn a_tolerance_is_measured_against_the_scale_of_the_terms() {
        let one_ulp_of_four = 4.0 * f32::EPSILON;
        let scale = |_| 4.0;
        assert_eq!(within("x", &[one_ulp_of_four], &[0.0], scale, 1.0).unwrap().worst_ulps, 1.0);
        assert!(within("x", &[2.0 * one_ulp_of_four], &[0.0], scale, 1.0).is_err());
    }

    #[test]
    fn a_nan_is_never_within_a_tolerance_of_a_number() {
        assert!(within("x", &[f32::NAN], &[0.0], |_| 1.0, 1e9).is_err());
        assert!(bit_equal("x", &[f32::NAN], &[0.0]).is_err());
    }

    #[test]
    fn neighbouring_floats_are_one_apart_across_zero_too() {
        assert_eq!(ulps_between(1.0, 1.0 + f32::EPSILON), 1);
        assert_eq!(ulps_between(-0.0, 0.0), 0);
        assert_eq!(ulps_between(f32::from_bits(1), -f32::from_bits(1)), 2);
    }
}
