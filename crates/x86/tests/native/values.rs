//! Interesting values: ends of ranges, powers of two, numbers of all classes, and random bits.

use super::random::Random;

pub fn integer(random: &mut Random) -> u64 {
    const ENDS: [u64; 14] = [
        0,
        1,
        2,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        i64::MAX as u64,
        1 << 63,
    ];
    match random.below(6) {
        0 => random.pick(&ENDS),
        1 => random.pick(&ENDS).wrapping_neg(),
        2 => 1 << random.below(64),
        3 => random.bits() >> random.below(64),
        4 => (random.bits() as i64 >> random.below(64)) as u64,
        _ => random.bits(),
    }
}

/// An IEEE number with these numbers of fraction and exponent bits.
fn float(random: &mut Random, fraction: u32, exponent: u32) -> u64 {
    let (bias, top) = ((1u64 << (exponent - 1)) - 1, (1u64 << exponent) - 1);
    let mask = (1u64 << fraction) - 1;
    let sign = (random.bits() & 1) << (fraction + exponent);
    let digits = match random.below(5) {
        0 => 0,
        1 => mask,
        2 => 1 << random.below(fraction as usize),
        3 => random.bits() & mask & !(mask >> random.below(fraction as usize)),
        _ => random.bits() & mask,
    };
    let field = match random.below(12) {
        0 => 0,
        1 => top,
        2 => top - 1,
        3 => 1,
        4 => random.bits() & top,
        5 => bias + random.below(70) as u64,
        _ => bias + random.below(8) as u64 - 4,
    };
    sign | field << fraction | digits
}

pub fn single(random: &mut Random) -> u32 {
    float(random, 23, 8) as u32
}

pub fn double(random: &mut Random) -> u64 {
    float(random, 52, 11)
}

/// The ten bytes of an 80-bit number; one in forty has a leading bit that is invalid for its exponent.
pub fn extended(random: &mut Random) -> [u8; 10] {
    let exponent = match random.below(14) {
        0 => 0,
        1 => 0x7fff,
        2 => 0x7ffe,
        3 => 1,
        4 => random.bits() as u16 & 0x7fff,
        5 => 0x3fff + random.below(80) as u16,
        6 => 0x3c01 + random.below(3) as u16,
        7 => 0x3f81 + random.below(3) as u16,
        _ => 0x3ffb + random.below(9) as u16,
    };
    let mut significand = match random.below(5) {
        0 => 0,
        1 => u64::MAX >> 1,
        2 => 1 << random.below(63),
        3 => random.bits() & !(u64::MAX >> random.below(63)),
        _ => random.bits(),
    };
    if exponent == 0 {
        significand &= u64::MAX >> 1;
    } else {
        significand |= 1 << 63;
    }
    if random.below(40) == 0 {
        significand ^= 1 << 63;
    }
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&significand.to_le_bytes());
    bytes[8..].copy_from_slice(&(exponent | (random.bits() as u16 & 0x8000)).to_le_bytes());
    bytes
}

/// Sixteen bytes: singles, doubles, small integers or random bits.
pub fn vector(random: &mut Random) -> u128 {
    match random.below(6) {
        0 | 1 => (0..4).fold(0, |sum, _| sum << 32 | u128::from(single(random))),
        2 | 3 => u128::from(double(random)) << 64 | u128::from(double(random)),
        4 => u128::from(integer(random)) << 64 | u128::from(integer(random)),
        _ => random.bits128(),
    }
}

/// MXCSR, in most cases with all exceptions masked.
pub fn mxcsr(random: &mut Random) -> u32 {
    if random.chance(30) {
        // The usual value after a program's first inexact result.
        return 0x1fa0;
    }
    let control = match random.below(4) {
        0 => 0,
        1 => (random.bits() as u32) & 0x6000,
        _ => (random.bits() as u32) & 0xe040,
    };
    let masks = if random.chance(85) { 0x1f80 } else { random.bits() as u32 & 0x1f80 };
    let flags = if random.chance(50) { random.bits() as u32 & 0x3f } else { 0 };
    control | masks | flags
}

/// The x87 control word, in most cases with all exceptions masked.
pub fn control(random: &mut Random) -> u16 {
    let masks = if random.chance(80) { 0x3f } else { random.bits() as u16 & 0x3f };
    let rest = if random.chance(50) { 0x300 } else { random.pick(&[0, 0x200, 0x300]) | random.bits() as u16 & 0xc00 };
    0x40 | masks | rest
}
