//! The steps of a correctly rounded division, and the argument reduction of trigonometric functions.
//!
//! A compiler divides as follows: `div_scale` scales both operands so that no intermediate result overflows or is
//! denormal; fused multiply-adds refine a reciprocal; `div_fmas` does the last step and undoes the scaling; `div_fixup`
//! handles the special cases. VCC carries for each lane whether the scaling must be undone.

use super::{
    Handler, Outcome,
    float::{flush32, flush64},
    operand::{Spread, Spread64, Width},
    simd::{Row, lanes, mask},
    soft::{self, Round},
    wide::join,
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

const NAN: f64 = f64::NAN;

/// The parameters of the two widths, as in the ISA's pseudo code.
struct Precision {
    /// A quotient with a larger exponent difference may overflow in an intermediate step.
    far: i32,
    /// Power of two by which operands are scaled.
    scale: i32,
    /// A numerator with at most this biased exponent may lose precision in an intermediate step.
    tiny: i32,
    /// A quotient with an exponent below the negative of this is zero.
    underflow: i32,
    format: soft::Format,
    /// Smallest exponent of a normal number.
    smallest: i32,
    bias: i32,
}

const SINGLE: Precision =
    Precision { far: 96, scale: 64, tiny: 23, underflow: 150, format: soft::F32, smallest: -126, bias: 127 };
const DOUBLE: Precision =
    Precision { far: 768, scale: 128, tiny: 53, underflow: 1075, format: soft::F64, smallest: -1022, bias: 1023 };

/// A number, decomposed into the properties needed here.
#[derive(Clone, Copy)]
struct Operand {
    bits: u64,
    /// Biased exponent field.
    exponent: i32,
    zero: bool,
    denormal: bool,
    special: bool,
}

impl Precision {
    fn operand(&self, bits: u64) -> Operand {
        let fraction = if self.bias == 127 { 23 } else { 52 };
        let exponent = (bits >> fraction) as i32 & (2 * self.bias + 1);
        let mantissa = bits & ((1 << fraction) - 1);
        let zero = exponent == 0 && mantissa == 0;
        Operand { bits, exponent, zero, denormal: exponent == 0 && !zero, special: exponent == 2 * self.bias + 1 }
    }

    /// The fraction bits.
    fn fraction(&self, operand: Operand) -> u64 {
        operand.bits & ((1 << if self.bias == 127 { 23 } else { 52 }) - 1)
    }

    /// The scaled operand, and whether the last step must undo the scaling.
    fn div_scale(&self, value: u64, denominator: u64, numerator: u64) -> (u64, bool) {
        let (d, n) = (self.operand(denominator), self.operand(numerator));
        let scaled = |power: i32| soft::scale(self.format, value, power, Round::NearestEven);
        if d.zero || n.zero {
            let nan = if self.bias == 127 { u64::from((NAN as f32).to_bits()) } else { NAN.to_bits() };
            return (nan, false);
        }
        if d.special || n.special {
            return (value, false);
        }
        let reciprocal_denormal = d.exponent - self.bias > -self.smallest
            || d.exponent - self.bias == -self.smallest && self.fraction(d) != 0;
        // The quotient of the mantissas is at least 1 if the numerator's is the larger one.
        let quotient = n.exponent - d.exponent - i32::from(self.fraction(n) < self.fraction(d));
        let quotient_denormal = quotient < self.smallest;
        if n.exponent - d.exponent >= self.far {
            (if value == denominator { scaled(self.scale) } else { value }, true)
        } else if d.denormal {
            (scaled(self.scale), false)
        } else if reciprocal_denormal && quotient_denormal {
            (if value == denominator { scaled(-self.scale) } else { value }, true)
        } else if reciprocal_denormal {
            (scaled(-self.scale), false)
        } else if quotient_denormal {
            (if value == numerator { scaled(self.scale) } else { value }, true)
        } else if n.exponent <= self.tiny {
            (scaled(self.scale), false)
        } else {
            (value, false)
        }
    }

    /// The quotient, with all special cases handled.
    fn div_fixup(&self, quotient: u64, denominator: u64, numerator: u64) -> u64 {
        let sign_bit = (2 * self.bias as u64 + 2) << if self.bias == 127 { 23 } else { 52 };
        let infinity = (2 * self.bias as u64 + 1) << if self.bias == 127 { 23 } else { 52 };
        let quiet = sign_bit >> if self.bias == 127 { 9 } else { 12 };
        let magnitude = |bits: u64| bits & (sign_bit - 1);
        let sign = (denominator ^ numerator) & sign_bit;
        let (d, n) = (self.operand(denominator), self.operand(numerator));
        let (d_magnitude, n_magnitude) = (magnitude(denominator), magnitude(numerator));
        if n_magnitude > infinity {
            numerator | quiet
        } else if d_magnitude > infinity {
            denominator | quiet
        } else if d.zero && n.zero || d_magnitude == infinity && n_magnitude == infinity {
            sign_bit | infinity | quiet
        } else if d.zero || n_magnitude == infinity {
            sign | infinity
        } else if d_magnitude == infinity || n.zero || n.exponent - d.exponent < -self.underflow {
            sign
        } else if magnitude(quotient) > infinity {
            // An intermediate step reached infinity: the quotient is too large.
            sign | infinity
        } else {
            sign | magnitude(quotient)
        }
    }
}

impl Wavefront {
    fn div_scale32(&mut self, inst: &Inst) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let c = self.source(inst, 2, Width::F32, r);
        let scaled: [(u64, bool); 64] =
            std::array::from_fn(|lane| SINGLE.div_scale(a[lane].into(), b[lane].into(), c[lane].into()));
        self.write_mask(inst, mask(|lane| scaled[lane].1));
        self.write_f32(inst, lanes(|lane| scaled[lane].0 as u32))
    }

    fn div_scale64(&mut self, inst: &Inst) -> Outcome {
        let [value, denominator, numerator] = self.three_f64(inst);
        let scaled: [(u64, bool); 64] =
            std::array::from_fn(|lane| DOUBLE.div_scale(value[lane], denominator[lane], numerator[lane]));
        self.write_mask(inst, mask(|lane| scaled[lane].1));
        self.write_f64(inst, &lanes(|lane| scaled[lane].0))
    }

    fn three_f64(&self, inst: &Inst) -> [[u64; 64]; 3] {
        std::array::from_fn(|n| {
            let mut spread = Spread64::uninit();
            let (low, high) = self.source64(inst, n, true, &mut spread);
            lanes(|lane| join(low[lane], high[lane]))
        })
    }

    /// The last multiply-add of a division, times the power of two that undoes the scaling.
    fn div_fmas32(&mut self, inst: &Inst) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let c = self.source(inst, 2, Width::F32, r);
        let denormals = self.mode.denormals32();
        let (keep_in, keep_out) = (denormals.keep_in32(), denormals.keep_out32());
        let (vcc, round) = (self.vcc(), self.mode.round32());
        let out = if vcc & self.exec() == 0 && round == Round::NearestEven {
            lanes(|lane| {
                let operand = |row: &Row| f32::from_bits(flush32(row[lane], keep_in));
                flush32(operand(a).mul_add(operand(b), operand(c)).to_bits(), keep_out)
            })
        } else {
            std::array::from_fn(|lane| {
                let operand = |row: &Row| u64::from(flush32(row[lane], keep_in));
                let power = match vcc >> lane & 1 {
                    // A large quotient comes from a denominator scaled up, a small one from a numerator scaled up.
                    1 if c[lane] >> 23 & 0xff > 127 => 64,
                    1 => -64,
                    _ => 0,
                };
                let result = soft::fma_scaled(soft::F32, operand(a), operand(b), operand(c), power, round);
                flush32(result as u32, keep_out)
            })
        };
        self.write_f32(inst, out)
    }

    fn div_fmas64(&mut self, inst: &Inst) -> Outcome {
        let [a, b, c] = self.three_f64(inst);
        let denormals = self.mode.denormals64();
        let (keep_in, keep_out) = (denormals.keep_in64(), denormals.keep_out64());
        let (vcc, round) = (self.vcc(), self.mode.round64());
        let out = if vcc & self.exec() == 0 && round == Round::NearestEven {
            lanes(|lane| {
                let operand = |row: &[u64; 64]| f64::from_bits(flush64(row[lane], keep_in));
                flush64(operand(&a).mul_add(operand(&b), operand(&c)).to_bits(), keep_out)
            })
        } else {
            std::array::from_fn(|lane| {
                let operand = |row: &[u64; 64]| flush64(row[lane], keep_in);
                let power = match vcc >> lane & 1 {
                    1 if c[lane] >> 52 & 0x7ff > 1023 => 128,
                    1 => -128,
                    _ => 0,
                };
                let result = soft::fma_scaled(soft::F64, operand(&a), operand(&b), operand(&c), power, round);
                flush64(result, keep_out)
            })
        };
        self.write_f64(inst, &out)
    }

    fn div_fixup32(&mut self, inst: &Inst) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let c = self.source(inst, 2, Width::F32, r);
        let out = lanes(|lane| SINGLE.div_fixup(a[lane].into(), b[lane].into(), c[lane].into()) as u32);
        self.write_f32(inst, out)
    }

    fn div_fixup64(&mut self, inst: &Inst) -> Outcome {
        let [quotient, denominator, numerator] = self.three_f64(inst);
        let out = lanes(|lane| DOUBLE.div_fixup(quotient[lane], denominator[lane], numerator[lane]));
        self.write_f64(inst, &out)
    }

    /// 16-bit `div_fixup`: a 16-bit division is done in 32 bits, so only the special cases remain.
    fn div_fixup16(&mut self, inst: &Inst) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::F16, p);
        let b = self.source(inst, 1, Width::F16, q);
        let c = self.source(inst, 2, Width::F16, r);
        let out = lanes(|lane| {
            let (quotient, d, n) = (a[lane] & 0xffff, b[lane] & 0xffff, c[lane] & 0xffff);
            let (sign, d_magnitude, n_magnitude) = ((d ^ n) & 0x8000, d & 0x7fff, n & 0x7fff);
            if n_magnitude > 0x7c00 {
                n | 0x200
            } else if d_magnitude > 0x7c00 {
                d | 0x200
            } else if d_magnitude == n_magnitude && (d_magnitude == 0 || d_magnitude == 0x7c00) {
                0xfe00
            } else if d_magnitude == 0 || n_magnitude == 0x7c00 {
                sign | 0x7c00
            } else if d_magnitude == 0x7c00 || n_magnitude == 0 {
                sign
            } else {
                sign | quotient & 0x7fff
            }
        });
        self.write_f16(inst, out)
    }

    /// A segment of 2/pi, selected by the magnitude of the argument to be reduced.
    fn trig_preop(&mut self, inst: &Inst) -> Outcome {
        let (mut spread, mut segments) = (Spread64::uninit(), Spread::uninit());
        let (_, high) = self.source64(inst, 0, true, &mut spread);
        let segment = self.source(inst, 1, Width::I32, &mut segments);
        let out = lanes(|lane| {
            let exponent = (high[lane] >> 20) as i32 & 0x7ff;
            let shift = 53 * (segment[lane] & 31) as i32 + (exponent - 1077).max(0);
            let piece = two_over_pi(shift);
            let power = -53 - shift + if exponent >= 1968 { 128 } else { 0 };
            soft::scale(soft::F64, (piece as f64).to_bits(), power, Round::NearestEven)
        });
        self.write_f64(inst, &out)
    }
}

/// 53 bits of 2/pi, from bit `first` after the binary point on.
fn two_over_pi(first: i32) -> u64 {
    let (word, bit) = (first as usize / 64, first as u32 % 64);
    let at = |n: usize| u128::from(TWO_OVER_PI.get(n).copied().unwrap_or(0));
    ((at(word) << 64 | at(word + 1)) << bit >> 75) as u64
}

/// The first 1216 bits of 2/pi after the binary point.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VDivScaleF32 => |w, i, _| w.div_scale32(i),
        Op::VDivScaleF64 => |w, i, _| w.div_scale64(i),
        Op::VDivFmasF32 => |w, i, _| w.div_fmas32(i),
        Op::VDivFmasF64 => |w, i, _| w.div_fmas64(i),
        Op::VDivFixupF32 => |w, i, _| w.div_fixup32(i),
        Op::VDivFixupF64 => |w, i, _| w.div_fixup64(i),
        Op::VDivFixupF16 => |w, i, _| w.div_fixup16(i),
        Op::VTrigPreopF64 => |w, i, _| w.trig_preop(i),
        _ => return None,
    })
}
