//! The set of nodes that may hold a line: exact, as in a full-map directory, and large enough for the largest
//! machine.

use std::hash::{Hash, Hasher};

const WORDS: usize = 3;

/// A set of nodes above a controller, by their numbers in its roster (see [`Place::above`](crate::Place::above)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sharers([u64; WORDS]);

impl Sharers {
    /// Maximum nodes that a directory can distinguish.
    pub const MOST: usize = 64 * WORDS;
    pub const NONE: Self = Self([0; WORDS]);
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// The set with only this node; empty if the number is too large.
    pub const fn one(number: u16) -> Self {
        let (mut words, word) = ([0; WORDS], number as usize / 64);
        if word < WORDS {
            words[word] = 1 << (number % 64);
        }
        Self(words)
    }

    pub fn is_empty(self) -> bool {
        self.0[0] | self.0[1] | self.0[2] == 0
    }

    pub fn len(self) -> u8 {
        self.0.iter().map(|word| word.count_ones() as u8).sum()
    }

    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Whether the sets have a common member.
    pub fn meets(self, other: Self) -> bool {
        !self.and(other).is_empty()
    }

    /// Adds the members of another set.
    pub fn add(&mut self, other: Self) {
        *self = self.or(other);
    }

    /// Their numbers, in order.
    pub fn numbers(self) -> impl Iterator<Item = u16> {
        let (mut left, mut word) = (self.0, 0);
        std::iter::from_fn(move || {
            while left[word] == 0 {
                word += 1;
                if word == WORDS {
                    word = 0;
                    return None;
                }
            }
            let number = left[word].trailing_zeros();
            left[word] &= left[word] - 1;
            Some(word as u16 * 64 + number as u16)
        })
    }
}

impl Hash for Sharers {
    /// Checked systems use only the first word: the others are hashed only if they are not zero.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0[0].hash(hasher);
        if self.0[1] | self.0[2] != 0 {
            (self.0[1], self.0[2]).hash(hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u16]) -> Sharers {
        numbers.iter().fold(Sharers::NONE, |all, number| all.or(Sharers::one(*number)))
    }

    #[test]
    fn numbers_come_in_order_from_every_word() {
        let numbers = [0, 1, 63, 64, 127, 128, 130, 191];
        let all = set(&numbers);
        assert_eq!(all.numbers().collect::<Vec<_>>(), numbers);
        assert_eq!((all.len(), Sharers::ALL.len()), (8, 192));
        assert_eq!(all.without(set(&[0, 64, 191])).numbers().collect::<Vec<_>>(), [1, 63, 127, 128, 130]);
    }

    #[test]
    fn sets_meet_only_if_they_have_a_common_member() {
        assert!(set(&[5, 130]).meets(set(&[130])));
        assert!(!set(&[5, 66]).meets(set(&[2, 69, 130])));
    }

    #[test]
    fn a_number_beyond_what_a_directory_can_record_gives_an_empty_set() {
        assert!(Sharers::one(Sharers::MOST as u16).is_empty());
        assert!(!Sharers::one(Sharers::MOST as u16 - 1).is_empty());
    }
}
