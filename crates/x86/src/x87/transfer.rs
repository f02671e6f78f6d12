//! Loads, stores, and moves on the stack. A store suppressed by an exception leaves memory and the stack unchanged.

use super::{X87, bits};
use crate::f80::{Class, F80, Flags, Outcome, Rounding};

impl X87 {
    /// FLD m32fp and m64fp.
    pub(super) fn load(&mut self, operand: Outcome) {
        let outcome = match operand.value.class() {
            Class::Signalling => Outcome { value: operand.value.quieted(), flags: Flags::INVALID },
            _ => operand,
        };
        self.push(outcome);
    }

    /// FLD m80fp, FILD, FBLD: they raise no numeric exceptions.
    pub(super) fn load_exact(&mut self, value: F80) {
        self.push(Outcome { value, flags: Flags::NONE });
    }

    /// FLD st(i).
    pub(super) fn load_register(&mut self, i: u8) {
        match self.get(i) {
            Some(value) => self.load_exact(value),
            None => {
                if self.underflowed() {
                    self.push_over(F80::INDEFINITE);
                }
            }
        }
    }

    /// FST and FSTP st(i).
    pub(super) fn store_register(&mut self, i: u8, pop: bool) {
        let value = match self.get(0) {
            Some(value) => {
                self.clear(bits::C1);
                value
            }
            None => {
                if !self.underflowed() {
                    return;
                }
                F80::INDEFINITE
            }
        };
        self.set(i, value);
        if pop {
            self.pop();
        }
    }

    /// FSTPNCE, an old alias of FSTP for which an empty st(0) is not an exception.
    pub(super) fn store_register_unchecked(&mut self, i: u8) {
        self.clear(bits::C1);
        if let Some(value) = self.get(0) {
            self.set(i, value);
        }
        self.pop();
    }

    /// The bytes that a store of st(0) writes. `convert` returns bytes and exceptions; an empty register is stored as
    /// the indefinite value.
    fn store(&mut self, pop: bool, convert: impl Fn(F80, &X87) -> (u128, Flags)) -> Option<u128> {
        let bytes = match self.get(0) {
            Some(value) => {
                let (bytes, flags) = convert(value, self);
                let withheld = flags & !self.settings().masked & (Flags::OVERFLOW | Flags::UNDERFLOW);
                if withheld != Flags::NONE {
                    // The store is suppressed, so nothing was rounded.
                    let _ = self.raise(withheld);
                    return None;
                }
                if !self.raise(flags) {
                    return None;
                }
                bytes
            }
            None => {
                if !self.underflowed() {
                    return None;
                }
                convert(F80::INDEFINITE, self).0
            }
        };
        if pop {
            self.pop();
        }
        Some(bytes)
    }

    pub(super) fn store_single(&mut self, pop: bool) -> Option<u128> {
        self.store(pop, |value, x87| {
            let (bits, flags) = value.to_f32_bits(x87.settings());
            (u128::from(bits), flags)
        })
    }

    pub(super) fn store_double(&mut self, pop: bool) -> Option<u128> {
        self.store(pop, |value, x87| {
            let (bits, flags) = value.to_f64_bits(x87.settings());
            (u128::from(bits), flags)
        })
    }

    /// FSTP m80fp.
    pub(super) fn store_extended(&mut self) -> Option<u128> {
        self.store(true, |value, _| {
            (u128::from(value.sign_exponent) << 64 | u128::from(value.significand), Flags::NONE)
        })
    }

    /// FIST and FISTP.
    pub(super) fn store_integer(&mut self, width: u32, pop: bool) -> Option<u128> {
        self.store_rounded(width, pop, self.settings().rounding)
    }

    /// FISTTP.
    pub(super) fn store_truncated(&mut self, width: u32) -> Option<u128> {
        self.store_rounded(width, true, Rounding::Zero)
    }

    fn store_rounded(&mut self, width: u32, pop: bool, rounding: Rounding) -> Option<u128> {
        self.store(pop, |value, _| {
            let (integer, flags) = value.to_int(width, rounding);
            (u128::from(integer as u64 & u64::MAX >> (64 - width)), flags)
        })
    }

    /// FBSTP.
    pub(super) fn store_decimal(&mut self) -> Option<u128> {
        self.store(true, |value, x87| {
            let (digits, flags) = value.to_decimal(x87.settings().rounding);
            let mut bytes = [0; 16];
            bytes[..10].copy_from_slice(&digits);
            (u128::from_le_bytes(bytes), flags)
        })
    }

    /// FXCH.
    pub(super) fn exchange(&mut self, i: u8) {
        let (a, b) = (self.get(0), self.get(i));
        if a.is_none() || b.is_none() {
            if !self.underflowed() {
                return;
            }
        } else {
            self.clear(bits::C1);
        }
        self.set(0, b.unwrap_or(F80::INDEFINITE));
        self.set(i, a.unwrap_or(F80::INDEFINITE));
    }

    /// FCMOVcc.
    pub(super) fn conditional_move(&mut self, i: u8, condition: bool) {
        match (self.get(0), self.get(i)) {
            (Some(_), Some(value)) => {
                if condition {
                    self.set(0, value);
                }
            }
            _ => {
                if self.underflowed() {
                    self.set(0, F80::INDEFINITE);
                }
            }
        }
    }
}
