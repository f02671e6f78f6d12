//! The control and status register.

use crate::f80::{Flags, Rounding};

/// The control and status register: flags of what happened, masks of what may, rounding, and what becomes of denormals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mxcsr(pub u32);

const INEXACT: u32 = 1 << 5;
const DENORMALS_ARE_ZERO: u32 = 1 << 6;
const INEXACT_MASKED: u32 = 1 << 12;
const ROUNDING: u32 = 3 << 13;
const FLUSH_TO_ZERO: u32 = 1 << 15;

impl Default for Mxcsr {
    fn default() -> Self {
        Mxcsr(0x1f80)
    }
}

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

    /// Whether a part of an instruction already met an exception that is not masked.
    pub(super) fn has_fault(self) -> bool {
        self.0 & Self::FAULT != 0
    }

    /// Results are rounded to nearest, and that one was inexact need not be noted any more.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 & (ROUNDING | INEXACT_MASKED | INEXACT) == INEXACT_MASKED | INEXACT
    }

    /// Rounding aside, that a result was inexact need not be noted any more.
    #[inline(always)]
    pub(super) fn is_inexact(self) -> bool {
        self.0 & (INEXACT_MASKED | INEXACT) == INEXACT_MASKED | INEXACT
    }

    pub(super) fn rounding(self) -> Rounding {
        Rounding::from_bits(self.0 >> 13)
    }

    /// The exceptions that are answered with a default result.
    pub(super) fn masked(self) -> Flags {
        Flags((self.0 >> 7) as u8) & Flags::ALL
    }

    /// DAZ: denormal operands count as zeros.
    pub(super) fn denormals_are_zero(self) -> bool {
        self.0 & DENORMALS_ARE_ZERO != 0
    }

    /// FTZ: results that would underflow become zeros, if underflow is masked.
    pub(super) fn flushes_to_zero(self) -> bool {
        self.0 & FLUSH_TO_ZERO != 0 && self.masked().has(Flags::UNDERFLOW)
    }

    /// Notes what happened in all lanes of an instruction. False if an exception is not masked.
    pub(super) fn note(&mut self, flags: Flags) -> bool {
        let unmasked = flags & !self.masked() & Flags::ALL;
        // Exceptions of operands come before any computation: nothing is said of results then.
        let happened = if unmasked.has(Flags::BEFORE) { flags & Flags::BEFORE } else { flags & Flags::ALL };
        self.0 |= u32::from(happened.0);
        if unmasked != Flags::NONE {
            self.0 |= Self::FAULT;
        }
        unmasked == Flags::NONE
    }
}
