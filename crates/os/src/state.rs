//! The encoding of a process's state in a checkpoint.
//!
//! Values follow each other without names or padding: integers in little-endian order, lists after their length,
//! variants after their number. The [`state!`] macro lists the fields of a type once and encodes and decodes them in
//! that order. It takes types apart completely, so that a new field does not compile until it is listed.
//!
//! A checkpoint is read only by the build that has written it, so the encoding needs no versions of its own.

use mem::{Bytes, PhysAddr, VirtAddr};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
};

/// Encoded state that can't be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

impl Unreadable {
    pub fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }
}

pub type Read<T> = Result<T, Unreadable>;

/// Encoded state, read from the front.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| Unreadable::new("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Fails if anything is left.
    pub fn finish(self) -> Read<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Unreadable::new("it is longer than its contents")) }
    }
}

/// A part of the state of a process.
pub trait State: Sized {
    fn save(&self, to: &mut Vec<u8>);
    fn load(from: &mut Reader) -> Read<Self>;
}

/// Implements [`State`] for a structure or an enumeration.
macro_rules! state {
    (struct $name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::state::State for $name {
            fn save(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::state::State::save($field, to);)*
            }

            fn load(from: &mut $crate::state::Reader) -> $crate::state::Read<Self> {
                Ok(Self { $($field: $crate::state::State::load(from)?),* })
            }
        }
    };
    (tuple $name:ident) => {
        impl $crate::state::State for $name {
            fn save(&self, to: &mut Vec<u8>) {
                let Self(value) = self;
                $crate::state::State::save(value, to);
            }

            fn load(from: &mut $crate::state::Reader) -> $crate::state::Read<Self> {
                Ok(Self($crate::state::State::load(from)?))
            }
        }
    };
    (enum $name:ident { $($number:literal $variant:ident $(($($value:ident),*))? $({ $($field:ident),* })?),* $(,)? }) => {
        impl $crate::state::State for $name {
            fn save(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($value),*))? $({ $($field),* })? => {
                        to.push($number);
                        $($($crate::state::State::save($value, to);)*)?
                        $($($crate::state::State::save($field, to);)*)?
                    })*
                }
            }

            fn load(from: &mut $crate::state::Reader) -> $crate::state::Read<Self> {
                match <u8 as $crate::state::State>::load(from)? {
                    $($number => {
                        $($(let $value = $crate::state::State::load(from)?;)*)?
                        $($(let $field = $crate::state::State::load(from)?;)*)?
                        Ok(Self::$variant $(($($value),*))? $({ $($field),* })?)
                    })*
                    other => Err($crate::state::Unreadable(format!(concat!(stringify!($name), " {}"), other))),
                }
            }
        }
    };
}
pub(crate) use state;

macro_rules! integers {
    ($($integer:ident)*) => {
        $(impl State for $integer {
            fn save(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }

            fn load(from: &mut Reader) -> Read<Self> {
                let bytes = from.take(size_of::<Self>())?;
                Ok(Self::from_le_bytes(bytes.try_into().expect("as many bytes as were taken")))
            }
        })*
    };
}

integers!(u8 u16 u32 u64 i32);

impl State for usize {
    fn save(&self, to: &mut Vec<u8>) {
        (*self as u64).save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        usize::try_from(u64::load(from)?).map_err(Unreadable::new)
    }
}

impl State for bool {
    fn save(&self, to: &mut Vec<u8>) {
        to.push((*self).into());
    }

    fn load(from: &mut Reader) -> Read<Self> {
        match u8::load(from)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Unreadable(format!("a truth value {other}"))),
        }
    }
}

impl State for String {
    fn save(&self, to: &mut Vec<u8>) {
        self.len().save(to);
        to.extend(self.as_bytes());
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let length = usize::load(from)?;
        String::from_utf8(from.take(length)?.to_vec()).map_err(Unreadable::new)
    }
}

impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Vec<u8>) {
        self.is_some().save(to);
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader) -> Read<Self> {
        bool::load(from)?.then(|| T::load(from)).transpose()
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn save(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let values: Vec<T> = (0..N).map(|_| T::load(from)).collect::<Read<_>>()?;
        Ok(values.try_into().unwrap_or_else(|_| unreachable!("as many values as were read")))
    }
}

macro_rules! lists {
    ($($list:ident $bound:path;)*) => {
        $(impl<T: $bound> State for $list<T> {
            fn save(&self, to: &mut Vec<u8>) {
                self.len().save(to);
                self.iter().for_each(|value| value.save(to));
            }

            fn load(from: &mut Reader) -> Read<Self> {
                (0..usize::load(from)?).map(|_| T::load(from)).collect()
            }
        })*
    };
}

/// Types that can be in an ordered set.
pub trait Ordered: State + Ord {}
impl<T: State + Ord> Ordered for T {}

lists! { Vec State; VecDeque State; BTreeSet Ordered; }

impl<K: State + Ord, V: State> State for BTreeMap<K, V> {
    fn save(&self, to: &mut Vec<u8>) {
        self.len().save(to);
        self.iter().for_each(|(key, value)| {
            key.save(to);
            value.save(to);
        });
    }

    fn load(from: &mut Reader) -> Read<Self> {
        (0..usize::load(from)?).map(|_| Ok((K::load(from)?, V::load(from)?))).collect()
    }
}

impl<A: State, B: State> State for (A, B) {
    fn save(&self, to: &mut Vec<u8>) {
        self.0.save(to);
        self.1.save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        Ok((A::load(from)?, B::load(from)?))
    }
}

impl State for engine::Time {
    fn save(&self, to: &mut Vec<u8>) {
        self.0.save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        u64::load(from).map(Self)
    }
}

macro_rules! addresses {
    ($($address:ident)*) => {
        $(impl State for $address {
            fn save(&self, to: &mut Vec<u8>) {
                self.0.save(to);
            }

            fn load(from: &mut Reader) -> Read<Self> {
                u64::load(from).map(Self)
            }
        })*
    };
}

addresses!(Bytes PhysAddr VirtAddr);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Shape {
        Empty,
        Line(u64),
        Box { size: [u32; 2], name: Option<String> },
    }

    state!(enum Shape { 0 Empty, 1 Line(length), 2 Box { size, name } });

    fn saved(value: &impl State) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.save(&mut bytes);
        bytes
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let shapes = vec![
            (true, Shape::Empty),
            (false, Shape::Line(1 << 40)),
            (true, Shape::Box { size: [3, 4], name: Some("a".into()) }),
        ];
        let bytes = saved(&shapes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(Vec::load(&mut reader), Ok(shapes));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn what_is_cut_off_or_no_value_is_an_error() {
        let bytes = saved(&vec![7u64; 3]);
        for end in 0..bytes.len() {
            assert!(Vec::<u64>::load(&mut Reader::new(&bytes[..end])).is_err(), "{end}");
        }
        assert!(Shape::load(&mut Reader::new(&[3])).unwrap_err().0.contains("Shape 3"));
        assert!(bool::load(&mut Reader::new(&[2])).is_err());
        let endless = saved(&u64::MAX);
        assert!(Vec::<u64>::load(&mut Reader::new(&endless)).is_err(), "no memory is taken for what is not there");
        assert!(String::load(&mut Reader::new(&endless)).is_err());
    }
}
