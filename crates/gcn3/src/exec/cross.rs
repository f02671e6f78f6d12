//! Instructions that access other lanes, or select their registers at run time.

use super::{Handler, Outcome, Step};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

impl Wavefront {
    /// The value of source 0 in one lane.
    fn lane_of(&self, inst: &Inst, lane: usize) -> u32 {
        match inst.src[0].as_vgpr() {
            Some(register) => self.vgpr(usize::from(register))[lane & 63],
            None => self.scalar32(inst, inst.src[0]),
        }
    }

    /// Moves between vector registers, of which `from` or `to` is relative to M0.
    fn movrel(&mut self, inst: &Inst, from: bool, to: bool) -> Outcome {
        let offset = self.m0() as usize;
        let row = match inst.src[0].as_vgpr() {
            Some(register) => *self.vgpr(usize::from(register).wrapping_add(if from { offset } else { 0 })),
            None => super::simd::Row::splat(self.scalar32(inst, inst.src[0])),
        };
        if let Some(register) = inst.dst.as_vgpr() {
            let to = usize::from(register).wrapping_add(if to { offset } else { 0 });
            self.write_vgpr(to, &row, self.exec());
        }
        Ok(Step::Done)
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        // The first active lane, or lane 0 if none is.
        Op::VReadfirstlaneB32 => |w, i, _| {
            let lane = if w.exec() == 0 { 0 } else { w.exec().trailing_zeros() as usize };
            w.set_scalar32(i.dst, w.lane_of(i, lane));
            Ok(Step::Done)
        },
        Op::VReadlaneB32 => |w, i, _| {
            let lane = w.scalar32(i, i.src[1]) as usize & 63;
            w.set_scalar32(i.dst, w.lane_of(i, lane));
            Ok(Step::Done)
        },
        Op::VWritelaneB32 => |w, i, _| {
            let (value, lane) = (w.scalar32(i, i.src[0]), w.scalar32(i, i.src[1]) as usize & 63);
            if let Some(register) = i.dst.as_vgpr() {
                w.vgprs[usize::from(register)][lane] = value;
            }
            Ok(Step::Done)
        },
        Op::VMovreldB32 => |w, i, _| w.movrel(i, false, true),
        Op::VMovrelsB32 => |w, i, _| w.movrel(i, true, false),
        Op::VMovrelsdB32 => |w, i, _| w.movrel(i, true, true),
        _ => return None,
    })
}
