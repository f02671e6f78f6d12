//! The function of each x87 instruction.

use super::X87;
use super::arith::{minus_reversed, one_for_tangent, over_reversed};
use super::constants as k;
use crate::f80::{F80, Flags, Outcome, Rounding, transcendental as t};
use Operation::{Compare, Load, LoadImage, Move, Stack, StatusToAx, Store, StoreImage};
use iced_x86::Code as C;

/// The operation of an instruction. `i` is the number of the register st(i) that the instruction names besides st(0)
/// (or the only one that it names), 0 if there is none.
#[derive(Clone, Copy)]
pub enum Operation {
    /// Stack only: `f(x87, i)`.
    Stack(fn(&mut X87, u8)),
    /// Loads from memory: `f(x87, bytes)`, the operand's bytes zero-extended.
    Load(fn(&mut X87, u128)),
    /// Stores to memory: returns the operand's bytes; none if an unmasked exception suppresses the store.
    Store(fn(&mut X87) -> Option<u128>),
    /// Sets flags: ZF, PF and CF at their RFLAGS positions, the others become zero: `f(x87, i)`.
    Compare(fn(&mut X87, u8) -> u64),
    /// `fcmovcc`: `f(x87, i, condition)`; the interpreter evaluates the condition.
    Move(fn(&mut X87, u8, bool)),
    /// `fnstsw ax`.
    StatusToAx,
    /// Loads an environment or a state (28, 108 bytes).
    LoadImage { bytes: u8, run: fn(&mut X87, &[u8]) },
    /// Stores an environment or a state.
    StoreImage { bytes: u8, run: fn(&mut X87, &mut [u8]) },
}

fn single(bytes: u128) -> Outcome {
    F80::from_f32_bits(bytes as u32)
}

fn double(bytes: u128) -> Outcome {
    F80::from_f64_bits(bytes as u64)
}

fn int16(bytes: u128) -> Outcome {
    integer(i64::from(bytes as i16))
}

fn int32(bytes: u128) -> Outcome {
    integer(i64::from(bytes as i32))
}

fn integer(value: i64) -> Outcome {
    Outcome { value: F80::from_i64(value), flags: Flags::NONE }
}

fn extended(bytes: u128) -> F80 {
    F80 { significand: bytes as u64, sign_exponent: (bytes >> 64) as u16 }
}

/// The operation of an instruction, and whether it first delivers a pending exception; none if it is not an x87
/// instruction.
pub fn operation(code: C) -> Option<(Operation, bool)> {
    if let Some(operation) = control(code) {
        return Some((operation, false));
    }
    let operation = waiting_control(code).or_else(|| computation(code))?;
    Some((operation, true))
}

/// Instructions that ignore pending exceptions.
fn control(code: C) -> Option<Operation> {
    Some(match code {
        C::Fninit => Stack(|x, _| x.initialise()),
        C::Fnclex => Stack(|x, _| x.clear_exceptions()),
        C::Fnstcw_m2byte => Store(|x| Some(x.control.into())),
        C::Fnstsw_m2byte => Store(|x| Some(x.status.into())),
        C::Fnstsw_AX => StatusToAx,
        C::Fnstenv_m14byte => StoreImage { bytes: 14, run: X87::store_environment },
        C::Fnstenv_m28byte => StoreImage { bytes: 28, run: X87::store_environment },
        C::Fnsave_m94byte => StoreImage { bytes: 94, run: X87::store_state },
        C::Fnsave_m108byte => StoreImage { bytes: 108, run: X87::store_state },
        // Instructions of the 8087 and the 80287 that have no effect today.
        C::Fneni | C::Fndisi | C::Fnsetpm => Stack(|_, _| ()),
        _ => return None,
    })
}

/// Control instructions that first deliver pending exceptions.
fn waiting_control(code: C) -> Option<Operation> {
    Some(match code {
        C::Wait | C::Fnop => Stack(|_, _| ()),
        C::Fldcw_m2byte => Load(|x, m| x.load_control(m as u16)),
        C::Fldenv_m14byte => LoadImage { bytes: 14, run: X87::load_environment },
        C::Fldenv_m28byte => LoadImage { bytes: 28, run: X87::load_environment },
        C::Frstor_m94byte => LoadImage { bytes: 94, run: X87::load_state },
        C::Frstor_m108byte => LoadImage { bytes: 108, run: X87::load_state },
        C::Fincstp => Stack(|x, _| x.rotate(1)),
        C::Fdecstp => Stack(|x, _| x.rotate(7)),
        C::Ffree_sti => Stack(|x, i| x.free_clearly(i)),
        C::Ffreep_sti => Stack(|x, i| {
            x.free_clearly(i);
            x.pop();
        }),
        _ => return None,
    })
}

/// Instructions that load, store, move or compute.
fn computation(code: C) -> Option<Operation> {
    transfer(code).or_else(|| arithmetic(code)).or_else(|| comparison(code)).or_else(|| function(code))
}

fn transfer(code: C) -> Option<Operation> {
    Some(match code {
        C::Fld_m32fp => Load(|x, m| x.load(single(m))),
        C::Fld_m64fp => Load(|x, m| x.load(double(m))),
        C::Fld_m80fp => Load(|x, m| x.load_exact(extended(m))),
        C::Fild_m16int => Load(|x, m| x.load(int16(m))),
        C::Fild_m32int => Load(|x, m| x.load(int32(m))),
        C::Fild_m64int => Load(|x, m| x.load(integer(m as i64))),
        C::Fbld_m80bcd => Load(|x, m| {
            let mut digits = [0; 10];
            digits.copy_from_slice(&m.to_le_bytes()[..10]);
            x.load_exact(F80::from_decimal(digits));
        }),
        C::Fld_sti => Stack(|x, i| x.load_register(i)),
        C::Fld1 => Stack(|x, _| x.load_constant(k::ONE)),
        C::Fldl2t => Stack(|x, _| x.load_constant(k::LOG2_10)),
        C::Fldl2e => Stack(|x, _| x.load_constant(k::LOG2_E)),
        C::Fldpi => Stack(|x, _| x.load_constant(k::PI)),
        C::Fldlg2 => Stack(|x, _| x.load_constant(k::LOG10_2)),
        C::Fldln2 => Stack(|x, _| x.load_constant(k::LN_2)),
        C::Fldz => Stack(|x, _| x.load_zero()),
        C::Fst_m32fp => Store(|x| x.store_single(false)),
        C::Fstp_m32fp => Store(|x| x.store_single(true)),
        C::Fst_m64fp => Store(|x| x.store_double(false)),
        C::Fstp_m64fp => Store(|x| x.store_double(true)),
        C::Fstp_m80fp => Store(|x| x.store_extended()),
        C::Fist_m16int => Store(|x| x.store_integer(16, false)),
        C::Fistp_m16int => Store(|x| x.store_integer(16, true)),
        C::Fist_m32int => Store(|x| x.store_integer(32, false)),
        C::Fistp_m32int => Store(|x| x.store_integer(32, true)),
        C::Fistp_m64int => Store(|x| x.store_integer(64, true)),
        C::Fisttp_m16int => Store(|x| x.store_truncated(16)),
        C::Fisttp_m32int => Store(|x| x.store_truncated(32)),
        C::Fisttp_m64int => Store(|x| x.store_truncated(64)),
        C::Fbstp_m80bcd => Store(|x| x.store_decimal()),
        C::Fst_sti => Stack(|x, i| x.store_register(i, false)),
        C::Fstp_sti | C::Fstp_sti_DFD0 | C::Fstp_sti_DFD8 => Stack(|x, i| x.store_register(i, true)),
        C::Fstpnce_sti => Stack(|x, i| x.store_register_unchecked(i)),
        C::Fxch_st0_sti | C::Fxch_st0_sti_DDC8 | C::Fxch_st0_sti_DFC8 => Stack(|x, i| x.exchange(i)),
        C::Fcmovb_st0_sti
        | C::Fcmove_st0_sti
        | C::Fcmovbe_st0_sti
        | C::Fcmovu_st0_sti
        | C::Fcmovnb_st0_sti
        | C::Fcmovne_st0_sti
        | C::Fcmovnbe_st0_sti
        | C::Fcmovnu_st0_sti => Move(X87::conditional_move),
        _ => return None,
    })
}

fn arithmetic(code: C) -> Option<Operation> {
    Some(match code {
        C::Fadd_m32fp => Load(|x, m| x.with_memory(F80::plus, single(m))),
        C::Fadd_m64fp => Load(|x, m| x.with_memory(F80::plus, double(m))),
        C::Fiadd_m16int => Load(|x, m| x.with_memory(F80::plus, int16(m))),
        C::Fiadd_m32int => Load(|x, m| x.with_memory(F80::plus, int32(m))),
        C::Fadd_st0_sti => Stack(|x, i| {
            x.with_register(F80::plus, 0, i);
        }),
        C::Fadd_sti_st0 => Stack(|x, i| {
            x.with_register(F80::plus, i, 0);
        }),
        C::Faddp_sti_st0 => Stack(|x, i| x.with_register_and_pop(F80::plus, i)),
        C::Fmul_m32fp => Load(|x, m| x.with_memory(F80::times, single(m))),
        C::Fmul_m64fp => Load(|x, m| x.with_memory(F80::times, double(m))),
        C::Fimul_m16int => Load(|x, m| x.with_memory(F80::times, int16(m))),
        C::Fimul_m32int => Load(|x, m| x.with_memory(F80::times, int32(m))),
        C::Fmul_st0_sti => Stack(|x, i| {
            x.with_register(F80::times, 0, i);
        }),
        C::Fmul_sti_st0 => Stack(|x, i| {
            x.with_register(F80::times, i, 0);
        }),
        C::Fmulp_sti_st0 => Stack(|x, i| x.with_register_and_pop(F80::times, i)),
        C::Fsub_m32fp => Load(|x, m| x.with_memory(F80::minus, single(m))),
        C::Fsub_m64fp => Load(|x, m| x.with_memory(F80::minus, double(m))),
        C::Fisub_m16int => Load(|x, m| x.with_memory(F80::minus, int16(m))),
        C::Fisub_m32int => Load(|x, m| x.with_memory(F80::minus, int32(m))),
        C::Fsub_st0_sti => Stack(|x, i| {
            x.with_register(F80::minus, 0, i);
        }),
        C::Fsub_sti_st0 => Stack(|x, i| {
            x.with_register(F80::minus, i, 0);
        }),
        C::Fsubp_sti_st0 => Stack(|x, i| x.with_register_and_pop(F80::minus, i)),
        C::Fsubr_m32fp => Load(|x, m| x.with_memory(minus_reversed, single(m))),
        C::Fsubr_m64fp => Load(|x, m| x.with_memory(minus_reversed, double(m))),
        C::Fisubr_m16int => Load(|x, m| x.with_memory(minus_reversed, int16(m))),
        C::Fisubr_m32int => Load(|x, m| x.with_memory(minus_reversed, int32(m))),
        C::Fsubr_st0_sti => Stack(|x, i| {
            x.with_register(minus_reversed, 0, i);
        }),
        C::Fsubr_sti_st0 => Stack(|x, i| {
            x.with_register(minus_reversed, i, 0);
        }),
        C::Fsubrp_sti_st0 => Stack(|x, i| x.with_register_and_pop(minus_reversed, i)),
        C::Fdiv_m32fp => Load(|x, m| x.with_memory(F80::over, single(m))),
        C::Fdiv_m64fp => Load(|x, m| x.with_memory(F80::over, double(m))),
        C::Fidiv_m16int => Load(|x, m| x.with_memory(F80::over, int16(m))),
        C::Fidiv_m32int => Load(|x, m| x.with_memory(F80::over, int32(m))),
        C::Fdiv_st0_sti => Stack(|x, i| {
            x.with_register(F80::over, 0, i);
        }),
        C::Fdiv_sti_st0 => Stack(|x, i| {
            x.with_register(F80::over, i, 0);
        }),
        C::Fdivp_sti_st0 => Stack(|x, i| x.with_register_and_pop(F80::over, i)),
        C::Fdivr_m32fp => Load(|x, m| x.with_memory(over_reversed, single(m))),
        C::Fdivr_m64fp => Load(|x, m| x.with_memory(over_reversed, double(m))),
        C::Fidivr_m16int => Load(|x, m| x.with_memory(over_reversed, int16(m))),
        C::Fidivr_m32int => Load(|x, m| x.with_memory(over_reversed, int32(m))),
        C::Fdivr_st0_sti => Stack(|x, i| {
            x.with_register(over_reversed, 0, i);
        }),
        C::Fdivr_sti_st0 => Stack(|x, i| {
            x.with_register(over_reversed, i, 0);
        }),
        C::Fdivrp_sti_st0 => Stack(|x, i| x.with_register_and_pop(over_reversed, i)),
        _ => return None,
    })
}

fn comparison(code: C) -> Option<Operation> {
    Some(match code {
        C::Fcom_m32fp => Load(|x, m| x.compare(Some(single(m)), false, 0)),
        C::Fcomp_m32fp => Load(|x, m| x.compare(Some(single(m)), false, 1)),
        C::Fcom_m64fp => Load(|x, m| x.compare(Some(double(m)), false, 0)),
        C::Fcomp_m64fp => Load(|x, m| x.compare(Some(double(m)), false, 1)),
        C::Ficom_m16int => Load(|x, m| x.compare(Some(int16(m)), false, 0)),
        C::Ficomp_m16int => Load(|x, m| x.compare(Some(int16(m)), false, 1)),
        C::Ficom_m32int => Load(|x, m| x.compare(Some(int32(m)), false, 0)),
        C::Ficomp_m32int => Load(|x, m| x.compare(Some(int32(m)), false, 1)),
        C::Ftst => Stack(|x, _| x.compare(Some(integer(0)), false, 0)),
        C::Fcom_st0_sti | C::Fcom_st0_sti_DCD0 => Stack(|x, i| x.compare_register(i, false, 0)),
        C::Fcomp_st0_sti | C::Fcomp_st0_sti_DCD8 | C::Fcomp_st0_sti_DED0 => {
            Stack(|x, i| x.compare_register(i, false, 1))
        }
        C::Fucom_st0_sti => Stack(|x, i| x.compare_register(i, true, 0)),
        C::Fucomp_st0_sti => Stack(|x, i| x.compare_register(i, true, 1)),
        C::Fcompp => Stack(|x, _| x.compare_register(1, false, 2)),
        C::Fucompp => Stack(|x, _| x.compare_register(1, true, 2)),
        C::Fcomi_st0_sti => Compare(|x, i| x.compare_to_flags(i, false, 0)),
        C::Fucomi_st0_sti => Compare(|x, i| x.compare_to_flags(i, true, 0)),
        C::Fcomip_st0_sti => Compare(|x, i| x.compare_to_flags(i, false, 1)),
        C::Fucomip_st0_sti => Compare(|x, i| x.compare_to_flags(i, true, 1)),
        C::Fxam => Stack(|x, _| x.examine()),
        _ => return None,
    })
}

fn function(code: C) -> Option<Operation> {
    Some(match code {
        C::Fchs => Stack(|x, _| x.sign(F80::negated)),
        C::Fabs => Stack(|x, _| x.sign(F80::magnitude)),
        C::Fsqrt => Stack(|x, _| x.unary(F80::root)),
        C::Frndint => Stack(|x, _| x.unary(F80::to_integral)),
        C::F2xm1 => Stack(|x, _| x.unary(t::exp2_minus_one)),
        C::Fscale => Stack(|x, _| x.scale()),
        C::Fxtract => Stack(|x, _| x.extract()),
        C::Fprem => Stack(|x, _| x.remainder(Rounding::Zero)),
        C::Fprem1 => Stack(|x, _| x.remainder(Rounding::Nearest)),
        C::Fsin => Stack(|x, _| x.angle(t::sin)),
        C::Fcos => Stack(|x, _| x.angle(t::cos)),
        C::Fsincos => Stack(|x, _| x.angle_and_push(t::sin, t::cos)),
        C::Fptan => Stack(|x, _| x.angle_and_push(t::tan, one_for_tangent)),
        C::Fpatan => Stack(|x, _| x.with_register_and_pop(t::atan2, 1)),
        C::Fyl2x => Stack(|x, _| x.with_register_and_pop(t::y_log2_x, 1)),
        C::Fyl2xp1 => Stack(|x, _| x.with_register_and_pop(t::y_log2_x_plus_one, 1)),
        _ => return None,
    })
}
