//! Arithmetic on [`F80`] from addition to square root, comparison, and operations on the exponent. NaNs, unsupported
//! operands and denormals are handled here; the rest is done on [`Number`]s.

use super::{Class, Exact, F80, Flags, Format, Number, Rounding};
use std::cmp::Ordering;

/// The settings of the control word that affect an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    pub rounding: Rounding,
    /// 24, 53 or 64 bits.
    pub precision: u32,
    /// Exceptions that produce a default result.
    pub masked: Flags,
}

impl Settings {
    /// From a control word.
    pub fn from_control(control: u16) -> Settings {
        let precision = match control >> 8 & 3 {
            0 => 24,
            2 => 53,
            _ => 64,
        };
        let rounding = Rounding::from_bits(u32::from(control >> 10));
        Settings { rounding, precision, masked: Flags(control as u8) & Flags::ALL }
    }

    /// All exceptions masked, round to nearest, 64 bits.
    pub const DEFAULT: Settings = Settings { rounding: Rounding::Nearest, precision: 64, masked: Flags::ALL };

    /// These settings without precision control, for operations that ignore it.
    pub fn full(self) -> Settings {
        Settings { precision: 64, ..self }
    }
}

/// A result and its exception flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub value: F80,
    pub flags: Flags,
}

impl Outcome {
    pub(super) const INVALID: Outcome = Outcome { value: F80::INDEFINITE, flags: Flags::INVALID };

    pub(super) fn exactly(value: F80) -> Outcome {
        Outcome { value, flags: Flags::NONE }
    }

    pub(super) fn with(self, flags: Flags) -> Outcome {
        Outcome { flags: self.flags | flags, ..self }
    }
}

/// Operands as numbers, or the result if their classes determine it.
pub(super) enum Operands<const N: usize> {
    Numbers([Number; N], Flags),
    Settled(Outcome),
}

/// Handles operands that are not numbers: unsupported ones first, then NaNs, then denormals.
pub(super) fn operands<const N: usize>(values: [F80; N]) -> Operands<N> {
    let classes = values.map(F80::class);
    if classes.contains(&Class::Unsupported) {
        return Operands::Settled(Outcome::INVALID);
    }
    if let Some(value) = propagate(&values) {
        let flags = Flags::INVALID.when(classes.contains(&Class::Signalling));
        return Operands::Settled(Outcome { value, flags });
    }
    let mut flags = Flags::NONE;
    let numbers = classes.map(|class| match class {
        Class::Number(number) => number,
        Class::Denormal(number) => {
            flags = Flags::DENORMAL;
            Number::Finite(number)
        }
        Class::Quiet | Class::Signalling | Class::Unsupported => unreachable!("sorted out above"),
    });
    Operands::Numbers(numbers, flags)
}

/// The NaN result of an operation with NaN operands: a quiet one takes precedence over a signalling one, the larger
/// significand over the smaller, positive over negative.
fn propagate(values: &[F80]) -> Option<F80> {
    let nans = || values.iter().copied().filter(|value| value.is_nan());
    let quiet_and_signalling =
        nans().any(|value| value.class() == Class::Quiet) && nans().any(|value| value.class() == Class::Signalling);
    nans()
        .filter(|value| !quiet_and_signalling || value.class() == Class::Quiet)
        .max_by_key(|value| (value.quieted().significand, !value.is_negative()))
        .map(F80::quieted)
}

impl Number {
    /// Rounds to the format of an x87 register.
    pub(super) fn to_f80(self, settings: Settings) -> Outcome {
        match self {
            Number::Zero { negative } => Outcome::exactly(F80::zero(negative)),
            Number::Infinity { negative } => Outcome::exactly(F80::infinity(negative)),
            Number::Finite(number) => number.to_f80(settings),
        }
    }
}

impl Exact {
    pub(super) fn to_f80(self, settings: Settings) -> Outcome {
        let format = Format::EXTENDED.with_precision(settings.precision);
        let rounded = self.round(format, settings.rounding, settings.masked);
        Outcome { value: rounded.into(), flags: rounded.flags }
    }
}

impl F80 {
    /// FADD.
    pub fn plus(self, other: F80, settings: Settings) -> Outcome {
        match operands([self, other]) {
            Operands::Settled(outcome) => outcome,
            Operands::Numbers([a, b], flags) => match a.plus(b, settings.rounding) {
                Some(sum) => sum.to_f80(settings).with(flags),
                None => Outcome::INVALID,
            },
        }
    }

    /// FSUB.
    pub fn minus(self, other: F80, settings: Settings) -> Outcome {
        match operands([self, other]) {
            Operands::Settled(outcome) => outcome,
            Operands::Numbers([a, b], flags) => match a.plus(b.negated(), settings.rounding) {
                Some(difference) => difference.to_f80(settings).with(flags),
                None => Outcome::INVALID,
            },
        }
    }

    /// FMUL.
    pub fn times(self, other: F80, settings: Settings) -> Outcome {
        match operands([self, other]) {
            Operands::Settled(outcome) => outcome,
            Operands::Numbers([a, b], flags) => match a.times(b) {
                Some(product) => product.to_f80(settings).with(flags),
                None => Outcome::INVALID,
            },
        }
    }

    /// FDIV.
    pub fn over(self, divisor: F80, settings: Settings) -> Outcome {
        match operands([self, divisor]) {
            Operands::Settled(outcome) => outcome,
            Operands::Numbers([a, b], flags) => match a.over(b) {
                // A division by zero does not report a denormal dividend.
                Some((quotient, Flags::DIVIDE)) => quotient.to_f80(settings).with(Flags::DIVIDE),
                Some((quotient, _)) => quotient.to_f80(settings).with(flags),
                None => Outcome::INVALID,
            },
        }
    }

    /// FSQRT.
    pub fn root(self, settings: Settings) -> Outcome {
        match operands([self]) {
            Operands::Settled(outcome) => outcome,
            Operands::Numbers([number], flags) => match number.root() {
                Some(root) => root.to_f80(settings).with(flags),
                None => Outcome::INVALID,
            },
        }
    }

    /// FRNDINT.
    pub fn to_integral(self, settings: Settings) -> Outcome {
        let (number, flags) = match operands([self]) {
            Operands::Settled(outcome) => return outcome,
            Operands::Numbers([Number::Finite(number)], flags) => (number, flags),
            Operands::Numbers(..) => return Outcome::exactly(self),
        };
        if number.exponent >= 63 {
            return Outcome::exactly(self);
        }
        let (magnitude, inexact) = number.to_integer(settings.rounding).expect("below 2^63");
        let value = match Exact::new(number.negative, magnitude, 0) {
            Some(integer) => integer.to_f80(settings.full()).value,
            None => F80::zero(number.negative),
        };
        Outcome { value, flags: flags | inexact }
    }

    /// FSCALE: multiplies by two to the power of `places`, truncated to an integer.
    pub fn scaled(self, places: F80, settings: Settings) -> Outcome {
        let (a, b, flags) = match operands([self, places]) {
            Operands::Settled(outcome) => return outcome,
            Operands::Numbers([a, b], flags) => (a, b, flags),
        };
        let negative = a.is_negative();
        match (a, b) {
            (Number::Infinity { .. }, Number::Infinity { negative: true })
            | (Number::Zero { .. }, Number::Infinity { negative: false }) => Outcome::INVALID,
            (Number::Infinity { .. } | Number::Zero { .. }, _) => Outcome::exactly(self).with(flags),
            (Number::Finite(_), Number::Infinity { negative: false }) => {
                Outcome::exactly(F80::infinity(negative)).with(flags)
            }
            (Number::Finite(_), Number::Infinity { negative: true }) => {
                Outcome::exactly(F80::zero(negative)).with(flags)
            }
            (Number::Finite(number), Number::Zero { .. }) => {
                // Unchanged, so there is no underflow; pseudo-denormals become normal.
                Outcome::exactly(number.to_f80(Settings::DEFAULT).value).with(flags)
            }
            (Number::Finite(number), Number::Finite(places)) => {
                let magnitude = match places.exponent {
                    ..0 => 0,
                    0..17 => (places.significand >> (127 - places.exponent)) as i32,
                    _ => 0x20000,
                };
                let places = if places.negative { -magnitude } else { magnitude };
                number.scaled(places).to_f80(settings.full()).with(flags)
            }
        }
    }

    /// FXTRACT: exponent and significand.
    pub fn extracted(self) -> (F80, Outcome) {
        let settings = Settings::DEFAULT;
        match operands([self]) {
            Operands::Settled(outcome) => (outcome.value, outcome),
            Operands::Numbers([Number::Zero { .. }], _) => {
                (F80::infinity(true), Outcome { value: self, flags: Flags::DIVIDE })
            }
            Operands::Numbers([Number::Infinity { .. }], _) => (F80::infinity(false), Outcome::exactly(self)),
            Operands::Numbers([Number::Finite(number)], flags) => {
                let exponent = F80::from_i64(i64::from(number.exponent));
                let significand = Exact { exponent: 0, ..number };
                (exponent, significand.to_f80(settings).with(flags))
            }
        }
    }

    /// FXAM's C3 C2 C0 as bits 2, 1 and 0, for a non-empty register.
    pub fn examined(self) -> u8 {
        match self.class() {
            Class::Unsupported => 0b000,
            Class::Quiet | Class::Signalling => 0b001,
            Class::Number(Number::Finite(_)) => 0b010,
            Class::Number(Number::Infinity { .. }) => 0b011,
            Class::Number(Number::Zero { .. }) => 0b100,
            Class::Denormal(_) => 0b110,
        }
    }

    /// The unbiased exponent of a normal number.
    #[cfg(test)]
    pub(super) fn exponent(self) -> i32 {
        i32::from(self.exponent_field()) - super::BIAS
    }
}

/// Compares two numbers; `None` if unordered. `quietly`: quiet NaNs are not invalid operands (FUCOM).
pub fn compare(a: F80, b: F80, quietly: bool) -> (Option<Ordering>, Flags) {
    match operands([a, b]) {
        Operands::Numbers([a, b], flags) => (Some(a.compare(b)), flags),
        Operands::Settled(outcome) => (None, outcome.flags | Flags::INVALID.when(!quietly)),
    }
}
