//! The MMX view of the registers: eight significands by register number. Using one marks all registers as full, and
//! resets the top of the stack to register 0.

use super::X87;
use crate::f80::F80;

impl X87 {
    /// The effect of every MMX instruction on the unit.
    pub(crate) fn enter_mmx(&mut self) {
        self.set_top(0);
        self.full = 0xff;
    }

    /// EMMS: marks all registers as empty.
    pub(crate) fn leave_mmx(&mut self) {
        self.set_top(0);
        self.full = 0;
    }

    pub(crate) fn mmx(&self, register: u8) -> u64 {
        self.registers[usize::from(register & 7)].significand
    }

    pub(crate) fn set_mmx(&mut self, register: u8, value: u64) {
        self.registers[usize::from(register & 7)] = F80 { sign_exponent: 0xffff, significand: value };
    }
}
