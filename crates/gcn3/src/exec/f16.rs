//! Arithmetic on 16-bit floats.
//!
//! Sums, products, quotients and roots of 16-bit numbers, computed in 32 bits and then rounded to 16, are correctly
//! rounded, because 32-bit floats have more than twice the precision. Only the fused multiply-add needs exact
//! arithmetic. The upper half of a result is zero.

use super::{
    Handler, Outcome,
    elementary::{cos_turns, exp2, log2, sin_turns},
    f32::fract,
    float::{f16_to_f32, f32_to_f16, flush16},
    operand::{Spread, Width},
    simd::{Row, lanes},
    soft::{self, F16, Round},
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

type Exact2 = fn(soft::Format, u64, u64, Round) -> u64;

impl Wavefront {
    #[inline(always)]
    fn unary_f16(&mut self, inst: &Inst, f: impl Fn(f32) -> f32) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::F16, &mut spread);
        let denormals = self.mode.denormals64();
        let (keep_in, keep_out) = (denormals.keep_in16(), denormals.keep_out16());
        let out = lanes(|lane| {
            let value = f16_to_f32(flush16(a[lane] & 0xffff, keep_in));
            flush16(f32_to_f16(f(value)), keep_out)
        });
        self.write_f16(inst, out)
    }

    #[inline(always)]
    fn binary_f16(&mut self, inst: &Inst, f: impl Fn(f32, f32) -> f32, exact: Exact2, flip: u32) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::F16, p);
        let b = self.source(inst, 1, Width::F16, q);
        let denormals = self.mode.denormals64();
        let (keep_in, keep_out) = (denormals.keep_in16(), denormals.keep_out16());
        let operand = |row: &Row, lane: usize| flush16(row[lane] & 0xffff, keep_in);
        let out = match self.mode.round64() {
            Round::NearestEven => lanes(|lane| {
                let result = f(f16_to_f32(operand(a, lane)), f16_to_f32(operand(b, lane)));
                flush16(f32_to_f16(result), keep_out)
            }),
            round => std::array::from_fn(|lane| {
                let a = operand(a, lane) ^ (flip & 1) << 15;
                let b = operand(b, lane) ^ (flip >> 1) << 15;
                flush16(exact(F16, a.into(), b.into(), round) as u32, keep_out)
            }),
        };
        self.write_f16(inst, out)
    }

    #[inline(always)]
    fn ternary_f16(&mut self, inst: &Inst, f: impl Fn(u64, u64, u64, Round) -> u64) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::F16, p);
        let b = self.source(inst, 1, Width::F16, q);
        let c = self.source(inst, 2, Width::F16, r);
        let denormals = self.mode.denormals64();
        let (keep_in, keep_out) = (denormals.keep_in16(), denormals.keep_out16());
        let round = self.mode.round64();
        let out = std::array::from_fn(|lane| {
            let operand = |row: &Row| u64::from(flush16(row[lane] & 0xffff, keep_in));
            flush16(f(operand(a), operand(b), operand(c), round) as u32, keep_out)
        });
        self.write_f16(inst, out)
    }

    #[inline(always)]
    fn choose_f16(&mut self, inst: &Inst, less: bool) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::F16, p);
        let b = self.source(inst, 1, Width::F16, q);
        let ieee = self.mode.ieee();
        let out = lanes(|lane| extreme(a[lane] & 0xffff, b[lane] & 0xffff, ieee, less));
        self.write_f16(inst, out)
    }
}

#[inline(always)]
fn extreme(a: u32, b: u32, ieee: bool, less: bool) -> u32 {
    const QUIET: u32 = 1 << 9;
    let is_nan = |bits: u32| bits & 0x7fff > 0x7c00;
    let signalling = |bits: u32| is_nan(bits) && bits & QUIET == 0;
    let (x, y) = (f16_to_f32(a), f16_to_f32(b));
    let first = if less { x < y || a == 0x8000 && b == 0 } else { x > y || a == 0 && b == 0x8000 };
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

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VAddF16 => |w, i, _| w.binary_f16(i, |a, b| a + b, soft::add, 0),
        Op::VSubF16 => |w, i, _| w.binary_f16(i, |a, b| a - b, soft::add, 2),
        Op::VSubrevF16 => |w, i, _| w.binary_f16(i, |a, b| b - a, soft::add, 1),
        Op::VMulF16 => |w, i, _| w.binary_f16(i, |a, b| a * b, soft::mul, 0),
        Op::VMacF16 | Op::VMadF16 | Op::VMadmkF16 | Op::VMadakF16 => {
            |w, i, _| w.ternary_f16(i, |a, b, c, round| soft::add(F16, soft::mul(F16, a, b, round), c, round))
        }
        Op::VFmaF16 => |w, i, _| w.ternary_f16(i, |a, b, c, round| soft::fma(F16, a, b, c, round)),
        Op::VMinF16 => |w, i, _| w.choose_f16(i, true),
        Op::VMaxF16 => |w, i, _| w.choose_f16(i, false),
        Op::VLdexpF16 => |w, i, _| {
            let [p, q] = &mut [Spread::uninit(); 2];
            let a = w.source(i, 0, Width::F16, p);
            let power = w.source(i, 1, Width::I16, q);
            let denormals = w.mode.denormals64();
            let (keep_in, keep_out) = (denormals.keep_in16(), denormals.keep_out16());
            let round = w.mode.round64();
            let out = std::array::from_fn(|lane| {
                let value = flush16(a[lane] & 0xffff, keep_in).into();
                flush16(soft::scale(F16, value, i32::from(power[lane] as i16), round) as u32, keep_out)
            });
            w.write_f16(i, out)
        },
        Op::VRcpF16 => |w, i, _| w.unary_f16(i, |a| 1.0 / a),
        Op::VSqrtF16 => |w, i, _| w.unary_f16(i, f32::sqrt),
        Op::VRsqF16 => |w, i, _| w.unary_f16(i, |a| 1.0 / a.sqrt()),
        Op::VLogF16 => |w, i, _| w.unary_f16(i, log2),
        Op::VExpF16 => |w, i, _| w.unary_f16(i, exp2),
        Op::VSinF16 => |w, i, _| w.unary_f16(i, sin_turns),
        Op::VCosF16 => |w, i, _| w.unary_f16(i, cos_turns),
        Op::VFloorF16 => |w, i, _| w.unary_f16(i, f32::floor),
        Op::VCeilF16 => |w, i, _| w.unary_f16(i, f32::ceil),
        Op::VTruncF16 => |w, i, _| w.unary_f16(i, f32::trunc),
        Op::VRndneF16 => |w, i, _| w.unary_f16(i, f32::round_ties_even),
        // The largest 16-bit number below 1 is 1 - 2^-11.
        Op::VFractF16 => |w, i, _| w.unary_f16(i, |a| if a.is_nan() { a } else { fract(a).min(1.0 - 1.0 / 2048.0) }),
        Op::VFrexpMantF16 => |w, i, _| w.unary_f16(i, |a| super::f64::frexp(a.into()).0 as f32),
        Op::VFrexpExpI16F16 => |w, i, _| {
            let mut spread = Spread::uninit();
            let a = w.source(i, 0, Width::F16, &mut spread);
            let out = lanes(|lane| super::f64::frexp(f16_to_f32(a[lane] & 0xffff).into()).1 as u32 & 0xffff);
            w.write(i, &out)
        },
        _ => return None,
    })
}
