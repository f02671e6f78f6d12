//! Scalar arithmetic and logic: one value per wavefront.
//!
//! SCC is a carry, an overflow, or set if the result is not zero, as given in each table.

use super::{Handler, Outcome, Step};
use crate::{inst::Inst, ops::Op, wave::Wavefront};

impl Wavefront {
    #[inline(always)]
    fn s32(&self, inst: &Inst, n: usize) -> u32 {
        self.scalar32(inst, inst.src[n])
    }

    #[inline(always)]
    fn s64(&self, inst: &Inst, n: usize) -> u64 {
        self.scalar64(inst, inst.src[n])
    }

    /// A 32-bit result; SCC is unchanged.
    #[inline(always)]
    fn plain32(&mut self, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Outcome {
        self.set_scalar32(inst.dst, f(self.s32(inst, 0), self.s32(inst, 1)));
        Ok(Step::Done)
    }

    /// A 32-bit result, with SCC returned by `f`.
    #[inline(always)]
    fn flagged32(&mut self, inst: &Inst, f: impl Fn(u32, u32, bool) -> (u32, bool)) -> Outcome {
        let (value, scc) = f(self.s32(inst, 0), self.s32(inst, 1), self.scc);
        self.set_scalar32(inst.dst, value);
        self.scc = scc;
        Ok(Step::Done)
    }

    /// A 32-bit result; SCC is set if it is not zero.
    #[inline(always)]
    fn bits32(&mut self, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Outcome {
        self.flagged32(inst, |a, b, _| {
            let value = f(a, b);
            (value, value != 0)
        })
    }

    /// A 64-bit result of two 64-bit operands; SCC is set if it is not zero.
    #[inline(always)]
    fn bits64(&mut self, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Outcome {
        let value = f(self.s64(inst, 0), self.s64(inst, 1));
        self.set_scalar64(inst.dst, value);
        self.scc = value != 0;
        Ok(Step::Done)
    }

    /// A 64-bit result of a 64-bit and a 32-bit operand; SCC is set if it is not zero.
    #[inline(always)]
    fn shift64(&mut self, inst: &Inst, f: impl Fn(u64, u32) -> u64) -> Outcome {
        let value = f(self.s64(inst, 0), self.s32(inst, 1));
        self.set_scalar64(inst.dst, value);
        self.scc = value != 0;
        Ok(Step::Done)
    }

    /// A 32-bit count in a 64-bit operand; SCC is unchanged.
    #[inline(always)]
    fn count64(&mut self, inst: &Inst, f: impl Fn(u64) -> u32) -> Outcome {
        self.set_scalar32(inst.dst, f(self.s64(inst, 0)));
        Ok(Step::Done)
    }

    /// A 64-bit result of one operand; SCC is unchanged.
    #[inline(always)]
    fn plain64(&mut self, inst: &Inst, f: impl Fn(u64) -> u64) -> Outcome {
        self.set_scalar64(inst.dst, f(self.s64(inst, 0)));
        Ok(Step::Done)
    }

    /// A compare: only SCC is written.
    #[inline(always)]
    fn test32(&mut self, inst: &Inst, f: impl Fn(u32, u32) -> bool) -> Outcome {
        self.scc = f(self.s32(inst, 0), self.s32(inst, 1));
        Ok(Step::Done)
    }

    #[inline(always)]
    fn test_i32(&mut self, inst: &Inst, f: impl Fn(i32, i32) -> bool) -> Outcome {
        self.test32(inst, |a, b| f(a as i32, b as i32))
    }

    /// Saves EXEC and combines it with the operand.
    #[inline(always)]
    fn saveexec(&mut self, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Outcome {
        let (source, exec) = (self.s64(inst, 0), self.exec());
        self.set_scalar64(inst.dst, exec);
        let exec = f(source, exec);
        self.set_exec(exec);
        self.scc = exec != 0;
        Ok(Step::Done)
    }

    /// Sets one bit of the destination.
    fn bitset(&mut self, inst: &Inst, bits: u32, value: bool) -> Outcome {
        let bit = 1u64 << (self.s32(inst, 0) & (bits - 1));
        let change = |old: u64| if value { old | bit } else { old & !bit };
        match bits {
            32 => self.set_scalar32(inst.dst, change(self.scalar32(inst, inst.dst).into()) as u32),
            _ => self.set_scalar64(inst.dst, change(self.scalar64(inst, inst.dst))),
        }
        Ok(Step::Done)
    }

    /// Moves from a scalar register whose number is relative to M0.
    fn movrels(&mut self, inst: &Inst, wide: bool) -> Outcome {
        let from = usize::from(inst.src[0].code()).wrapping_add(self.m0() as usize) & 127;
        match wide {
            false => self.set_scalar32(inst.dst, self.scalars[from]),
            true => self.set_scalar64(inst.dst, self.pair(from)),
        }
        Ok(Step::Done)
    }

    /// Moves to a scalar register whose number is relative to M0.
    fn movreld(&mut self, inst: &Inst, wide: bool) -> Outcome {
        let to = usize::from(inst.dst.code()).wrapping_add(self.m0() as usize) & 127;
        match wide {
            false => self.scalars[to] = self.s32(inst, 0),
            true => self.set_pair(to, self.s64(inst, 0)),
        }
        Ok(Step::Done)
    }
}

/// Extracts a bit field; `control` holds offset and width, as the second operand of the bit-field instructions does.
fn field(value: u64, control: u32, bits: u32, signed: bool) -> u64 {
    let (offset, width) = (control & (bits - 1), (control >> 16 & 0x7f).min(bits));
    let value = if bits == 32 { value & 0xffff_ffff } else { value };
    if width == 0 {
        return 0;
    }
    let above = 64 - width.min(bits - offset);
    let part = value >> offset << above;
    if signed && offset + width <= bits { (part as i64 >> above) as u64 } else { part >> above }
}

fn wqm(mask: u64) -> u64 {
    quads(mask).0 * 15
}

/// Whether any lane of each quad is set, in two layouts: spread (bit 4n) and packed (bit n).
fn quads(mask: u64) -> (u64, u64) {
    let any = (mask | mask >> 1 | mask >> 2 | mask >> 3) & 0x1111_1111_1111_1111;
    (any, (0..16).fold(0, |packed, quad| packed | (any >> (4 * quad) & 1) << quad))
}

/// A count, or -1 if no such bit was found.
fn or_minus_one(count: u32, none: u32) -> u32 {
    if count == none { u32::MAX } else { count }
}

pub fn handler(op: Op) -> Option<Handler> {
    two_sources(op).or_else(|| one_source(op)).or_else(|| compare(op))
}

fn two_sources(op: Op) -> Option<Handler> {
    Some(match op {
        Op::SAddU32 => |w, i, _| w.flagged32(i, |a, b, _| a.overflowing_add(b)),
        Op::SSubU32 => |w, i, _| w.flagged32(i, |a, b, _| a.overflowing_sub(b)),
        Op::SAddI32 | Op::SAddkI32 => |w, i, _| {
            w.flagged32(i, |a, b, _| {
                let (sum, overflow) = (a as i32).overflowing_add(b as i32);
                (sum as u32, overflow)
            })
        },
        Op::SSubI32 => |w, i, _| {
            w.flagged32(i, |a, b, _| {
                let (difference, overflow) = (a as i32).overflowing_sub(b as i32);
                (difference as u32, overflow)
            })
        },
        Op::SAddcU32 => |w, i, _| {
            w.flagged32(i, |a, b, carry| {
                let sum = u64::from(a) + u64::from(b) + u64::from(carry);
                (sum as u32, sum >> 32 != 0)
            })
        },
        Op::SSubbU32 => |w, i, _| {
            w.flagged32(i, |a, b, borrow| {
                let taken = u64::from(b) + u64::from(borrow);
                ((u64::from(a).wrapping_sub(taken)) as u32, taken > u64::from(a))
            })
        },
        Op::SMinI32 => |w, i, _| w.flagged32(i, |a, b, _| ((a as i32).min(b as i32) as u32, (a as i32) < b as i32)),
        Op::SMinU32 => |w, i, _| w.flagged32(i, |a, b, _| (a.min(b), a < b)),
        Op::SMaxI32 => |w, i, _| w.flagged32(i, |a, b, _| ((a as i32).max(b as i32) as u32, a as i32 > b as i32)),
        Op::SMaxU32 => |w, i, _| w.flagged32(i, |a, b, _| (a.max(b), a > b)),
        Op::SCselectB32 => |w, i, _| w.flagged32(i, |a, b, scc| (if scc { a } else { b }, scc)),
        Op::SCselectB64 => |w, i, _| {
            let value = w.s64(i, if w.scc { 0 } else { 1 });
            w.set_scalar64(i.dst, value);
            Ok(Step::Done)
        },
        Op::SAndB32 => |w, i, _| w.bits32(i, |a, b| a & b),
        Op::SAndB64 => |w, i, _| w.bits64(i, |a, b| a & b),
        Op::SOrB32 => |w, i, _| w.bits32(i, |a, b| a | b),
        Op::SOrB64 => |w, i, _| w.bits64(i, |a, b| a | b),
        Op::SXorB32 => |w, i, _| w.bits32(i, |a, b| a ^ b),
        Op::SXorB64 => |w, i, _| w.bits64(i, |a, b| a ^ b),
        Op::SAndn2B32 => |w, i, _| w.bits32(i, |a, b| a & !b),
        Op::SAndn2B64 => |w, i, _| w.bits64(i, |a, b| a & !b),
        Op::SOrn2B32 => |w, i, _| w.bits32(i, |a, b| a | !b),
        Op::SOrn2B64 => |w, i, _| w.bits64(i, |a, b| a | !b),
        Op::SNandB32 => |w, i, _| w.bits32(i, |a, b| !(a & b)),
        Op::SNandB64 => |w, i, _| w.bits64(i, |a, b| !(a & b)),
        Op::SNorB32 => |w, i, _| w.bits32(i, |a, b| !(a | b)),
        Op::SNorB64 => |w, i, _| w.bits64(i, |a, b| !(a | b)),
        Op::SXnorB32 => |w, i, _| w.bits32(i, |a, b| !(a ^ b)),
        Op::SXnorB64 => |w, i, _| w.bits64(i, |a, b| !(a ^ b)),
        Op::SLshlB32 => |w, i, _| w.bits32(i, |a, b| a << (b & 31)),
        Op::SLshlB64 => |w, i, _| w.shift64(i, |a, b| a << (b & 63)),
        Op::SLshrB32 => |w, i, _| w.bits32(i, |a, b| a >> (b & 31)),
        Op::SLshrB64 => |w, i, _| w.shift64(i, |a, b| a >> (b & 63)),
        Op::SAshrI32 => |w, i, _| w.bits32(i, |a, b| (a as i32 >> (b & 31)) as u32),
        Op::SAshrI64 => |w, i, _| w.shift64(i, |a, b| (a as i64 >> (b & 63)) as u64),
        Op::SBfmB32 => |w, i, _| w.plain32(i, |a, b| ((1 << (a & 31)) - 1) << (b & 31)),
        Op::SBfmB64 => |w, i, _| {
            let value = ((1u64 << (w.s32(i, 0) & 63)) - 1) << (w.s32(i, 1) & 63);
            w.set_scalar64(i.dst, value);
            Ok(Step::Done)
        },
        Op::SMulI32 | Op::SMulkI32 => |w, i, _| w.plain32(i, u32::wrapping_mul),
        Op::SBfeU32 => |w, i, _| w.bits32(i, |a, b| field(a.into(), b, 32, false) as u32),
        Op::SBfeI32 => |w, i, _| w.bits32(i, |a, b| field(a.into(), b, 32, true) as u32),
        Op::SBfeU64 => |w, i, _| w.shift64(i, |a, b| field(a, b, 64, false)),
        Op::SBfeI64 => |w, i, _| w.shift64(i, |a, b| field(a, b, 64, true)),
        Op::SAbsdiffI32 => |w, i, _| w.bits32(i, |a, b| (a as i32).wrapping_sub(b as i32).unsigned_abs()),
        _ => return None,
    })
}

fn one_source(op: Op) -> Option<Handler> {
    Some(match op {
        Op::SMovB32 | Op::SMovkI32 => |w, i, _| {
            let value = w.s32(i, 0);
            w.set_scalar32(i.dst, value);
            Ok(Step::Done)
        },
        Op::SMovB64 => |w, i, _| w.plain64(i, |a| a),
        Op::SCmovB32 | Op::SCmovkI32 => |w, i, _| {
            if w.scc {
                w.set_scalar32(i.dst, w.s32(i, 0));
            }
            Ok(Step::Done)
        },
        Op::SCmovB64 => |w, i, _| if w.scc { w.plain64(i, |a| a) } else { Ok(Step::Done) },
        Op::SNotB32 => |w, i, _| w.bits32(i, |a, _| !a),
        Op::SNotB64 => |w, i, _| w.bits64(i, |a, _| !a),
        Op::SWqmB32 => |w, i, _| w.bits32(i, |a, _| wqm(a.into()) as u32),
        Op::SWqmB64 => |w, i, _| w.bits64(i, |a, _| wqm(a)),
        Op::SBrevB32 => |w, i, _| w.plain32(i, |a, _| a.reverse_bits()),
        Op::SBrevB64 => |w, i, _| w.plain64(i, u64::reverse_bits),
        Op::SBcnt0I32B32 => |w, i, _| w.bits32(i, |a, _| a.count_zeros()),
        Op::SBcnt1I32B32 => |w, i, _| w.bits32(i, |a, _| a.count_ones()),
        Op::SBcnt0I32B64 => |w, i, _| {
            w.scc = w.s64(i, 0) != !0;
            w.count64(i, u64::count_zeros)
        },
        Op::SBcnt1I32B64 => |w, i, _| {
            w.scc = w.s64(i, 0) != 0;
            w.count64(i, u64::count_ones)
        },
        Op::SFf0I32B32 => |w, i, _| w.plain32(i, |a, _| or_minus_one(a.trailing_ones(), 32)),
        Op::SFf0I32B64 => |w, i, _| w.count64(i, |a| or_minus_one(a.trailing_ones(), 64)),
        Op::SFf1I32B32 => |w, i, _| w.plain32(i, |a, _| or_minus_one(a.trailing_zeros(), 32)),
        Op::SFf1I32B64 => |w, i, _| w.count64(i, |a| or_minus_one(a.trailing_zeros(), 64)),
        Op::SFlbitI32B32 => |w, i, _| w.plain32(i, |a, _| or_minus_one(a.leading_zeros(), 32)),
        Op::SFlbitI32B64 => |w, i, _| w.count64(i, |a| or_minus_one(a.leading_zeros(), 64)),
        // The number of leading bits that equal the sign.
        Op::SFlbitI32 => |w, i, _| w.plain32(i, |a, _| or_minus_one((a ^ (a as i32 >> 31) as u32).leading_zeros(), 32)),
        Op::SFlbitI32I64 => |w, i, _| w.count64(i, |a| or_minus_one((a ^ (a as i64 >> 63) as u64).leading_zeros(), 64)),
        Op::SSextI32I8 => |w, i, _| w.plain32(i, |a, _| a as i8 as u32),
        Op::SSextI32I16 => |w, i, _| w.plain32(i, |a, _| a as i16 as u32),
        Op::SBitset0B32 => |w, i, _| w.bitset(i, 32, false),
        Op::SBitset0B64 => |w, i, _| w.bitset(i, 64, false),
        Op::SBitset1B32 => |w, i, _| w.bitset(i, 32, true),
        Op::SBitset1B64 => |w, i, _| w.bitset(i, 64, true),
        Op::SAndSaveexecB64 => |w, i, _| w.saveexec(i, |s, e| s & e),
        Op::SOrSaveexecB64 => |w, i, _| w.saveexec(i, |s, e| s | e),
        Op::SXorSaveexecB64 => |w, i, _| w.saveexec(i, |s, e| s ^ e),
        Op::SAndn2SaveexecB64 => |w, i, _| w.saveexec(i, |s, e| s & !e),
        Op::SOrn2SaveexecB64 => |w, i, _| w.saveexec(i, |s, e| s | !e),
        Op::SNandSaveexecB64 => |w, i, _| w.saveexec(i, |s, e| !(s & e)),
        Op::SNorSaveexecB64 => |w, i, _| w.saveexec(i, |s, e| !(s | e)),
        Op::SXnorSaveexecB64 => |w, i, _| w.saveexec(i, |s, e| !(s ^ e)),
        Op::SQuadmaskB32 => |w, i, _| w.bits32(i, |a, _| quads(a.into()).1 as u32),
        Op::SQuadmaskB64 => |w, i, _| w.bits64(i, |a, _| quads(a).1),
        Op::SMovrelsB32 => |w, i, _| w.movrels(i, false),
        Op::SMovrelsB64 => |w, i, _| w.movrels(i, true),
        Op::SMovreldB32 => |w, i, _| w.movreld(i, false),
        Op::SMovreldB64 => |w, i, _| w.movreld(i, true),
        Op::SAbsI32 => |w, i, _| w.bits32(i, |a, _| (a as i32).unsigned_abs()),
        _ => return None,
    })
}

fn compare(op: Op) -> Option<Handler> {
    Some(match op {
        Op::SCmpEqI32 | Op::SCmpEqU32 | Op::SCmpkEqI32 | Op::SCmpkEqU32 => |w, i, _| w.test32(i, |a, b| a == b),
        Op::SCmpLgI32 | Op::SCmpLgU32 | Op::SCmpkLgI32 | Op::SCmpkLgU32 => |w, i, _| w.test32(i, |a, b| a != b),
        Op::SCmpGtI32 | Op::SCmpkGtI32 => |w, i, _| w.test_i32(i, |a, b| a > b),
        Op::SCmpGeI32 | Op::SCmpkGeI32 => |w, i, _| w.test_i32(i, |a, b| a >= b),
        Op::SCmpLtI32 | Op::SCmpkLtI32 => |w, i, _| w.test_i32(i, |a, b| a < b),
        Op::SCmpLeI32 | Op::SCmpkLeI32 => |w, i, _| w.test_i32(i, |a, b| a <= b),
        Op::SCmpGtU32 | Op::SCmpkGtU32 => |w, i, _| w.test32(i, |a, b| a > b),
        Op::SCmpGeU32 | Op::SCmpkGeU32 => |w, i, _| w.test32(i, |a, b| a >= b),
        Op::SCmpLtU32 | Op::SCmpkLtU32 => |w, i, _| w.test32(i, |a, b| a < b),
        Op::SCmpLeU32 | Op::SCmpkLeU32 => |w, i, _| w.test32(i, |a, b| a <= b),
        Op::SBitcmp0B32 => |w, i, _| w.test32(i, |a, b| a >> (b & 31) & 1 == 0),
        Op::SBitcmp1B32 => |w, i, _| w.test32(i, |a, b| a >> (b & 31) & 1 == 1),
        Op::SBitcmp0B64 => |w, i, _| {
            w.scc = w.s64(i, 0) >> (w.s32(i, 1) & 63) & 1 == 0;
            Ok(Step::Done)
        },
        Op::SBitcmp1B64 => |w, i, _| {
            w.scc = w.s64(i, 0) >> (w.s32(i, 1) & 63) & 1 == 1;
            Ok(Step::Done)
        },
        Op::SCmpEqU64 => |w, i, _| {
            w.scc = w.s64(i, 0) == w.s64(i, 1);
            Ok(Step::Done)
        },
        Op::SCmpLgU64 => |w, i, _| {
            w.scc = w.s64(i, 0) != w.s64(i, 1);
            Ok(Step::Done)
        },
        _ => return None,
    })
}
