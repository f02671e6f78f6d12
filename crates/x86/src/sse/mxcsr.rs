//! MXCSR, the control and status register.

use crate::f80::{Flags, Rounding};

/// The control and status register: exception flags, exception masks, rounding mode, and handling of denormals.
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
    /// The bits that exist in hardware.
    pub const MASK: u32 = 0xffff;

    /// Set by a function that met an unmasked exception; cleared before the guest can see it.
    const FAULT: u32 = 1 << 31;

    /// Returns and clears whether the last function met an unmasked exception. The sticky flags do not show this: the
    /// exception may have occurred earlier, while it was masked.
    #[inline(always)]
    pub fn take_fault(&mut self) -> bool {
        let fault = self.0 & Self::FAULT != 0;
        self.0 &= !Self::FAULT;
        fault
    }

    /// Whether an earlier part of the instruction met an unmasked exception.
    pub(super) fn has_fault(self) -> bool {
        self.0 & Self::FAULT != 0
    }

    /// Whether results are rounded to nearest and "inexact" is already set and masked, so that it need not be tracked.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 & (ROUNDING | INEXACT_MASKED | INEXACT) == INEXACT_MASKED | INEXACT
    }

    /// Whether "inexact" is already set and masked, in any rounding mode.
    #[inline(always)]
    pub(super) fn is_inexact(self) -> bool {
        self.0 & (INEXACT_MASKED | INEXACT) == INEXACT_MASKED | INEXACT
    }

    pub(super) fn rounding(self) -> Rounding {
        Rounding::from_bits(self.0 >> 13)
    }

    /// The masked exceptions, which produce a default result.
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

    /// Records the exceptions of all lanes of an instruction. Returns false if one is unmasked.
    pub(super) fn note(&mut self, flags: Flags) -> bool {
        let unmasked = flags & !self.masked() & Flags::ALL;
        // Exceptions of operands precede the computation, so exceptions of results are not reported.
        let happened = if unmasked.has(Flags::BEFORE) { flags & Flags::BEFORE } else { flags & Flags::ALL };
        self.0 |= u32::from(happened.0);
        if unmasked != Flags::NONE {
            self.0 |= Self::FAULT;
        }
        unmasked == Flags::NONE
    }
}
