//! Values that are checked when they are read: bounded numbers, powers of two, and words from a list.
//!
//! Every number is bounded, so that a typing error gets an error message instead of exhausting the computer's memory or
//! time. The bounds lie far above those of real hardware. Dependencies between sections are checked by the code that
//! reads the sections.

use crate::{
    file::did_you_mean,
    units::{Duration, Size},
};
use engine::{Cycles, Time};
use mem::{LINE, Stride};
use serde::{Deserialize, Deserializer, de::Error};
use toml::Value;

/// Default upper bound of counts and cycles.
pub const USUAL: u64 = 1 << 20;
/// Upper bound of pure delays in cycles, which cost the simulator no work.
pub const PASSING: u64 = 1 << 32;
/// Upper bound of the sizes of structures that are searched, or that exist once per thread or lane.
pub const SHORT: u64 = 1 << 14;
/// Upper bound of widths: the number of things done in one cycle.
pub const WIDE: u64 = 1 << 10;

/// A whole number from 0 to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<const MOST: u64 = USUAL>(u64);

/// A whole number from 1 to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positive<const MOST: u64 = USUAL>(u64);

/// 1, 2, 4, .. up to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerOfTwo<const MOST: u64 = USUAL>(u64);

impl<const MOST: u64> Number<MOST> {
    pub fn get(self) -> u64 {
        self.0
    }

    pub fn count(self) -> usize {
        self.0 as usize
    }

    pub fn cycles(self) -> Cycles {
        Cycles(self.0)
    }
}

impl<const MOST: u64> Positive<MOST> {
    pub fn get(self) -> u64 {
        self.0
    }

    pub fn count(self) -> usize {
        self.0 as usize
    }

    pub fn cycles(self) -> Cycles {
        Cycles(self.0)
    }
}

impl<const MOST: u64> PowerOfTwo<MOST> {
    pub fn count(self) -> usize {
        self.0 as usize
    }
}

fn whole<'de, D: Deserializer<'de>>(from: D, least: u64, most: u64) -> Result<u64, D::Error> {
    let number = match Value::deserialize(from)? {
        Value::Integer(number) => number,
        other => return Err(Error::custom(format!("must be a whole number, not {}", shortened(&other)))),
    };
    match u64::try_from(number) {
        Ok(number) if number > most => Err(Error::custom(format!("can be {most} at most"))),
        Ok(number) if number >= least => Ok(number),
        _ => Err(Error::custom(format!("must be at least {least}"))),
    }
}

/// The value as written if it is short; otherwise its type.
fn shortened(value: &Value) -> String {
    let written = value.to_string();
    if written.chars().count() <= 40 { written } else { format!("a {}", value.type_str()) }
}

impl<'de, const MOST: u64> Deserialize<'de> for Number<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole(from, 0, MOST).map(Self)
    }
}

impl<'de, const MOST: u64> Deserialize<'de> for Positive<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole(from, 1, MOST).map(Self)
    }
}

impl<'de, const MOST: u64> Deserialize<'de> for PowerOfTwo<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = whole(from, 1, MOST)?;
        if number.is_power_of_two() { Ok(Self(number)) } else { Err(Error::custom("must be a power of two")) }
    }
}

/// A number up to `MOST`, or "infinite".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<const MOST: u64 = USUAL>(Option<u64>);

impl<const MOST: u64> Limit<MOST> {
    /// `None`: there is no limit.
    pub fn count(self) -> Option<usize> {
        self.0.map(|number| number as usize)
    }
}

impl<'de, const MOST: u64> Deserialize<'de> for Limit<MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(word) if word == "infinite" => Ok(Self(None)),
            Value::Integer(number) => match u64::try_from(number) {
                Ok(number) if number <= MOST => Ok(Self(Some(number))),
                Ok(_) => Err(Error::custom(format!("can be {MOST} at most, or \"infinite\""))),
                Err(_) => Err(Error::custom("must be at least 0")),
            },
            other => Err(Error::custom(format!("must be a whole number or \"infinite\", not {}", shortened(&other)))),
        }
    }
}

/// A type whose values have names in machine files.
pub trait Choice: Copy {
    fn words() -> Vec<(&'static str, Self)>;
}

/// A value given by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneOf<T>(pub T);

impl<'de, T: Choice> Deserialize<'de> for OneOf<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (value, words) = (Value::deserialize(from)?, T::words());
        let word = value.as_str().unwrap_or_default();
        if let Some((_, choice)) = words.iter().find(|(known, _)| *known == word) {
            return Ok(Self(*choice));
        }
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        Err(Error::custom(format!("must be one of {}{}", known.join(", "), did_you_mean(word, &known))))
    }
}

/// The interleaving granularity: a power of two, at least one line.
#[derive(Clone, Copy, Debug)]
pub struct Interleaving(pub Stride);

impl<'de> Deserialize<'de> for Interleaving {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Size::deserialize(from)?.0.0;
        if bytes.is_power_of_two() && bytes >= LINE as u64 {
            return Ok(Self(Stride::of(bytes)));
        }
        Err(Error::custom(format!("must be a power of two, and a line of {LINE} B at least")))
    }
}

/// The latency of a link between partitions. It must be above zero.
#[derive(Clone, Copy, Debug)]
pub struct Crossing(pub Time);

impl<'de> Deserialize<'de> for Crossing {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Duration::deserialize(from)?.0 {
            Time::ZERO => {
                Err(Error::custom("must be longer than 0: a wire at which the machine can be cut has a latency"))
            }
            time => Ok(Self(time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: serde::de::DeserializeOwned>(written: &str) -> Result<T, String> {
        let mut table = format!("value = {written}").parse::<toml::Table>().expect("it is TOML");
        T::deserialize(table.remove("value").expect("it has a value")).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn numbers_are_bounded_on_both_sides() {
        assert_eq!(read::<Positive<8>>("8"), Ok(Positive(8)));
        assert_eq!(read::<Positive<8>>("0"), Err("must be at least 1".to_owned()));
        assert_eq!(read::<Positive<8>>("-3"), Err("must be at least 1".to_owned()));
        assert_eq!(read::<Number<8>>("9"), Err("can be 8 at most".to_owned()));
        assert_eq!(read::<Number<8>>("0"), Ok(Number(0)));
        assert_eq!(read::<Number<8>>("\"8\""), Err("must be a whole number, not \"8\"".to_owned()));
        assert_eq!(read::<PowerOfTwo<8>>("6"), Err("must be a power of two".to_owned()));
        assert_eq!(read::<PowerOfTwo<8>>("4"), Ok(PowerOfTwo(4)));
    }

    #[test]
    fn a_word_that_is_not_in_a_list_is_reported_with_the_list() {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct Fruit(u8);
        impl Choice for Fruit {
            fn words() -> Vec<(&'static str, Self)> {
                vec![("apple", Fruit(1)), ("pear", Fruit(2))]
            }
        }
        assert_eq!(read("\"pear\""), Ok(OneOf(Fruit(2))));
        let wrong = |written| read::<OneOf<Fruit>>(written).expect_err("it is none");
        assert_eq!(wrong("\"aple\""), "must be one of apple, pear (did you mean 'apple'?)");
        assert_eq!(wrong("3"), "must be one of apple, pear");
    }
}
