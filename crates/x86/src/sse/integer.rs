//! Packed integer arithmetic, comparisons, shifts and logic.

use super::Mxcsr;
use super::lanes::*;

/// Defines instruction functions that apply `f(destination, source)` to lanes.
macro_rules! lanewise {
    ($($name:ident: $split:ident $join:ident $operation:expr;)*) => {
        $(#[inline]
        pub(super) fn $name(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
            $join(zip($split(a), $split(b), $operation))
        })*
    };
}

lanewise! {
    padd_b: u8s from_u8s u8::wrapping_add;
    padd_w: u16s from_u16s u16::wrapping_add;
    padd_d: u32s from_u32s u32::wrapping_add;
    padd_q: u64s from_u64s u64::wrapping_add;
    psub_b: u8s from_u8s u8::wrapping_sub;
    psub_w: u16s from_u16s u16::wrapping_sub;
    psub_d: u32s from_u32s u32::wrapping_sub;
    psub_q: u64s from_u64s u64::wrapping_sub;
    padds_b: i8s from_i8s i8::saturating_add;
    padds_w: i16s from_i16s i16::saturating_add;
    paddus_b: u8s from_u8s u8::saturating_add;
    paddus_w: u16s from_u16s u16::saturating_add;
    psubs_b: i8s from_i8s i8::saturating_sub;
    psubs_w: i16s from_i16s i16::saturating_sub;
    psubus_b: u8s from_u8s u8::saturating_sub;
    psubus_w: u16s from_u16s u16::saturating_sub;
    pmins_b: i8s from_i8s i8::min;
    pmins_w: i16s from_i16s i16::min;
    pmins_d: i32s from_i32s i32::min;
    pminu_b: u8s from_u8s u8::min;
    pminu_w: u16s from_u16s u16::min;
    pminu_d: u32s from_u32s u32::min;
    pmaxs_b: i8s from_i8s i8::max;
    pmaxs_w: i16s from_i16s i16::max;
    pmaxs_d: i32s from_i32s i32::max;
    pmaxu_b: u8s from_u8s u8::max;
    pmaxu_w: u16s from_u16s u16::max;
    pmaxu_d: u32s from_u32s u32::max;
    pcmpeq_b: u8s from_u8s |a, b| u8::from(a == b).wrapping_neg();
    pcmpeq_w: u16s from_u16s |a, b| u16::from(a == b).wrapping_neg();
    pcmpeq_d: u32s from_u32s |a, b| u32::from(a == b).wrapping_neg();
    pcmpeq_q: u64s from_u64s |a, b| u64::from(a == b).wrapping_neg();
    pcmpgt_b: i8s from_i8s |a, b| -i8::from(a > b);
    pcmpgt_w: i16s from_i16s |a, b| -i16::from(a > b);
    pcmpgt_d: i32s from_i32s |a, b| -i32::from(a > b);
    pcmpgt_q: i64s from_i64s |a, b| -i64::from(a > b);
    pavg_b: u8s from_u8s |a, b| ((u16::from(a) + u16::from(b) + 1) >> 1) as u8;
    pavg_w: u16s from_u16s |a, b| ((u32::from(a) + u32::from(b) + 1) >> 1) as u16;
    psign_b: i8s from_i8s |a, b| a.wrapping_mul(b.signum());
    psign_w: i16s from_i16s |a, b| a.wrapping_mul(b.signum());
    psign_d: i32s from_i32s |a, b| a.wrapping_mul(b.signum());
}

pub(super) fn pand(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    a & b
}

pub(super) fn pandn(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    !a & b
}

pub(super) fn por(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    a | b
}

pub(super) fn pxor(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    a ^ b
}

pub(super) fn pabs_b(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    from_i8s(i8s(b).map(i8::wrapping_abs))
}

pub(super) fn pabs_w(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    from_i16s(i16s(b).map(i16::wrapping_abs))
}

pub(super) fn pabs_d(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    from_i32s(i32s(b).map(i32::wrapping_abs))
}

/// Shifts by the low half of the source register, or by the immediate. Counts beyond the lane's width give zeros, or
/// copies of the sign.
macro_rules! shifts {
    ($($by_register:ident $by_immediate:ident: $split:ident $join:ident $bits:literal $shift:expr;)*) => {
        $(pub(super) fn $by_register(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
            let count = (b as u64).min($bits) as u32;
            $join($split(a).map(|lane| $shift(lane, count)))
        }

        pub(super) fn $by_immediate(mxcsr: &mut Mxcsr, a: u128, _: u128, imm: u8) -> u128 {
            $by_register(mxcsr, a, imm.into(), 0)
        })*
    };
}

shifts! {
    psll_w psll_w_imm: u16s from_u16s 16 |lane: u16, count| lane.checked_shl(count).unwrap_or(0);
    psll_d psll_d_imm: u32s from_u32s 32 |lane: u32, count| lane.checked_shl(count).unwrap_or(0);
    psll_q psll_q_imm: u64s from_u64s 64 |lane: u64, count| lane.checked_shl(count).unwrap_or(0);
    psrl_w psrl_w_imm: u16s from_u16s 16 |lane: u16, count| lane.checked_shr(count).unwrap_or(0);
    psrl_d psrl_d_imm: u32s from_u32s 32 |lane: u32, count| lane.checked_shr(count).unwrap_or(0);
    psrl_q psrl_q_imm: u64s from_u64s 64 |lane: u64, count| lane.checked_shr(count).unwrap_or(0);
    psra_w psra_w_imm: i16s from_i16s 16 |lane: i16, count: u32| lane >> count.min(15);
    psra_d psra_d_imm: i32s from_i32s 32 |lane: i32, count: u32| lane >> count.min(31);
}

/// `pslldq`: shifts by bytes.
pub(super) fn psll_dq(_: &mut Mxcsr, a: u128, _: u128, imm: u8) -> u128 {
    a.checked_shl(u32::from(imm) * 8).unwrap_or(0)
}

/// `psrldq`: shifts by bytes.
pub(super) fn psrl_dq(_: &mut Mxcsr, a: u128, _: u128, imm: u8) -> u128 {
    a.checked_shr(u32::from(imm) * 8).unwrap_or(0)
}

/// Adds or subtracts adjacent lanes of the first operand, then of the second.
macro_rules! horizontal {
    ($($name:ident: $split:ident $join:ident $half:literal $operation:expr;)*) => {
        $(pub(super) fn $name(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
            let (a, b) = ($split(a), $split(b));
            $join(std::array::from_fn(|i| {
                let (from, i) = if i < $half { (a, i) } else { (b, i - $half) };
                $operation(from[2 * i], from[2 * i + 1])
            }))
        })*
    };
}

horizontal! {
    phadd_w: u16s from_u16s 4 u16::wrapping_add;
    phadd_d: u32s from_u32s 2 u32::wrapping_add;
    phadds_w: i16s from_i16s 4 i16::saturating_add;
    phsub_w: u16s from_u16s 4 u16::wrapping_sub;
    phsub_d: u32s from_u32s 2 u32::wrapping_sub;
    phsubs_w: i16s from_i16s 4 i16::saturating_sub;
}

/// `phminposuw`: the smallest word and its index.
pub(super) fn phminpos_uw(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let (at, least) = (0u128..).zip(u16s(b)).min_by_key(|&(_, word)| word).expect("eight words");
    u128::from(least) | at << 16
}

/// `pmovmskb`: the top bit of each byte.
pub(super) fn byte_signs(_: &mut Mxcsr, b: u128, _: u8) -> u64 {
    u8s(b).iter().rev().fold(0, |mask, byte| mask << 1 | u64::from(byte >> 7))
}

/// `movmskps`.
pub(super) fn single_signs(_: &mut Mxcsr, b: u128, _: u8) -> u64 {
    u32s(b).iter().rev().fold(0, |mask, lane| mask << 1 | u64::from(lane >> 31))
}

/// `movmskpd`.
pub(super) fn double_signs(_: &mut Mxcsr, b: u128, _: u8) -> u64 {
    u64s(b).iter().rev().fold(0, |mask, lane| mask << 1 | lane >> 63)
}

/// `ptest`: ZF if no bit is set in both operands, CF if no bit is set only in the second.
pub(super) fn ptest(_: &mut Mxcsr, a: u128, b: u128) -> u64 {
    use crate::flags::{CF, ZF};
    (if a & b == 0 { ZF } else { 0 }) | if !a & b == 0 { CF } else { 0 }
}
