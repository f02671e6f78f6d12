//! Reciprocals, roots, powers of two, logarithms, sine and cosine.
//!
//! The ISA allows an error of one unit in the last place (and absolute bounds for sine and cosine). The results here
//! are more accurate: they are computed in 64 bits with polynomials, so that they do not depend on the host's
//! mathematical library. The 32-bit instructions flush denormals regardless of MODE, as in the hardware.

use super::{Handler, Outcome, float::Denormals};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

impl Wavefront {
    #[inline(always)]
    fn elementary(&mut self, inst: &Inst, f: impl Fn(f32) -> f32) -> Outcome {
        self.unary_f32(inst, Denormals::FLUSH, f)
    }
}

/// Evaluates the polynomial `c[0] + c[1] x + ...`.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut sum = c[N - 1];
    let mut n = N - 1;
    while n > 0 {
        n -= 1;
        sum = sum * x + c[n];
    }
    sum
}

/// 2^x.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    // Beyond these bounds the result is zero or infinity; NaN fails both comparisons and is kept.
    let bounded = if x > 200.0 {
        200.0
    } else if x < -200.0 {
        -200.0
    } else {
        f64::from(x)
    };
    // Adding 1.5 * 2^52 leaves the nearest integer in the low bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let shifted = bounded + SHIFT;
    let fraction = bounded - (shifted - SHIFT);
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    // The Taylor series of 2^f for |f| <= 1/2: the first term left out is below 2^-33.
    const LN2: f64 = std::f64::consts::LN_2;
    const C: [f64; 9] = {
        let mut c = [1.0; 9];
        let mut n = 1;
        while n < 9 {
            c[n] = c[n - 1] * LN2 / n as f64;
            n += 1;
        }
        c
    };
    (polynomial(fraction, C) * power) as f32
}

/// The logarithm to base 2.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    let bits = f64::from(x).to_bits();
    // The mantissa is between sqrt(1/2) and sqrt(2), with a matching exponent.
    let shifted = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = (shifted as i64 >> 52) as i32;
    let mantissa = f64::from_bits(bits.wrapping_sub(shifted & 0xfff0_0000_0000_0000));
    // log(m) = 2 artanh((m - 1) / (m + 1)). For |s| < 0.1716 the series after s^13 is below 2^-37.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let series = polynomial(s * s, [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0]);
    let value = (f64::from(exponent) + s * series * (2.0 * std::f64::consts::LOG2_E)) as f32;
    if x == 0.0 {
        f32::NEG_INFINITY
    } else if x < 0.0 || x.is_nan() {
        f32::NAN
    } else if x == f32::INFINITY {
        x
    } else {
        value
    }
}

/// sin(2 pi t) for |t| <= 1/4.
#[inline(always)]
fn sin_quarter(t: f64) -> f64 {
    const TAU: f64 = std::f64::consts::TAU;
    let x = t * TAU;
    let series = [
        1.0,
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
    ];
    x * polynomial(x * x, series)
}

/// The sine of an angle in turns.
#[inline(always)]
pub(super) fn sin_turns(x: f32) -> f32 {
    let turns = f64::from(x);
    let t = turns - turns.round_ties_even();
    // Fold the second and third quarters onto the first and fourth.
    let folded = if t > 0.25 {
        0.5 - t
    } else if t < -0.25 {
        -0.5 - t
    } else {
        t
    };
    let value = sin_quarter(folded) as f32;
    if x.is_infinite() {
        f32::NAN
    } else if x.abs() > 256.0 {
        0.0
    } else {
        value
    }
}

/// The cosine of an angle in turns.
#[inline(always)]
pub(super) fn cos_turns(x: f32) -> f32 {
    let turns = f64::from(x);
    let t = (turns - turns.round_ties_even()).abs();
    let value = sin_quarter(0.25 - t) as f32;
    if x.is_infinite() {
        f32::NAN
    } else if x.abs() > 256.0 {
        1.0
    } else {
        value
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VRcpF32 | Op::VRcpIflagF32 => |w, i, _| w.elementary(i, |a| 1.0 / a),
        Op::VSqrtF32 => |w, i, _| w.elementary(i, f32::sqrt),
        Op::VRsqF32 => |w, i, _| w.elementary(i, |a| (1.0 / f64::from(a).sqrt()) as f32),
        Op::VExpF32 | Op::VExpLegacyF32 => |w, i, _| w.elementary(i, exp2),
        Op::VLogF32 | Op::VLogLegacyF32 => |w, i, _| w.elementary(i, log2),
        Op::VSinF32 => |w, i, _| w.elementary(i, sin_turns),
        Op::VCosF32 => |w, i, _| w.elementary(i, cos_turns),
        Op::VRcpF64 => |w, i, _| w.unary_f64(i, |a| 1.0 / a),
        Op::VRsqF64 => |w, i, _| w.unary_f64(i, |a| 1.0 / a.sqrt()),
        Op::VSqrtF64 => |w, i, _| w.unary_f64(i, f64::sqrt),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error in units in the last place of the correctly rounded value.
    fn ulps(got: f32, want: f64) -> f64 {
        let rounded = want as f32;
        let unit = f64::from(rounded.abs().next_up()) - f64::from(rounded.abs());
        ((f64::from(got) - want) / unit).abs()
    }

    #[test]
    fn powers_of_two_are_within_one_unit_in_the_last_place() {
        for n in -12_500..12_700 {
            let x = n as f32 * 0.01 + 0.0013;
            assert!(ulps(exp2(x), f64::from(x).exp2()) <= 0.51, "{x}");
        }
        for n in -126..128 {
            assert_eq!(exp2(n as f32), 2f32.powi(n));
        }
        assert_eq!(exp2(1000.0), f32::INFINITY);
        assert_eq!(exp2(-1000.0), 0.0);
        assert_eq!(exp2(f32::NEG_INFINITY), 0.0);
        assert!(exp2(f32::NAN).is_nan());
    }

    #[test]
    fn logarithms_are_within_one_unit_in_the_last_place() {
        for bits in (0x0080_0000u32..0x7f80_0000).step_by(50_021) {
            let x = f32::from_bits(bits);
            assert!(ulps(log2(x), f64::from(x).log2()) <= 0.51, "{x}: {} {}", log2(x), f64::from(x).log2());
        }
        for near_one in 0..2000 {
            let x = f32::from_bits(0x3f80_0000 - 1000 + near_one);
            assert!(x == 1.0 || ulps(log2(x), f64::from(x).log2()) <= 0.51, "{x}");
        }
        assert_eq!(log2(1.0), 0.0);
        assert_eq!(log2(0.0), f32::NEG_INFINITY);
        assert!(log2(-1.0).is_nan());
        assert_eq!(log2(f32::INFINITY), f32::INFINITY);
    }

    #[test]
    fn sine_and_cosine_take_turns_and_hit_the_quarters() {
        for n in -25_600..=25_600 {
            let x = n as f32 * 0.01;
            let turns = f64::from(x) - f64::from(x).round();
            assert!((f64::from(sin_turns(x)) - (turns * std::f64::consts::TAU).sin()).abs() < 1e-7, "sin {x}");
            assert!((f64::from(cos_turns(x)) - (turns * std::f64::consts::TAU).cos()).abs() < 1e-7, "cos {x}");
        }
        assert_eq!((sin_turns(0.25), sin_turns(0.5), cos_turns(0.25), cos_turns(0.5)), (1.0, 0.0, 0.0, -1.0));
        assert_eq!((sin_turns(1000.0), cos_turns(1000.0)), (0.0, 1.0));
        assert!(sin_turns(f32::INFINITY).is_nan());
    }
}
