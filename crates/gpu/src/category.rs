//! The timing category of an instruction.
//!
//! A compute unit issues each instruction to the unit for its category; the scheduler executes some itself. The
//! category follows from the instruction alone, so it is determined once, when a kernel is loaded.

use gcn3::{
    code::Code,
    inst::Inst,
    ops::{Encoding, Op},
};

/// The unit that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Category {
    /// Vector arithmetic, on the SIMD of the wavefront.
    Vector,
    /// Scalar arithmetic, and everything else that the scalar unit executes.
    Scalar,
    /// Scalar loads and stores.
    ScalarMemory,
    /// Vector loads, stores and atomics.
    VectorMemory,
    /// The local data share.
    Local,
    Branch,
    /// `s_waitcnt`, `s_barrier`, `s_endpgm`, `s_nop`: executed by the scheduler itself.
    Scheduler,
}

impl Category {
    pub const COUNT: usize = 7;
}

/// The effect of an instruction that the scheduler executes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    None,
    /// Waits until at most this many vector accesses, and accesses of other kinds, are outstanding.
    WaitCount {
        vector: u8,
        other: u8,
    },
    /// Ends the wavefront when no access is outstanding.
    End,
    /// Invalidates the vector cache; [`InvalidateScalar`](Self::InvalidateScalar), the scalar cache.
    InvalidateVector,
    InvalidateScalar,
    /// Waits for this number of cycles (`s_sleep`).
    Sleep(u16),
}

/// The timing properties of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    pub category: Category,
    pub special: Special,
    /// A flat access: it may go to the local data share, and counts as an access of both kinds.
    pub flat: bool,
}

impl Brief {
    fn new(inst: &Inst) -> Self {
        let category = match inst.op.info().encoding {
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vop3 | Encoding::Vopc => Category::Vector,
            Encoding::Smem => Category::ScalarMemory,
            Encoding::Ds => Category::Local,
            Encoding::Flat | Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg => Category::VectorMemory,
            Encoding::Sopp if is_branch(inst.op) => Category::Branch,
            Encoding::Sopp => Category::Scheduler,
            Encoding::Sop1 if matches!(inst.op, Op::SSetpcB64 | Op::SSwappcB64 | Op::SRfeB64) => Category::Branch,
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk => Category::Scalar,
        };
        let special = match inst.op {
            Op::SWaitcnt => wait_count(inst.imm as u16),
            Op::SEndpgm | Op::SEndpgmSaved => Special::End,
            Op::BufferWbinvl1 | Op::BufferWbinvl1Vol => Special::InvalidateVector,
            Op::SDcacheInv | Op::SDcacheInvVol => Special::InvalidateScalar,
            // In steps of 64 cycles.
            Op::SSleep => Special::Sleep(64 * (inst.imm as u16 & 0x7f)),
            _ => Special::None,
        };
        let flat = inst.op.info().encoding == Encoding::Flat;
        Self { category, special, flat }
    }
}

fn is_branch(op: Op) -> bool {
    let name = op.mnemonic();
    name == "s_branch" || name.starts_with("s_cbranch")
}

/// Decodes the counts of `s_waitcnt` (Vega and older: vmcnt in bits 3:0, lgkmcnt in bits 11:8; a full field waits for
/// nothing).
fn wait_count(bits: u16) -> Special {
    let field = |shift: u16| match bits >> shift & 0xf {
        0xf => u8::MAX,
        count => count as u8,
    };
    Special::WaitCount { vector: field(0), other: field(8) }
}

/// The timing properties of a kernel's instructions, by address.
#[derive(Debug)]
pub struct Briefs {
    start: u64,
    briefs: Vec<Brief>,
}

impl Briefs {
    pub fn new(code: &Code) -> Self {
        Self { start: code.start(), briefs: code.instructions().map(Brief::new).collect() }
    }

    /// The instruction at an address. Outside the code the result does not matter: the instruction fails when it is
    /// stepped.
    #[inline]
    pub fn at(&self, pc: u64) -> Brief {
        let place = (pc.wrapping_sub(self.start) / 4) as usize;
        let outside = Brief { category: Category::Scalar, special: Special::None, flat: false };
        self.briefs.get(place).copied().unwrap_or(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_field_of_a_wait_waits_for_nothing() {
        assert_eq!(wait_count(0x0f70), Special::WaitCount { vector: 0, other: u8::MAX });
        assert_eq!(wait_count(0x007f), Special::WaitCount { vector: u8::MAX, other: 0 });
        assert_eq!(wait_count(0x0171), Special::WaitCount { vector: 1, other: 1 });
    }
}
