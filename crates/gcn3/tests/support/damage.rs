//! Random damage to files, for bounded tests and for `cargo xtask fuzz`.

use mem::SplitMix64;

/// Extreme values of fields.
pub const EDGES: [u64; 10] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];

/// Changes, copies, cuts or inserts a few bytes.
pub fn damage_once(file: &mut Vec<u8>, random: &mut SplitMix64) {
    let at = random.below(file.len());
    // Headers and tables are a small part of the file, so they are chosen more often.
    let at = if random.below(2) == 0 { at.min(random.below(0x400)) } else { at };
    match random.below(6) {
        0 => file[at] ^= 1 << random.below(8),
        1 => file[at] = random.draw() as u8,
        2 => {
            let width = 1 << random.below(4);
            let bytes = EDGES[random.below(EDGES.len())].to_le_bytes();
            let end = (at + width).min(file.len());
            file[at..end].copy_from_slice(&bytes[..end - at]);
        }
        3 => {
            let width = random.below(64).min(file.len() - at);
            let from = random.below(file.len() - width);
            file.copy_within(from..from + width, at);
        }
        4 if file.len() > 256 => file.truncate(file.len() - random.below(file.len() / 8)),
        _ => {
            let width = random.below(16);
            let bytes: Vec<u8> = (0..width).map(|_| random.draw() as u8).collect();
            file.splice(at..at, bytes);
        }
    }
}
