//! AES-128 in counter mode: table look-ups in constant memory and bit operations.

mod cipher;

use crate::{
    check::{Checked, equal},
    gpu::{Element, Gpu, NdRange, args},
    input::Rng,
    workload::{Size, Workload, WorkloadError},
};
use cipher::Cipher;

pub const WORKLOAD: Workload = Workload {
    name: "aes",
    about: "encrypts with AES-128 in counter mode",
    source: include_str!("aes.cl"),
    object: include_bytes!("aes.hsaco"),
    host: include_str!("aes.c"),
    sizes: |size| format!("{} blocks of 16 bytes", blocks(size)),
    run,
};

fn blocks(size: Size) -> usize {
    size.pick_usual(200, 200_000, 131_072 / 16)
}

fn run(size: Size, gpu: &mut dyn Gpu) -> Result<Checked, WorkloadError> {
    let n = blocks(size);
    let mut rng = Rng::new(8);
    let key: [u8; 16] = std::array::from_fn(|_| rng.u32() as u8);
    let nonce: [u8; 12] = std::array::from_fn(|_| rng.u32() as u8);
    let plain = rng.bytes(16 * n);
    let cipher = Cipher::new(&key);

    let (input, output) = (gpu.upload(&plain)?, gpu.alloc_of::<u8>(16 * n)?);
    let round_keys = gpu.upload(cipher.round_keys().as_flattened())?;
    let nonce_words = u32::from_bytes(&nonce);
    let [w0, w1, w2] = [nonce_words[0], nonce_words[1], nonce_words[2]];
    gpu.launch("aes_ctr", NdRange::line(n, 256), args![input, output, round_keys, n, w0, w1, w2])?;

    let mut expected = plain;
    for (i, block) in expected.chunks_mut(16).enumerate() {
        let mut counter = [0; 16];
        counter[..12].copy_from_slice(&nonce);
        counter[12..].copy_from_slice(&(i as u32).to_be_bytes());
        for (byte, key) in block.iter_mut().zip(cipher.encrypt(counter)) {
            *byte ^= key;
        }
    }
    Ok(equal("encrypted", &gpu.download(output, 16 * n)?, &expected)?)
}
