//! The storage cost of HALCONE's timestamps (`[halcone 3.2.5]`, `[halcone 3.2.6]`).

use crate::catalogue::Storage;
use mem::Bytes;

/// Bits of each `rts`, `wts` and `memts`.
const STAMP_BITS: u64 = 16;
/// Bits of a cache's `cts`, which survives the overflows of the other timestamps.
const CTS_BITS: u64 = 64;

/// The GPU of `[halcone Table 2]`: 32 compute units with an L1 of 16 KB each, and 8 L2 banks of 256 KB; lines of 64
/// bytes.
const LINE: u64 = 64;
const L1S: u64 = 32;
const L1: u64 = 16 << 10;
const L2S: u64 = 8;
const L2: u64 = 256 << 10;

/// The storage per GPU.
pub fn storage() -> Vec<Storage> {
    let lines_in_l2 = L2S * L2 / LINE;
    let bytes = |bits: u64| Bytes(bits / 8);
    vec![
        Storage { what: "TSU: memts of every line of the L2", bytes: bytes(lines_in_l2 * STAMP_BITS) },
        Storage { what: "L2: rts and wts of every line", bytes: bytes(lines_in_l2 * 2 * STAMP_BITS) },
        Storage { what: "one L1: rts and wts of every line", bytes: bytes(L1 / LINE * 2 * STAMP_BITS) },
        Storage { what: "cts of every L1 and every bank of the L2", bytes: bytes((L1S + L2S) * CTS_BITS) },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_figures_come_out() {
        let bytes: Vec<u64> = storage().iter().map(|storage| storage.bytes.0).collect();
        assert_eq!(bytes, [64 << 10, 128 << 10, 1 << 10, 320]);
    }
}
