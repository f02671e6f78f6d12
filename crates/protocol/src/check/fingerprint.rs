//! The hash that stands for a state.
//!
//! A checked state consists of many small numbers, most of them below 128. They are packed, one byte each if they
//! fit, and mixed by a 128-bit multiplication, eight bytes at a time. The packing is lossless: a larger number is a
//! marker and its eight bytes. So the only possible error is that two states are mixed to the same 64 bits.

use std::hash::Hasher;

/// Odd numbers without a pattern: digits of pi.
const SEED: u64 = 0x243f_6a88_85a3_08d3;
const MIX: u64 = 0x1319_8a2e_0370_7345;
/// The marker before a number that does not fit in seven bits.
const LARGE: u8 = 0x80;

/// Packs, then mixes.
pub struct Fingerprint {
    state: u64,
    /// Bytes not mixed in yet, the latest in the lowest bits.
    pending: u64,
    count: u32,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { state: SEED, pending: 0, count: 0 }
    }
}

impl Fingerprint {
    #[inline(always)]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(MIX);
        self.state = (product as u64) ^ ((product >> 64) as u64) ^ word.rotate_left(32);
    }

    #[inline(always)]
    fn number(&mut self, number: u64) {
        if number < u64::from(LARGE) {
            self.write_u8(number as u8);
        } else {
            self.write_u8(LARGE);
            self.write(&number.to_le_bytes());
        }
    }
}

impl Hasher for Fingerprint {
    #[inline(always)]
    fn write_u8(&mut self, byte: u8) {
        self.pending = self.pending << 8 | u64::from(byte);
        self.count += 1;
        if self.count.is_multiple_of(8) {
            self.mix(self.pending);
            self.pending = 0;
        }
    }

    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u8(byte));
    }

    #[inline(always)]
    fn write_u16(&mut self, number: u16) {
        self.number(number.into());
    }

    #[inline(always)]
    fn write_u32(&mut self, number: u32) {
        self.number(number.into());
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.number(number);
    }

    #[inline(always)]
    fn write_usize(&mut self, number: usize) {
        self.number(number as u64);
    }

    #[inline(always)]
    fn write_isize(&mut self, number: isize) {
        self.number(number as u64);
    }

    fn finish(&self) -> u64 {
        let mut last = Self { ..*self };
        last.mix(self.pending);
        last.mix(u64::from(self.count));
        last.mix(SEED);
        last.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::Hash;

    fn print(value: impl Hash) -> u64 {
        let mut hasher = Fingerprint::default();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn numbers_and_sequences_that_differ_have_different_fingerprints() {
        let mut prints = HashSet::new();
        for first in 0..300_u64 {
            for second in 0..300_u64 {
                assert!(prints.insert(print((first, second))), "{first} {second}");
            }
            assert!(prints.insert(print(first)), "{first}");
        }
    }

    #[test]
    fn trailing_zeros_count() {
        assert_ne!(print([0_u8; 3].as_slice()), print([0_u8; 4].as_slice()));
        assert_ne!(print(0_u8), print((0_u8, 0_u8)));
    }

    #[test]
    fn each_bit_of_the_input_moves_about_half_of_the_output() {
        for bit in 0..64 {
            let moved = (print((7_u8, 1_u64 << bit)) ^ print((7_u8, 0_u64))).count_ones();
            assert!((12..=52).contains(&moved), "bit {bit} moves {moved} bits");
        }
    }
}
