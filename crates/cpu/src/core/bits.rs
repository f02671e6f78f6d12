//! A bit set over the places of a ring.

pub struct Bits(Box<[u64]>);

impl Bits {
    /// An empty set over `places` places, a multiple of 64.
    pub fn new(places: usize) -> Self {
        Self(vec![0; places / 64].into_boxed_slice())
    }

    pub fn set(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    pub fn clear(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    /// The first number from `first` to `end` (exclusive) whose place is in the set.
    pub fn next(&self, mut first: u64, end: u64) -> Option<u64> {
        let last_word = self.0.len() - 1;
        while first < end {
            let word = self.0[(first as usize / 64) & last_word] >> (first % 64);
            if word != 0 {
                first += u64::from(word.trailing_zeros());
                return (first < end).then_some(first);
            }
            first = (first / 64 + 1) * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_the_order_of_their_numbers_around_the_ring() {
        let mut bits = Bits::new(128);
        for number in [250, 257, 300] {
            bits.set(number % 128);
        }
        assert_eq!(bits.next(249, 377), Some(250));
        assert_eq!(bits.next(251, 377), Some(257));
        assert_eq!(bits.next(258, 377), Some(300));
        assert_eq!((bits.next(258, 300), bits.next(301, 377)), (None, None));
        bits.clear(250 % 128);
        assert_eq!(bits.next(249, 377), Some(257));
    }
}
