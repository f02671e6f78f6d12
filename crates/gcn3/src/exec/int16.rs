//! Integer operations on 16-bit lanes. The upper half of a source is ignored; that of the result is zero.

use super::{
    Handler, Outcome,
    operand::{Spread, Width},
    simd::lanes,
};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

impl Wavefront {
    #[inline(always)]
    fn binary16(&mut self, inst: &Inst, f: impl Fn(u16, u16) -> u16) -> Outcome {
        let [p, q] = &mut [Spread::uninit(); 2];
        let a = self.source(inst, 0, Width::I16, p);
        let b = self.source(inst, 1, Width::I16, q);
        let out = lanes(|lane| u32::from(f(a[lane] as u16, b[lane] as u16)));
        self.write(inst, &out)
    }

    /// Variant of `binary16` with a separate operation for a clamped result.
    #[inline(always)]
    fn clamped16(&mut self, inst: &Inst, f: impl Fn(u16, u16) -> u16, clamped: impl Fn(u16, u16) -> u16) -> Outcome {
        if inst.mods.clamp { self.binary16(inst, clamped) } else { self.binary16(inst, f) }
    }

    #[inline(always)]
    fn ternary16(&mut self, inst: &Inst, f: impl Fn(u16, u16, u16) -> u16) -> Outcome {
        let [p, q, r] = &mut [Spread::uninit(); 3];
        let a = self.source(inst, 0, Width::I16, p);
        let b = self.source(inst, 1, Width::I16, q);
        let c = self.source(inst, 2, Width::I16, r);
        let out = lanes(|lane| u32::from(f(a[lane] as u16, b[lane] as u16, c[lane] as u16)));
        self.write(inst, &out)
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::VAddU16 => |w, i, _| w.clamped16(i, u16::wrapping_add, u16::saturating_add),
        Op::VSubU16 => |w, i, _| w.clamped16(i, u16::wrapping_sub, u16::saturating_sub),
        Op::VSubrevU16 => |w, i, _| w.clamped16(i, |a, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a)),
        Op::VMulLoU16 => |w, i, _| w.binary16(i, u16::wrapping_mul),
        Op::VLshlrevB16 => |w, i, _| w.binary16(i, |a, b| b << (a & 15)),
        Op::VLshrrevB16 => |w, i, _| w.binary16(i, |a, b| b >> (a & 15)),
        Op::VAshrrevI16 => |w, i, _| w.binary16(i, |a, b| (b as i16 >> (a & 15)) as u16),
        Op::VMinU16 => |w, i, _| w.binary16(i, |a, b| a.min(b)),
        Op::VMaxU16 => |w, i, _| w.binary16(i, |a, b| a.max(b)),
        Op::VMinI16 => |w, i, _| w.binary16(i, |a, b| (a as i16).min(b as i16) as u16),
        Op::VMaxI16 => |w, i, _| w.binary16(i, |a, b| (a as i16).max(b as i16) as u16),
        Op::VMadU16 | Op::VMadI16 => |w, i, _| w.ternary16(i, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        _ => return None,
    })
}
