//! Arithmetic on 64-bit floats.

use super::{
    Handler, Outcome,
    float::flush64,
    operand::{Spread, Spread64, Width},
    simd::lanes,
    soft::{self, Round},
    wide::join,
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

type Exact2 = fn(soft::Format, u64, u64, Round) -> u64;

impl Wavefront {
    #[inline(always)]
    pub(super) fn unary_f64(&mut self, inst: &Inst, f: impl Fn(f64) -> f64) -> Outcome {
        let mut spread = Spread64::uninit();
        let (low, high) = self.source64(inst, 0, true, &mut spread);
        let denormals = self.mode.denormals64();
        let (keep_in, keep_out) = (denormals.keep_in64(), denormals.keep_out64());
        let out = lanes(|lane| {
            let value = f64::from_bits(flush64(join(low[lane], high[lane]), keep_in));
            flush64(f(value).to_bits(), keep_out)
        });
        self.write_f64(inst, &out)
    }

    #[inline(always)]
    fn binary_f64(&mut self, inst: &Inst, f: impl Fn(f64, f64) -> f64, exact: Exact2) -> Outcome {
        let [p, q] = &mut [Spread64::uninit(); 2];
        let (a_low, a_high) = self.source64(inst, 0, true, p);
        let (b_low, b_high) = self.source64(inst, 1, true, q);
        let denormals = self.mode.denormals64();
        let (keep_in, keep_out) = (denormals.keep_in64(), denormals.keep_out64());
        let a = |lane: usize| flush64(join(a_low[lane], a_high[lane]), keep_in);
        let b = |lane: usize| flush64(join(b_low[lane], b_high[lane]), keep_in);
        let out = match self.mode.round64() {
            Round::NearestEven => {
                lanes(|lane| flush64(f(f64::from_bits(a(lane)), f64::from_bits(b(lane))).to_bits(), keep_out))
            }
            round => std::array::from_fn(|lane| flush64(exact(soft::F64, a(lane), b(lane), round), keep_out)),
        };
        self.write_f64(inst, &out)
    }

    /// Selects one of two operands.
    #[inline(always)]
    fn choose_f64(&mut self, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Outcome {
        let [p, q] = &mut [Spread64::uninit(); 2];
        let (a_low, a_high) = self.source64(inst, 0, true, p);
        let (b_low, b_high) = self.source64(inst, 1, true, q);
        let out = lanes(|lane| f(join(a_low[lane], a_high[lane]), join(b_low[lane], b_high[lane])));
        self.write_f64(inst, &out)
    }
}

#[inline(always)]
fn is_nan(bits: u64) -> bool {
    bits & !(1 << 63) > 0x7ff0_0000_0000_0000
}

/// The smaller (`less`) or larger number, with the NaN and zero rules of the 32-bit instructions.
#[inline(always)]
fn extreme(a: u64, b: u64, ieee: bool, less: bool) -> u64 {
    const QUIET: u64 = 1 << 51;
    let signalling = |bits: u64| is_nan(bits) && bits & QUIET == 0;
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let first = if less { x < y || a == 1 << 63 && b == 0 } else { x > y || a == 0 && b == 1 << 63 };
    if ieee && signalling(a) {
        a | QUIET
    } else if ieee && signalling(b) {
        b | QUIET
    } else if is_nan(a) {
        b
    } else if is_nan(b) || first {
        a
    } else {
        b
    }
}

/// Splits a number into a mantissa from 0.5 up to 1 and a power of two; zero, infinities and NaN have power 0.
#[inline(always)]
pub(super) fn frexp(value: f64) -> (f64, i32) {
    let denormal = value.to_bits() & 0x7ff0_0000_0000_0000 == 0;
    let scaled = if denormal { value * f64::from_bits(0x43f0_0000_0000_0000) } else { value };
    let bits = scaled.to_bits();
    let biased = (bits >> 52) as i32 & 0x7ff;
    if value == 0.0 || biased == 0x7ff {
        return (value, 0);
    }
    let mantissa = f64::from_bits(bits & !0x7ff0_0000_0000_0000 | 0x3fe0_0000_0000_0000);
    (mantissa, biased - 1022 - if denormal { 64 } else { 0 })
}

/// `value * 2^power`.
#[inline(always)]
fn ldexp(bits: u64, power: i32, round: Round) -> u64 {
    let biased = (bits >> 52) as i32 & 0x7ff;
    let result = biased.saturating_add(power);
    if biased != 0 && biased != 0x7ff && result > 0 && result < 0x7ff {
        bits & !0x7ff0_0000_0000_0000 | (result as u64) << 52
    } else {
        soft::scale(soft::F64, bits, power, round)
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VAddF64 => |w, i, _| w.binary_f64(i, |a, b| a + b, soft::add),
        Op::VMulF64 => |w, i, _| w.binary_f64(i, |a, b| a * b, soft::mul),
        Op::VFmaF64 => |w, i, _| {
            let [p, q, r] = &mut [Spread64::uninit(); 3];
            let (a_low, a_high) = w.source64(i, 0, true, p);
            let (b_low, b_high) = w.source64(i, 1, true, q);
            let (c_low, c_high) = w.source64(i, 2, true, r);
            let denormals = w.mode.denormals64();
            let (keep_in, keep_out) = (denormals.keep_in64(), denormals.keep_out64());
            let a = |lane: usize| flush64(join(a_low[lane], a_high[lane]), keep_in);
            let b = |lane: usize| flush64(join(b_low[lane], b_high[lane]), keep_in);
            let c = |lane: usize| flush64(join(c_low[lane], c_high[lane]), keep_in);
            let out = match w.mode.round64() {
                Round::NearestEven => lanes(|lane| {
                    let float = f64::from_bits;
                    flush64(float(a(lane)).mul_add(float(b(lane)), float(c(lane))).to_bits(), keep_out)
                }),
                round => std::array::from_fn(|lane| {
                    flush64(soft::fma(soft::F64, a(lane), b(lane), c(lane), round), keep_out)
                }),
            };
            w.write_f64(i, &out)
        },
        Op::VMinF64 => |w, i, _| {
            let ieee = w.mode.ieee();
            w.choose_f64(i, |a, b| extreme(a, b, ieee, true))
        },
        Op::VMaxF64 => |w, i, _| {
            let ieee = w.mode.ieee();
            w.choose_f64(i, |a, b| extreme(a, b, ieee, false))
        },
        Op::VTruncF64 => |w, i, _| w.unary_f64(i, f64::trunc),
        Op::VCeilF64 => |w, i, _| w.unary_f64(i, f64::ceil),
        Op::VFloorF64 => |w, i, _| w.unary_f64(i, f64::floor),
        Op::VRndneF64 => |w, i, _| w.unary_f64(i, f64::round_ties_even),
        Op::VFractF64 => |w, i, _| {
            w.unary_f64(i, |a| {
                let fraction = a - a.floor();
                if fraction >= 1.0 { f64::from_bits(0x3fef_ffff_ffff_ffff) } else { fraction }
            })
        },
        Op::VFrexpMantF64 => |w, i, _| w.unary_f64(i, |a| frexp(a).0),
        Op::VLdexpF64 => |w, i, _| {
            let (mut spread, mut powers) = (Spread64::uninit(), Spread::uninit());
            let (low, high) = w.source64(i, 0, true, &mut spread);
            let power = w.source(i, 1, Width::I32, &mut powers);
            let denormals = w.mode.denormals64();
            let (keep_in, keep_out) = (denormals.keep_in64(), denormals.keep_out64());
            let round = w.mode.round64();
            let out = std::array::from_fn(|lane| {
                let value = flush64(join(low[lane], high[lane]), keep_in);
                flush64(ldexp(value, power[lane] as i32, round), keep_out)
            });
            w.write_f64(i, &out)
        },
        _ => return None,
    })
}
