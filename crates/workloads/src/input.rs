//! Random inputs, equal on every machine and in every run.

use rand_pcg::{
    Pcg32,
    rand_core::{RngCore, SeedableRng},
};

/// Random numbers from a fixed seed.
///
/// The mappings to ranges are implemented here, so that inputs do not change when a library changes.
pub struct Rng(Pcg32);

impl Rng {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Pcg32::seed_from_u64(seed))
    }

    /// Any 32-bit number.
    pub fn u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Any 64-bit number.
    pub fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number less than `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.u32()) * u64::from(bound)) >> 32) as u32
    }

    /// A random number from `low` to `high` in steps of 2^-24 of the range. `high` is excluded, except by rounding.
    pub fn f32(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.u32() >> 8) as f32 / (1 << 24) as f32)
    }

    /// `count` numbers between `low` and `high`.
    pub fn f32s(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        (0..count).map(|_| self.f32(low, high)).collect()
    }

    /// `count` 32-bit numbers.
    pub fn u32s(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.u32()).collect()
    }

    /// `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.u32() >> 24) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_everywhere() {
        let mut rng = Rng::new(1);
        assert_eq!([rng.u32(), rng.u32(), rng.u32()], [866_585_574, 2_109_535_214, 3_403_630_417]);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut rng = Rng::new(7);
        assert!((0..1000).all(|_| rng.below(10) < 10));
        assert!(rng.f32s(1000, -2.0, 3.0).iter().all(|x| (-2.0..=3.0).contains(x)));
    }
}
