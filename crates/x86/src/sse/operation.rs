//! The function of each SSE instruction.

use super::{Mxcsr, StringResult, approximate, arith, compare, convert, integer, multiply, round, shuffle, strings};
use Operation::{Blend, Compare, FromGpr, Strings, ToGpr, Vector};
use iced_x86::Code as C;

/// The operation of an instruction. `imm` is the immediate byte, 0 if there is none.
#[derive(Clone, Copy)]
pub enum Operation {
    /// xmm register and xmm register or memory to xmm register: `f(mxcsr, destination, source, imm)`.
    Vector(fn(&mut Mxcsr, u128, u128, u8) -> u128),
    /// xmm register or memory to general register or memory: `f(mxcsr, source, imm)`.
    ToGpr(fn(&mut Mxcsr, u128, u8) -> u64),
    /// xmm register and general register or memory to xmm register: `f(mxcsr, destination, source, imm)`.
    FromGpr(fn(&mut Mxcsr, u128, u64, u8) -> u128),
    /// Two xmm operands to the flags (ZF, PF, CF at their RFLAGS positions; the others become zero): `f(mxcsr, first,
    /// second)`.
    Compare(fn(&mut Mxcsr, u128, u128) -> u64),
    /// xmm register, xmm register or memory, and xmm0 to xmm register (`blendvps`): `f(destination, source, xmm0)`.
    Blend(fn(u128, u128, u128) -> u128),
    /// The string comparisons of SSE4.2: `f(first, second, rax, rdx, imm)`. A memory operand need not be aligned.
    /// `to_xmm0`: whether the result is a mask.
    Strings { run: fn(u128, u128, u64, u64, u8) -> StringResult, to_xmm0: bool },
}

/// The operation of an instruction; none if it is not an SSE instruction that computes. `memory`: whether the source is
/// in memory, which matters for `insertps`.
pub fn operation(code: C, memory: bool) -> Option<Operation> {
    float(code)
        .or_else(|| conversion(code))
        .or_else(|| whole(code))
        .or_else(|| places(code, memory))
        .or_else(|| text(code))
}

/// Arithmetic on singles and doubles.
fn float(code: C) -> Option<Operation> {
    Some(match code {
        C::Addps_xmm_xmmm128 => Vector(arith::packed_single::<arith::Add>),
        C::Addpd_xmm_xmmm128 => Vector(arith::packed_double::<arith::Add>),
        C::Addss_xmm_xmmm32 => Vector(arith::single::<arith::Add>),
        C::Addsd_xmm_xmmm64 => Vector(arith::double::<arith::Add>),
        C::Subps_xmm_xmmm128 => Vector(arith::packed_single::<arith::Sub>),
        C::Subpd_xmm_xmmm128 => Vector(arith::packed_double::<arith::Sub>),
        C::Subss_xmm_xmmm32 => Vector(arith::single::<arith::Sub>),
        C::Subsd_xmm_xmmm64 => Vector(arith::double::<arith::Sub>),
        C::Mulps_xmm_xmmm128 => Vector(arith::packed_single::<arith::Mul>),
        C::Mulpd_xmm_xmmm128 => Vector(arith::packed_double::<arith::Mul>),
        C::Mulss_xmm_xmmm32 => Vector(arith::single::<arith::Mul>),
        C::Mulsd_xmm_xmmm64 => Vector(arith::double::<arith::Mul>),
        C::Divps_xmm_xmmm128 => Vector(arith::packed_single::<arith::Div>),
        C::Divpd_xmm_xmmm128 => Vector(arith::packed_double::<arith::Div>),
        C::Divss_xmm_xmmm32 => Vector(arith::single::<arith::Div>),
        C::Divsd_xmm_xmmm64 => Vector(arith::double::<arith::Div>),
        C::Sqrtps_xmm_xmmm128 => Vector(arith::root_packed_single),
        C::Sqrtpd_xmm_xmmm128 => Vector(arith::root_packed_double),
        C::Sqrtss_xmm_xmmm32 => Vector(arith::root_single),
        C::Sqrtsd_xmm_xmmm64 => Vector(arith::root_double),
        C::Minps_xmm_xmmm128 => Vector(compare::extreme_packed_single::<false>),
        C::Minpd_xmm_xmmm128 => Vector(compare::extreme_packed_double::<false>),
        C::Minss_xmm_xmmm32 => Vector(compare::extreme_single::<false>),
        C::Minsd_xmm_xmmm64 => Vector(compare::extreme_double::<false>),
        C::Maxps_xmm_xmmm128 => Vector(compare::extreme_packed_single::<true>),
        C::Maxpd_xmm_xmmm128 => Vector(compare::extreme_packed_double::<true>),
        C::Maxss_xmm_xmmm32 => Vector(compare::extreme_single::<true>),
        C::Maxsd_xmm_xmmm64 => Vector(compare::extreme_double::<true>),
        C::Cmpps_xmm_xmmm128_imm8 => Vector(compare::packed_single),
        C::Cmppd_xmm_xmmm128_imm8 => Vector(compare::packed_double),
        C::Cmpss_xmm_xmmm32_imm8 => Vector(compare::single),
        C::Cmpsd_xmm_xmmm64_imm8 => Vector(compare::double),
        C::Comiss_xmm_xmmm32 => Compare(compare::single_to_flags::<false>),
        C::Comisd_xmm_xmmm64 => Compare(compare::double_to_flags::<false>),
        C::Ucomiss_xmm_xmmm32 => Compare(compare::single_to_flags::<true>),
        C::Ucomisd_xmm_xmmm64 => Compare(compare::double_to_flags::<true>),
        C::Rcpps_xmm_xmmm128 => Vector(approximate::reciprocals),
        C::Rcpss_xmm_xmmm32 => Vector(approximate::reciprocal_single),
        C::Rsqrtps_xmm_xmmm128 => Vector(approximate::reciprocal_roots),
        C::Rsqrtss_xmm_xmmm32 => Vector(approximate::reciprocal_root_single),
        C::Addsubps_xmm_xmmm128 => Vector(arith::alternating_single),
        C::Addsubpd_xmm_xmmm128 => Vector(arith::alternating_double),
        C::Haddps_xmm_xmmm128 => Vector(arith::horizontal_single::<arith::Add>),
        C::Haddpd_xmm_xmmm128 => Vector(arith::horizontal_double::<arith::Add>),
        C::Hsubps_xmm_xmmm128 => Vector(arith::horizontal_single::<arith::Sub>),
        C::Hsubpd_xmm_xmmm128 => Vector(arith::horizontal_double::<arith::Sub>),
        C::Dpps_xmm_xmmm128_imm8 => Vector(arith::dot_single),
        C::Dppd_xmm_xmmm128_imm8 => Vector(arith::dot_double),
        C::Roundps_xmm_xmmm128_imm8 => Vector(round::packed_single),
        C::Roundpd_xmm_xmmm128_imm8 => Vector(round::packed_double),
        C::Roundss_xmm_xmmm32_imm8 => Vector(round::single),
        C::Roundsd_xmm_xmmm64_imm8 => Vector(round::double),
        _ => return None,
    })
}

/// Conversions between singles, doubles and integers.
fn conversion(code: C) -> Option<Operation> {
    Some(match code {
        C::Cvtsi2ss_xmm_rm32 => FromGpr(convert::integer_to_single::<32>),
        C::Cvtss2si_r32_xmmm32 => ToGpr(convert::single_to_integer::<32, false>),
        C::Cvttss2si_r32_xmmm32 => ToGpr(convert::single_to_integer::<32, true>),
        C::Cvtsi2ss_xmm_rm64 => FromGpr(convert::integer_to_single::<64>),
        C::Cvtss2si_r64_xmmm32 => ToGpr(convert::single_to_integer::<64, false>),
        C::Cvttss2si_r64_xmmm32 => ToGpr(convert::single_to_integer::<64, true>),
        C::Cvtsi2sd_xmm_rm32 => FromGpr(convert::integer_to_double::<32>),
        C::Cvtsd2si_r32_xmmm64 => ToGpr(convert::double_to_integer::<32, false>),
        C::Cvttsd2si_r32_xmmm64 => ToGpr(convert::double_to_integer::<32, true>),
        C::Cvtsi2sd_xmm_rm64 => FromGpr(convert::integer_to_double::<64>),
        C::Cvtsd2si_r64_xmmm64 => ToGpr(convert::double_to_integer::<64, false>),
        C::Cvttsd2si_r64_xmmm64 => ToGpr(convert::double_to_integer::<64, true>),
        C::Cvtss2sd_xmm_xmmm32 => Vector(convert::single_to_double),
        C::Cvtsd2ss_xmm_xmmm64 => Vector(convert::double_to_single),
        C::Cvtps2pd_xmm_xmmm64 => Vector(convert::singles_to_doubles),
        C::Cvtpd2ps_xmm_xmmm128 => Vector(convert::doubles_to_singles),
        C::Cvtdq2ps_xmm_xmmm128 => Vector(convert::integers_to_singles),
        C::Cvtdq2pd_xmm_xmmm64 => Vector(convert::integers_to_doubles),
        C::Cvtps2dq_xmm_xmmm128 => Vector(convert::singles_to_integers::<false>),
        C::Cvttps2dq_xmm_xmmm128 => Vector(convert::singles_to_integers::<true>),
        C::Cvtpd2dq_xmm_xmmm128 => Vector(convert::doubles_to_integers::<false>),
        C::Cvttpd2dq_xmm_xmmm128 => Vector(convert::doubles_to_integers::<true>),
        _ => return None,
    })
}

/// Integer arithmetic and logic.
fn whole(code: C) -> Option<Operation> {
    Some(match code {
        C::Paddb_xmm_xmmm128 => Vector(integer::padd_b),
        C::Psubb_xmm_xmmm128 => Vector(integer::psub_b),
        C::Pcmpeqb_xmm_xmmm128 => Vector(integer::pcmpeq_b),
        C::Pcmpgtb_xmm_xmmm128 => Vector(integer::pcmpgt_b),
        C::Paddw_xmm_xmmm128 => Vector(integer::padd_w),
        C::Psubw_xmm_xmmm128 => Vector(integer::psub_w),
        C::Pcmpeqw_xmm_xmmm128 => Vector(integer::pcmpeq_w),
        C::Pcmpgtw_xmm_xmmm128 => Vector(integer::pcmpgt_w),
        C::Paddd_xmm_xmmm128 => Vector(integer::padd_d),
        C::Psubd_xmm_xmmm128 => Vector(integer::psub_d),
        C::Pcmpeqd_xmm_xmmm128 => Vector(integer::pcmpeq_d),
        C::Pcmpgtd_xmm_xmmm128 => Vector(integer::pcmpgt_d),
        C::Paddq_xmm_xmmm128 => Vector(integer::padd_q),
        C::Psubq_xmm_xmmm128 => Vector(integer::psub_q),
        C::Pcmpeqq_xmm_xmmm128 => Vector(integer::pcmpeq_q),
        C::Pcmpgtq_xmm_xmmm128 => Vector(integer::pcmpgt_q),
        C::Paddsb_xmm_xmmm128 => Vector(integer::padds_b),
        C::Paddusb_xmm_xmmm128 => Vector(integer::paddus_b),
        C::Psubsb_xmm_xmmm128 => Vector(integer::psubs_b),
        C::Psubusb_xmm_xmmm128 => Vector(integer::psubus_b),
        C::Pavgb_xmm_xmmm128 => Vector(integer::pavg_b),
        C::Paddsw_xmm_xmmm128 => Vector(integer::padds_w),
        C::Paddusw_xmm_xmmm128 => Vector(integer::paddus_w),
        C::Psubsw_xmm_xmmm128 => Vector(integer::psubs_w),
        C::Psubusw_xmm_xmmm128 => Vector(integer::psubus_w),
        C::Pavgw_xmm_xmmm128 => Vector(integer::pavg_w),
        C::Pminsb_xmm_xmmm128 => Vector(integer::pmins_b),
        C::Pminub_xmm_xmmm128 => Vector(integer::pminu_b),
        C::Pmaxsb_xmm_xmmm128 => Vector(integer::pmaxs_b),
        C::Pmaxub_xmm_xmmm128 => Vector(integer::pmaxu_b),
        C::Psignb_xmm_xmmm128 => Vector(integer::psign_b),
        C::Pabsb_xmm_xmmm128 => Vector(integer::pabs_b),
        C::Pminsw_xmm_xmmm128 => Vector(integer::pmins_w),
        C::Pminuw_xmm_xmmm128 => Vector(integer::pminu_w),
        C::Pmaxsw_xmm_xmmm128 => Vector(integer::pmaxs_w),
        C::Pmaxuw_xmm_xmmm128 => Vector(integer::pmaxu_w),
        C::Psignw_xmm_xmmm128 => Vector(integer::psign_w),
        C::Pabsw_xmm_xmmm128 => Vector(integer::pabs_w),
        C::Pminsd_xmm_xmmm128 => Vector(integer::pmins_d),
        C::Pminud_xmm_xmmm128 => Vector(integer::pminu_d),
        C::Pmaxsd_xmm_xmmm128 => Vector(integer::pmaxs_d),
        C::Pmaxud_xmm_xmmm128 => Vector(integer::pmaxu_d),
        C::Psignd_xmm_xmmm128 => Vector(integer::psign_d),
        C::Pabsd_xmm_xmmm128 => Vector(integer::pabs_d),
        C::Psllw_xmm_xmmm128 => Vector(integer::psll_w),
        C::Psllw_xmm_imm8 => Vector(integer::psll_w_imm),
        C::Pslld_xmm_xmmm128 => Vector(integer::psll_d),
        C::Pslld_xmm_imm8 => Vector(integer::psll_d_imm),
        C::Psllq_xmm_xmmm128 => Vector(integer::psll_q),
        C::Psllq_xmm_imm8 => Vector(integer::psll_q_imm),
        C::Psrlw_xmm_xmmm128 => Vector(integer::psrl_w),
        C::Psrlw_xmm_imm8 => Vector(integer::psrl_w_imm),
        C::Psrld_xmm_xmmm128 => Vector(integer::psrl_d),
        C::Psrld_xmm_imm8 => Vector(integer::psrl_d_imm),
        C::Psrlq_xmm_xmmm128 => Vector(integer::psrl_q),
        C::Psrlq_xmm_imm8 => Vector(integer::psrl_q_imm),
        C::Psraw_xmm_xmmm128 => Vector(integer::psra_w),
        C::Psraw_xmm_imm8 => Vector(integer::psra_w_imm),
        C::Psrad_xmm_xmmm128 => Vector(integer::psra_d),
        C::Psrad_xmm_imm8 => Vector(integer::psra_d_imm),
        C::Pslldq_xmm_imm8 => Vector(integer::psll_dq),
        C::Psrldq_xmm_imm8 => Vector(integer::psrl_dq),
        C::Phaddw_xmm_xmmm128 => Vector(integer::phadd_w),
        C::Phaddd_xmm_xmmm128 => Vector(integer::phadd_d),
        C::Phaddsw_xmm_xmmm128 => Vector(integer::phadds_w),
        C::Phsubw_xmm_xmmm128 => Vector(integer::phsub_w),
        C::Phsubd_xmm_xmmm128 => Vector(integer::phsub_d),
        C::Phsubsw_xmm_xmmm128 => Vector(integer::phsubs_w),
        C::Phminposuw_xmm_xmmm128 => Vector(integer::phminpos_uw),
        C::Pand_xmm_xmmm128 | C::Andps_xmm_xmmm128 | C::Andpd_xmm_xmmm128 => Vector(integer::pand),
        C::Pandn_xmm_xmmm128 | C::Andnps_xmm_xmmm128 | C::Andnpd_xmm_xmmm128 => Vector(integer::pandn),
        C::Por_xmm_xmmm128 | C::Orps_xmm_xmmm128 | C::Orpd_xmm_xmmm128 => Vector(integer::por),
        C::Pxor_xmm_xmmm128 | C::Xorps_xmm_xmmm128 | C::Xorpd_xmm_xmmm128 => Vector(integer::pxor),
        C::Pmovmskb_r32_xmm | C::Pmovmskb_r64_xmm => ToGpr(integer::byte_signs),
        C::Movmskps_r32_xmm | C::Movmskps_r64_xmm => ToGpr(integer::single_signs),
        C::Movmskpd_r32_xmm | C::Movmskpd_r64_xmm => ToGpr(integer::double_signs),
        C::Ptest_xmm_xmmm128 => Compare(integer::ptest),
        C::Pmullw_xmm_xmmm128 => Vector(multiply::pmull_w),
        C::Pmulld_xmm_xmmm128 => Vector(multiply::pmull_d),
        C::Pmulhw_xmm_xmmm128 => Vector(multiply::pmulh_w),
        C::Pmulhuw_xmm_xmmm128 => Vector(multiply::pmulhu_w),
        C::Pmulhrsw_xmm_xmmm128 => Vector(multiply::pmulhrs_w),
        C::Pmuludq_xmm_xmmm128 => Vector(multiply::pmulu_dq),
        C::Pmuldq_xmm_xmmm128 => Vector(multiply::pmul_dq),
        C::Pmaddwd_xmm_xmmm128 => Vector(multiply::pmadd_wd),
        C::Pmaddubsw_xmm_xmmm128 => Vector(multiply::pmaddubs_w),
        C::Psadbw_xmm_xmmm128 => Vector(multiply::psad_bw),
        C::Mpsadbw_xmm_xmmm128_imm8 => Vector(multiply::mpsad_bw),
        _ => return None,
    })
}

/// Shuffles and other movements of lanes.
fn places(code: C, memory: bool) -> Option<Operation> {
    Some(match code {
        C::Pshufd_xmm_xmmm128_imm8 => Vector(shuffle::pshuf_d),
        C::Pshuflw_xmm_xmmm128_imm8 => Vector(shuffle::pshuf_lw),
        C::Pshufhw_xmm_xmmm128_imm8 => Vector(shuffle::pshuf_hw),
        C::Pshufb_xmm_xmmm128 => Vector(shuffle::pshuf_b),
        C::Shufps_xmm_xmmm128_imm8 => Vector(shuffle::shuf_ps),
        C::Shufpd_xmm_xmmm128_imm8 => Vector(shuffle::shuf_pd),
        C::Punpcklbw_xmm_xmmm128 => Vector(shuffle::unpackl_b),
        C::Punpckhbw_xmm_xmmm128 => Vector(shuffle::unpackh_b),
        C::Punpcklwd_xmm_xmmm128 => Vector(shuffle::unpackl_w),
        C::Punpckhwd_xmm_xmmm128 => Vector(shuffle::unpackh_w),
        C::Punpckldq_xmm_xmmm128 | C::Unpcklps_xmm_xmmm128 => Vector(shuffle::unpackl_d),
        C::Punpckhdq_xmm_xmmm128 | C::Unpckhps_xmm_xmmm128 => Vector(shuffle::unpackh_d),
        C::Punpcklqdq_xmm_xmmm128 | C::Unpcklpd_xmm_xmmm128 => Vector(shuffle::unpackl_q),
        C::Punpckhqdq_xmm_xmmm128 | C::Unpckhpd_xmm_xmmm128 => Vector(shuffle::unpackh_q),
        C::Packsswb_xmm_xmmm128 => Vector(shuffle::packss_wb),
        C::Packuswb_xmm_xmmm128 => Vector(shuffle::packus_wb),
        C::Packssdw_xmm_xmmm128 => Vector(shuffle::packss_dw),
        C::Packusdw_xmm_xmmm128 => Vector(shuffle::packus_dw),
        C::Palignr_xmm_xmmm128_imm8 => Vector(shuffle::palign_r),
        C::Movhlps_xmm_xmm => Vector(shuffle::high_to_low),
        C::Movlhps_xmm_xmm => Vector(shuffle::low_to_high),
        C::Movddup_xmm_xmmm64 => Vector(shuffle::duplicate_double),
        C::Movsldup_xmm_xmmm128 => Vector(shuffle::duplicate_even),
        C::Movshdup_xmm_xmmm128 => Vector(shuffle::duplicate_odd),
        C::Pblendw_xmm_xmmm128_imm8 => Vector(shuffle::blend_w),
        C::Blendps_xmm_xmmm128_imm8 => Vector(shuffle::blend_d),
        C::Blendpd_xmm_xmmm128_imm8 => Vector(shuffle::blend_q),
        C::Pblendvb_xmm_xmmm128 => Blend(shuffle::blendv_b),
        C::Blendvps_xmm_xmmm128 => Blend(shuffle::blendv_d),
        C::Blendvpd_xmm_xmmm128 => Blend(shuffle::blendv_q),
        C::Pinsrb_xmm_r32m8_imm8 | C::Pinsrb_xmm_r64m8_imm8 => FromGpr(shuffle::insert_b),
        C::Pinsrw_xmm_r32m16_imm8 | C::Pinsrw_xmm_r64m16_imm8 => FromGpr(shuffle::insert_w),
        C::Pinsrd_xmm_rm32_imm8 => FromGpr(shuffle::insert_d),
        C::Pinsrq_xmm_rm64_imm8 => FromGpr(shuffle::insert_q),
        C::Pextrb_r32m8_xmm_imm8 | C::Pextrb_r64m8_xmm_imm8 => ToGpr(shuffle::extract_b),
        C::Pextrw_r32_xmm_imm8 | C::Pextrw_r64_xmm_imm8 | C::Pextrw_r32m16_xmm_imm8 | C::Pextrw_r64m16_xmm_imm8 => {
            ToGpr(shuffle::extract_w)
        }
        C::Pextrd_rm32_xmm_imm8 | C::Extractps_rm32_xmm_imm8 | C::Extractps_r64m32_xmm_imm8 => {
            ToGpr(shuffle::extract_d)
        }
        C::Pextrq_rm64_xmm_imm8 => ToGpr(shuffle::extract_q),
        C::Insertps_xmm_xmmm32_imm8 if memory => Vector(shuffle::insert_loaded_single),
        C::Insertps_xmm_xmmm32_imm8 => Vector(shuffle::insert_single),
        C::Pmovsxbw_xmm_xmmm64 => Vector(shuffle::sign_bw),
        C::Pmovzxbw_xmm_xmmm64 => Vector(shuffle::zero_bw),
        C::Pmovsxbd_xmm_xmmm32 => Vector(shuffle::sign_bd),
        C::Pmovzxbd_xmm_xmmm32 => Vector(shuffle::zero_bd),
        C::Pmovsxbq_xmm_xmmm16 => Vector(shuffle::sign_bq),
        C::Pmovzxbq_xmm_xmmm16 => Vector(shuffle::zero_bq),
        C::Pmovsxwd_xmm_xmmm64 => Vector(shuffle::sign_wd),
        C::Pmovzxwd_xmm_xmmm64 => Vector(shuffle::zero_wd),
        C::Pmovsxwq_xmm_xmmm32 => Vector(shuffle::sign_wq),
        C::Pmovzxwq_xmm_xmmm32 => Vector(shuffle::zero_wq),
        C::Pmovsxdq_xmm_xmmm64 => Vector(shuffle::sign_dq),
        C::Pmovzxdq_xmm_xmmm64 => Vector(shuffle::zero_dq),
        _ => return None,
    })
}

/// String comparisons.
fn text(code: C) -> Option<Operation> {
    Some(match code {
        C::Pcmpistri_xmm_xmmm128_imm8 => Strings { run: strings::implicit::<false>, to_xmm0: false },
        C::Pcmpistrm_xmm_xmmm128_imm8 => Strings { run: strings::implicit::<true>, to_xmm0: true },
        C::Pcmpestri_xmm_xmmm128_imm8 => Strings { run: strings::explicit::<false>, to_xmm0: false },
        C::Pcmpestrm_xmm_xmmm128_imm8 => Strings { run: strings::explicit::<true>, to_xmm0: true },
        C::Pcmpestri64_xmm_xmmm128_imm8 => Strings { run: strings::explicit_wide::<false>, to_xmm0: false },
        C::Pcmpestrm64_xmm_xmmm128_imm8 => Strings { run: strings::explicit_wide::<true>, to_xmm0: true },
        _ => return None,
    })
}
