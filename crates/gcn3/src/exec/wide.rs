//! Integer operations with 64-bit (and wider) operands.

use super::{
    Handler, Outcome, Step,
    int::{msad_u8, sad_u8},
    operand::{Spread, Spread64, Width},
    simd::{lanes, mask},
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

/// Combines two halves into one number.
#[inline(always)]
pub(super) fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Wavefront {
    /// Shifts a 64-bit second operand by a 32-bit first one.
    #[inline(always)]
    fn shift_wide(&mut self, inst: &Inst, f: impl Fn(u64, u32) -> u64) -> Outcome {
        let mut amount = Spread::uninit();
        let mut spread = Spread64::uninit();
        let amount = self.source(inst, 0, Width::I32, &mut amount);
        let (low, high) = self.source64(inst, 1, false, &mut spread);
        let out = lanes(|lane| f(join(low[lane], high[lane]), amount[lane]));
        self.write64(inst, &out)
    }

    #[inline(always)]
    fn mad_wide(&mut self, inst: &Inst, f: impl Fn(u32, u32, u64) -> (u64, bool)) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let mut wide = Spread64::uninit();
        let a = self.source(inst, 0, Width::I32, p);
        let b = self.source(inst, 1, Width::I32, q);
        let (low, high) = self.source64(inst, 2, false, &mut wide);
        let out = lanes(|lane| f(a[lane], b[lane], join(low[lane], high[lane])).0);
        let carry = mask(|lane| f(a[lane], b[lane], join(low[lane], high[lane])).1);
        self.write_mask(inst, carry);
        self.write64(inst, &out)
    }

    /// Four 16-bit sums of absolute differences for a window that slides over eight bytes.
    fn sliding_sad(&mut self, inst: &Inst, sad: fn(u32, u32) -> u32) -> Outcome {
        let (mut window, mut reference, mut sums) = (Spread64::uninit(), Spread::uninit(), Spread64::uninit());
        let (low, high) = self.source64(inst, 0, false, &mut window);
        let reference = self.source(inst, 1, Width::I32, &mut reference);
        let (sum_low, sum_high) = self.source64(inst, 2, false, &mut sums);
        let out = lanes(|lane| {
            let (bytes, sums) = (join(low[lane], high[lane]), join(sum_low[lane], sum_high[lane]));
            (0..4).fold(0, |out, n| {
                let sum = sad((bytes >> (8 * n)) as u32, reference[lane]).wrapping_add((sums >> (16 * n)) as u32);
                out | u64::from(sum & 0xffff) << (16 * n)
            })
        });
        self.write64(inst, &out)
    }

    /// Variant of `sliding_sad` with 32-bit sums in four registers.
    fn sliding_sad32(&mut self, inst: &Inst) -> Outcome {
        let (mut window, mut reference) = (Spread64::uninit(), Spread::uninit());
        let (low, high) = self.source64(inst, 0, false, &mut window);
        let reference = self.source(inst, 1, Width::I32, &mut reference);
        let first = inst.src[2].as_vgpr().map(usize::from);
        let out: [[u32; 64]; 4] = std::array::from_fn(|n| {
            lanes(|lane| {
                let sum = first.map_or_else(|| self.scalar32(inst, inst.src[2]), |first| self.vgpr(first + n)[lane]);
                msad_u8((join(low[lane], high[lane]) >> (8 * n)) as u32, reference[lane]).wrapping_add(sum)
            })
        });
        if let Some(register) = inst.dst.as_vgpr() {
            for (n, row) in out.iter().enumerate() {
                self.write_vgpr(usize::from(register) + n, row, self.exec());
            }
        }
        Ok(Step::Done)
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VLshlrevB64 => |w, i, _| w.shift_wide(i, |value, by| value << (by & 63)),
        Op::VLshrrevB64 => |w, i, _| w.shift_wide(i, |value, by| value >> (by & 63)),
        Op::VAshrrevI64 => |w, i, _| w.shift_wide(i, |value, by| (value as i64 >> (by & 63)) as u64),
        Op::VMadU64U32 => |w, i, _| w.mad_wide(i, |a, b, c| (u64::from(a) * u64::from(b)).overflowing_add(c)),
        Op::VMadI64I32 => |w, i, _| {
            w.mad_wide(i, |a, b, c| {
                let (sum, overflow) = (i64::from(a as i32) * i64::from(b as i32)).overflowing_add(c as i64);
                (sum as u64, overflow)
            })
        },
        Op::VQsadPkU16U8 => |w, i, _| w.sliding_sad(i, sad_u8),
        Op::VMqsadPkU16U8 => |w, i, _| w.sliding_sad(i, msad_u8),
        Op::VMqsadU32U8 => |w, i, _| w.sliding_sad32(i),
        _ => return None,
    })
}
