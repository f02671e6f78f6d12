//! Scalar memory: loads and stores of a few words per wavefront, and the clock.

use super::{Handler, Outcome, Step};
use crate::{inst::Inst, memop::ScalarOp, ops::Op, wave::Wavefront};

impl Wavefront {
    fn scalar_access(&mut self, inst: &Inst, words: u8, store: bool, buffer: bool) -> Outcome {
        let base = usize::from(inst.src[0].code());
        let offset = u64::from(self.scalar32(inst, inst.src[1]));
        let mut op = ScalarOp {
            store,
            glc: inst.memory().glc(),
            address: 0,
            words,
            data: [0; 16],
            destination: inst.dst.as_scalar_register().unwrap_or(0),
            out_of_range: 0,
        };
        let start = if buffer {
            let resource = self.pair(base);
            let (stride, records) = (resource >> 48 & 0x3fff, u64::from(self.scalars[(base + 2) & 127]));
            let size = if stride == 0 { records } else { stride * records };
            for word in 0..u64::from(words) {
                op.out_of_range |= u16::from((offset & !3) + 4 * word + 4 > size) << word;
            }
            resource & 0xffff_ffff_ffff
        } else {
            self.pair(base)
        };
        op.address = start.wrapping_add(offset) & !3;
        if store {
            let from = usize::from(inst.src[2].code());
            for word in 0..usize::from(words) {
                op.data[word] = self.scalars[(from + word) & 127];
            }
        }
        Ok(Step::Scalar(Box::new(op)))
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::SLoadDword => |w, i, _| w.scalar_access(i, 1, false, false),
        Op::SLoadDwordx2 => |w, i, _| w.scalar_access(i, 2, false, false),
        Op::SLoadDwordx4 => |w, i, _| w.scalar_access(i, 4, false, false),
        Op::SLoadDwordx8 => |w, i, _| w.scalar_access(i, 8, false, false),
        Op::SLoadDwordx16 => |w, i, _| w.scalar_access(i, 16, false, false),
        Op::SBufferLoadDword => |w, i, _| w.scalar_access(i, 1, false, true),
        Op::SBufferLoadDwordx2 => |w, i, _| w.scalar_access(i, 2, false, true),
        Op::SBufferLoadDwordx4 => |w, i, _| w.scalar_access(i, 4, false, true),
        Op::SBufferLoadDwordx8 => |w, i, _| w.scalar_access(i, 8, false, true),
        Op::SBufferLoadDwordx16 => |w, i, _| w.scalar_access(i, 16, false, true),
        Op::SStoreDword => |w, i, _| w.scalar_access(i, 1, true, false),
        Op::SStoreDwordx2 => |w, i, _| w.scalar_access(i, 2, true, false),
        Op::SStoreDwordx4 => |w, i, _| w.scalar_access(i, 4, true, false),
        Op::SBufferStoreDword => |w, i, _| w.scalar_access(i, 1, true, true),
        Op::SBufferStoreDwordx2 => |w, i, _| w.scalar_access(i, 2, true, true),
        Op::SBufferStoreDwordx4 => |w, i, _| w.scalar_access(i, 4, true, true),
        // In functional runs the clock counts the wavefront's instructions, added to the value that the caller
        // supplies.
        Op::SMemtime | Op::SMemrealtime => |w, i, g| {
            w.set_scalar64(i.dst, g.clock.wrapping_add(w.executed));
            Ok(Step::Done)
        },
        _ => return None,
    })
}
