//! Arithmetic on 32-bit floats.
//!
//! `v_mad_f32`, `v_mac_f32` and their variants with a constant round the product and flush denormals regardless of
//! MODE. That makes them cheaper than `v_fma_f32` in hardware, and compilers use them only where denormals are flushed
//! in any case. Minimum and maximum keep denormals, as on gfx803.

use super::{
    Handler, Outcome,
    float::{Denormals, flush32},
    operand::{Spread, Width},
    simd::{Row, lanes},
    soft::{self, Round},
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

/// An operation in exact arithmetic, for rounding modes that the host's arithmetic does not have.
type Exact2 = fn(soft::Format, u64, u64, Round) -> u64;

impl Wavefront {
    /// One operand; denormals as given, no rounding.
    #[inline(always)]
    pub(super) fn unary_f32(&mut self, inst: &Inst, denormals: Denormals, f: impl Fn(f32) -> f32) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::F32, &mut spread);
        let (keep_in, keep_out) = (denormals.keep_in32(), denormals.keep_out32());
        let out = lanes(|lane| flush32(f(f32::from_bits(flush32(a[lane], keep_in))).to_bits(), keep_out));
        self.write_f32(inst, out)
    }

    /// Two operands; denormals and rounding according to MODE.
    #[inline(always)]
    fn binary_f32(&mut self, inst: &Inst, f: impl Fn(f32, f32) -> f32, exact: Exact2, flip: u32) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let denormals = self.mode.denormals32();
        let (keep_in, keep_out) = (denormals.keep_in32(), denormals.keep_out32());
        let out = match self.mode.round32() {
            Round::NearestEven => lanes(|lane| {
                let (a, b) = (flush32(a[lane], keep_in), flush32(b[lane], keep_in));
                flush32(f(f32::from_bits(a), f32::from_bits(b)).to_bits(), keep_out)
            }),
            round => std::array::from_fn(|lane| {
                // A subtraction is an addition with a flipped sign: bit 0 of `flip` for the first operand, bit 1 for
                // the second.
                let a = flush32(a[lane], keep_in) ^ (flip & 1) << 31;
                let b = flush32(b[lane], keep_in) ^ (flip >> 1) << 31;
                flush32(exact(soft::F32, a.into(), b.into(), round) as u32, keep_out)
            }),
        };
        self.write_f32(inst, out)
    }

    /// Operations on two operands that do not round, such as minimum: bits in, bits out.
    #[inline(always)]
    fn choose_f32(&mut self, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let out = lanes(|lane| f(a[lane], b[lane]));
        self.write_f32(inst, out)
    }

    #[inline(always)]
    fn choose3_f32(&mut self, inst: &Inst, f: impl Fn(u32, u32, u32) -> u32) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let c = self.source(inst, 2, Width::F32, r);
        let out = lanes(|lane| f(a[lane], b[lane], c[lane]));
        self.write_f32(inst, out)
    }

    /// Three operands: `f` rounds to nearest; for other modes `exact` gets the rounding mode.
    #[inline(always)]
    fn ternary_f32(
        &mut self,
        inst: &Inst,
        denormals: Denormals,
        f: impl Fn(f32, f32, f32) -> f32,
        exact: impl Fn(u64, u64, u64, Round) -> u64,
    ) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let c = self.source(inst, 2, Width::F32, r);
        let (keep_in, keep_out) = (denormals.keep_in32(), denormals.keep_out32());
        let out = match self.mode.round32() {
            Round::NearestEven => lanes(|lane| {
                let operand = |row: &Row| f32::from_bits(flush32(row[lane], keep_in));
                flush32(f(operand(a), operand(b), operand(c)).to_bits(), keep_out)
            }),
            round => std::array::from_fn(|lane| {
                let operand = |row: &Row| u64::from(flush32(row[lane], keep_in));
                flush32(exact(operand(a), operand(b), operand(c), round) as u32, keep_out)
            }),
        };
        self.write_f32(inst, out)
    }

    #[inline(always)]
    fn mad_f32(&mut self, inst: &Inst) -> Outcome {
        let sign = 1u32 << 31;
        self.ternary_f32(
            inst,
            Denormals::FLUSH,
            |a, b, c| f32::from_bits(flush32((a * b).to_bits(), sign)) + c,
            |a, b, c, round| {
                let product = flush32(soft::mul(soft::F32, a, b, round) as u32, sign);
                soft::add(soft::F32, product.into(), c, round)
            },
        )
    }
}

#[inline(always)]
fn is_nan(bits: u32) -> bool {
    bits & 0x7fff_ffff > 0x7f80_0000
}

#[inline(always)]
fn is_signalling(bits: u32) -> bool {
    is_nan(bits) && bits & 0x40_0000 == 0
}

/// The smaller number. A number is preferred to a NaN, except to a signalling NaN in IEEE mode.
#[inline(always)]
fn min(a: u32, b: u32, ieee: bool) -> u32 {
    extreme(a, b, ieee, f32::from_bits(a) < f32::from_bits(b) || a == 1 << 31 && b == 0)
}

#[inline(always)]
fn max(a: u32, b: u32, ieee: bool) -> u32 {
    extreme(a, b, ieee, f32::from_bits(a) > f32::from_bits(b) || a == 0 && b == 1 << 31)
}

#[inline(always)]
fn extreme(a: u32, b: u32, ieee: bool, first: bool) -> u32 {
    let quiet = 0x40_0000;
    if ieee && is_signalling(a) {
        a | quiet
    } else if ieee && is_signalling(b) {
        b | quiet
    } else if is_nan(a) {
        b
    } else if is_nan(b) || first {
        a
    } else {
        b
    }
}

#[inline(always)]
fn median(a: u32, b: u32, c: u32, ieee: bool) -> u32 {
    if is_nan(a) || is_nan(b) || is_nan(c) {
        return min(min(a, b, ieee), c, ieee);
    }
    let largest = max(max(a, b, ieee), c, ieee);
    if largest == a {
        max(b, c, ieee)
    } else if largest == b {
        max(a, c, ieee)
    } else {
        max(a, b, ieee)
    }
}

#[inline(always)]
pub(super) fn fract(value: f32) -> f32 {
    let fraction = value - value.floor();
    // The largest number below 1, since rounding must not reach 1.
    if fraction >= 1.0 { f32::from_bits(0x3f7f_ffff) } else { fraction }
}

/// `value * 2^power`, rounded once: the product is exact in 64 bits.
#[inline(always)]
fn ldexp(value: f32, power: i32) -> f32 {
    let factor = f64::from_bits(((1023 + power.clamp(-500, 500)) as u64) << 52);
    (f64::from(value) * factor) as f32
}

/// The cube face that a direction points at, and the coordinates on it: (face, s, t, major axis).
fn cube(x: f32, y: f32, z: f32) -> (f32, f32, f32, f32) {
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z < 0.0 { (5.0, -x, -y, 2.0 * z) } else { (4.0, x, -y, 2.0 * z) }
    } else if y.abs() >= x.abs() {
        if y < 0.0 { (3.0, x, -z, 2.0 * y) } else { (2.0, x, z, 2.0 * y) }
    } else if x < 0.0 {
        (1.0, z, -y, 2.0 * x)
    } else {
        (0.0, -z, -y, 2.0 * x)
    }
}

#[inline(always)]
fn float3(f: impl Fn(f32, f32, f32) -> f32) -> impl Fn(u32, u32, u32) -> u32 {
    move |a, b, c| f(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits()
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VAddF32 => |w, i, _| w.binary_f32(i, |a, b| a + b, soft::add, 0),
        Op::VSubF32 => |w, i, _| w.binary_f32(i, |a, b| a - b, soft::add, 2),
        Op::VSubrevF32 => |w, i, _| w.binary_f32(i, |a, b| b - a, soft::add, 1),
        Op::VMulF32 => |w, i, _| w.binary_f32(i, |a, b| a * b, soft::mul, 0),
        // Zero times anything is zero, including infinity and NaN.
        Op::VMulLegacyF32 => |w, i, _| {
            let legacy: Exact2 = |format, a, b, round| match a << 33 == 0 || b << 33 == 0 {
                true => 0,
                false => soft::mul(format, a, b, round),
            };
            w.binary_f32(i, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }, legacy, 0)
        },
        Op::VMacF32 | Op::VMadF32 | Op::VMadmkF32 | Op::VMadakF32 => |w, i, _| w.mad_f32(i),
        Op::VMadLegacyF32 => |w, i, _| {
            w.ternary_f32(
                i,
                Denormals::FLUSH,
                |a, b, c| if a == 0.0 || b == 0.0 { c } else { a * b + c },
                |a, b, c, round| match a << 33 == 0 || b << 33 == 0 {
                    true => c,
                    false => soft::add(soft::F32, soft::mul(soft::F32, a, b, round), c, round),
                },
            )
        },
        Op::VFmaF32 => |w, i, _| {
            let denormals = w.mode.denormals32();
            w.ternary_f32(i, denormals, |a, b, c| a.mul_add(b, c), |a, b, c, r| soft::fma(soft::F32, a, b, c, r))
        },
        Op::VMinF32 => |w, i, _| {
            let ieee = w.mode.ieee();
            w.choose_f32(i, |a, b| min(a, b, ieee))
        },
        Op::VMaxF32 => |w, i, _| {
            let ieee = w.mode.ieee();
            w.choose_f32(i, |a, b| max(a, b, ieee))
        },
        Op::VMin3F32 => |w, i, _| {
            let ieee = w.mode.ieee();
            w.choose3_f32(i, |a, b, c| min(min(a, b, ieee), c, ieee))
        },
        Op::VMax3F32 => |w, i, _| {
            let ieee = w.mode.ieee();
            w.choose3_f32(i, |a, b, c| max(max(a, b, ieee), c, ieee))
        },
        Op::VMed3F32 => |w, i, _| {
            let ieee = w.mode.ieee();
            w.choose3_f32(i, |a, b, c| median(a, b, c, ieee))
        },
        Op::VTruncF32 => |w, i, _| w.unary_f32(i, w.mode.denormals32(), f32::trunc),
        Op::VCeilF32 => |w, i, _| w.unary_f32(i, w.mode.denormals32(), f32::ceil),
        Op::VFloorF32 => |w, i, _| w.unary_f32(i, w.mode.denormals32(), f32::floor),
        Op::VRndneF32 => |w, i, _| w.unary_f32(i, w.mode.denormals32(), f32::round_ties_even),
        Op::VFractF32 => |w, i, _| w.unary_f32(i, w.mode.denormals32(), fract),
        Op::VLdexpF32 => |w, i, _| {
            let [p, q] = &mut [Spread::uninit(); 2];
            let a = w.source(i, 0, Width::F32, p);
            let power = w.source(i, 1, Width::I32, q);
            let denormals = w.mode.denormals32();
            let (keep_in, keep_out) = (denormals.keep_in32(), denormals.keep_out32());
            let out = match w.mode.round32() {
                Round::NearestEven => lanes(|lane| {
                    let value = f32::from_bits(flush32(a[lane], keep_in));
                    flush32(ldexp(value, power[lane] as i32).to_bits(), keep_out)
                }),
                round => std::array::from_fn(|lane| {
                    let value = flush32(a[lane], keep_in).into();
                    flush32(soft::scale(soft::F32, value, power[lane] as i32, round) as u32, keep_out)
                }),
            };
            w.write_f32(i, out)
        },
        Op::VFrexpMantF32 => |w, i, _| {
            w.unary_f32(i, w.mode.denormals32(), |a| {
                let (mantissa, _) = super::f64::frexp(a.into());
                mantissa as f32
            })
        },
        Op::VCubeidF32 => |w, i, _| w.choose3_f32(i, float3(|x, y, z| cube(x, y, z).0)),
        Op::VCubescF32 => |w, i, _| w.choose3_f32(i, float3(|x, y, z| cube(x, y, z).1)),
        Op::VCubetcF32 => |w, i, _| w.choose3_f32(i, float3(|x, y, z| cube(x, y, z).2)),
        Op::VCubemaF32 => |w, i, _| w.choose3_f32(i, float3(|x, y, z| cube(x, y, z).3)),
        _ => return None,
    })
}
