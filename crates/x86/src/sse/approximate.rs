//! `rcpps` and `rsqrtps`. The manual specifies a relative error below 1.5 * 2^-12 and leaves the bits open; here they
//! are those of Intel's processors. The function is evaluated at the middle of the interval given by the operand's
//! leading bits (11 and 10 of the fraction), and rounded to 12 bits of fraction. Denormals count as zeros, and no flag
//! changes.

use super::Mxcsr;
use super::float::{indefinite, is_nan, quieted};
use super::lanes::{f32s, from_f32s};

/// A magnitude of zero or infinity with the sign of `value`.
fn signed(value: f32, magnitude: f32) -> f32 {
    magnitude.copysign(value)
}

/// The operand's significand truncated to `bits` fraction bits, plus half a unit: a number between 1 and 2.
fn middle(value: f32, bits: u32) -> f64 {
    let fraction = (value.to_bits() & 0x7f_ffff) >> (23 - bits);
    1.0 + (f64::from(fraction) + 0.5) / f64::from(1u32 << bits)
}

fn reciprocal(value: f32) -> f32 {
    if is_nan(value) {
        return quieted(value);
    }
    let field = (value.to_bits() >> 23 & 0xff) as i32;
    match field {
        0 => signed(value, f32::INFINITY),
        // The result would be denormal.
        253.. => signed(value, 0.0),
        _ => {
            let nearest = (1.0 / middle(value, 11) * 8192.0 + 0.5).floor() / 8192.0;
            let scale = f64::from_bits(((1023 - (field - 127)) as u64) << 52);
            signed(value, (nearest * scale) as f32)
        }
    }
}

fn reciprocal_root(value: f32) -> f32 {
    if is_nan(value) {
        return quieted(value);
    }
    let field = (value.to_bits() >> 23 & 0xff) as i32;
    if field == 0 {
        return signed(value, f32::INFINITY);
    }
    if value.is_sign_negative() {
        return indefinite();
    }
    if value.is_infinite() {
        return 0.0;
    }
    let exponent = field - 127;
    let odd = exponent & 1 != 0;
    let (middle, unit) = if odd { (middle(value, 10) / 2.0, 4096.0) } else { (middle(value, 10), 8192.0) };
    let nearest = (1.0 / middle.sqrt() * unit + 0.5).floor() / unit;
    let halved = (exponent + i32::from(odd)) / 2;
    (nearest * f64::from_bits(((1023 - halved) as u64) << 52)) as f32
}

pub(super) fn reciprocals(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    from_f32s(f32s(b).map(reciprocal))
}

pub(super) fn reciprocal_roots(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    from_f32s(f32s(b).map(reciprocal_root))
}

pub(super) fn reciprocal_single(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    a & !0xffff_ffff | u128::from(reciprocal(f32::from_bits(b as u32)).to_bits())
}

pub(super) fn reciprocal_root_single(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    a & !0xffff_ffff | u128::from(reciprocal_root(f32::from_bits(b as u32)).to_bits())
}
