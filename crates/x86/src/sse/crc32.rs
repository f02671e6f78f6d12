//! The `crc32` instruction of SSE4.2: CRC-32C, bit-reflected, without the inversions before and after.

/// Continues the checksum `crc` with the low `bytes` bytes of `data`.
pub fn crc32(crc: u32, data: u64, bytes: u32) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    data.to_le_bytes()[..bytes as usize].iter().fold(crc, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 != 0 { POLYNOMIAL } else { 0 })
    })
}
