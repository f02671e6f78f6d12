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

/// The class of a vector instruction, by how many ALUs of a SIMD can execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rate {
    /// Every ALU.
    Full,
    /// Reciprocals, roots, exponentials, logarithms and trigonometric functions.
    Transcendental,
    /// Products of 32-bit integers; those of 24 bits run at the full rate.
    Multiply,
    /// Everything that has an operand of type `f64`.
    Double,
}

impl Rate {
    pub const COUNT: usize = 4;

    fn of(op: Op) -> Self {
        const TRANSCENDENTAL: [&str; 7] = ["v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"];
        const MULTIPLY: [&str; 3] = ["v_mul_lo_", "v_mul_hi_", "v_mad_"];
        let name = op.mnemonic();
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let wide = ["_u32", "_i32"].iter().any(|of| name.ends_with(of));
        match () {
            () if name.contains("f64") => Self::Double,
            () if begins(&TRANSCENDENTAL) => Self::Transcendental,
            // The `v_mad_` of 24 bits end in `24`.
            () if begins(&MULTIPLY) && wide => Self::Multiply,
            () => Self::Full,
        }
    }
}

/// The timing properties of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    pub category: Category,
    /// Issue rate of vector arithmetic.
    pub rate: Rate,
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
        Self { category, rate: Rate::of(inst.op), special, flat }
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
        let outside = Brief { category: Category::Scalar, rate: Rate::Full, special: Special::None, flat: false };
        self.briefs.get(place).copied().unwrap_or(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_names() {
        let rate = |name: &str| Op::ALL.iter().find(|op| op.mnemonic() == name).map(|op| Rate::of(*op));
        for (name, expected) in [
            ("v_add_f32", Rate::Full),
            ("v_mul_f32", Rate::Full),
            ("v_mul_u32_u24", Rate::Full),
            ("v_mul_hi_u32_u24", Rate::Full),
            ("v_mad_u32_u24", Rate::Full),
            ("v_mad_f32", Rate::Full),
            ("v_rcp_f32", Rate::Transcendental),
            ("v_exp_f32", Rate::Transcendental),
            ("v_mul_lo_u32", Rate::Multiply),
            ("v_mul_hi_i32", Rate::Multiply),
            ("v_mad_u64_u32", Rate::Multiply),
            ("v_fma_f64", Rate::Double),
            ("v_rcp_f64", Rate::Double),
            ("v_cvt_f32_f64", Rate::Double),
        ] {
            assert_eq!(rate(name), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_full_field_of_a_wait_waits_for_nothing() {
        assert_eq!(wait_count(0x0f70), Special::WaitCount { vector: 0, other: u8::MAX });
        assert_eq!(wait_count(0x007f), Special::WaitCount { vector: u8::MAX, other: 0 });
        assert_eq!(wait_count(0x0171), Special::WaitCount { vector: 1, other: 1 });
    }
}
