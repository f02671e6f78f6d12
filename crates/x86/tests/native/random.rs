//! Deterministic random choices.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{RngCore, SeedableRng};

pub struct Random(Pcg64Mcg);

impl Random {
    /// The choices for sequence `number` of a seed.
    pub fn new(seed: u64, number: u64) -> Random {
        Random(Pcg64Mcg::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub fn bits128(&mut self) -> u128 {
        u128::from(self.bits()) << 64 | u128::from(self.bits())
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() >> 11) as usize % limit
    }

    /// True with a probability of `percent`.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
