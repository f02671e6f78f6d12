//! Integer products, and sums of absolute differences.

use super::Mxcsr;
use super::lanes::*;

macro_rules! products {
    ($($name:ident: $split:ident $join:ident $operation:expr;)*) => {
        $(pub(super) fn $name(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
            $join(zip($split(a), $split(b), $operation))
        })*
    };
}

products! {
    pmull_w: u16s from_u16s u16::wrapping_mul;
    pmull_d: u32s from_u32s u32::wrapping_mul;
    pmulh_w: i16s from_i16s |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16;
    pmulhu_w: u16s from_u16s |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16;
    pmulhrs_w: i16s from_i16s |a, b| ((((i32::from(a) * i32::from(b)) >> 14) + 1) >> 1) as i16;
    pmulu_dq: u64s from_u64s |a, b| u64::from(a as u32) * u64::from(b as u32);
    pmul_dq: i64s from_i64s |a, b| i64::from(a as i32) * i64::from(b as i32);
}

/// `pmaddwd`: products of words, with adjacent ones added.
pub(super) fn pmadd_wd(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let products = zip(i16s(a), i16s(b), |a, b| i32::from(a) * i32::from(b));
    from_i32s(std::array::from_fn(|i| products[2 * i].wrapping_add(products[2 * i + 1])))
}

/// `pmaddubsw`: products of unsigned and signed bytes, with adjacent ones added with saturation.
pub(super) fn pmaddubs_w(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let (a, b) = (u8s(a), i8s(b));
    let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
    from_i16s(std::array::from_fn(|i| {
        (product(2 * i) + product(2 * i + 1)).clamp(i16::MIN.into(), i16::MAX.into()) as i16
    }))
}

/// `psadbw`: the sum of absolute differences in each half.
pub(super) fn psad_bw(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let differences = zip(u8s(a), u8s(b), u8::abs_diff);
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum();
    from_u64s([sum(&differences[..8]), sum(&differences[8..])])
}

/// `mpsadbw`: compares four bytes of the source with eight positions of the destination.
pub(super) fn mpsad_bw(_: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let (a, b) = (u8s(a), u8s(b));
    let (from, against) = (usize::from(imm >> 2 & 1) * 4, usize::from(imm & 3) * 4);
    from_u16s(std::array::from_fn(|i| (0..4).map(|j| u16::from(a[from + i + j].abs_diff(b[against + j]))).sum()))
}
