//! The registers as MMX sees them: eight significands by number. Using one makes all of them full, and the stack start at
//! register 0.

use super::X87;
use crate::f80::F80;

impl X87 {
    /// What every MMX instruction does to the unit.
    pub(crate) fn enter_mmx(&mut self) {
        self.set_top(0);
        self.full = 0xff;
    }

    /// EMMS: all registers are empty.
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
