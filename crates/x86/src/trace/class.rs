//! Classes of instructions by the work they do.
//!
//! A class says nothing about time: cycles and functional units are properties of a machine. It is determined by the
//! mnemonic.

use iced_x86::{Instruction, Mnemonic as Op};

/// A class of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// No work: no-operations, prefetches and fences.
    Nothing,
    /// Copies a register.
    Move,
    /// Addition, logic, comparison, conditional moves, addresses.
    Integer,
    /// Shifts and rotates.
    Shift,
    Multiply,
    Divide,
    /// Evaluates or computes a jump.
    Branch,
    /// Moves between general and xmm registers.
    Transfer,
    /// Integers, logic, shuffles in xmm registers.
    Vector,
    VectorMultiply,
    FloatAdd,
    FloatMultiply,
    FloatDivide,
    FloatRoot,
    /// Conversions between integers and floating-point formats.
    FloatConvert,
    /// x87: loads, stores, exchanges, control.
    X87Move,
    X87Add,
    X87Multiply,
    X87Divide,
    /// Sines, logarithms and similar; saving and restoring the unit.
    X87Slow,
    /// `cpuid`, `rdtsc`, `syscall`.
    System,
}

impl Class {
    pub(super) fn of(instruction: &Instruction) -> Class {
        let op = instruction.mnemonic();
        Self::of_integer(op).or_else(|| Self::of_x87(op)).or_else(|| Self::of_vector(op)).unwrap_or_else(|| {
            let name = format!("{op:?}");
            match name.as_bytes() {
                [b'F', ..] => Class::X87Move,
                [b'J', ..] | [b'L', b'o', b'o', b'p', ..] => Class::Branch,
                [b'C', b'v', b't', ..] => Class::FloatConvert,
                [b'P', ..] => Class::Vector,
                _ if (0..instruction.op_count()).any(|i| instruction.op_register(i).is_xmm()) => Class::Vector,
                _ => Class::Integer,
            }
        })
    }

    fn of_integer(op: Op) -> Option<Class> {
        Some(match op {
            Op::Nop | Op::Reservednop | Op::Pause | Op::Lfence | Op::Sfence | Op::Mfence => Class::Nothing,
            Op::Mov | Op::Movzx | Op::Movsx | Op::Movsxd | Op::Xchg | Op::Push | Op::Pop => Class::Move,
            Op::Shl | Op::Sal | Op::Shr | Op::Sar | Op::Rol | Op::Ror | Op::Rcl | Op::Rcr | Op::Shld | Op::Shrd => {
                Class::Shift
            }
            Op::Mul | Op::Imul | Op::Crc32 | Op::Popcnt | Op::Bsf | Op::Bsr | Op::Tzcnt | Op::Lzcnt => Class::Multiply,
            Op::Div | Op::Idiv => Class::Divide,
            Op::Call | Op::Ret | Op::Jmp => Class::Branch,
            Op::Cpuid | Op::Rdtsc | Op::Rdtscp | Op::Syscall => Class::System,
            _ => return None,
        })
    }

    fn of_x87(op: Op) -> Option<Class> {
        Some(match op {
            Op::Fadd
            | Op::Faddp
            | Op::Fiadd
            | Op::Fsub
            | Op::Fsubp
            | Op::Fsubr
            | Op::Fsubrp
            | Op::Fisub
            | Op::Fisubr => Class::X87Add,
            Op::Fcom | Op::Fcomp | Op::Fcompp | Op::Fucom | Op::Fucomp | Op::Fucompp | Op::Fcomi | Op::Fcomip => {
                Class::X87Add
            }
            Op::Fucomi | Op::Fucomip | Op::Ficom | Op::Ficomp | Op::Ftst => Class::X87Add,
            Op::Fmul | Op::Fmulp | Op::Fimul => Class::X87Multiply,
            Op::Fdiv | Op::Fdivp | Op::Fdivr | Op::Fdivrp | Op::Fidiv | Op::Fidivr | Op::Fsqrt => Class::X87Divide,
            Op::Fsin | Op::Fcos | Op::Fsincos | Op::Fptan | Op::Fpatan | Op::F2xm1 | Op::Fyl2x | Op::Fyl2xp1 => {
                Class::X87Slow
            }
            Op::Fprem | Op::Fprem1 | Op::Fscale | Op::Frndint | Op::Fxtract | Op::Fbld | Op::Fbstp => Class::X87Slow,
            Op::Fnsave | Op::Frstor | Op::Fnstenv | Op::Fldenv | Op::Fxsave | Op::Fxrstor => Class::X87Slow,
            Op::Fxsave64 | Op::Fxrstor64 => Class::X87Slow,
            _ => return None,
        })
    }

    fn of_vector(op: Op) -> Option<Class> {
        Some(match op {
            Op::Addss | Op::Addsd | Op::Addps | Op::Addpd | Op::Subss | Op::Subsd | Op::Subps | Op::Subpd => {
                Class::FloatAdd
            }
            Op::Minss | Op::Minsd | Op::Minps | Op::Minpd | Op::Maxss | Op::Maxsd | Op::Maxps | Op::Maxpd => {
                Class::FloatAdd
            }
            Op::Cmpss | Op::Cmpps | Op::Cmppd | Op::Comiss | Op::Comisd | Op::Ucomiss | Op::Ucomisd => Class::FloatAdd,
            Op::Haddps | Op::Haddpd | Op::Hsubps | Op::Hsubpd | Op::Addsubps | Op::Addsubpd => Class::FloatAdd,
            Op::Roundss | Op::Roundsd | Op::Roundps | Op::Roundpd => Class::FloatAdd,
            Op::Mulss | Op::Mulsd | Op::Mulps | Op::Mulpd | Op::Dpps | Op::Dppd => Class::FloatMultiply,
            Op::Rcpss | Op::Rcpps | Op::Rsqrtss | Op::Rsqrtps => Class::FloatMultiply,
            Op::Divss | Op::Divsd | Op::Divps | Op::Divpd => Class::FloatDivide,
            Op::Sqrtss | Op::Sqrtsd | Op::Sqrtps | Op::Sqrtpd => Class::FloatRoot,
            Op::Pmullw | Op::Pmulhw | Op::Pmulhuw | Op::Pmuludq | Op::Pmuldq | Op::Pmulld | Op::Pmulhrsw => {
                Class::VectorMultiply
            }
            Op::Pmaddwd | Op::Pmaddubsw | Op::Psadbw => Class::VectorMultiply,
            Op::Movd | Op::Movq | Op::Movmskps | Op::Movmskpd | Op::Pmovmskb | Op::Pextrb | Op::Pextrw => {
                Class::Transfer
            }
            Op::Pextrd | Op::Pextrq | Op::Pinsrb | Op::Pinsrw | Op::Pinsrd | Op::Pinsrq => Class::Transfer,
            Op::Movaps | Op::Movapd | Op::Movups | Op::Movupd | Op::Movdqa | Op::Movdqu | Op::Movss => Class::Move,
            _ => return None,
        })
    }
}
