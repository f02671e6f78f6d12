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

    /// Set by a function that met an exception that is not masked; taken back before the guest can see it.
    const FAULT: u32 = 1 << 31;

    /// Whether the function just called met an exception that is not masked. (Sticky flags can't tell: the exception may
    /// have happened earlier, when it was masked.)
    #[inline(always)]
    pub fn take_fault(&mut self) -> bool {
        let fault = self.0 & Self::FAULT != 0;
        self.0 &= !Self::FAULT;
        fault
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
    /// An xmm register from itself, an xmm register or memory, and xmm0 (`blendvps`): `f(destination, source, xmm0)`.
    Blend(fn(u128, u128, u128) -> u128),
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

/// The function of an instruction, or none if it is not an SSE instruction that computes. `memory` says whether the source
/// lies in memory (`insertps` does another thing then).
pub fn operation(code: Code, memory: bool) -> Option<Operation> {
    let _ = (code, memory);
    None
}
