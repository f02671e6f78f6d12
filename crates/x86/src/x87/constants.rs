//! The constants that can be loaded. They are stored with more than 64 bits and rounded according to the control word.

use super::X87;
use crate::f80::{Exact, F80, Flags, Format, Outcome};

const fn constant(exponent: i32, significand: u128) -> Exact {
    Exact { negative: false, exponent, significand }
}

pub(super) const ONE: Exact = Exact::ONE;
pub(super) const LOG2_10: Exact = constant(1, 0xd49a784bcd1b8afe492bf6ff4dafdb4d);
pub(super) const LOG2_E: Exact = constant(0, 0xb8aa3b295c17f0bbbe87fed0691d3e89);
pub(super) const PI: Exact = constant(1, 0xc90fdaa22168c234c4c6628b80dc1cd1);
pub(super) const LOG10_2: Exact = constant(-2, 0x9a209a84fbcff7988f8959ac0b7c9178);
pub(super) const LN_2: Exact = constant(-1, 0xb17217f7d1cf79abc9e3b39803f2f6af);

impl X87 {
    /// Loads a constant, without reporting that it was rounded.
    pub(super) fn load_constant(&mut self, constant: Exact) {
        let rounded = constant.round(Format::EXTENDED, self.settings().rounding, Flags::ALL);
        self.push(Outcome { value: rounded.into(), flags: Flags::NONE });
    }

    pub(super) fn load_zero(&mut self) {
        self.push(Outcome { value: F80::ZERO, flags: Flags::NONE });
    }
}
