//! Conversions between number formats.
//!
//! Float to integer truncates and saturates, and converts NaN to 0, like Rust's `as`.

use super::{
    Handler, Outcome,
    float::{f16_to_f32, f32_to_f16, flush16, flush32, flush64},
    operand::{Spread, Spread64, Width},
    simd::{Row, lanes},
    soft::{self, Round},
    wide::join,
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

impl Wavefront {
    #[inline(always)]
    fn f32_to_bits(&mut self, inst: &Inst, f: impl Fn(f32) -> u32) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::F32, &mut spread);
        let keep = self.mode.denormals32().keep_in32();
        let out = lanes(|lane| f(f32::from_bits(flush32(a[lane], keep))));
        self.write(inst, &out)
    }

    #[inline(always)]
    fn f32_pair_to_bits(&mut self, inst: &Inst, f: impl Fn(f32, f32) -> u32) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let keep = self.mode.denormals32().keep_in32();
        let operand = |row: &Row, lane: usize| f32::from_bits(flush32(row[lane], keep));
        let out = lanes(|lane| f(operand(a, lane), operand(b, lane)));
        self.write(inst, &out)
    }

    #[inline(always)]
    fn f64_to_bits(&mut self, inst: &Inst, f: impl Fn(f64) -> u32) -> Outcome {
        let mut spread = Spread64::uninit();
        let (low, high) = self.source64(inst, 0, true, &mut spread);
        let keep = self.mode.denormals64().keep_in64();
        let out = lanes(|lane| f(f64::from_bits(flush64(join(low[lane], high[lane]), keep))));
        self.write(inst, &out)
    }

    #[inline(always)]
    fn bits_to_f32(&mut self, inst: &Inst, f: impl Fn(u32) -> f32) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::I32, &mut spread);
        let out = lanes(|lane| f(a[lane]).to_bits());
        self.write_f32(inst, out)
    }

    #[inline(always)]
    fn integer_to_f32(&mut self, inst: &Inst, signed: bool) -> Outcome {
        match self.mode.round32() {
            Round::NearestEven if signed => self.bits_to_f32(inst, |a| a as i32 as f32),
            Round::NearestEven => self.bits_to_f32(inst, |a| a as f32),
            round => self.bits_to_f32(inst, |a| {
                let negative = signed && (a as i32) < 0;
                let magnitude = if negative { (a as i32).unsigned_abs() } else { a };
                f32::from_bits(soft::from_integer(soft::F32, negative, magnitude.into(), round) as u32)
            }),
        }
    }

    #[inline(always)]
    fn bits_to_f64(&mut self, inst: &Inst, width: Width, f: impl Fn(u32) -> f64) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, width, &mut spread);
        let out = lanes(|lane| f(a[lane]).to_bits());
        self.write_f64(inst, &out)
    }

    fn integer_to_f16(&mut self, inst: &Inst, signed: bool) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::I16, &mut spread);
        let round = self.mode.round64();
        let out = lanes(|lane| {
            let value = if signed { i32::from(a[lane] as i16) } else { i32::from(a[lane] as u16) };
            soft::from_integer(soft::F16, value < 0, value.unsigned_abs().into(), round) as u32
        });
        self.write_f16(inst, out)
    }

    fn f16_to_bits(&mut self, inst: &Inst, f: impl Fn(f32) -> u32) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::F16, &mut spread);
        let keep = self.mode.denormals64().keep_in16();
        let out = lanes(|lane| f(f16_to_f32(flush16(a[lane] & 0xffff, keep))));
        self.write(inst, &out)
    }

    fn f32_to_half(&mut self, inst: &Inst) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::F32, &mut spread);
        let (keep_in, keep_out) = (self.mode.denormals32().keep_in32(), self.mode.denormals64().keep_out16());
        let out = match self.mode.round64() {
            Round::NearestEven => {
                lanes(|lane| flush16(f32_to_f16(f32::from_bits(flush32(a[lane], keep_in))), keep_out))
            }
            round => lanes(|lane| {
                let value = flush32(a[lane], keep_in).into();
                flush16(soft::convert(soft::F32, soft::F16, value, round) as u32, keep_out)
            }),
        };
        self.write_f16(inst, out)
    }

    fn half_to_f32(&mut self, inst: &Inst) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::F16, &mut spread);
        let keep_in = self.mode.denormals64().keep_in16();
        let out = lanes(|lane| f16_to_f32(flush16(a[lane] & 0xffff, keep_in)).to_bits());
        self.write_f32(inst, out)
    }

    fn double_to_f32(&mut self, inst: &Inst) -> Outcome {
        let mut spread = Spread64::uninit();
        let (low, high) = self.source64(inst, 0, true, &mut spread);
        let (keep_in, keep_out) = (self.mode.denormals64().keep_in64(), self.mode.denormals32().keep_out32());
        let operand = |lane: usize| flush64(join(low[lane], high[lane]), keep_in);
        let out = match self.mode.round32() {
            Round::NearestEven => lanes(|lane| flush32((f64::from_bits(operand(lane)) as f32).to_bits(), keep_out)),
            round => lanes(|lane| flush32(soft::convert(soft::F64, soft::F32, operand(lane), round) as u32, keep_out)),
        };
        self.write_f32(inst, out)
    }

    /// Converts a float to an unsigned byte, and puts it in the byte of another register that the second source
    /// selects.
    fn pack_byte(&mut self, inst: &Inst, into: usize) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let value = self.source(inst, 0, Width::F32, p);
        let place = self.source(inst, 1, Width::I32, q);
        let old = match into {
            2 => self.source(inst, 2, Width::I32, r),
            _ => self.vgpr(inst.dst.as_vgpr().map_or(0, usize::from)),
        };
        let out = lanes(|lane| {
            let byte = u32::from(f32::from_bits(value[lane]).round_ties_even() as u8);
            let shift = 8 * (place[lane] & 3);
            old[lane] & !(0xff << shift) | byte << shift
        });
        self.write(inst, &out)
    }
}

/// Converts a float from -1 to 1 (or 0 to 1) to a 16-bit fixed-point number.
#[inline(always)]
fn norm16(value: f32, lowest: f32, scale: f32) -> u32 {
    let value = if value.is_nan() { 0.0 } else { value.clamp(lowest, 1.0) };
    ((value * scale).round_ties_even() as i32) as u32 & 0xffff
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VCvtI32F32 => |w, i, _| w.f32_to_bits(i, |a| a as i32 as u32),
        Op::VCvtU32F32 => |w, i, _| w.f32_to_bits(i, |a| a as u32),
        Op::VCvtRpiI32F32 => |w, i, _| w.f32_to_bits(i, |a| (f64::from(a) + 0.5).floor() as i32 as u32),
        Op::VCvtFlrI32F32 => |w, i, _| w.f32_to_bits(i, |a| a.floor() as i32 as u32),
        Op::VCvtI32F64 => |w, i, _| w.f64_to_bits(i, |a| a as i32 as u32),
        Op::VCvtU32F64 => |w, i, _| w.f64_to_bits(i, |a| a as u32),
        Op::VCvtF32I32 => |w, i, _| w.integer_to_f32(i, true),
        Op::VCvtF32U32 => |w, i, _| w.integer_to_f32(i, false),
        Op::VCvtF64I32 => |w, i, _| w.bits_to_f64(i, Width::I32, |a| f64::from(a as i32)),
        Op::VCvtF64U32 => |w, i, _| w.bits_to_f64(i, Width::I32, f64::from),
        Op::VCvtF64F32 => |w, i, _| {
            let keep = w.mode.denormals32().keep_in32();
            w.bits_to_f64(i, Width::F32, |a| f64::from(f32::from_bits(flush32(a, keep))))
        },
        Op::VCvtF32F64 => |w, i, _| w.double_to_f32(i),
        Op::VCvtF16F32 => |w, i, _| w.f32_to_half(i),
        Op::VCvtF32F16 => |w, i, _| w.half_to_f32(i),
        Op::VCvtF32Ubyte0 => |w, i, _| w.bits_to_f32(i, |a| (a & 0xff) as f32),
        Op::VCvtF32Ubyte1 => |w, i, _| w.bits_to_f32(i, |a| (a >> 8 & 0xff) as f32),
        Op::VCvtF32Ubyte2 => |w, i, _| w.bits_to_f32(i, |a| (a >> 16 & 0xff) as f32),
        Op::VCvtF32Ubyte3 => |w, i, _| w.bits_to_f32(i, |a| (a >> 24) as f32),
        // A signed 4-bit number in sixteenths.
        Op::VCvtOffF32I4 => |w, i, _| w.bits_to_f32(i, |a| ((a << 28) as i32 >> 28) as f32 / 16.0),
        Op::VCvtF16U16 => |w, i, _| w.integer_to_f16(i, false),
        Op::VCvtF16I16 => |w, i, _| w.integer_to_f16(i, true),
        Op::VCvtU16F16 => |w, i, _| w.f16_to_bits(i, |a| u32::from(a as u16)),
        Op::VCvtI16F16 => |w, i, _| w.f16_to_bits(i, |a| a as i16 as u32 & 0xffff),
        Op::VCvtPkU8F32 => |w, i, _| w.pack_byte(i, 2),
        Op::VCvtPkaccumU8F32 => |w, i, _| w.pack_byte(i, 3),
        Op::VCvtPknormI16F32 => {
            |w, i, _| w.f32_pair_to_bits(i, |a, b| norm16(a, -1.0, 32767.0) | norm16(b, -1.0, 32767.0) << 16)
        }
        Op::VCvtPknormU16F32 => {
            |w, i, _| w.f32_pair_to_bits(i, |a, b| norm16(a, 0.0, 65535.0) | norm16(b, 0.0, 65535.0) << 16)
        }
        Op::VCvtPkrtzF16F32 => |w, i, _| {
            let half = |a: f32| soft::convert(soft::F32, soft::F16, a.to_bits().into(), Round::Zero) as u32;
            w.f32_pair_to_bits(i, |a, b| half(a) | half(b) << 16)
        },
        Op::VFrexpExpI32F32 => |w, i, _| w.f32_to_bits(i, |a| super::f64::frexp(a.into()).1 as u32),
        Op::VFrexpExpI32F64 => |w, i, _| w.f64_to_bits(i, |a| super::f64::frexp(a).1 as u32),
        _ => return None,
    })
}
