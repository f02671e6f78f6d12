//! Numbers with units in machine files.

use engine::{Hertz, Time};
use mem::Bytes;
use serde::{Deserialize, Deserializer, de};
use toml::Value;

/// `"16 KiB"`, `"2 MiB"`, `"64 B"`, or a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub Bytes);

/// `"1 GHz"`, `"300 MHz"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency(pub Hertz);

/// `"5 ns"`, `"1.5 us"`, `"100 ps"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration(pub Time);

/// `"12 GB/s"`: bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub Bytes);

/// `"294 pJ"`: femtojoules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joules(pub u64);

/// `"50 mW"`: milliwatts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watts(pub u64);

const JOULES: &[(&str, u64)] = &[("pJ", 1000), ("nJ", 1_000_000), ("fJ", 1)];
const WATTS: &[(&str, u64)] = &[("mW", 1), ("W", 1000)];
const RATES: &[(&str, u64)] = &[("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("B/s", 1)];
const SIZES: &[(&str, u64)] = &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
const FREQUENCIES: &[(&str, u64)] = &[("GHz", 1_000_000_000), ("MHz", 1_000_000), ("kHz", 1000), ("Hz", 1)];
/// Units of time, in femtoseconds.
const TIMES: &[(&str, u64)] =
    &[("ps", 1000), ("ns", 1_000_000), ("us", 1_000_000_000), ("ms", 1_000_000_000_000), ("fs", 1)];

/// Upper limits. They lie above all sensible values and keep sums from overflowing.
const MOST_BYTES: u64 = 1 << 40;
const MOST_HERTZ: u64 = 1_000_000_000_000;
const MOST_FEMTOS: u64 = 1_000_000_000_000_000;
const MOST_FEMTOJOULES: u64 = 1_000_000_000_000;
const MOST_MILLIWATTS: u64 = 1_000_000;

fn within(value: u64, most: u64, written: &str) -> Result<u64, String> {
    if value > most { Err(format!("can be {written} at most")) } else { Ok(value) }
}

/// Parses a number with one of these units, and multiplies it by the unit's value.
fn quantity(text: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    let wrong = || format!("'{text}' is not a number with a unit ({})", names.join(", "));
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.len() <= 18 && part.bytes().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let value: u128 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
    let value = value * u128::from(*factor);
    if !value.is_multiple_of(scale) {
        return Err(format!("'{text}' has more decimal places than its smallest unit"));
    }
    u64::try_from(value / scale).map_err(|_| format!("'{text}' is too large"))
}

/// Reads a text with a unit. The error for a missing key stays serde's, because its text is recognised elsewhere.
fn written<'de, D: Deserializer<'de>>(from: D, units: &[(&str, u64)], like: &str) -> Result<u64, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => quantity(&text, units).map_err(de::Error::custom),
        _ => Err(de::Error::custom(like)),
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let size = match Value::deserialize(from)? {
            Value::Integer(bytes) => u64::try_from(bytes).map_err(|_| "must be at least 0".to_owned()),
            Value::String(text) => quantity(&text, SIZES),
            _ => Err("a size is written like \"16 KiB\"".to_owned()),
        };
        let size = size.and_then(|bytes| within(bytes, MOST_BYTES, "1 TiB"));
        size.map(|bytes| Size(Bytes(bytes))).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Frequency {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let hertz = written(from, FREQUENCIES, "a clock is written like \"1 GHz\"")?;
        if hertz == 0 {
            return Err(de::Error::custom("a clock of 0 Hz never ticks"));
        }
        let hertz = within(hertz, MOST_HERTZ, "1000 GHz").map_err(de::Error::custom)?;
        Ok(Frequency(Hertz(hertz)))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match written(from, RATES, "a rate is written like \"12 GB/s\"")? {
            0 => Err(de::Error::custom("at 0 B/s nothing ever arrives")),
            rate => Ok(Rate(Bytes(rate))),
        }
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let femtos = written(from, TIMES, "a time is written like \"5 ns\"")?;
        let femtos = within(femtos, MOST_FEMTOS, "1000 ms").map_err(de::Error::custom)?;
        Ok(Duration(Time(femtos)))
    }
}

impl<'de> Deserialize<'de> for Joules {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let joules = written(from, JOULES, "an energy is written like \"294 pJ\"")?;
        within(joules, MOST_FEMTOJOULES, "1 mJ").map(Joules).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Watts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let watts = written(from, WATTS, "a power is written like \"50 mW\"")?;
        within(watts, MOST_MILLIWATTS, "1000 W").map(Watts).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        assert_eq!(quantity("16 KiB", SIZES), Ok(16384));
        assert_eq!(quantity("1.5ns", TIMES), Ok(1_500_000));
        assert_eq!(quantity("1.8 GHz", FREQUENCIES), Ok(1_800_000_000));
    }

    #[test]
    fn a_text_that_is_not_a_quantity_is_refused() {
        for text in ["16", "KiB", "16 kb", "-1 B", "1. B", "0.3 B", "1e3 B", "", "99999999999999 GiB"] {
            assert!(quantity(text, SIZES).is_err(), "{text}");
        }
    }
}
