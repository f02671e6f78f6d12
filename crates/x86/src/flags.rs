//! The flags register, with lazily computed flags.
//!
//! Nearly every instruction sets the six arithmetic flags, and few instructions read them. So an instruction stores its
//! result and the carries between the bits, and a flag is computed when it is read.

use crate::exec::word::Word;

/// Bits of RFLAGS.
pub const CF: u64 = 1 << 0;
pub const PF: u64 = 1 << 2;
pub const AF: u64 = 1 << 4;
pub const ZF: u64 = 1 << 6;
pub const SF: u64 = 1 << 7;
pub const DF: u64 = 1 << 10;
pub const OF: u64 = 1 << 11;

/// The flags register; [`Flags::get`] and [`Flags::set`] use the RFLAGS format.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// The result, sign-extended: ZF if it is zero, SF is its top bit, PF the parity of its low byte.
    result: u64,
    /// Bit 63 is the carry out of the top bit (CF), bit 62 the carry into it (OF is their difference), bit 3 the carry
    /// out of bit 3 (AF). Bit 0 flips SF and bit 8 flips PF, for combinations that no result produces.
    carries: u64,
    /// DF and other flags that programs can set.
    rest: u64,
}

impl Default for Flags {
    fn default() -> Self {
        let mut flags = Flags { result: 1, carries: 0, rest: 0 };
        flags.set(0x202);
        flags
    }
}

const CARRY: u64 = 1 << 63;
const CARRY_IN: u64 = 1 << 62;
const HALF_CARRY: u64 = 1 << 3;
const FLIP_SF: u64 = 1;
const FLIP_PF: u64 = 1 << 8;
/// Of TF, IF, DF, NT, AC and ID, a program can change DF, AC and ID.
const SETTABLE: u64 = DF | 1 << 18 | 1 << 21;

impl Flags {
    /// RFLAGS as `pushf` stores it: bit 1 and the interrupt flag are always set.
    pub fn get(&self) -> u64 {
        let bit = |flag: bool, at: u64| if flag { at } else { 0 };
        bit(self.cf(), CF)
            | bit(self.pf(), PF)
            | bit(self.af(), AF)
            | bit(self.zf(), ZF)
            | bit(self.sf(), SF)
            | bit(self.of(), OF)
            | self.rest
            | 0x202
    }

    /// Sets the flags from RFLAGS, as far as a user's `popf` can change them.
    pub fn set(&mut self, rflags: u64) {
        self.set_arithmetic(rflags);
        self.rest = rflags & SETTABLE;
    }

    /// Sets the six arithmetic flags from their bits in RFLAGS.
    pub fn set_arithmetic(&mut self, rflags: u64) {
        let has = |flag: u64| rflags & flag != 0;
        self.result = !has(ZF) as u64;
        // A result of 0 has even parity, 1 has odd; neither is negative.
        let mut carries = 0;
        if has(SF) {
            carries |= FLIP_SF;
        }
        if has(PF) != has(ZF) {
            carries |= FLIP_PF;
        }
        if has(AF) {
            carries |= HALF_CARRY;
        }
        if has(CF) {
            carries |= CARRY;
        }
        if has(CF) != has(OF) {
            carries |= CARRY_IN;
        }
        self.carries = carries;
    }

    #[inline(always)]
    pub fn cf(&self) -> bool {
        self.carries & CARRY != 0
    }

    #[inline(always)]
    pub fn zf(&self) -> bool {
        self.result == 0
    }

    #[inline(always)]
    pub fn sf(&self) -> bool {
        (self.result >> 63) ^ (self.carries & FLIP_SF) != 0
    }

    #[inline(always)]
    pub fn of(&self) -> bool {
        (self.carries ^ (self.carries << 1)) & CARRY != 0
    }

    #[inline(always)]
    pub fn af(&self) -> bool {
        self.carries & HALF_CARRY != 0
    }

    #[inline(always)]
    pub fn pf(&self) -> bool {
        let odd = (self.result as u8).count_ones() & 1 != 0;
        odd == (self.carries & FLIP_PF != 0)
    }

    /// The direction flag: string instructions go downwards.
    #[inline(always)]
    pub fn df(&self) -> bool {
        self.rest & DF != 0
    }
}

/// What an operation stores so that the six arithmetic flags can be computed.
#[derive(Clone, Copy)]
pub(crate) struct Traces {
    result: u64,
    carries: u64,
}

impl Traces {
    /// For an addition (with or without carry in).
    #[inline(always)]
    pub fn of_sum<W: Word>(a: u64, b: u64, result: u64) -> Self {
        Self::new::<W>(result, (a & b) | ((a | b) & !result))
    }

    /// For a subtraction (with or without borrow in).
    #[inline(always)]
    pub fn of_difference<W: Word>(a: u64, b: u64, result: u64) -> Self {
        Self::new::<W>(result, (!a & b) | ((!a | b) & result))
    }

    /// For a logical operation: no carries.
    #[inline(always)]
    pub fn of_logic<W: Word>(result: u64) -> Self {
        Traces { result: W::extend(result) as u64, carries: 0 }
    }

    /// With the given CF and OF, AF clear, and the others from the result.
    #[inline(always)]
    pub fn with<W: Word>(result: u64, cf: bool, of: bool) -> Self {
        Traces { result: W::extend(result) as u64, carries: carry_and_overflow(cf, of) }
    }

    #[inline(always)]
    fn new<W: Word>(result: u64, carries: u64) -> Self {
        let carries = ((carries << (64 - W::BITS)) & (CARRY | CARRY_IN)) | (carries & HALF_CARRY);
        Traces { result: W::extend(result) as u64, carries }
    }
}

#[inline(always)]
fn carry_and_overflow(cf: bool, of: bool) -> u64 {
    (cf as u64) << 63 | ((cf != of) as u64) << 62
}

impl Flags {
    /// Sets the six arithmetic flags.
    #[inline(always)]
    pub(crate) fn put(&mut self, traces: Traces) {
        self.result = traces.result;
        self.carries = traces.carries;
    }

    /// Sets all arithmetic flags but CF.
    #[inline(always)]
    pub(crate) fn put_but_cf(&mut self, traces: Traces) {
        let carry = self.carries & CARRY;
        let overflow = (traces.carries ^ traces.carries << 1) & CARRY;
        self.result = traces.result;
        self.carries = traces.carries & HALF_CARRY | carry | (carry ^ overflow) >> 1;
    }

    /// Sets only CF and OF.
    #[inline(always)]
    pub(crate) fn put_cf_of(&mut self, cf: bool, of: bool) {
        self.carries = self.carries & !(CARRY | CARRY_IN) | carry_and_overflow(cf, of);
    }

    /// Sets only CF.
    #[inline(always)]
    pub(crate) fn put_cf(&mut self, cf: bool) {
        let of = self.of();
        self.put_cf_of(cf, of);
    }

    /// Sets only ZF.
    #[inline(always)]
    pub(crate) fn put_zf(&mut self, zf: bool) {
        let others = self.get() & !ZF;
        self.set_arithmetic(others | if zf { ZF } else { 0 });
    }

    #[inline(always)]
    pub(crate) fn put_df(&mut self, df: bool) {
        self.rest = self.rest & !DF | if df { DF } else { 0 };
    }
}

impl PartialEq for Flags {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Flags {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_flags_can_be_set_and_read_back() {
        for n in 0..64 {
            let rflags = [CF, PF, AF, ZF, SF, OF].iter().enumerate().map(|(i, f)| if n >> i & 1 != 0 { *f } else { 0 });
            let rflags = rflags.fold(0x202, |a, b| a | b);
            let mut flags = Flags::default();
            flags.set(rflags);
            assert_eq!(flags.get(), rflags);
        }
    }
}
