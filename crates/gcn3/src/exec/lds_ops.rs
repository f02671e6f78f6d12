//! LDS instructions, and the lane shuffles that use its crossbar.

use super::{
    Group, Handler, Outcome, Step, active,
    lds::{LdsAccess, LdsKind},
    operand::Spread,
    simd::{Row, gather, lanes, mask as lane_mask},
    wide::join,
};
use crate::{
    error::{Access, Fault},
    inst::{Flags, Inst},
    memop::AtomicOp,
    ops::Op,
    wave::Wavefront,
};

/// An address beyond any LDS, even with a few bytes added.
const BEYOND: u32 = !15;

/// The lanes' addresses: a row, and an offset to be added.
#[derive(Clone, Copy)]
struct Addresses<'a> {
    row: &'a Row,
    offset: u32,
}

impl Addresses<'_> {
    #[inline(always)]
    fn at(&self, lane: usize) -> u32 {
        self.row[lane].wrapping_add(self.offset)
    }

    /// Fails if the address of a lane of `mask` is not a multiple of `bytes`.
    #[inline(always)]
    fn aligned(&self, mask: u64, bytes: u32, access: Access) -> Result<(), Fault> {
        let wrong = lane_mask(|lane| self.at(lane) & (bytes - 1) != 0) & mask;
        if wrong == 0 { Ok(()) } else { Err(self.unaligned(wrong, bytes, access)) }
    }

    #[cold]
    fn unaligned(&self, wrong: u64, bytes: u32, access: Access) -> Fault {
        let lane = wrong.trailing_zeros() as usize;
        Fault::Unaligned {
            access,
            address: self.at(lane).into(),
            bytes: bytes.into(),
            rule: "the local data share is accessed at multiples of the size, at most of 4",
            lane: Some(lane as u8),
        }
    }

    /// Records the access, if accesses are watched.
    #[inline(always)]
    fn note(&self, group: &mut Group, mask: u64, bytes: usize, kind: LdsKind, second: Option<i32>) {
        if group.lds.watched {
            let addresses = Row(lanes(|lane| self.at(lane)));
            let stored = Vec::new();
            group.lds.last = LdsAccess { mask, addresses, second, bytes: bytes as u8, kind, stored };
        }
    }
}

impl Wavefront {
    /// Does the checks that all LDS instructions have in common, and returns the lanes' addresses.
    #[inline(always)]
    fn lds_addresses<'a>(&'a self, inst: &Inst, offset: u32, spread: &'a mut Spread) -> Result<Addresses<'a>, Fault> {
        if inst.memory().flags.contains(Flags::GDS) {
            return Err(Fault::Unsupported("there is no global data share"));
        }
        let row = self.vgpr(inst.src[0].as_vgpr().map_or(0, usize::from));
        // M0 limits accesses: an address at or above it is out of range. Compilers set no limit.
        let limit = self.m0();
        if limit == u32::MAX {
            return Ok(Addresses { row, offset });
        }
        let row = spread.write(Row(lanes(|lane| {
            let address = row[lane].wrapping_add(offset);
            if address >= limit { BEYOND } else { address }
        })));
        Ok(Addresses { row, offset: 0 })
    }

    #[inline(always)]
    fn data(&self, inst: &Inst, n: usize, word: usize) -> &Row {
        self.vgpr(inst.src[n].as_vgpr().map_or(0, usize::from) + word)
    }

    #[inline(always)]
    fn lds_read_words<const WORDS: usize>(&mut self, inst: &Inst, group: &mut Group) -> Outcome {
        let (mask, mut spread) = (self.exec(), Spread::uninit());
        let addresses = self.lds_addresses(inst, inst.imm, &mut spread)?;
        addresses.aligned(mask, 4, Access::Load)?;
        let mut out = [[0; 64]; WORDS];
        for (word, row) in out.iter_mut().enumerate() {
            gather(group.lds.words(), addresses.row, addresses.offset.wrapping_add(4 * word as u32), row);
        }
        addresses.note(group, mask, 4 * WORDS, LdsKind::Read, None);
        // The destination may be the address register, so everything is read before anything is written.
        let first = inst.dst.as_vgpr().map_or(0, usize::from);
        for (word, row) in out.iter().enumerate() {
            self.write_vgpr(first + word, row, mask);
        }
        Ok(Step::Lds)
    }

    #[inline(always)]
    fn lds_write_words(&mut self, inst: &Inst, group: &mut Group, words: usize) -> Outcome {
        let (mask, mut spread) = (self.exec(), Spread::uninit());
        let addresses = self.lds_addresses(inst, inst.imm, &mut spread)?;
        addresses.aligned(mask, 4, Access::Store)?;
        for word in 0..words {
            let (row, offset) = (self.data(inst, 1, word), 4 * word as u32);
            each(mask, |lane| group.lds.set_word(addresses.at(lane).wrapping_add(offset), row[lane]));
        }
        addresses.note(group, mask, 4 * words, LdsKind::Write, None);
        if group.lds.recorded {
            group.lds.last.stored = (0..words).map(|word| *self.data(inst, 1, word)).collect();
        }
        Ok(Step::Lds)
    }

    #[inline(always)]
    fn lds_read_narrow(&mut self, inst: &Inst, group: &mut Group, bytes: u32, f: impl Fn(u32) -> u32) -> Outcome {
        let (mask, mut spread) = (self.exec(), Spread::uninit());
        let addresses = self.lds_addresses(inst, inst.imm, &mut spread)?;
        addresses.aligned(mask, bytes, Access::Load)?;
        let mut out = [0; 64];
        each(mask, |lane| out[lane] = f(group.lds.narrow(addresses.at(lane), bytes)));
        addresses.note(group, mask, bytes as usize, LdsKind::Read, None);
        self.write_vgpr(inst.dst.as_vgpr().map_or(0, usize::from), &out, mask);
        Ok(Step::Lds)
    }

    fn lds_write_narrow(&mut self, inst: &Inst, group: &mut Group, bytes: u32) -> Outcome {
        let (mask, mut spread) = (self.exec(), Spread::uninit());
        let addresses = self.lds_addresses(inst, inst.imm, &mut spread)?;
        addresses.aligned(mask, bytes, Access::Store)?;
        let data = self.data(inst, 1, 0);
        each(mask, |lane| group.lds.set_narrow(addresses.at(lane), bytes, data[lane]));
        addresses.note(group, mask, bytes as usize, LdsKind::Write, None);
        if group.lds.recorded {
            group.lds.last.stored = vec![Row(lanes(|lane| data[lane] & (u32::MAX >> (32 - 8 * bytes))))];
        }
        Ok(Step::Lds)
    }

    /// Two reads, at offsets in units of one or 64 elements of `WORDS` words.
    #[inline(always)]
    fn lds_read_two<const WORDS: usize>(&mut self, inst: &Inst, group: &mut Group, unit: u32) -> Outcome {
        let mask = self.exec();
        let (near, far) = two_offsets(inst, unit);
        let [p, q] = &mut [Spread::uninit(); 2];
        let places = [self.lds_addresses(inst, near, p)?, self.lds_addresses(inst, far, q)?];
        places[0].aligned(mask, 4, Access::Load)?;
        let mut out = [[[0; 64]; WORDS]; 2];
        for (place, rows) in places.iter().zip(&mut out) {
            for (word, row) in rows.iter_mut().enumerate() {
                gather(group.lds.words(), place.row, place.offset.wrapping_add(4 * word as u32), row);
            }
        }
        places[0].note(group, mask, 4 * WORDS, LdsKind::Read, Some(far.wrapping_sub(near) as i32));
        let first = inst.dst.as_vgpr().map_or(0, usize::from);
        for (n, row) in out.iter().flatten().enumerate() {
            self.write_vgpr(first + n, row, mask);
        }
        Ok(Step::Lds)
    }

    /// Two writes; with `exchange`, they return the old values.
    #[inline(always)]
    fn lds_write_two(&mut self, inst: &Inst, group: &mut Group, words: usize, unit: u32, exchange: bool) -> Outcome {
        let mask = self.exec();
        let (near, far) = two_offsets(inst, unit);
        let [p, q] = &mut [Spread::uninit(); 2];
        let places = [self.lds_addresses(inst, near, p)?, self.lds_addresses(inst, far, q)?];
        places[0].aligned(mask, 4, Access::Store)?;
        let mut old = [[0; 64]; 4];
        for (n, place) in places.iter().enumerate() {
            for word in 0..words {
                let (data, before) = (self.data(inst, 1 + n, word), &mut old[words * n + word]);
                each(mask, |lane| {
                    let address = place.at(lane).wrapping_add(4 * word as u32);
                    if exchange {
                        before[lane] = group.lds.word(address);
                    }
                    group.lds.set_word(address, data[lane]);
                });
            }
        }
        let kind = if exchange { LdsKind::Atomic } else { LdsKind::Write };
        places[0].note(group, mask, 4 * words, kind, Some(far.wrapping_sub(near) as i32));
        if group.lds.recorded {
            let rows = (1..=2).flat_map(|n| (0..words).map(move |word| (n, word)));
            group.lds.last.stored = rows.map(|(n, word)| *self.data(inst, n, word)).collect();
        }
        if exchange {
            let first = inst.dst.as_vgpr().map_or(0, usize::from);
            for (n, row) in old.iter().take(2 * words).enumerate() {
                self.write_vgpr(first + n, row, mask);
            }
        }
        Ok(Step::Lds)
    }

    /// A 32-bit read-modify-write for each lane, one lane after another.
    #[inline(always)]
    fn lds_atomic32(&mut self, inst: &Inst, group: &mut Group, f: impl Fn(u32, u32, u32) -> u32) -> Outcome {
        let (mask, mut spread) = (self.exec(), Spread::uninit());
        let addresses = self.lds_addresses(inst, inst.imm, &mut spread)?;
        addresses.aligned(mask, 4, Access::Atomic)?;
        let (data, second) = (self.data(inst, 1, 0), self.data(inst, 2, 0));
        let mut old = [0; 64];
        each(mask, |lane| {
            let address = addresses.at(lane);
            old[lane] = group.lds.word(address);
            group.lds.set_word(address, f(old[lane], data[lane], second[lane]));
        });
        addresses.note(group, mask, 4, LdsKind::Atomic, None);
        if let Some(register) = inst.dst.as_vgpr() {
            self.write_vgpr(usize::from(register), &old, mask);
        }
        Ok(Step::Lds)
    }

    fn lds_atomic64(&mut self, inst: &Inst, group: &mut Group, f: impl Fn(u64, u64, u64) -> u64) -> Outcome {
        let (mask, mut spread) = (self.exec(), Spread::uninit());
        let addresses = self.lds_addresses(inst, inst.imm, &mut spread)?;
        addresses.aligned(mask, 4, Access::Atomic)?;
        let operand = |n: usize, lane: usize| join(self.data(inst, n, 0)[lane], self.data(inst, n, 1)[lane]);
        let mut old = [0u64; 64];
        for lane in active(mask) {
            let address = addresses.at(lane);
            old[lane] = group.lds.double(address);
            group.lds.set_double(address, f(old[lane], operand(1, lane), operand(2, lane)));
        }
        addresses.note(group, mask, 8, LdsKind::Atomic, None);
        if inst.dst.is_vgpr() {
            self.write64(inst, &old)?;
        }
        Ok(Step::Lds)
    }

    /// Adds the number of active lanes to (or subtracts it from) a word at M0; every lane gets the old value.
    fn lds_count(&mut self, inst: &Inst, group: &mut Group, up: bool) -> Outcome {
        if inst.memory().flags.contains(Flags::GDS) {
            return Err(Fault::Unsupported("there is no global data share"));
        }
        let mask = self.exec();
        let address = (self.m0() & 0xffff).wrapping_add(inst.imm);
        let old = group.lds.word(address);
        let lanes = mask.count_ones();
        group.lds.set_word(address, if up { old.wrapping_add(lanes) } else { old.wrapping_sub(lanes) });
        Addresses { row: &Row::splat(address), offset: 0 }.note(group, mask, 4, LdsKind::Atomic, None);
        self.write_vgpr(inst.dst.as_vgpr().map_or(0, usize::from), &[old; 64], mask);
        Ok(Step::Lds)
    }

    /// Each lane reads the value of lane `from(lane)`; an inactive lane's value is 0.
    fn pull(&mut self, inst: &Inst, group: &mut Group, n: usize, from: impl Fn(usize) -> usize) -> Outcome {
        let mask = self.exec();
        let data = self.data(inst, n, 0);
        let out: [u32; 64] = std::array::from_fn(|lane| {
            let from = from(lane) & 63;
            if mask >> from & 1 == 1 { data[from] } else { 0 }
        });
        self.write_vgpr(inst.dst.as_vgpr().map_or(0, usize::from), &out, mask);
        Addresses { row: &Row::default(), offset: 0 }.note(group, mask, 4, LdsKind::Permute, None);
        Ok(Step::Lds)
    }

    fn swizzle(&mut self, inst: &Inst, group: &mut Group) -> Outcome {
        let pattern = inst.imm as usize;
        if pattern >> 15 & 1 == 1 {
            self.pull(inst, group, 0, |lane| lane & !3 | pattern >> (2 * (lane & 3)) & 3)
        } else {
            let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
            self.pull(inst, group, 0, |lane| lane & 32 | ((lane & 31 & and | or) ^ xor))
        }
    }

    fn bpermute(&mut self, inst: &Inst, group: &mut Group) -> Outcome {
        let address = *self.data(inst, 0, 0);
        self.pull(inst, group, 1, |lane| (address[lane].wrapping_add(inst.imm) >> 2) as usize)
    }

    /// Each active lane sends its value to another lane. Among several senders the highest wins; without a sender the
    /// value is 0.
    fn permute(&mut self, inst: &Inst, group: &mut Group) -> Outcome {
        let mask = self.exec();
        let (address, data) = (self.data(inst, 0, 0), self.data(inst, 1, 0));
        let mut out = [0; 64];
        for lane in active(mask) {
            out[(address[lane].wrapping_add(inst.imm) >> 2) as usize & 63] = data[lane];
        }
        self.write_vgpr(inst.dst.as_vgpr().map_or(0, usize::from), &out, mask);
        Addresses { row: &Row::default(), offset: 0 }.note(group, mask, 4, LdsKind::Permute, None);
        Ok(Step::Lds)
    }
}

/// Calls `f` for the lanes of a mask, lowest first.
#[inline(always)]
fn each(mask: u64, f: impl FnMut(usize)) {
    match mask {
        u64::MAX => (0..64).for_each(f),
        _ => active(mask).for_each(f),
    }
}

/// The two offsets of an instruction, in bytes.
fn two_offsets(inst: &Inst, unit: u32) -> (u32, u32) {
    ((inst.imm & 0xff) * unit, (inst.imm >> 8 & 0xff) * unit)
}

pub fn handler(op: Op) -> Option<Handler> {
    moves(op).or_else(|| atomics(op))
}

fn moves(op: Op) -> Option<Handler> {
    Some(match op {
        Op::DsNop => |_, _, _| Ok(Step::Done),
        Op::DsReadB32 => |w, i, g| w.lds_read_words::<1>(i, g),
        Op::DsReadB64 => |w, i, g| w.lds_read_words::<2>(i, g),
        Op::DsReadB96 => |w, i, g| w.lds_read_words::<3>(i, g),
        Op::DsReadB128 => |w, i, g| w.lds_read_words::<4>(i, g),
        Op::DsReadU8 => |w, i, g| w.lds_read_narrow(i, g, 1, |byte| byte),
        Op::DsReadI8 => |w, i, g| w.lds_read_narrow(i, g, 1, |byte| byte as i8 as u32),
        Op::DsReadU16 => |w, i, g| w.lds_read_narrow(i, g, 2, |short| short),
        Op::DsReadI16 => |w, i, g| w.lds_read_narrow(i, g, 2, |short| short as i16 as u32),
        Op::DsRead2B32 => |w, i, g| w.lds_read_two::<1>(i, g, 4),
        Op::DsRead2st64B32 => |w, i, g| w.lds_read_two::<1>(i, g, 256),
        Op::DsRead2B64 => |w, i, g| w.lds_read_two::<2>(i, g, 8),
        Op::DsRead2st64B64 => |w, i, g| w.lds_read_two::<2>(i, g, 512),
        Op::DsWriteB8 => |w, i, g| w.lds_write_narrow(i, g, 1),
        Op::DsWriteB16 => |w, i, g| w.lds_write_narrow(i, g, 2),
        Op::DsWriteB32 => |w, i, g| w.lds_write_words(i, g, 1),
        Op::DsWriteB64 => |w, i, g| w.lds_write_words(i, g, 2),
        Op::DsWriteB96 => |w, i, g| w.lds_write_words(i, g, 3),
        Op::DsWriteB128 => |w, i, g| w.lds_write_words(i, g, 4),
        Op::DsWrite2B32 => |w, i, g| w.lds_write_two(i, g, 1, 4, false),
        Op::DsWrite2st64B32 => |w, i, g| w.lds_write_two(i, g, 1, 256, false),
        Op::DsWrite2B64 => |w, i, g| w.lds_write_two(i, g, 2, 8, false),
        Op::DsWrite2st64B64 => |w, i, g| w.lds_write_two(i, g, 2, 512, false),
        Op::DsWrxchg2RtnB32 => |w, i, g| w.lds_write_two(i, g, 1, 4, true),
        Op::DsWrxchg2st64RtnB32 => |w, i, g| w.lds_write_two(i, g, 1, 256, true),
        Op::DsWrxchg2RtnB64 => |w, i, g| w.lds_write_two(i, g, 2, 8, true),
        Op::DsWrxchg2st64RtnB64 => |w, i, g| w.lds_write_two(i, g, 2, 512, true),
        Op::DsSwizzleB32 => |w, i, g| w.swizzle(i, g),
        Op::DsPermuteB32 => |w, i, g| w.permute(i, g),
        Op::DsBpermuteB32 => |w, i, g| w.bpermute(i, g),
        Op::DsAppend => |w, i, g| w.lds_count(i, g, true),
        Op::DsConsume => |w, i, g| w.lds_count(i, g, false),
        _ => return None,
    })
}

/// A table of atomic operations: the 32-bit instructions, then the 64-bit ones. Variants that return the old value
/// differ only in having a destination.
macro_rules! atomics {
    ($op:expr; $($operation:ident: $($narrow:ident)*, $($wide:ident)*;)*) => {
        Some(match $op {
            $(
                $(Op::$narrow)|* => |w, i, g| w.lds_atomic32(i, g, |m, a, b| AtomicOp::$operation.apply32(m, a, b)),
                $(Op::$wide)|* => |w, i, g| w.lds_atomic64(i, g, |m, a, b| AtomicOp::$operation.apply64(m, a, b)),
            )*
            // The first data operand is the expected value, the second the new one.
            Op::DsCmpstB32 | Op::DsCmpstRtnB32 => {
                |w, i, g| w.lds_atomic32(i, g, |m, a, b| AtomicOp::CompareSwap.apply32(m, b, a))
            }
            Op::DsCmpstB64 | Op::DsCmpstRtnB64 => {
                |w, i, g| w.lds_atomic64(i, g, |m, a, b| AtomicOp::CompareSwap.apply64(m, b, a))
            }
            Op::DsCmpstF32 | Op::DsCmpstRtnF32 => {
                |w, i, g| w.lds_atomic32(i, g, |m, a, b| AtomicOp::FloatCompareSwap.apply32(m, b, a))
            }
            Op::DsCmpstF64 | Op::DsCmpstRtnF64 => {
                |w, i, g| w.lds_atomic64(i, g, |m, a, b| AtomicOp::FloatCompareSwap.apply64(m, b, a))
            }
            Op::DsWrxchgRtnB32 => |w, i, g| w.lds_atomic32(i, g, |_, a, _| a),
            Op::DsWrxchgRtnB64 => |w, i, g| w.lds_atomic64(i, g, |_, a, _| a),
            Op::DsAddF32 | Op::DsAddRtnF32 => {
                |w, i, g| w.lds_atomic32(i, g, |m, a, b| AtomicOp::FloatAdd.apply32(m, a, b))
            }
            Op::DsWrapRtnB32 => {
                |w, i, g| w.lds_atomic32(i, g, |m, a, b| if m >= a { m - a } else { m.wrapping_add(b) })
            }
            _ => return None,
        })
    };
}

fn atomics(op: Op) -> Option<Handler> {
    atomics! { op;
        Add: DsAddU32 DsAddRtnU32, DsAddU64 DsAddRtnU64;
        Sub: DsSubU32 DsSubRtnU32, DsSubU64 DsSubRtnU64;
        ReverseSub: DsRsubU32 DsRsubRtnU32, DsRsubU64 DsRsubRtnU64;
        Increment: DsIncU32 DsIncRtnU32, DsIncU64 DsIncRtnU64;
        Decrement: DsDecU32 DsDecRtnU32, DsDecU64 DsDecRtnU64;
        SignedMin: DsMinI32 DsMinRtnI32, DsMinI64 DsMinRtnI64;
        SignedMax: DsMaxI32 DsMaxRtnI32, DsMaxI64 DsMaxRtnI64;
        UnsignedMin: DsMinU32 DsMinRtnU32, DsMinU64 DsMinRtnU64;
        UnsignedMax: DsMaxU32 DsMaxRtnU32, DsMaxU64 DsMaxRtnU64;
        And: DsAndB32 DsAndRtnB32, DsAndB64 DsAndRtnB64;
        Or: DsOrB32 DsOrRtnB32, DsOrB64 DsOrRtnB64;
        Xor: DsXorB32 DsXorRtnB32, DsXorB64 DsXorRtnB64;
        MaskedOr: DsMskorB32 DsMskorRtnB32, DsMskorB64 DsMskorRtnB64;
        FloatMin: DsMinF32 DsMinRtnF32, DsMinF64 DsMinRtnF64;
        FloatMax: DsMaxF32 DsMaxRtnF32, DsMaxF64 DsMaxRtnF64;
    }
}
