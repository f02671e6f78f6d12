//! Numbers with more bits than any format. An [`Exact`] has a significand of 128 bits, twice the longest operand's.
//! Operations set the last bit if anything did not fit (sticky), so that [rounding](super::round) to 64 bits or fewer
//! gives the same result as rounding the infinitely precise one.

use super::round::{Flags, Rounding, round_to_integer, shift_right_sticky};

/// A finite non-zero number: significand / 2^127 * 2^exponent, with bit 127 of the significand set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exact {
    pub negative: bool,
    pub exponent: i32,
    pub significand: u128,
}

/// A number, infinities included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Zero { negative: bool },
    Finite(Exact),
    Infinity { negative: bool },
}

const LEADING: u128 = 1 << 127;

impl Exact {
    /// The number `significand` * 2^`exponent`, where `significand` is an integer; none if it is zero.
    pub fn new(negative: bool, significand: u128, exponent: i32) -> Option<Exact> {
        let places = significand.leading_zeros();
        (significand != 0).then(|| Exact {
            negative,
            exponent: exponent + 127 - places as i32,
            significand: significand << places,
        })
    }

    pub const ONE: Exact = Exact { negative: false, exponent: 0, significand: LEADING };

    /// The number with the other sign.
    pub fn negated(self) -> Exact {
        Exact { negative: !self.negative, ..self }
    }

    /// The number without its sign.
    pub fn magnitude(self) -> Exact {
        Exact { negative: false, ..self }
    }

    /// The number times 2^`places`.
    pub fn scaled(self, places: i32) -> Exact {
        Exact { exponent: self.exponent + places, ..self }
    }

    fn is_below(self, other: Exact) -> bool {
        (self.exponent, self.significand) < (other.exponent, other.significand)
    }

    /// The sum; none if it is zero.
    pub fn plus(self, other: Exact) -> Option<Exact> {
        let (large, small) = if self.is_below(other) { (other, self) } else { (self, other) };
        let places = (large.exponent - small.exponent) as u64;
        let addend = shift_right_sticky(small.significand, places);
        if large.negative == small.negative {
            let (sum, carry) = large.significand.overflowing_add(addend);
            if carry {
                let significand = LEADING | shift_right_sticky(sum, 1);
                return Some(Exact { exponent: large.exponent + 1, significand, ..large });
            }
            return Some(Exact { significand: sum, ..large });
        }
        Exact::new(large.negative, large.significand - addend, large.exponent - 127)
    }

    pub fn times(self, other: Exact) -> Exact {
        let (high, low) = multiply(self.significand, other.significand);
        let negative = self.negative != other.negative;
        let exponent = self.exponent + other.exponent;
        if high & LEADING != 0 {
            return Exact { negative, exponent: exponent + 1, significand: high | u128::from(low != 0) };
        }
        let significand = high << 1 | low >> 127 | u128::from(low << 1 != 0);
        Exact { negative, exponent, significand }
    }

    pub fn over(self, divisor: Exact) -> Exact {
        let negative = self.negative != divisor.negative;
        let (mut exponent, a, b) = (self.exponent - divisor.exponent, self.significand, divisor.significand);
        if b as u64 == 0 && a as u64 == 0 {
            let (a, b) = (a >> 64, b >> 64);
            let first = (a << 63) / b;
            let rest = (a << 63) % b;
            let second = (rest << 63) / b;
            let sticky = u128::from((rest << 63) % b != 0);
            // The quotient of the significands is (first * 2^63 + second) / 2^126.
            let quotient = first << 63 | second;
            let places = quotient.leading_zeros();
            return Exact {
                negative,
                exponent: exponent + 1 - places as i32,
                significand: quotient << places | sticky,
            };
        }
        // Bit by bit; only transcendental functions get here.
        let mut rest = a;
        let mut carry = false;
        if rest < b {
            carry = rest >> 127 != 0;
            rest <<= 1;
            exponent -= 1;
        }
        let mut quotient = 0u128;
        for bit in (0..128).rev() {
            if carry || rest >= b {
                rest = rest.wrapping_sub(b);
                quotient |= 1 << bit;
            }
            carry = rest >> 127 != 0;
            rest <<= 1;
        }
        Exact { negative, exponent, significand: quotient | u128::from(rest != 0 || carry) }
    }

    /// The square root of the magnitude; the operand has at most 64 bits.
    pub fn root(self) -> Exact {
        let odd = self.exponent & 1 != 0;
        let radicand = if odd { self.significand } else { self.significand >> 1 };
        let root = radicand.isqrt();
        let rest = radicand - root * root;
        let significand = root << 64 | u128::from(rest > root) << 63 | u128::from(rest != 0);
        Exact { negative: false, exponent: self.exponent.div_euclid(2), significand }
    }

    /// The magnitude as an integer; none if it is 2^127 or more.
    pub fn to_integer(self, rounding: Rounding) -> Option<(u128, Flags)> {
        match self.exponent {
            127.. => None,
            0..127 => {
                let places = 127 - self.exponent as u32;
                let rest = self.significand << (128 - places);
                Some(round_to_integer(self.significand >> places, rest, self.negative, rounding))
            }
            -1 => Some(round_to_integer(0, self.significand, self.negative, rounding)),
            _ => Some(round_to_integer(0, 1, self.negative, rounding)),
        }
    }
}

/// The 256-bit product, high half first.
fn multiply(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (ah, al, bh, bl) = (a >> 64, a & LOW, b >> 64, b & LOW);
    if al == 0 && bl == 0 {
        return (ah * bh, 0);
    }
    let low = al * bl;
    let middle = ah * bl + (low >> 64);
    let cross = al * bh + (middle & LOW);
    (ah * bh + (middle >> 64) + (cross >> 64), cross << 64 | low & LOW)
}

impl Number {
    /// Whether the sign bit is set.
    pub fn is_negative(self) -> bool {
        match self {
            Number::Zero { negative } | Number::Infinity { negative } => negative,
            Number::Finite(number) => number.negative,
        }
    }

    /// The number with the other sign.
    pub fn negated(self) -> Number {
        match self {
            Number::Zero { negative } => Number::Zero { negative: !negative },
            Number::Infinity { negative } => Number::Infinity { negative: !negative },
            Number::Finite(number) => Number::Finite(number.negated()),
        }
    }

    /// The sum; none for opposite infinities. The sign of an exact zero depends on the rounding mode.
    pub fn plus(self, other: Number, rounding: Rounding) -> Option<Number> {
        use Number::{Finite, Infinity, Zero};
        let cancelled = Zero { negative: rounding == Rounding::Down };
        Some(match (self, other) {
            (Infinity { negative: a }, Infinity { negative: b }) if a != b => return None,
            (Infinity { .. }, _) => self,
            (_, Infinity { .. }) => other,
            (Zero { negative: a }, Zero { negative: b }) if a != b => cancelled,
            (Zero { .. }, _) => other,
            (_, Zero { .. }) => self,
            (Finite(a), Finite(b)) => a.plus(b).map_or(cancelled, Finite),
        })
    }

    /// The product; none for zero times infinity.
    pub fn times(self, other: Number) -> Option<Number> {
        use Number::{Finite, Infinity, Zero};
        let negative = self.is_negative() != other.is_negative();
        Some(match (self, other) {
            (Infinity { .. }, Zero { .. }) | (Zero { .. }, Infinity { .. }) => return None,
            (Infinity { .. }, _) | (_, Infinity { .. }) => Infinity { negative },
            (Zero { .. }, _) | (_, Zero { .. }) => Zero { negative },
            (Finite(a), Finite(b)) => Finite(a.times(b)),
        })
    }

    /// The quotient, with the divide flag for a finite number over zero; none for zero over zero or infinity over
    /// infinity.
    pub fn over(self, divisor: Number) -> Option<(Number, Flags)> {
        use Number::{Finite, Infinity, Zero};
        let negative = self.is_negative() != divisor.is_negative();
        Some(match (self, divisor) {
            (Infinity { .. }, Infinity { .. }) | (Zero { .. }, Zero { .. }) => return None,
            (Infinity { .. }, _) => (Infinity { negative }, Flags::NONE),
            (Zero { .. }, _) | (_, Infinity { .. }) => (Zero { negative }, Flags::NONE),
            (Finite(_), Zero { .. }) => (Infinity { negative }, Flags::DIVIDE),
            (Finite(a), Finite(b)) => (Finite(a.over(b)), Flags::NONE),
        })
    }

    /// The square root; none for negative numbers.
    pub fn root(self) -> Option<Number> {
        match self {
            Number::Zero { .. } => Some(self),
            _ if self.is_negative() => None,
            Number::Finite(number) => Some(Number::Finite(number.root())),
            Number::Infinity { .. } => Some(self),
        }
    }

    /// Compares two numbers.
    pub fn compare(self, other: Number) -> std::cmp::Ordering {
        fn key(number: Number) -> (i32, i64, u128) {
            let (rank, exponent, significand) = match number {
                Number::Zero { .. } => return (0, 0, 0),
                Number::Finite(number) => (1, i64::from(number.exponent), number.significand),
                Number::Infinity { .. } => (2, 0, 0),
            };
            if number.is_negative() { (-rank, -exponent, !significand) } else { (rank, exponent, significand) }
        }
        key(self).cmp(&key(other))
    }
}
