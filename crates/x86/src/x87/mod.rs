//! The x87 floating-point unit: a stack of eight 80-bit registers with a control and a status word.
//!
//! [`operation`] returns the function of an instruction; its kind says what the interpreter must do. The interpreter
//! loads memory operands (2 to 10 bytes in a `u128`, or an environment), and stores results. If memory stops a store,
//! the interpreter restores the unit's previous state.
//!
//! Unmasked exceptions are kept pending, as in the hardware: the next waiting instruction delivers them. Left out: the
//! addresses of the last instruction and operand, which are zero or the values that an environment loaded.

mod arith;
mod constants;
mod image;
mod mmx;
mod operation;
mod stack;
#[cfg(test)]
mod tests;
mod transfer;

pub use operation::{Operation, operation};

use crate::f80::F80;

/// The state of the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct X87 {
    /// Exception masks, precision and rounding control.
    pub control: u16,
    /// Exceptions, condition codes, and the top of the stack.
    pub status: u16,
    /// By register number, not by stack position.
    registers: [F80; 8],
    /// A bit for each non-empty register.
    full: u8,
    pointers: Pointers,
}

/// Further contents of environments: the last instruction's opcode, its address and its operand's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Pointers {
    opcode: u16,
    instruction: u64,
    operand: u64,
}

impl Default for X87 {
    fn default() -> Self {
        let registers = [F80::ZERO; 8];
        X87 { control: 0x37f, status: 0, registers, full: 0, pointers: Pointers::default() }
    }
}

/// Bits of the status word.
mod bits {
    /// A stack overflow or underflow.
    pub const STACK_FAULT: u16 = 1 << 6;
    /// An unmasked exception is pending.
    pub const SUMMARY: u16 = 1 << 7;
    pub const C0: u16 = 1 << 8;
    pub const C1: u16 = 1 << 9;
    pub const C2: u16 = 1 << 10;
    pub const C3: u16 = 1 << 14;
    /// Originally: the unit is busy. Now a copy of SUMMARY.
    pub const BUSY: u16 = 1 << 15;
    pub const TOP: u16 = 7 << 11;
    pub const CONDITIONS: u16 = C0 | C1 | C2 | C3;
}

impl X87 {
    /// Whether an unmasked exception is pending, to be delivered by the next waiting instruction.
    pub fn pending(&self) -> bool {
        self.status & bits::SUMMARY != 0
    }
}
