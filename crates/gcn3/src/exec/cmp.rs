//! Compares: they write a lane mask to a pair of scalar registers, and to EXEC in the `v_cmpx` forms.
//!
//! The low bits of an opcode are the condition, the high bits the type; so the handler is selected by number.

use super::{
    Handler, Outcome, Step,
    float::{f16_to_f32, flush16, flush32, flush64},
    operand::{Spread, Spread64, Width},
    simd::{Row, mask},
    wide::join,
};
use crate::{
    inst::Inst,
    ops::{Encoding, Op},
    wave::Wavefront,
};

impl Wavefront {
    #[inline(always)]
    fn finish_compare(&mut self, inst: &Inst, result: u64) -> Outcome {
        let result = result & self.exec();
        self.set_scalar64(inst.sdst, result);
        if inst.op.is_cmpx() {
            self.set_exec(result);
        }
        Ok(Step::Done)
    }

    #[inline(always)]
    fn cmp32(&mut self, inst: &Inst, f: impl Fn(u32, u32) -> bool) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::I32, p);
        let b = self.source(inst, 1, Width::I32, q);
        let result = mask(|lane| f(a[lane], b[lane]));
        self.finish_compare(inst, result)
    }

    #[inline(always)]
    fn cmp16(&mut self, inst: &Inst, f: impl Fn(u16, u16) -> bool) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::I16, p);
        let b = self.source(inst, 1, Width::I16, q);
        let result = mask(|lane| f(a[lane] as u16, b[lane] as u16));
        self.finish_compare(inst, result)
    }

    #[inline(always)]
    fn cmp64(&mut self, inst: &Inst, f: impl Fn(u64, u64) -> bool) -> Outcome {
        let [p, q] = &mut [Spread64::uninit(); 2];
        let (a_low, a_high) = self.source64(inst, 0, false, p);
        let (b_low, b_high) = self.source64(inst, 1, false, q);
        let result = mask(|lane| f(join(a_low[lane], a_high[lane]), join(b_low[lane], b_high[lane])));
        self.finish_compare(inst, result)
    }

    #[inline(always)]
    fn cmp_f32(&mut self, inst: &Inst, f: impl Fn(f32, f32) -> bool) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::F32, p);
        let b = self.source(inst, 1, Width::F32, q);
        let keep = self.mode.denormals32().keep_in32();
        let operand = |row: &Row, lane: usize| f32::from_bits(flush32(row[lane], keep));
        let result = mask(|lane| f(operand(a, lane), operand(b, lane)));
        self.finish_compare(inst, result)
    }

    #[inline(always)]
    fn cmp_f16(&mut self, inst: &Inst, f: impl Fn(f32, f32) -> bool) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::F16, p);
        let b = self.source(inst, 1, Width::F16, q);
        let keep = self.mode.denormals64().keep_in16();
        let operand = |row: &Row, lane: usize| f16_to_f32(flush16(row[lane] & 0xffff, keep));
        let result = mask(|lane| f(operand(a, lane), operand(b, lane)));
        self.finish_compare(inst, result)
    }

    #[inline(always)]
    fn cmp_f64(&mut self, inst: &Inst, f: impl Fn(f64, f64) -> bool) -> Outcome {
        let [p, q] = &mut [Spread64::uninit(); 2];
        let (a_low, a_high) = self.source64(inst, 0, true, p);
        let (b_low, b_high) = self.source64(inst, 1, true, q);
        let keep = self.mode.denormals64().keep_in64();
        let operand = |low: &Row, high: &Row, lane: usize| f64::from_bits(flush64(join(low[lane], high[lane]), keep));
        let result = mask(|lane| f(operand(a_low, a_high, lane), operand(b_low, b_high, lane)));
        self.finish_compare(inst, result)
    }

    /// Tests whether a number belongs to one of the classes selected by the bits of the second source.
    fn class(&mut self, inst: &Inst, width: Width) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, width, p);
        let classes = self.source(inst, 1, Width::I32, q);
        let result = match width {
            Width::F16 => mask(|lane| classes[lane] >> class((a[lane] & 0xffff).into(), 10, 5) & 1 == 1),
            _ => mask(|lane| classes[lane] >> class(a[lane].into(), 23, 8) & 1 == 1),
        };
        self.finish_compare(inst, result)
    }

    fn class64(&mut self, inst: &Inst) -> Outcome {
        let (mut spread, mut q) = (Spread64::uninit(), Spread::uninit());
        let (low, high) = self.source64(inst, 0, true, &mut spread);
        let classes = self.source(inst, 1, Width::I32, &mut q);
        let result = mask(|lane| classes[lane] >> class(join(low[lane], high[lane]), 52, 11) & 1 == 1);
        self.finish_compare(inst, result)
    }
}

/// The class of a float: signalling NaN 0, quiet NaN 1, then from negative infinity 2 to positive infinity 9.
#[inline(always)]
fn class(bits: u64, fraction: u32, exponent: u32) -> u32 {
    let negative = bits >> (fraction + exponent) & 1 == 1;
    let field = bits >> fraction & ((1 << exponent) - 1);
    let mantissa = bits & ((1 << fraction) - 1);
    let special = field == (1 << exponent) - 1;
    if special && mantissa != 0 {
        return u32::from(mantissa >> (fraction - 1) == 1);
    }
    let size = match (special, field, mantissa) {
        (true, _, _) => 0,
        (_, 0, 0) => 3,
        (_, 0, _) => 2,
        _ => 1,
    };
    if negative { 2 + size } else { 9 - size }
}

/// The handlers of the sixteen float conditions, in the order of their opcodes.
macro_rules! float_conditions {
    ($compare:ident, $condition:expr) => {
        match $condition {
            0 => |w, i, _| w.$compare(i, |_, _| false),
            1 => |w, i, _| w.$compare(i, |a, b| a < b),
            2 => |w, i, _| w.$compare(i, |a, b| a == b),
            3 => |w, i, _| w.$compare(i, |a, b| a <= b),
            4 => |w, i, _| w.$compare(i, |a, b| a > b),
            5 => |w, i, _| w.$compare(i, |a, b| a < b || a > b),
            6 => |w, i, _| w.$compare(i, |a, b| a >= b),
            7 => |w, i, _| w.$compare(i, |a, b| !a.is_nan() && !b.is_nan()),
            8 => |w, i, _| w.$compare(i, |a, b| a.is_nan() || b.is_nan()),
            9 => |w, i, _| w.$compare(i, |a, b| !(a >= b)),
            10 => |w, i, _| w.$compare(i, |a, b| !(a < b || a > b)),
            11 => |w, i, _| w.$compare(i, |a, b| !(a > b)),
            12 => |w, i, _| w.$compare(i, |a, b| !(a <= b)),
            13 => |w, i, _| w.$compare(i, |a, b| a != b),
            14 => |w, i, _| w.$compare(i, |a, b| !(a < b)),
            _ => |w, i, _| w.$compare(i, |_, _| true),
        }
    };
}

/// The handlers of the eight integer conditions, in the order of their opcodes.
macro_rules! integer_conditions {
    ($compare:ident, $type:ty, $condition:expr) => {
        match $condition {
            0 => |w, i, _| w.$compare(i, |_, _| false),
            1 => |w, i, _| w.$compare(i, |a, b| (a as $type) < b as $type),
            2 => |w, i, _| w.$compare(i, |a, b| a == b),
            3 => |w, i, _| w.$compare(i, |a, b| a as $type <= b as $type),
            4 => |w, i, _| w.$compare(i, |a, b| a as $type > b as $type),
            5 => |w, i, _| w.$compare(i, |a, b| a != b),
            6 => |w, i, _| w.$compare(i, |a, b| a as $type >= b as $type),
            _ => |w, i, _| w.$compare(i, |_, _| true),
        }
    };
}

// A condition and its negation differ for NaN, which these lints do not take into account.
#[allow(clippy::double_comparisons, clippy::neg_cmp_op_on_partial_ord, clippy::nonminimal_bool)]
#[allow(clippy::unnecessary_cast)]
pub fn handler(op: Op) -> Option<Handler> {
    let info = op.info();
    if info.encoding != Encoding::Vopc {
        return None;
    }
    let opcode = info.opcode;
    Some(match opcode {
        0x10 | 0x11 => |w, i, _| w.class(i, Width::F32),
        0x12 | 0x13 => |w, i, _| w.class64(i),
        0x14 | 0x15 => |w, i, _| w.class(i, Width::F16),
        0x20..=0x3f => float_conditions!(cmp_f16, opcode & 15),
        0x40..=0x5f => float_conditions!(cmp_f32, opcode & 15),
        0x60..=0x7f => float_conditions!(cmp_f64, opcode & 15),
        // Signed and unsigned alternate; 0x10 distinguishes v_cmp from v_cmpx.
        0xa0..=0xbf if opcode & 8 == 0 => integer_conditions!(cmp16, i16, opcode & 7),
        0xa0..=0xbf => integer_conditions!(cmp16, u16, opcode & 7),
        0xc0..=0xdf if opcode & 8 == 0 => integer_conditions!(cmp32, i32, opcode & 7),
        0xc0..=0xdf => integer_conditions!(cmp32, u32, opcode & 7),
        0xe0..=0xff if opcode & 8 == 0 => integer_conditions!(cmp64, i64, opcode & 7),
        0xe0..=0xff => integer_conditions!(cmp64, u64, opcode & 7),
        _ => return None,
    })
}
