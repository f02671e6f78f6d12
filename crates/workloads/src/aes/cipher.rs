//! AES-128 as FIPS 197 defines it, byte by byte: the reference for the kernel, which works on words.

/// Multiplication in the field of 256 elements modulo x^8 + x^4 + x^3 + x + 1.
const fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 != 0 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

/// The inverse in the field (x^254), followed by an affine map.
const fn substitute(byte: u8) -> u8 {
    let mut inverse = 1;
    let mut i = 0;
    while i < 254 {
        inverse = times(inverse, byte);
        i += 1;
    }
    let i = inverse;
    i ^ i.rotate_left(1) ^ i.rotate_left(2) ^ i.rotate_left(3) ^ i.rotate_left(4) ^ 0x63
}

static SBOX: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = substitute(byte as u8);
        byte += 1;
    }
    table
};

type Block = [u8; 16];

/// An expanded key.
pub struct Cipher {
    round_keys: [Block; 11],
}

impl Cipher {
    pub fn new(key: &Block) -> Self {
        let mut words = [[0u8; 4]; 44];
        for (word, bytes) in words.iter_mut().zip(key.chunks(4)) {
            word.copy_from_slice(bytes);
        }
        let mut constant = 1;
        for i in 4..44 {
            let mut next = words[i - 1];
            if i % 4 == 0 {
                next.rotate_left(1);
                next = next.map(|b| SBOX[usize::from(b)]);
                next[0] ^= constant;
                constant = times(constant, 2);
            }
            words[i] = std::array::from_fn(|b| words[i - 4][b] ^ next[b]);
        }
        Self { round_keys: std::array::from_fn(|r| std::array::from_fn(|b| words[4 * r + b / 4][b % 4])) }
    }

    pub fn round_keys(&self) -> &[Block; 11] {
        &self.round_keys
    }

    pub fn encrypt(&self, block: Block) -> Block {
        let mut state = xor(block, self.round_keys[0]);
        for key in &self.round_keys[1..10] {
            state = xor(mix_columns(shift_rows(sub_bytes(state))), *key);
        }
        xor(shift_rows(sub_bytes(state)), self.round_keys[10])
    }
}

fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

fn sub_bytes(state: Block) -> Block {
    state.map(|b| SBOX[usize::from(b)])
}

/// Byte `i` is row `i % 4` of column `i / 4`; row r moves r columns to the left.
fn shift_rows(state: Block) -> Block {
    std::array::from_fn(|i| state[(i + 4 * (i % 4)) % 16])
}

fn mix_columns(state: Block) -> Block {
    let at = |i: usize, down: usize| state[i / 4 * 4 + (i + down) % 4];
    std::array::from_fn(|i| times(at(i, 0), 2) ^ times(at(i, 1), 3) ^ at(i, 2) ^ at(i, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C.1.
    #[test]
    fn the_standards_example_is_encrypted_right() {
        let key = std::array::from_fn(|i| i as u8);
        let plain = std::array::from_fn(|i| 0x11 * i as u8);
        let expected = 0x69c4e0d86a7b0430d8cdb78070b4c55a_u128.to_be_bytes();
        assert_eq!(Cipher::new(&key).encrypt(plain), expected);
    }
}
