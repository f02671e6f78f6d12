//! What SSE instructions compute, as functions on values.
//!
//! [`operation`] gives for an instruction the function that does it. The interpreter has found the operands by then: it
//! loads a memory operand (as many bytes as the instruction names, zero-extended), calls the function with a copy of
//! MXCSR, and keeps the copy; if a function leaves in it a flag whose exception is not masked, the result is thrown away
//! and the instruction faults. Plain moves between registers and memory (`movaps`, `movups`, `movss`, `movsd`, `movd`,
//! `movq`, `movlps`, `movhps` and theirs) are not here: the interpreter does them, as it does `ldmxcsr` and `stmxcsr`.

use iced_x86::Code;

/// The control and status register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mxcsr(pub u32);

impl Mxcsr {
    /// The bits that exist.
    pub const MASK: u32 = 0xffff;

    /// Whether a raised exception is one that is to be delivered.
    #[inline(always)]
    pub fn unmasked(self) -> bool {
        self.0 & 0x3f & !(self.0 >> 7) != 0
    }
}

impl Default for Mxcsr {
    fn default() -> Self {
        Mxcsr(0x1f80)
    }
}

/// What an instruction does with its operands. `imm` is the immediate byte, 0 if there is none.
#[derive(Clone, Copy)]
pub enum Operation {
    /// An xmm register from itself, and an xmm register or memory: `f(mxcsr, destination, source, imm)`.
    Vector(fn(&mut Mxcsr, u128, u128, u8) -> u128),
    /// The same where a memory source of 16 bytes need not be aligned (`pcmpistrm`, `lddqu`).
    Unaligned(fn(&mut Mxcsr, u128, u128, u8) -> u128),
    /// A general register (or memory) from an xmm register or memory: `f(mxcsr, source, imm)`.
    ToGpr(fn(&mut Mxcsr, u128, u8) -> u64),
    /// An xmm register from itself, and a general register or memory: `f(mxcsr, destination, source, imm)`.
    FromGpr(fn(&mut Mxcsr, u128, u64, u8) -> u128),
    /// The flags (ZF, PF, CF at their places in RFLAGS; the others become zero) from two xmm: `f(mxcsr, first, second)`.
    Compare(fn(&mut Mxcsr, u128, u128) -> u64),
    /// The string comparisons of SSE4.2: `f(first, second, rax, rdx, imm)`. `to_xmm0` says whether the mask form it is.
    Strings { run: fn(u128, u128, u64, u64, u8) -> StringResult, to_xmm0: bool },
}

/// What a string comparison gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringResult {
    /// For xmm0 or, its low bits, for rcx.
    pub value: u128,
    /// CF, ZF, SF and OF at their places in RFLAGS.
    pub flags: u64,
}

/// The function of an instruction, or none if it is not an SSE instruction that computes.
pub fn operation(code: Code) -> Option<Operation> {
    let _ = code;
    None
}
