//! Movements of lanes: shuffles, unpacking and packing, blends, insertion and extraction, extension.

use super::Mxcsr;
use super::lanes::*;

fn shuffle4<T: Copy>(lanes: [T; 4], imm: u8) -> [T; 4] {
    std::array::from_fn(|i| lanes[usize::from(imm >> (2 * i) & 3)])
}

pub(super) fn pshuf_d(_: &mut Mxcsr, _: u128, b: u128, imm: u8) -> u128 {
    from_u32s(shuffle4(u32s(b), imm))
}

pub(super) fn pshuf_lw(_: &mut Mxcsr, _: u128, b: u128, imm: u8) -> u128 {
    let [a, b, c, d, rest @ ..] = u16s(b);
    let [a, b, c, d] = shuffle4([a, b, c, d], imm);
    let [e, f, g, h] = rest;
    from_u16s([a, b, c, d, e, f, g, h])
}

pub(super) fn pshuf_hw(_: &mut Mxcsr, _: u128, b: u128, imm: u8) -> u128 {
    let [a, b, c, d, rest @ ..] = u16s(b);
    let [e, f, g, h] = shuffle4(rest, imm);
    from_u16s([a, b, c, d, e, f, g, h])
}

/// `pshufb`: selects bytes of the destination by the source's indices; zero where an index is negative.
pub(super) fn pshuf_b(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    let a = u8s(a);
    from_u8s(u8s(b).map(|index| if index >> 7 != 0 { 0 } else { a[usize::from(index & 15)] }))
}

pub(super) fn shuf_ps(_: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let (a, b) = (shuffle4(u32s(a), imm), shuffle4(u32s(b), imm));
    from_u32s([a[0], a[1], b[2], b[3]])
}

pub(super) fn shuf_pd(_: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    from_u64s([u64s(a)[usize::from(imm & 1)], u64s(b)[usize::from(imm >> 1 & 1)]])
}

/// Interleaves the lanes of the low or the high halves of both operands.
macro_rules! unpack {
    ($($low:ident $high:ident: $split:ident $join:ident $half:literal;)*) => {
        $(pub(super) fn $low(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
            let (a, b) = ($split(a), $split(b));
            $join(std::array::from_fn(|i| if i % 2 == 0 { a[i / 2] } else { b[i / 2] }))
        }

        pub(super) fn $high(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
            let (a, b) = ($split(a), $split(b));
            $join(std::array::from_fn(|i| if i % 2 == 0 { a[$half + i / 2] } else { b[$half + i / 2] }))
        })*
    };
}

unpack! {
    unpackl_b unpackh_b: u8s from_u8s 8;
    unpackl_w unpackh_w: u16s from_u16s 4;
    unpackl_d unpackh_d: u32s from_u32s 2;
    unpackl_q unpackh_q: u64s from_u64s 1;
}

/// Narrows the lanes of both operands to half their width, with saturation.
macro_rules! pack {
    ($($name:ident: $split:ident $join:ident $half:literal $from:ty => $to:ty;)*) => {
        $(pub(super) fn $name(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
            let (a, b) = ($split(a), $split(b));
            $join(std::array::from_fn(|i| {
                let lane = if i < $half { a[i] } else { b[i - $half] };
                lane.clamp(<$to>::MIN as $from, <$to>::MAX as $from) as $to
            }))
        })*
    };
}

pack! {
    packss_wb: i16s from_i8s 8 i16 => i8;
    packus_wb: i16s from_u8s 8 i16 => u8;
    packss_dw: i32s from_i16s 4 i32 => i16;
    packus_dw: i32s from_u16s 4 i32 => u16;
}

/// `palignr`: sixteen bytes of the concatenated operands, from a byte offset on.
pub(super) fn palign_r(_: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let places = u32::from(imm) * 8;
    match places {
        0 => b,
        1..128 => b >> places | a << (128 - places),
        128.. => a.checked_shr(places - 128).unwrap_or(0),
    }
}

/// `movhlps`.
pub(super) fn high_to_low(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    a >> 64 << 64 | b >> 64
}

/// `movlhps`.
pub(super) fn low_to_high(_: &mut Mxcsr, a: u128, b: u128, _: u8) -> u128 {
    u128::from(a as u64) | b << 64
}

/// `movddup`.
pub(super) fn duplicate_double(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    u128::from(b as u64) | b << 64
}

/// `movsldup`.
pub(super) fn duplicate_even(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let b = u32s(b);
    from_u32s([b[0], b[0], b[2], b[2]])
}

/// `movshdup`.
pub(super) fn duplicate_odd(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
    let b = u32s(b);
    from_u32s([b[1], b[1], b[3], b[3]])
}

/// Takes lanes of the source where a bit of the immediate is set.
macro_rules! blend {
    ($($name:ident: $split:ident $join:ident;)*) => {
        $(pub(super) fn $name(_: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
            let (a, b) = ($split(a), $split(b));
            $join(std::array::from_fn(|i| if imm >> i & 1 != 0 { b[i] } else { a[i] }))
        })*
    };
}

blend! {
    blend_w: u16s from_u16s;
    blend_d: u32s from_u32s;
    blend_q: u64s from_u64s;
}

/// Takes lanes of the source where the mask's lane is negative.
macro_rules! blend_by_sign {
    ($($name:ident: $split:ident $join:ident $signed:ident;)*) => {
        $(pub(super) fn $name(a: u128, b: u128, mask: u128) -> u128 {
            let (a, b, mask) = ($split(a), $split(b), $signed(mask));
            $join(std::array::from_fn(|i| if mask[i] < 0 { b[i] } else { a[i] }))
        })*
    };
}

blend_by_sign! {
    blendv_b: u8s from_u8s i8s;
    blendv_d: u32s from_u32s i32s;
    blendv_q: u64s from_u64s i64s;
}

/// `pinsrw` and similar.
macro_rules! insert {
    ($($insert:ident $extract:ident: $split:ident $join:ident $lane:ty, $count:literal;)*) => {
        $(pub(super) fn $insert(_: &mut Mxcsr, a: u128, value: u64, imm: u8) -> u128 {
            let mut lanes = $split(a);
            lanes[usize::from(imm) % $count] = value as $lane;
            $join(lanes)
        }

        pub(super) fn $extract(_: &mut Mxcsr, b: u128, imm: u8) -> u64 {
            u64::from($split(b)[usize::from(imm) % $count])
        })*
    };
}

insert! {
    insert_b extract_b: u8s from_u8s u8, 16;
    insert_w extract_w: u16s from_u16s u16, 8;
    insert_d extract_d: u32s from_u32s u32, 4;
    insert_q extract_q: u64s from_u64s u64, 2;
}

/// `insertps` from a register: `imm` selects the source lane, the destination lane, and the lanes to clear.
pub(super) fn insert_single(mxcsr: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    insert_loaded_single(mxcsr, a, u32s(b)[usize::from(imm >> 6)].into(), imm)
}

/// `insertps` from memory, which holds a single lane.
pub(super) fn insert_loaded_single(_: &mut Mxcsr, a: u128, b: u128, imm: u8) -> u128 {
    let mut lanes = u32s(a);
    lanes[usize::from(imm >> 4 & 3)] = b as u32;
    from_u32s(std::array::from_fn(|i| if imm >> i & 1 != 0 { 0 } else { lanes[i] }))
}

/// `pmovsx` and `pmovzx`: extend the low lanes.
macro_rules! extend {
    ($($name:ident: $split:ident $join:ident $to:ty;)*) => {
        $(pub(super) fn $name(_: &mut Mxcsr, _: u128, b: u128, _: u8) -> u128 {
            let lanes = $split(b);
            $join(std::array::from_fn(|i| <$to>::from(lanes[i])))
        })*
    };
}

extend! {
    sign_bw: i8s from_i16s i16;
    sign_bd: i8s from_i32s i32;
    sign_bq: i8s from_i64s i64;
    sign_wd: i16s from_i32s i32;
    sign_wq: i16s from_i64s i64;
    sign_dq: i32s from_i64s i64;
    zero_bw: u8s from_u16s u16;
    zero_bd: u8s from_u32s u32;
    zero_bq: u8s from_u64s u64;
    zero_wd: u16s from_u32s u32;
    zero_wq: u16s from_u64s u64;
    zero_dq: u32s from_u64s u64;
}
