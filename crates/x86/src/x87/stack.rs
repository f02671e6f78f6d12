//! Registers by stack position, and the common handling of exceptions: an instruction records them, and continues only
//! if they are masked.

use super::{X87, bits};
use crate::f80::{F80, Flags, Outcome, Settings};

impl X87 {
    /// The settings of the control word for arithmetic.
    pub(super) fn settings(&self) -> Settings {
        Settings::from_control(self.control)
    }

    fn top(&self) -> u8 {
        (self.status >> 11 & 7) as u8
    }

    pub(super) fn set_top(&mut self, top: u8) {
        self.status = self.status & !bits::TOP | u16::from(top & 7) << 11;
    }

    /// The number of the register st(i).
    pub(super) fn register(&self, i: u8) -> usize {
        usize::from((self.top() + i) & 7)
    }

    /// st(i); none if it is empty.
    pub(super) fn get(&self, i: u8) -> Option<F80> {
        let register = self.register(i);
        (self.full >> register & 1 != 0).then(|| self.registers[register])
    }

    pub(super) fn set(&mut self, i: u8, value: F80) {
        let register = self.register(i);
        self.registers[register] = value;
        self.full |= 1 << register;
    }

    /// Marks st(i) as empty.
    pub(super) fn free(&mut self, i: u8) {
        self.full &= !(1 << self.register(i));
    }

    pub(super) fn pop(&mut self) {
        self.free(0);
        self.set_top(self.top() + 1);
    }

    /// FFREE, which also clears C1.
    pub(super) fn free_clearly(&mut self, i: u8) {
        self.clear(bits::C1);
        self.free(i);
    }

    /// Pushes without a check for room; overwrites the register.
    pub(super) fn push_over(&mut self, value: F80) {
        self.set_top(self.top() + 7);
        self.set(0, value);
    }

    /// Rotates the stack without changing registers.
    pub(super) fn rotate(&mut self, by: u8) {
        self.clear(bits::C1);
        self.set_top(self.top() + by);
    }

    /// Whether there is room to push.
    pub(super) fn has_room(&self) -> bool {
        self.get(7).is_none()
    }

    /// Clears condition codes.
    pub(super) fn clear(&mut self, conditions: u16) {
        self.status &= !conditions;
    }

    /// Sets the condition codes to `conditions` and clears the others.
    pub(super) fn conditions(&mut self, conditions: u16) {
        self.status = self.status & !bits::CONDITIONS | conditions;
    }

    /// Updates the summary bits: whether an unmasked exception is pending.
    pub(super) fn summarise(&mut self) {
        self.status &= !(bits::SUMMARY | bits::BUSY);
        if self.status & !self.control & 0x3f != 0 {
            self.status |= bits::SUMMARY | bits::BUSY;
        }
    }

    /// Records exceptions, and in C1 whether the result was rounded up. Returns whether the instruction continues: not
    /// if an unmasked exception is detected before the computation; the exceptions of the result are then not recorded.
    #[must_use]
    pub(super) fn raise(&mut self, flags: Flags) -> bool {
        let unmasked = flags & !self.settings().masked;
        let stopped = unmasked.has(Flags::BEFORE);
        let flags = if stopped { flags & Flags::BEFORE } else { flags };
        self.clear(bits::C1);
        if flags.has(Flags::ROUNDED_UP) {
            self.status |= bits::C1;
        }
        self.status |= u16::from((flags & Flags::ALL).0);
        self.summarise();
        !stopped
    }

    /// Variant of `raise` that keeps C1.
    #[must_use]
    pub(super) fn raise_keeping_c1(&mut self, flags: Flags) -> bool {
        let c1 = self.status & bits::C1;
        let goes_on = self.raise(flags);
        self.status |= c1;
        goes_on
    }

    /// Handles an empty operand register. Returns whether to continue with the indefinite value.
    #[must_use]
    pub(super) fn underflowed(&mut self) -> bool {
        let goes_on = self.raise(Flags::INVALID);
        self.status |= bits::STACK_FAULT;
        goes_on
    }

    /// Handles a push without room. Returns whether to continue with the indefinite value.
    #[must_use]
    pub(super) fn overflowed(&mut self) -> bool {
        let goes_on = self.raise(Flags::INVALID);
        self.status |= bits::STACK_FAULT | bits::C1;
        goes_on
    }

    /// Writes a result to st(i). Returns whether it was written.
    pub(super) fn write(&mut self, i: u8, outcome: Outcome) -> bool {
        let goes_on = self.raise(outcome.flags);
        if goes_on {
            self.set(i, outcome.value);
        }
        goes_on
    }

    /// Pushes a loaded value.
    pub(super) fn push(&mut self, outcome: Outcome) {
        if !self.has_room() {
            if self.overflowed() {
                self.push_over(F80::INDEFINITE);
            }
        } else if self.raise(outcome.flags) || !outcome.flags.has(Flags::INVALID) {
            // A denormal is loaded even if that raises an unmasked exception.
            self.push_over(outcome.value);
        }
    }
}
