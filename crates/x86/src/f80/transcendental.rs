//! The transcendental functions of x87. Results are within one unit in the last place of the hardware's, inside the
//! operand ranges for which the manuals specify results; most are equal. Like the hardware, the trigonometric functions
//! reduce their argument by a pi of 66 bits, so far from zero both deviate equally from the mathematical functions.
//!
//! Left out: the hardware's results outside the specified ranges. There, `f2xm1` returns its operand, and `fyl2xp1` the
//! mathematical value if there is one.

use super::arith::{Operands, operands};
use super::{Exact, F80, Flags, Number, Outcome, Rounding, Settings, series};

/// Half of pi to 66 bits, in units of 2^-65.
const HALF_PI: u128 = 0x3243f6a8885a308d3;

/// An angle reduced to [-pi/4, pi/4], and the number of right angles subtracted, modulo 4.
struct Reduced {
    angle: Option<Exact>,
    turns: u8,
}

fn reduce(x: Exact) -> Reduced {
    if x.exponent < -1 {
        return Reduced { angle: Some(x), turns: 0 };
    }
    let mut rest = x.significand >> 64;
    let mut turns = 0u8;
    for _ in 0..x.exponent + 2 {
        rest <<= 1;
        turns = turns << 1 & 3;
        if rest >= HALF_PI {
            rest -= HALF_PI;
            turns |= 1;
        }
    }
    let mut negative = x.negative;
    if rest > HALF_PI / 2 {
        rest = HALF_PI - rest;
        negative = !negative;
        turns += 1;
    }
    let turns = if x.negative { turns.wrapping_neg() } else { turns } & 3;
    Reduced { angle: Exact::new(negative, rest, -65), turns }
}

impl Reduced {
    /// The sine of the original angle. It is never zero, since no operand but zero is a multiple of half of pi.
    fn sin(&self) -> Exact {
        let magnitude = if self.turns & 1 == 0 { self.sin_of_rest() } else { self.cos_of_rest() };
        if self.turns & 2 == 0 { magnitude } else { magnitude.negated() }
    }

    fn cos(&self) -> Exact {
        Reduced { turns: (self.turns + 1) & 3, ..*self }.sin()
    }

    fn sin_of_rest(&self) -> Exact {
        series::sin(self.angle.expect("half of pi to 66 bits does not divide a number of 64 bits"))
    }

    fn cos_of_rest(&self) -> Exact {
        self.angle.map_or(Exact::ONE, series::cos)
    }
}

/// Rounds a result that is never exact.
fn inexactly(value: Exact, settings: Settings) -> Outcome {
    // The last bits of a series can be zero by chance; the function's value is never exact.
    let value = Exact { significand: value.significand | 1, ..value };
    let outcome = value.to_f80(settings.full());
    if outcome.flags.has(Flags::UNDERFLOW) {
        // A result that rounds to nearest to a normal number (the sine of the smallest one) stays normal in the
        // hardware.
        let nearest = value.to_f80(Settings { rounding: Rounding::Nearest, ..settings.full() });
        if !nearest.flags.has(Flags::UNDERFLOW) {
            return nearest;
        }
    }
    outcome
}

/// Rounds a result that happens to be exact; the hardware reports it as inexact.
fn exactly_unnoticed(value: Number, settings: Settings) -> Outcome {
    let outcome = value.to_f80(settings.full());
    let tiny = outcome.value.exponent_field() == 0;
    outcome.with(Flags::INEXACT | Flags::UNDERFLOW.when(tiny))
}

/// Sine and cosine; `None` if the operand is too large (C2).
fn sin_cos(x: F80, settings: Settings, wanted: impl Fn(&Reduced) -> Exact, of_zero: F80) -> Option<Outcome> {
    match operands([x]) {
        Operands::Settled(outcome) => Some(outcome),
        Operands::Numbers([Number::Infinity { .. }], _) => Some(Outcome::INVALID),
        Operands::Numbers([Number::Zero { .. }], _) => Some(Outcome::exactly(of_zero)),
        Operands::Numbers([Number::Finite(x)], _) if x.exponent >= 63 => None,
        Operands::Numbers([Number::Finite(x)], flags) => Some(inexactly(wanted(&reduce(x)), settings).with(flags)),
    }
}

/// FSIN.
pub fn sin(x: F80, settings: Settings) -> Option<Outcome> {
    sin_cos(x, settings, Reduced::sin, x)
}

/// FCOS.
pub fn cos(x: F80, settings: Settings) -> Option<Outcome> {
    sin_cos(x, settings, Reduced::cos, F80::ONE)
}

/// FPTAN, without the 1.0 that it pushes.
pub fn tan(x: F80, settings: Settings) -> Option<Outcome> {
    sin_cos(x, settings, |angle| angle.sin().over(angle.cos()), x)
}

/// FPATAN: the angle of the point (`x`, `y`).
pub fn atan2(y: F80, x: F80, settings: Settings) -> Outcome {
    use Number::{Finite, Infinity, Zero};
    let (y, x, flags) = match operands([y, x]) {
        Operands::Settled(outcome) => return outcome,
        Operands::Numbers([y, x], flags) => (y, x, flags),
    };
    let half_pi = series::PI.scaled(-1);
    let (left, negative) = (x.is_negative(), y.is_negative());
    let angle = match (y, x) {
        (Infinity { .. }, Infinity { .. }) if left => half_pi.plus(half_pi.scaled(-1)),
        (Infinity { .. }, Infinity { .. }) => Some(half_pi.scaled(-1)),
        (Infinity { .. }, _) => Some(half_pi),
        (Zero { .. }, _) | (_, Infinity { .. }) => left.then_some(series::PI),
        (_, Zero { .. }) => Some(half_pi),
        (Finite(y), Finite(x)) => {
            let angle = series::angle(y.magnitude(), x.magnitude());
            if left { series::PI.plus(angle.negated()) } else { Some(angle) }
        }
    };
    match angle {
        Some(angle) => inexactly(Exact { negative, ..angle }, settings).with(flags),
        None => Outcome::exactly(F80::zero(negative)).with(flags),
    }
}

/// F2XM1: 2^x - 1.
pub fn exp2_minus_one(x: F80, settings: Settings) -> Outcome {
    match operands([x]) {
        Operands::Settled(outcome) => outcome,
        Operands::Numbers([Number::Zero { .. } | Number::Infinity { negative: false }], _) => Outcome::exactly(x),
        Operands::Numbers([Number::Infinity { negative: true }], _) => Outcome::exactly(F80::ONE.negated()),
        Operands::Numbers([Number::Finite(number)], flags) => {
            let one = number.magnitude() == Exact::ONE;
            if number.exponent >= 0 && !(one && number.negative) {
                // Also exact for x = 1.
                return Outcome::exactly(x);
            }
            if one {
                return Exact { exponent: -1, ..number }.to_f80(settings);
            }
            inexactly(series::exp2_minus_one(number), settings).with(flags)
        }
    }
}

/// FYL2X: y * log2(x).
pub fn y_log2_x(y: F80, x: F80, settings: Settings) -> Outcome {
    use Number::{Finite, Infinity, Zero};
    let (y, x, flags) = match operands([y, x]) {
        Operands::Settled(outcome) => return outcome,
        Operands::Numbers([y, x], flags) => (y, x, flags),
    };
    let log = match x {
        Zero { .. } => match y {
            Zero { .. } => return Outcome::INVALID,
            Infinity { negative } => return Outcome::exactly(F80::infinity(!negative)),
            Finite(y) => {
                let flags = flags | Flags::DIVIDE;
                return Outcome { value: F80::infinity(!y.negative), flags };
            }
        },
        _ if x.is_negative() => return Outcome::INVALID,
        Infinity { .. } => x,
        Finite(Exact::ONE) => Zero { negative: false },
        Finite(x) => Finite(series::log2(x)),
    };
    let exact = matches!(x, Finite(x) if x.significand == Exact::ONE.significand);
    product(y, log, exact, settings).with(flags)
}

/// FYL2XP1: y * log2(1 + x).
pub fn y_log2_x_plus_one(y: F80, x: F80, settings: Settings) -> Outcome {
    use Number::{Finite, Infinity, Zero};
    let (y, x, flags) = match operands([y, x]) {
        Operands::Settled(outcome) => return outcome,
        Operands::Numbers([y, x], flags) => (y, x, flags),
    };
    let log = match x {
        Zero { .. } | Infinity { negative: false } => x,
        Infinity { negative: true } => return Outcome::INVALID,
        Finite(x) if x.negative && x.exponent >= 0 => return Outcome::INVALID,
        Finite(x) => Finite(series::log2_one_plus(x)),
    };
    product(y, log, false, settings).with(flags)
}

fn product(y: Number, log: Number, exact: bool, settings: Settings) -> Outcome {
    match y.times(log) {
        None => Outcome::INVALID,
        Some(Number::Finite(product)) if !exact => inexactly(product, settings),
        Some(number @ Number::Finite(_)) => exactly_unnoticed(number, settings),
        Some(number) => number.to_f80(settings.full()),
    }
}
