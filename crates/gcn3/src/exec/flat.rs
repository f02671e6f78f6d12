//! Flat memory accesses: one 64-bit address per lane, whose upper half selects global memory, the local data share or
//! the work-item's own scratch memory.

use super::{
    Group, Handler, Outcome, Step, active,
    address::Shape,
    lds::{LdsAccess, LdsKind},
    simd::{Row, lanes_into, mask},
    wide::join,
};
use crate::{
    error::{Access, Fault},
    inst::Inst,
    memop::{AtomicOp, Extension, Kind, MemOp, Space},
    ops::Op,
    wave::{Wavefront, scalar},
};

impl Wavefront {
    #[inline(always)]
    fn flat(&mut self, inst: &Inst, group: &mut Group, shape: Shape) -> Outcome {
        let exec = self.exec();
        if exec == 0 {
            return Ok(Step::Done);
        }
        let address = inst.src[0].as_vgpr().map_or(0, usize::from);
        let (shared, private) = (self.apertures.shared_hi, self.apertures.private_hi);
        let high = self.vgpr(address + 1);
        let local = if shared == 0 { 0 } else { mask(|lane| high[lane] == shared) & exec };
        let scratch = if private == 0 { 0 } else { mask(|lane| high[lane] == private) & exec };
        let mut op = self.operation(group, inst, shape, inst.src[1].as_vgpr(), inst.dst.as_vgpr());
        let (low, high) = (self.vgpr(address), self.vgpr(address + 1));
        lanes_into(&mut op.addresses, |lane| join(low[lane], high[lane]));
        if local != 0 {
            self.flat_local(group, &mut op, local)?;
            op.mask &= !local;
            if op.mask == 0 {
                group.recycle(op);
                return Ok(Step::Lds);
            }
        }
        if scratch != 0 {
            self.flat_scratch(&mut op, scratch)?;
        }
        Ok(Step::Mem(op))
    }

    /// Performs the lanes of an access that address the local data share.
    fn flat_local(&mut self, group: &mut Group, op: &mut MemOp, lanes: u64) -> Result<(), Fault> {
        let (kind, bytes, words) = (op.kind, u32::from(op.element_bytes), usize::from(op.elements));
        let addresses: [u32; 64] = std::array::from_fn(|lane| op.addresses[lane] as u32);
        for lane in active(lanes) {
            let address = addresses[lane];
            if address & (bytes.min(4) - 1) != 0 {
                let access = match kind {
                    Kind::Load => Access::Load,
                    Kind::Store => Access::Store,
                    Kind::Atomic { .. } => Access::Atomic,
                };
                let rule = "the local data share is accessed at multiples of the size, at most of 4";
                let (address, lane) = (op.addresses[lane], Some(lane as u8));
                return Err(Fault::Unaligned { access, address, bytes: bytes.into(), rule, lane });
            }
            let word = |n: usize| address.wrapping_add(4 * n as u32);
            match kind {
                Kind::Load if bytes < 4 => op.data[0][lane] = group.lds.narrow(address, bytes),
                Kind::Load => (0..words).for_each(|n| op.data[n][lane] = group.lds.word(word(n))),
                Kind::Store if bytes < 4 => group.lds.set_narrow(address, bytes, op.data[0][lane]),
                Kind::Store => (0..words).for_each(|n| group.lds.set_word(word(n), op.data[n][lane])),
                Kind::Atomic { op: atomic, .. } if bytes == 4 => {
                    let second = op.data.get(1).map_or(0, |row| row[lane]);
                    let old = group.lds.word(address);
                    group.lds.set_word(address, atomic.apply32(old, op.data[0][lane], second));
                    op.data[0][lane] = old;
                }
                Kind::Atomic { op: atomic, .. } => {
                    let at = |n: usize| op.data.get(n).map_or(0, |row| row[lane]);
                    let old = group.lds.double(address);
                    group.lds.set_double(address, atomic.apply64(old, join(at(0), at(1)), join(at(2), at(3))));
                    op.data[0][lane] = old as u32;
                    op.data[1][lane] = (old >> 32) as u32;
                }
            }
        }
        if group.lds.watched {
            let kind = match kind {
                Kind::Load => LdsKind::Read,
                Kind::Store => LdsKind::Write,
                Kind::Atomic { .. } => LdsKind::Atomic,
            };
            let bytes = op.lane_bytes() as u8;
            let stored = if group.lds.recorded { op.data.clone() } else { Vec::new() };
            group.lds.last = LdsAccess { mask: lanes, addresses: Row(addresses), second: None, bytes, kind, stored };
        }
        let all = std::mem::replace(&mut op.mask, lanes);
        self.complete(op)?;
        op.mask = all;
        Ok(())
    }

    /// Translates the addresses of the lanes that address scratch memory.
    fn flat_scratch(&self, op: &mut MemOp, scratch: u64) -> Result<(), Fault> {
        let base = self.apertures.scratch_base.wrapping_add(u64::from(self.scalars[scalar::FLAT_SCRATCH_HI]) << 8);
        let size = self.scalars[scalar::FLAT_SCRATCH_LO];
        if op.element_bytes == 8 {
            return Err(Fault::Unsupported("a 64-bit atomic in scratch memory"));
        }
        for lane in active(scratch) {
            let offset = op.addresses[lane] & 0xffff_ffff;
            if offset + op.lane_bytes() > u64::from(size) {
                return Err(Fault::OutsideScratch { offset, size, lane: lane as u8 });
            }
            if op.elements > 1 && offset & 3 != 0 {
                return Err(Fault::Unaligned {
                    access: Access::Load,
                    address: op.addresses[lane],
                    bytes: op.lane_bytes(),
                    rule: "scratch memory is interleaved by words",
                    lane: Some(lane as u8),
                });
            }
            op.addresses[lane] = base + swizzled(offset, lane);
        }
        if scratch == op.mask {
            op.space = Space::Scratch;
            op.stride = 256;
        } else if op.elements > 1 {
            // If only some lanes address scratch, each word gets its own list of addresses.
            for word in 1..u64::from(op.elements) {
                let places = std::array::from_fn(|lane| {
                    let distance = if scratch >> lane & 1 == 1 { 256 } else { 4 };
                    op.addresses[lane].wrapping_add(word * distance)
                });
                op.more.push(Box::new(places));
            }
            op.elements = 1;
        }
        Ok(())
    }
}

/// The offset of a byte of a work-item's scratch in the wavefront's: words of the 64 lanes are interleaved.
fn swizzled(offset: u64, lane: usize) -> u64 {
    (offset & !3) * 64 + 4 * lane as u64 + (offset & 3)
}

pub fn handler(op: Op) -> Option<Handler> {
    use Extension::{SignByte, SignShort, Zero};
    Some(match op {
        Op::FlatLoadUbyte => |w, i, g| w.flat(i, g, Shape::load_narrow(1, Zero)),
        Op::FlatLoadSbyte => |w, i, g| w.flat(i, g, Shape::load_narrow(1, SignByte)),
        Op::FlatLoadUshort => |w, i, g| w.flat(i, g, Shape::load_narrow(2, Zero)),
        Op::FlatLoadSshort => |w, i, g| w.flat(i, g, Shape::load_narrow(2, SignShort)),
        Op::FlatLoadDword => |w, i, g| w.flat(i, g, Shape::load(1)),
        Op::FlatLoadDwordx2 => |w, i, g| w.flat(i, g, Shape::load(2)),
        Op::FlatLoadDwordx3 => |w, i, g| w.flat(i, g, Shape::load(3)),
        Op::FlatLoadDwordx4 => |w, i, g| w.flat(i, g, Shape::load(4)),
        Op::FlatStoreByte => |w, i, g| w.flat(i, g, Shape::store_narrow(1)),
        Op::FlatStoreShort => |w, i, g| w.flat(i, g, Shape::store_narrow(2)),
        Op::FlatStoreDword => |w, i, g| w.flat(i, g, Shape::store(1)),
        Op::FlatStoreDwordx2 => |w, i, g| w.flat(i, g, Shape::store(2)),
        Op::FlatStoreDwordx3 => |w, i, g| w.flat(i, g, Shape::store(3)),
        Op::FlatStoreDwordx4 => |w, i, g| w.flat(i, g, Shape::store(4)),
        Op::FlatAtomicSwap => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Swap, 1)),
        Op::FlatAtomicCmpswap => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::CompareSwap, 1)),
        Op::FlatAtomicAdd => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Add, 1)),
        Op::FlatAtomicSub => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Sub, 1)),
        Op::FlatAtomicSmin => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::SignedMin, 1)),
        Op::FlatAtomicUmin => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::UnsignedMin, 1)),
        Op::FlatAtomicSmax => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::SignedMax, 1)),
        Op::FlatAtomicUmax => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::UnsignedMax, 1)),
        Op::FlatAtomicAnd => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::And, 1)),
        Op::FlatAtomicOr => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Or, 1)),
        Op::FlatAtomicXor => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Xor, 1)),
        Op::FlatAtomicInc => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Increment, 1)),
        Op::FlatAtomicDec => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Decrement, 1)),
        Op::FlatAtomicSwapX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Swap, 2)),
        Op::FlatAtomicCmpswapX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::CompareSwap, 2)),
        Op::FlatAtomicAddX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Add, 2)),
        Op::FlatAtomicSubX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Sub, 2)),
        Op::FlatAtomicSminX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::SignedMin, 2)),
        Op::FlatAtomicUminX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::UnsignedMin, 2)),
        Op::FlatAtomicSmaxX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::SignedMax, 2)),
        Op::FlatAtomicUmaxX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::UnsignedMax, 2)),
        Op::FlatAtomicAndX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::And, 2)),
        Op::FlatAtomicOrX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Or, 2)),
        Op::FlatAtomicXorX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Xor, 2)),
        Op::FlatAtomicIncX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Increment, 2)),
        Op::FlatAtomicDecX2 => |w, i, g| w.flat(i, g, Shape::atomic(AtomicOp::Decrement, 2)),
        _ => return None,
    })
}
