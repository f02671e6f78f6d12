//! Random choices, reproducible from a seed.

use workloads::Rng;

pub struct Random(Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.u64()
    }

    /// A number below `limit`, which must not be zero.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0.below(u32::try_from(limit).expect("choices are few")) as usize
    }

    /// True with probability 1 / `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// A number at the limits of a field's range, a small one, or any.
    pub fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX - self.below(4096) as u64,
            2 => (1_u64 << self.below(64)).wrapping_sub(self.below(3) as u64),
            3 => self.below(65536) as u64,
            4 => 4096 * self.below(64) as u64,
            5 => self.bits(),
            _ => self.below(16) as u64,
        }
    }
}
