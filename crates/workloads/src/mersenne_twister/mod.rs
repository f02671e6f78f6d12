//! Random numbers of many Mersenne twisters: bit operations, and one large result.

use crate::{
    check::{Checked, equal},
    gpu::{Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};

pub const WORKLOAD: Workload = Workload {
    name: "mersenne-twister",
    about: "makes random numbers with a Mersenne twister (SFMT-607) for each work-item",
    source: include_str!("mersenne_twister.cl"),
    object: include_bytes!("mersenne_twister.hsaco"),
    host: include_str!("mersenne_twister.c"),
    sizes: |size| {
        let (streams, vectors) = shape(size);
        format!("{streams} streams of {vectors} vectors of four numbers")
    },
    run,
};

/// Number of streams, and vectors per stream.
fn shape(size: Size) -> (usize, usize) {
    size.pick((500, 4), (120_000, 16))
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let (streams, vectors) = shape(size);
    let seeds = Rng::new(34).u32s(streams);

    let (seed_buffer, out_buffer) = (gpu.upload(&seeds)?, gpu.alloc_of::<u32>(4 * vectors * streams)?);
    gpu.launch("mersenne_twister", NdRange::line(streams, 256), args![seed_buffer, out_buffer, streams, vectors])?;

    let mut twisters: Vec<Twister> = seeds.into_iter().map(Twister::new).collect();
    let expected: Vec<u32> =
        (0..vectors).flat_map(|_| twisters.iter_mut().flat_map(Twister::next).collect::<Vec<_>>()).collect();
    Ok(equal("out", &gpu.download(out_buffer, expected.len())?, &expected)?)
}

/// The SFMT of period 2^607 - 1: a state of five vectors of 128 bits.
struct Twister([u128; 5]);

impl Twister {
    fn new(seed: u32) -> Self {
        let mut words = [seed; 20];
        for i in 1..20 {
            let last = words[i - 1];
            words[i] = 1_812_433_253u32.wrapping_mul(last ^ last >> 30).wrapping_add(i as u32);
        }
        if (words[0] & 1 ^ words[3] & 0x5986_f054).count_ones().is_multiple_of(2) {
            words[0] ^= 1;
        }
        Self(std::array::from_fn(|i| join(std::array::from_fn(|j| words[4 * i + j]))))
    }

    /// The next four numbers.
    fn next(&mut self) -> [u32; 4] {
        const MASK: [u32; 4] = [0xfdff_37ff, 0xef7f_3f7d, 0xff77_7b7d, 0x7ff7_fb2f];
        let [a, b, c, d, e] = self.0;
        let c_words = words(c).map(|word| word >> 13);
        let masked = join(std::array::from_fn(|i| c_words[i] & MASK[i]));
        let next = a ^ a << 24 ^ masked ^ d >> 24 ^ join(words(e).map(|word| word << 15));
        self.0 = [b, c, d, e, next];
        words(next)
    }
}

fn join(words: [u32; 4]) -> u128 {
    words.iter().rev().fold(0, |all, &word| all << 32 | u128::from(word))
}

fn words(vector: u128) -> [u32; 4] {
    std::array::from_fn(|i| (vector >> (32 * i)) as u32)
}
