//! Computations: operands from the stack or memory, results to the stack; comparisons to the condition codes or the
//! flags.

use super::{X87, bits};
use crate::f80::{F80, Flags, Outcome, Rounding, Settings, compare, transcendental};
use crate::flags::{CF, PF, ZF};
use std::cmp::Ordering;

/// A two-operand operation.
pub(super) type Binary = fn(F80, F80, Settings) -> Outcome;

/// FSUBR: subtraction with reversed operands.
pub(super) fn minus_reversed(a: F80, b: F80, settings: Settings) -> Outcome {
    b.minus(a, settings)
}

/// FDIVR: division with reversed operands.
pub(super) fn over_reversed(a: F80, b: F80, settings: Settings) -> Outcome {
    b.over(a, settings)
}

/// A trigonometric function; none if the operand is too large.
pub(super) type Angle = fn(F80, Settings) -> Option<Outcome>;

impl X87 {
    /// Combines st(0) with a memory operand; the result goes to st(0).
    pub(super) fn with_memory(&mut self, operation: Binary, operand: Outcome) {
        let Some(a) = self.get(0) else {
            if self.underflowed() {
                self.set(0, F80::INDEFINITE);
            }
            return;
        };
        let mut outcome = operation(a, operand.value, self.settings());
        if !outcome.flags.has(Flags::INVALID | Flags::DIVIDE) && !outcome.value.is_nan() {
            outcome.flags |= operand.flags;
        }
        self.write(0, outcome);
    }

    /// Combines st(`to`) with st(`from`); the result goes to st(`to`). Returns whether it was done.
    pub(super) fn with_register(&mut self, operation: Binary, to: u8, from: u8) -> bool {
        match (self.get(to), self.get(from)) {
            (Some(a), Some(b)) => {
                let outcome = operation(a, b, self.settings());
                self.write(to, outcome)
            }
            _ => {
                let goes_on = self.underflowed();
                if goes_on {
                    self.set(to, F80::INDEFINITE);
                }
                goes_on
            }
        }
    }

    /// Combines st(i) with st(0) and pops.
    pub(super) fn with_register_and_pop(&mut self, operation: Binary, to: u8) {
        if self.with_register(operation, to, 0) {
            self.pop();
        }
    }

    /// Replaces st(0).
    pub(super) fn unary(&mut self, operation: impl FnOnce(F80, Settings) -> Outcome) {
        match self.get(0) {
            Some(value) => {
                let outcome = operation(value, self.settings());
                self.write(0, outcome);
            }
            None => {
                if self.underflowed() {
                    self.set(0, F80::INDEFINITE);
                }
            }
        }
    }

    /// FCHS and FABS, which only change the sign.
    pub(super) fn sign(&mut self, operation: fn(F80) -> F80) {
        self.unary(|value, _| Outcome { value: operation(value), flags: Flags::NONE });
    }

    /// FSCALE: scales st(0) by st(1).
    pub(super) fn scale(&mut self) {
        self.with_register(F80::scaled, 0, 1);
    }

    /// FPREM and FPREM1.
    pub(super) fn remainder(&mut self, rounding: Rounding) {
        let (Some(a), Some(b)) = (self.get(0), self.get(1)) else {
            self.clear(bits::C2);
            if self.underflowed() {
                self.set(0, F80::INDEFINITE);
            }
            return;
        };
        let remainder = a.remainder(b, rounding, self.settings());
        self.clear(bits::C2);
        if !self.write(0, remainder.outcome) || remainder.outcome.value.is_nan() {
            return;
        }
        self.clear(bits::CONDITIONS);
        let quotient = remainder.quotient;
        let bit = |from: u8, to: u16| if quotient >> from & 1 != 0 { to } else { 0 };
        self.status |= bit(0, bits::C1) | bit(1, bits::C3) | bit(2, bits::C0);
        if remainder.partial {
            self.status |= bits::C2;
        }
    }

    /// FSIN and FCOS.
    pub(super) fn angle(&mut self, function: Angle) {
        self.clear(bits::C2);
        let Some(value) = self.get(0) else {
            if self.underflowed() {
                self.set(0, F80::INDEFINITE);
            }
            return;
        };
        match function(value, self.settings()) {
            Some(outcome) => {
                self.write(0, outcome);
            }
            None => self.out_of_range(),
        }
    }

    /// FPTAN and FSINCOS: `first` replaces st(0), `second` is pushed.
    pub(super) fn angle_and_push(&mut self, first: Angle, second: Angle) {
        self.clear(bits::C2);
        let Some(value) = self.operand_with_room() else {
            return;
        };
        match (first(value, self.settings()), second(value, self.settings())) {
            (Some(first), Some(second)) => self.write_and_push(first, second),
            _ => self.out_of_range(),
        }
    }

    fn out_of_range(&mut self) {
        self.clear(bits::C1);
        self.status |= bits::C2;
    }

    /// FXTRACT.
    pub(super) fn extract(&mut self) {
        let Some(value) = self.operand_with_room() else {
            return;
        };
        let (exponent, significand) = value.extracted();
        self.write_and_push(Outcome { value: exponent, flags: Flags::NONE }, significand);
    }

    /// st(0) for an instruction that will push; handles stack faults.
    fn operand_with_room(&mut self) -> Option<F80> {
        let value = self.get(0);
        let room = self.has_room();
        if let Some(value) = value
            && room
        {
            return Some(value);
        }
        let goes_on = if value.is_none() { self.underflowed() } else { self.overflowed() };
        if goes_on {
            self.set(0, F80::INDEFINITE);
            self.push_over(F80::INDEFINITE);
        }
        None
    }

    fn write_and_push(&mut self, first: Outcome, second: Outcome) {
        if self.raise(first.flags & !Flags::ROUNDED_UP | second.flags) {
            self.set(0, first.value);
            self.push_over(second.value);
        }
    }

    /// FCOM and FUCOM: compares st(0) with an operand, which may be an empty register, and pops `pops` times.
    pub(super) fn compare(&mut self, operand: Option<Outcome>, quietly: bool, pops: u8) {
        let (ordering, goes_on) = match (self.get(0), operand) {
            (Some(a), Some(operand)) => {
                let (ordering, flags) = compare(a, operand.value, quietly);
                let flags = if ordering.is_some() { flags | operand.flags } else { flags };
                (ordering, self.raise(flags))
            }
            _ => (None, self.underflowed()),
        };
        self.conditions(match ordering {
            Some(Ordering::Greater) => 0,
            Some(Ordering::Less) => bits::C0,
            Some(Ordering::Equal) => bits::C3,
            None => bits::C3 | bits::C2 | bits::C0,
        });
        if goes_on {
            self.pop_times(pops);
        }
    }

    /// Compares st(0) with st(i).
    pub(super) fn compare_register(&mut self, i: u8, quietly: bool, pops: u8) {
        let operand = self.get(i).map(|value| Outcome { value, flags: Flags::NONE });
        self.compare(operand, quietly, pops);
    }

    /// FCOMI and FUCOMI.
    pub(super) fn compare_to_flags(&mut self, i: u8, quietly: bool, pops: u8) -> u64 {
        let unordered = ZF | PF | CF;
        let (flags, goes_on) = match (self.get(0), self.get(i)) {
            (Some(a), Some(b)) => {
                let (ordering, flags) = compare(a, b, quietly);
                let goes_on = self.raise_keeping_c1(flags);
                let flags = match ordering {
                    Some(Ordering::Greater) => 0,
                    Some(Ordering::Less) => CF,
                    Some(Ordering::Equal) => ZF,
                    None => unordered,
                };
                (flags, goes_on)
            }
            _ => (unordered, self.underflowed()),
        };
        if goes_on {
            self.pop_times(pops);
        }
        flags
    }

    fn pop_times(&mut self, times: u8) {
        for _ in 0..times {
            self.pop();
        }
    }

    /// FXAM.
    pub(super) fn examine(&mut self) {
        let register = self.register(0);
        let class = self.get(0).map_or(0b101, F80::examined);
        let bit = |from: u8, to: u16| if class >> from & 1 != 0 { to } else { 0 };
        let sign = if self.registers[register].is_negative() { bits::C1 } else { 0 };
        self.conditions(bit(2, bits::C3) | bit(1, bits::C2) | bit(0, bits::C0) | sign);
    }
}

/// The second result of FPTAN, which is pushed: 1.0, or the NaN of the tangent.
pub(super) fn one_for_tangent(x: F80, settings: Settings) -> Option<Outcome> {
    let tangent = transcendental::tan(x, settings)?;
    let value = if tangent.value.is_nan() { tangent.value } else { F80::ONE };
    Some(Outcome { value, flags: tangent.flags })
}
