//! Registers by their place in the stack, and what every instruction does with exceptions: note them, and go on only if
//! they are masked.

use super::{X87, bits};
use crate::f80::{F80, Flags, Outcome, Settings};

impl X87 {
    /// What the control word says to arithmetic.
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

    /// st(i), unless it is empty.
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

    /// FFREE, which clears C1 too.
    pub(super) fn free_clearly(&mut self, i: u8) {
        self.clear(bits::C1);
        self.free(i);
    }

    /// Pushes on a stack that has been seen to have room, or over what lies there.
    pub(super) fn push_over(&mut self, value: F80) {
        self.set_top(self.top() + 7);
        self.set(0, value);
    }

    /// Turns the stack without changing what lies in registers.
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

    /// Makes the summary bits say whether an exception that is not masked is pending.
    pub(super) fn summarise(&mut self) {
        self.status &= !(bits::SUMMARY | bits::BUSY);
        if self.status & !self.control & 0x3f != 0 {
            self.status |= bits::SUMMARY | bits::BUSY;
        }
    }

    /// Notes exceptions, and in C1 whether the result was rounded up. Says whether the instruction may go on: not if an
    /// exception that is found before computing is not masked; what else was found then has not happened.
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

    /// The same for instructions that have nothing to say in C1.
    #[must_use]
    pub(super) fn raise_keeping_c1(&mut self, flags: Flags) -> bool {
        let c1 = self.status & bits::C1;
        let goes_on = self.raise(flags);
        self.status |= c1;
        goes_on
    }

    /// An operand is an empty register. Says whether to go on with the indefinite value.
    #[must_use]
    pub(super) fn underflowed(&mut self) -> bool {
        let goes_on = self.raise(Flags::INVALID);
        self.status |= bits::STACK_FAULT;
        goes_on
    }

    /// There is no room to push. Says whether to go on with the indefinite value.
    #[must_use]
    pub(super) fn overflowed(&mut self) -> bool {
        let goes_on = self.raise(Flags::INVALID);
        self.status |= bits::STACK_FAULT | bits::C1;
        goes_on
    }

    /// Puts a result into st(i). Says whether it went there.
    pub(super) fn write(&mut self, i: u8, outcome: Outcome) -> bool {
        let goes_on = self.raise(outcome.flags);
        if goes_on {
            self.set(i, outcome.value);
        }
        goes_on
    }

    /// Pushes what an instruction loads.
    pub(super) fn push(&mut self, outcome: Outcome) {
        if !self.has_room() {
            if self.overflowed() {
                self.push_over(F80::INDEFINITE);
            }
        } else if self.raise(outcome.flags) || !outcome.flags.has(Flags::INVALID) {
            // A denormal is loaded even if that is an exception.
            self.push_over(outcome.value);
        }
    }
}
