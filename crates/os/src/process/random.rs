//! The random numbers of the kernel: every run of a program draws the same.

use crate::state::{Read, Reader, State};
use rand_pcg::{Pcg64Mcg, rand_core::RngCore};

/// The fixed seed.
const SEED: u128 = 0xc0_4e51_0c04_e510;

pub(crate) struct Random {
    generator: Pcg64Mcg,
    /// Numbers of 64 bits drawn so far.
    drawn: u64,
}

impl Random {
    pub fn new() -> Self {
        Self { generator: Pcg64Mcg::new(SEED), drawn: 0 }
    }

    pub fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.drawn += bytes.len().div_ceil(8) as u64;
        self.generator.fill_bytes(bytes);
    }
}

impl State for Random {
    fn save(&self, to: &mut Vec<u8>) {
        self.drawn.save(to);
    }

    fn load(from: &mut Reader) -> Read<Self> {
        let (mut random, drawn) = (Self::new(), u64::load(from)?);
        random.generator.advance(drawn.into());
        Ok(Self { drawn, ..random })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_loaded_draws_what_would_have_been_drawn() {
        let (mut random, mut saved) = (Random::new(), Vec::new());
        [1, 16, 13, 8].into_iter().for_each(|length| random.fill_bytes(&mut vec![0; length]));
        random.save(&mut saved);
        let mut loaded = Random::load(&mut Reader::new(&saved)).unwrap();
        let draw = |random: &mut Random| {
            let mut bytes = [0; 24];
            random.fill_bytes(&mut bytes);
            bytes
        };
        assert_eq!(draw(&mut loaded), draw(&mut random));
    }
}
