//! FPREM and FPREM1, which compute a remainder in steps: while the quotient has more than 63 bits, a step reduces the
//! operand and requests another step (C2). The manuals don't specify the reduction of a step; here it is that of the
//! hardware.

use super::arith::{Operands, operands};
use super::{Exact, F80, Flags, Number, Outcome, Rounding, Settings};

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remainder {
    pub outcome: Outcome,
    /// Whether more steps are needed.
    pub partial: bool,
    /// The last three bits of the quotient's magnitude.
    pub quotient: u8,
}

impl Remainder {
    fn whole(outcome: Outcome) -> Remainder {
        Remainder { outcome, partial: false, quotient: 0 }
    }
}

impl F80 {
    /// The remainder of a division whose quotient is rounded toward zero (FPREM) or to nearest (FPREM1).
    pub fn remainder(self, divisor: F80, rounding: Rounding, settings: Settings) -> Remainder {
        let (a, b, flags) = match operands([self, divisor]) {
            Operands::Settled(outcome) => return Remainder::whole(outcome),
            Operands::Numbers([a, b], flags) => (a, b, flags),
        };
        match (a, b) {
            (Number::Infinity { .. }, _) | (_, Number::Zero { .. }) => Remainder::whole(Outcome::INVALID),
            (Number::Zero { .. }, _) => Remainder::whole(Outcome::exactly(self).with(flags)),
            (Number::Finite(a), Number::Infinity { .. }) => {
                // Unchanged, except that pseudo-denormals become normal.
                Remainder::whole(Outcome::exactly(a.to_f80(Settings::DEFAULT).value).with(flags))
            }
            (Number::Finite(a), Number::Finite(b)) => step(a, b, rounding, settings.full(), flags),
        }
    }
}

fn step(a: Exact, b: Exact, rounding: Rounding, settings: Settings, flags: Flags) -> Remainder {
    let distance = a.exponent - b.exponent;
    let (numerator, denominator) = (a.significand >> 64, b.significand >> 64);
    if distance >= 64 {
        // The quotient's first 32 to 63 bits.
        let bits = (distance & 31) | 32;
        let rest = (numerator << bits) % denominator;
        let value = signed(a.negative, rest, b.exponent + distance - bits, settings);
        return Remainder { outcome: value.with(flags), partial: true, quotient: 0 };
    }
    if distance < -1 || (distance < 0 && rounding == Rounding::Zero) {
        return Remainder::whole(a.to_f80(settings).with(flags));
    }
    // Both in units of the last place of the smaller exponent.
    let (numerator, denominator, exponent) = if distance < 0 {
        (numerator, denominator << 1, a.exponent)
    } else {
        (numerator << distance, denominator, b.exponent)
    };
    let (mut quotient, mut rest, mut negative) = (numerator / denominator, numerator % denominator, a.negative);
    if rounding == Rounding::Nearest && (rest * 2 > denominator || rest * 2 == denominator && quotient & 1 == 1) {
        quotient += 1;
        rest = denominator - rest;
        negative = !negative;
    }
    let negative = if rest == 0 { a.negative } else { negative };
    let outcome = signed(negative, rest, exponent, settings).with(flags);
    Remainder { outcome, partial: false, quotient: (quotient & 7) as u8 }
}

/// The number `magnitude`, whose bit 63 stands for 2^`exponent`.
fn signed(negative: bool, magnitude: u128, exponent: i32, settings: Settings) -> Outcome {
    match Exact::new(negative, magnitude, exponent - 63) {
        Some(number) => number.to_f80(settings),
        None => Outcome::exactly(F80::zero(negative)),
    }
}
