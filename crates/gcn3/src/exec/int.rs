//! Integer and bit operations on 32-bit lanes.

use super::{
    Handler, Outcome,
    operand::{Spread, Width},
    simd::{lanes, mask},
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

impl Wavefront {
    #[inline(always)]
    pub(super) fn unary(&mut self, inst: &Inst, f: impl Fn(u32) -> u32) -> Outcome {
        let mut spread = Spread::uninit();
        let a = self.source(inst, 0, Width::I32, &mut spread);
        let out = lanes(|lane| f(a[lane]));
        self.write(inst, &out)
    }

    #[inline(always)]
    pub(super) fn binary(&mut self, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::I32, p);
        let b = self.source(inst, 1, Width::I32, q);
        let out = lanes(|lane| f(a[lane], b[lane]));
        self.write(inst, &out)
    }

    #[inline(always)]
    pub(super) fn ternary(&mut self, inst: &Inst, f: impl Fn(u32, u32, u32) -> u32) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::I32, p);
        let b = self.source(inst, 1, Width::I32, q);
        let c = self.source(inst, 2, Width::I32, r);
        let out = lanes(|lane| f(a[lane], b[lane], c[lane]));
        self.write(inst, &out)
    }

    /// An addition or subtraction. `f` returns the result modulo 2^32 and the carry out; `limit` is the value of a
    /// clamped result.
    #[inline(always)]
    fn carrying(&mut self, inst: &Inst, limit: u32, f: impl Fn(u32, u32) -> (u32, bool)) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::I32, p);
        let b = self.source(inst, 1, Width::I32, q);
        let mut out = lanes(|lane| f(a[lane], b[lane]).0);
        let carry = mask(|lane| f(a[lane], b[lane]).1);
        if inst.mods.clamp {
            out = lanes(|lane| if carry >> lane & 1 == 1 { limit } else { out[lane] });
        }
        self.write_mask(inst, carry);
        self.write(inst, &out)
    }

    /// Variant of `carrying` with a carry in.
    #[inline(always)]
    fn carrying_in(&mut self, inst: &Inst, limit: u32, f: impl Fn(u32, u32, u32) -> (u32, bool)) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::I32, p);
        let b = self.source(inst, 1, Width::I32, q);
        let carry_in = self.scalar64(inst, inst.src[2]);
        let bit = |lane: usize| (carry_in >> lane) as u32 & 1;
        let mut out = lanes(|lane| f(a[lane], b[lane], bit(lane)).0);
        let carry = mask(|lane| f(a[lane], b[lane], bit(lane)).1);
        if inst.mods.clamp {
            out = lanes(|lane| if carry >> lane & 1 == 1 { limit } else { out[lane] });
        }
        self.write_mask(inst, carry);
        self.write(inst, &out)
    }

    fn mbcnt(&mut self, inst: &Inst, first: usize) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::I32, p);
        let b = self.source(inst, 1, Width::I32, q);
        // The lanes below this one, among the 32 lanes that the operand covers.
        let below = |lane: usize| ((1u64 << lane.saturating_sub(first).min(32)) - 1) as u32;
        let out = lanes(|lane| (a[lane] & below(lane)).count_ones().wrapping_add(b[lane]));
        self.write(inst, &out)
    }
}

#[inline(always)]
fn add3(a: u32, b: u32, c: u32) -> (u32, bool) {
    let sum = a.wrapping_add(b);
    let total = sum.wrapping_add(c);
    (total, sum < a || total < sum)
}

#[inline(always)]
fn sub3(a: u32, b: u32, c: u32) -> (u32, bool) {
    let difference = a.wrapping_sub(b);
    (difference.wrapping_sub(c), a < b || difference < c)
}

#[inline(always)]
fn signed24(a: u32) -> i64 {
    i64::from((a << 8) as i32 >> 8)
}

#[inline(always)]
fn unsigned24(a: u32) -> u64 {
    u64::from(a & 0xff_ffff)
}

#[inline(always)]
fn bfe_u32(value: u32, offset: u32, width: u32) -> u32 {
    (value >> (offset & 31)) & ((1u32 << (width & 31)) - 1)
}

#[inline(always)]
fn bfe_i32(value: u32, offset: u32, width: u32) -> u32 {
    let (offset, width) = (offset & 31, width & 31);
    if width == 0 {
        0
    } else if offset + width < 32 {
        ((value << (32 - offset - width)) as i32 >> (32 - width)) as u32
    } else {
        (value as i32 >> offset) as u32
    }
}

/// The sum of `op` over all pairs of bytes.
#[inline(always)]
fn bytewise(a: u32, b: u32, op: impl Fn(u32, u32) -> u32) -> u32 {
    (0..4).fold(0, |sum, n| sum + op(a >> (8 * n) & 0xff, b >> (8 * n) & 0xff))
}

#[inline(always)]
pub(super) fn sad_u8(a: u32, b: u32) -> u32 {
    bytewise(a, b, u32::abs_diff)
}

/// Variant of `sad_u8` that skips bytes where the reference `b` is 0.
#[inline(always)]
pub(super) fn msad_u8(a: u32, b: u32) -> u32 {
    bytewise(a, b, |a, b| if b == 0 { 0 } else { a.abs_diff(b) })
}

#[inline(always)]
fn lerp_u8(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(0, |out, n| {
        let byte = |x: u32| x >> (8 * n) & 0xff;
        out | ((byte(a) + byte(b) + (byte(c) & 1)) >> 1) << (8 * n)
    })
}

#[inline(always)]
fn perm(high: u32, low: u32, selects: u32) -> u32 {
    let bytes = u64::from(high) << 32 | u64::from(low);
    (0..4).fold(0, |out, n| {
        let byte = match selects >> (8 * n) & 0xff {
            select @ 0..=7 => (bytes >> (8 * select)) as u32 & 0xff,
            // The replicated sign of a byte.
            select @ 8..=11 => 0xff * ((bytes >> (16 * (select - 8) + 15)) as u32 & 1),
            12 => 0,
            _ => 0xff,
        };
        out | byte << (8 * n)
    })
}

#[inline(always)]
fn first_bit(value: u32, count: u32) -> u32 {
    if value == 0 { u32::MAX } else { count }
}

#[inline(always)]
fn median<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.max(b).min(a.min(b).max(c))
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VMovB32 => |w, i, _| w.unary(i, |a| a),
        Op::VNotB32 => |w, i, _| w.unary(i, |a| !a),
        Op::VBfrevB32 => |w, i, _| w.unary(i, u32::reverse_bits),
        Op::VFfbhU32 => |w, i, _| w.unary(i, |a| first_bit(a, a.leading_zeros())),
        Op::VFfblB32 => |w, i, _| w.unary(i, |a| first_bit(a, a.trailing_zeros())),
        Op::VFfbhI32 => |w, i, _| {
            w.unary(i, |a| {
                let differs = a ^ (a as i32 >> 31) as u32;
                first_bit(differs, differs.leading_zeros())
            })
        },
        Op::VCndmaskB32 => |w, i, _| {
            let [p, q] = &mut [Spread::uninit(); 2];
            let a = w.source(i, 0, Width::F32, p);
            let b = w.source(i, 1, Width::F32, q);
            let condition = w.scalar64(i, i.src[2]);
            let out = lanes(|lane| if condition >> lane & 1 == 1 { b[lane] } else { a[lane] });
            w.write(i, &out)
        },
        Op::VAndB32 => |w, i, _| w.binary(i, |a, b| a & b),
        Op::VOrB32 => |w, i, _| w.binary(i, |a, b| a | b),
        Op::VXorB32 => |w, i, _| w.binary(i, |a, b| a ^ b),
        Op::VLshlrevB32 => |w, i, _| w.binary(i, |a, b| b << (a & 31)),
        Op::VLshrrevB32 => |w, i, _| w.binary(i, |a, b| b >> (a & 31)),
        Op::VAshrrevI32 => |w, i, _| w.binary(i, |a, b| (b as i32 >> (a & 31)) as u32),
        Op::VMinI32 => |w, i, _| w.binary(i, |a, b| (a as i32).min(b as i32) as u32),
        Op::VMaxI32 => |w, i, _| w.binary(i, |a, b| (a as i32).max(b as i32) as u32),
        Op::VMinU32 => |w, i, _| w.binary(i, |a, b| a.min(b)),
        Op::VMaxU32 => |w, i, _| w.binary(i, |a, b| a.max(b)),
        Op::VAddU32 => |w, i, _| w.carrying(i, u32::MAX, |a, b| a.overflowing_add(b)),
        Op::VSubU32 => |w, i, _| w.carrying(i, 0, |a, b| a.overflowing_sub(b)),
        Op::VSubrevU32 => |w, i, _| w.carrying(i, 0, |a, b| b.overflowing_sub(a)),
        Op::VAddcU32 => |w, i, _| w.carrying_in(i, u32::MAX, add3),
        Op::VSubbU32 => |w, i, _| w.carrying_in(i, 0, sub3),
        Op::VSubbrevU32 => |w, i, _| w.carrying_in(i, 0, |a, b, c| sub3(b, a, c)),
        Op::VMulLoU32 => |w, i, _| w.binary(i, |a, b| a.wrapping_mul(b)),
        Op::VMulHiU32 => |w, i, _| w.binary(i, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        Op::VMulHiI32 => |w, i, _| w.binary(i, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        Op::VMulU32U24 => |w, i, _| w.binary(i, |a, b| (unsigned24(a) * unsigned24(b)) as u32),
        Op::VMulHiU32U24 => |w, i, _| w.binary(i, |a, b| ((unsigned24(a) * unsigned24(b)) >> 32) as u32),
        Op::VMulI32I24 => |w, i, _| w.binary(i, |a, b| (signed24(a) * signed24(b)) as u32),
        Op::VMulHiI32I24 => |w, i, _| w.binary(i, |a, b| ((signed24(a) * signed24(b)) >> 32) as u32),
        Op::VMadU32U24 => |w, i, _| w.ternary(i, |a, b, c| ((unsigned24(a) * unsigned24(b)) as u32).wrapping_add(c)),
        Op::VMadI32I24 => |w, i, _| w.ternary(i, |a, b, c| ((signed24(a) * signed24(b)) as u32).wrapping_add(c)),
        Op::VBfeU32 => |w, i, _| w.ternary(i, bfe_u32),
        Op::VBfeI32 => |w, i, _| w.ternary(i, bfe_i32),
        Op::VBfiB32 => |w, i, _| w.ternary(i, |a, b, c| a & b | !a & c),
        Op::VBfmB32 => |w, i, _| w.binary(i, |a, b| ((1 << (a & 31)) - 1) << (b & 31)),
        Op::VAlignbitB32 => |w, i, _| w.ternary(i, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32),
        Op::VAlignbyteB32 => {
            |w, i, _| w.ternary(i, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32)
        }
        Op::VPermB32 => |w, i, _| w.ternary(i, perm),
        Op::VLerpU8 => |w, i, _| w.ternary(i, lerp_u8),
        Op::VMin3I32 => |w, i, _| w.ternary(i, |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32),
        Op::VMax3I32 => |w, i, _| w.ternary(i, |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32),
        Op::VMed3I32 => |w, i, _| w.ternary(i, |a, b, c| median(a as i32, b as i32, c as i32) as u32),
        Op::VMin3U32 => |w, i, _| w.ternary(i, |a, b, c| a.min(b).min(c)),
        Op::VMax3U32 => |w, i, _| w.ternary(i, |a, b, c| a.max(b).max(c)),
        Op::VMed3U32 => |w, i, _| w.ternary(i, median),
        Op::VSadU8 => |w, i, _| w.ternary(i, |a, b, c| sad_u8(a, b).wrapping_add(c)),
        Op::VSadHiU8 => |w, i, _| w.ternary(i, |a, b, c| (sad_u8(a, b) << 16).wrapping_add(c)),
        Op::VMsadU8 => |w, i, _| w.ternary(i, |a, b, c| msad_u8(a, b).wrapping_add(c)),
        Op::VSadU16 => |w, i, _| {
            w.ternary(i, |a, b, c| {
                (a & 0xffff).abs_diff(b & 0xffff).wrapping_add((a >> 16).abs_diff(b >> 16)).wrapping_add(c)
            })
        },
        Op::VSadU32 => |w, i, _| w.ternary(i, |a, b, c| a.abs_diff(b).wrapping_add(c)),
        Op::VBcntU32B32 => |w, i, _| w.binary(i, |a, b| a.count_ones().wrapping_add(b)),
        Op::VMbcntLoU32B32 => |w, i, _| w.mbcnt(i, 0),
        Op::VMbcntHiU32B32 => |w, i, _| w.mbcnt(i, 32),
        Op::VCvtPkU16U32 => |w, i, _| w.binary(i, |a, b| a.min(0xffff) | b.min(0xffff) << 16),
        Op::VCvtPkI16I32 => |w, i, _| {
            let narrow = |a: u32| (a as i32).clamp(-0x8000, 0x7fff) as u32 & 0xffff;
            w.binary(i, |a, b| narrow(a) | narrow(b) << 16)
        },
        _ => return None,
    })
}
