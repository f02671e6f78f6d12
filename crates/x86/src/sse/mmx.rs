//! MMX: 64-bit registers that alias the significands of the x87 registers. Compilers no longer use them since SSE2, but
//! every x86-64 processor has them. Nearly every instruction is computed as the low half of the SSE instruction of the
//! same name.

use super::{Mxcsr, convert, integer, multiply, shuffle};
use MmxOperation::{Emms, FromGpr, FromXmm, Low, Masked, Own, Store, ToGpr, ToXmm};
use iced_x86::Code as C;

/// The operation of an instruction. `imm` is the immediate byte, 0 if there is none.
#[derive(Clone, Copy)]
pub enum MmxOperation {
    /// mm register and mm register or memory to mm register: the low half of `f(mxcsr, destination, source, imm)`.
    Low(fn(&mut Mxcsr, u128, u128, u8) -> u128),
    /// mm register and mm register or memory to mm register, by a separate function: `f(destination, source, imm)`.
    Own(fn(u64, u64, u8) -> u64),
    /// xmm register or memory to mm register: `f(mxcsr, source)`.
    FromXmm(fn(&mut Mxcsr, u128) -> u64),
    /// xmm register and mm register or memory to xmm register: `f(mxcsr, destination, source)`.
    ToXmm(fn(&mut Mxcsr, u128, u64) -> u128),
    /// mm register to general register: `f(source, imm)`.
    ToGpr(fn(u64, u8) -> u64),
    /// mm register and general register or memory to mm register: `f(destination, source, imm)`.
    FromGpr(fn(u64, u64, u8) -> u64),
    /// Stores this number of bytes of an mm register.
    Store(u8),
    /// `maskmovq`.
    Masked,
    /// `emms`.
    Emms,
}

/// The operation of an instruction; none if it does not use mm registers. `memory`: whether an operand is in memory.
pub fn mmx_operation(code: C, memory: bool) -> Option<MmxOperation> {
    if let Some(run) = low_half(code) {
        return Some(Low(run));
    }
    Some(match code {
        C::Punpckhbw_mm_mmm64 => {
            Own(|a, b, _| (shuffle::unpackl_b(&mut Mxcsr::default(), a.into(), b.into(), 0) >> 64) as u64)
        }
        C::Punpckhwd_mm_mmm64 => {
            Own(|a, b, _| (shuffle::unpackl_w(&mut Mxcsr::default(), a.into(), b.into(), 0) >> 64) as u64)
        }
        C::Punpckhdq_mm_mmm64 => {
            Own(|a, b, _| (shuffle::unpackl_d(&mut Mxcsr::default(), a.into(), b.into(), 0) >> 64) as u64)
        }
        C::Packsswb_mm_mmm64 => Own(|a, b, _| joined(shuffle::packss_wb, a, b)),
        C::Packuswb_mm_mmm64 => Own(|a, b, _| joined(shuffle::packus_wb, a, b)),
        C::Packssdw_mm_mmm64 => Own(|a, b, _| joined(shuffle::packss_dw, a, b)),
        C::Phaddw_mm_mmm64 => Own(|a, b, _| joined(integer::phadd_w, a, b)),
        C::Phaddd_mm_mmm64 => Own(|a, b, _| joined(integer::phadd_d, a, b)),
        C::Phsubw_mm_mmm64 => Own(|a, b, _| joined(integer::phsub_w, a, b)),
        C::Phsubd_mm_mmm64 => Own(|a, b, _| joined(integer::phsub_d, a, b)),
        C::Phaddsw_mm_mmm64 => Own(|a, b, _| joined(integer::phadds_w, a, b)),
        C::Phsubsw_mm_mmm64 => Own(|a, b, _| joined(integer::phsubs_w, a, b)),
        C::Pshufb_mm_mmm64 => Own(|a, b, _| {
            // Indices have three bits in MMX.
            low_of(shuffle::pshuf_b, a, b & 0x8787_8787_8787_8787)
        }),
        C::Palignr_mm_mmm64_imm8 => Own(|a, b, imm| {
            let both = u128::from(a) << 64 | u128::from(b);
            both.checked_shr(u32::from(imm) * 8).unwrap_or(0) as u64
        }),
        C::Movq_mm_mmm64 => Own(|_, b, _| b),
        C::Movq_mmm64_mm if memory => Store(8),
        C::Movq_mmm64_mm => Own(|_, b, _| b),
        C::Movntq_m64_mm => Store(8),
        C::Movd_mm_rm32 | C::Movq_mm_rm64 => FromGpr(|_, b, _| b),
        C::Movd_rm32_mm if memory => Store(4),
        C::Movd_rm32_mm => ToGpr(|b, _| b & 0xffff_ffff),
        C::Movq_rm64_mm if memory => Store(8),
        C::Movq_rm64_mm => ToGpr(|b, _| b),
        C::Pinsrw_mm_r32m16_imm8 | C::Pinsrw_mm_r64m16_imm8 => {
            FromGpr(|a, b, imm| shuffle::insert_w(&mut Mxcsr::default(), a.into(), b, imm & 3) as u64)
        }
        C::Pextrw_r32_mm_imm8 | C::Pextrw_r64_mm_imm8 => {
            ToGpr(|b, imm| shuffle::extract_w(&mut Mxcsr::default(), b.into(), imm & 3))
        }
        C::Pmovmskb_r32_mm | C::Pmovmskb_r64_mm => {
            ToGpr(|b, _| integer::byte_signs(&mut Mxcsr::default(), b.into(), 0))
        }
        C::Movdq2q_mm_xmm => FromXmm(|_, b| b as u64),
        C::Movq2dq_xmm_mm => ToXmm(|_, _, b| b.into()),
        C::Cvtpi2ps_xmm_mmm64 => ToXmm(|mxcsr, a, b| {
            let low = convert::integers_to_singles(mxcsr, 0, b.into(), 0);
            a >> 64 << 64 | u128::from(low as u64)
        }),
        C::Cvtpi2pd_xmm_mmm64 => ToXmm(|mxcsr, _, b| convert::integers_to_doubles(mxcsr, 0, b.into(), 0)),
        C::Cvtps2pi_mm_xmmm64 => FromXmm(singles_to_integers::<false>),
        C::Cvttps2pi_mm_xmmm64 => FromXmm(singles_to_integers::<true>),
        C::Cvtpd2pi_mm_xmmm128 => FromXmm(|mxcsr, b| convert::doubles_to_integers::<false>(mxcsr, 0, b, 0) as u64),
        C::Cvttpd2pi_mm_xmmm128 => FromXmm(|mxcsr, b| convert::doubles_to_integers::<true>(mxcsr, 0, b, 0) as u64),
        C::Maskmovq_rDI_mm_mm => Masked,
        C::Emms => Emms,
        _ => return None,
    })
}

/// Only the two low singles are converted.
fn singles_to_integers<const TRUNCATES: bool>(mxcsr: &mut Mxcsr, source: u128) -> u64 {
    convert::singles_to_integers::<TRUNCATES>(mxcsr, 0, u128::from(source as u64), 0) as u64
}

/// Executes an instruction that combines lanes of both operands, with both in one xmm register.
fn joined(run: Whole, a: u64, b: u64) -> u64 {
    run(&mut Mxcsr::default(), u128::from(b) << 64 | u128::from(a), 0, 0) as u64
}

fn low_of(run: Whole, a: u64, b: u64) -> u64 {
    run(&mut Mxcsr::default(), a.into(), b.into(), 0) as u64
}

/// A function on whole xmm registers.
type Whole = fn(&mut Mxcsr, u128, u128, u8) -> u128;

/// Instructions that are the low half of the SSE instruction of the same name.
fn low_half(code: C) -> Option<Whole> {
    Some(match code {
        C::Paddb_mm_mmm64 => integer::padd_b,
        C::Psubb_mm_mmm64 => integer::psub_b,
        C::Pcmpeqb_mm_mmm64 => integer::pcmpeq_b,
        C::Pcmpgtb_mm_mmm64 => integer::pcmpgt_b,
        C::Paddw_mm_mmm64 => integer::padd_w,
        C::Psubw_mm_mmm64 => integer::psub_w,
        C::Pcmpeqw_mm_mmm64 => integer::pcmpeq_w,
        C::Pcmpgtw_mm_mmm64 => integer::pcmpgt_w,
        C::Paddd_mm_mmm64 => integer::padd_d,
        C::Psubd_mm_mmm64 => integer::psub_d,
        C::Pcmpeqd_mm_mmm64 => integer::pcmpeq_d,
        C::Pcmpgtd_mm_mmm64 => integer::pcmpgt_d,
        C::Paddq_mm_mmm64 => integer::padd_q,
        C::Psubq_mm_mmm64 => integer::psub_q,
        C::Paddsb_mm_mmm64 => integer::padds_b,
        C::Paddusb_mm_mmm64 => integer::paddus_b,
        C::Psubsb_mm_mmm64 => integer::psubs_b,
        C::Psubusb_mm_mmm64 => integer::psubus_b,
        C::Pavgb_mm_mmm64 => integer::pavg_b,
        C::Paddsw_mm_mmm64 => integer::padds_w,
        C::Paddusw_mm_mmm64 => integer::paddus_w,
        C::Psubsw_mm_mmm64 => integer::psubs_w,
        C::Psubusw_mm_mmm64 => integer::psubus_w,
        C::Pavgw_mm_mmm64 => integer::pavg_w,
        C::Pminub_mm_mmm64 => integer::pminu_b,
        C::Pmaxub_mm_mmm64 => integer::pmaxu_b,
        C::Pminsw_mm_mmm64 => integer::pmins_w,
        C::Pmaxsw_mm_mmm64 => integer::pmaxs_w,
        C::Psignb_mm_mmm64 => integer::psign_b,
        C::Pabsb_mm_mmm64 => integer::pabs_b,
        C::Psignw_mm_mmm64 => integer::psign_w,
        C::Pabsw_mm_mmm64 => integer::pabs_w,
        C::Psignd_mm_mmm64 => integer::psign_d,
        C::Pabsd_mm_mmm64 => integer::pabs_d,
        C::Pand_mm_mmm64 => integer::pand,
        C::Pandn_mm_mmm64 => integer::pandn,
        C::Por_mm_mmm64 => integer::por,
        C::Pxor_mm_mmm64 => integer::pxor,
        C::Psllw_mm_mmm64 => integer::psll_w,
        C::Psllw_mm_imm8 => integer::psll_w_imm,
        C::Pslld_mm_mmm64 => integer::psll_d,
        C::Pslld_mm_imm8 => integer::psll_d_imm,
        C::Psllq_mm_mmm64 => integer::psll_q,
        C::Psllq_mm_imm8 => integer::psll_q_imm,
        C::Psrlw_mm_mmm64 => integer::psrl_w,
        C::Psrlw_mm_imm8 => integer::psrl_w_imm,
        C::Psrld_mm_mmm64 => integer::psrl_d,
        C::Psrld_mm_imm8 => integer::psrl_d_imm,
        C::Psrlq_mm_mmm64 => integer::psrl_q,
        C::Psrlq_mm_imm8 => integer::psrl_q_imm,
        C::Psraw_mm_mmm64 => integer::psra_w,
        C::Psraw_mm_imm8 => integer::psra_w_imm,
        C::Psrad_mm_mmm64 => integer::psra_d,
        C::Psrad_mm_imm8 => integer::psra_d_imm,
        C::Pmullw_mm_mmm64 => multiply::pmull_w,
        C::Pmulhw_mm_mmm64 => multiply::pmulh_w,
        C::Pmulhuw_mm_mmm64 => multiply::pmulhu_w,
        C::Pmulhrsw_mm_mmm64 => multiply::pmulhrs_w,
        C::Pmuludq_mm_mmm64 => multiply::pmulu_dq,
        C::Pmaddwd_mm_mmm64 => multiply::pmadd_wd,
        C::Pmaddubsw_mm_mmm64 => multiply::pmaddubs_w,
        C::Psadbw_mm_mmm64 => multiply::psad_bw,
        C::Pshufw_mm_mmm64_imm8 => shuffle::pshuf_lw,
        C::Punpcklbw_mm_mmm32 => shuffle::unpackl_b,
        C::Punpcklwd_mm_mmm32 => shuffle::unpackl_w,
        C::Punpckldq_mm_mmm32 => shuffle::unpackl_d,
        _ => return None,
    })
}
