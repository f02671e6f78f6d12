//! A comparison fused with the conditional jump after it.
//!
//! Most conditional jumps follow a `cmp` or `test`. Fused, they need one handler, and the condition is evaluated
//! without going through the flags. The flags are still set, since later instructions may read them.

use super::alu::{And, Binary, Form, Sub};
use super::condition::{by_condition, holds};
use super::control::taken_if;
use super::operand::{Destination, Immediate, Mem, Place, Source};
use super::word::Word;
use crate::insn::{Handler, Insn, Outcome};
use crate::{Cpu, Memory, Size};

fn cmp_jump<M: Memory, W: Word, const C: u8, D: Place<M>, S: Place<M>>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let b = S::read::<W>(cpu, memory, insn)?;
    let a = D::read::<W>(cpu, memory, insn)?;
    let (result, traces) = Sub::compute::<W>(&cpu.flags, a, b);
    cpu.flags.put(traces);
    let even = match C / 2 {
        1 => a < b,
        2 => a == b,
        3 => a <= b,
        4 => result & W::SIGN != 0,
        6 => W::extend(a) < W::extend(b),
        7 => W::extend(a) <= W::extend(b),
        _ => return taken_if(holds::<C>(&cpu.flags)),
    };
    taken_if(even != (C % 2 == 1))
}

fn test_jump<M: Memory, W: Word, const C: u8, D: Place<M>, S: Place<M>>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let b = S::read::<W>(cpu, memory, insn)?;
    let a = D::read::<W>(cpu, memory, insn)?;
    let (result, traces) = And::compute::<W>(&cpu.flags, a, b);
    cpu.flags.put(traces);
    let result = W::extend(result);
    let even = match C / 2 {
        0 | 1 => false,
        2 | 3 => result == 0,
        4 | 6 => result < 0,
        7 => result <= 0,
        _ => return taken_if(holds::<C>(&cpu.flags)),
    };
    taken_if(even != (C % 2 == 1))
}

macro_rules! sized_condition {
    ($size:expr, $condition:expr, $handler:ident::<$memory:ident, _, _, $d:ty, $s:ty>) => {
        match $size {
            Size::B1 => by_condition!($condition, C => $handler::<$memory, u8, C, $d, $s> as Handler<$memory>),
            Size::B2 => by_condition!($condition, C => $handler::<$memory, u16, C, $d, $s> as Handler<$memory>),
            Size::B4 => by_condition!($condition, C => $handler::<$memory, u32, C, $d, $s> as Handler<$memory>),
            Size::B8 => by_condition!($condition, C => $handler::<$memory, u64, C, $d, $s> as Handler<$memory>),
        }
    };
}

pub(crate) fn cmp_jump_handler<M: Memory>(form: Form, size: Size, condition: u8) -> Handler<M> {
    match form {
        Form::RegisterRegister => sized_condition!(size, condition, cmp_jump::<M, _, _, Destination, Source>),
        Form::RegisterImmediate => sized_condition!(size, condition, cmp_jump::<M, _, _, Destination, Immediate>),
        Form::RegisterMemory => sized_condition!(size, condition, cmp_jump::<M, _, _, Destination, Mem>),
        Form::MemoryRegister => sized_condition!(size, condition, cmp_jump::<M, _, _, Mem, Source>),
        Form::MemoryImmediate => sized_condition!(size, condition, cmp_jump::<M, _, _, Mem, Immediate>),
    }
}

pub(crate) fn test_jump_handler<M: Memory>(form: Form, size: Size, condition: u8) -> Handler<M> {
    match form {
        Form::RegisterRegister => sized_condition!(size, condition, test_jump::<M, _, _, Destination, Source>),
        Form::RegisterImmediate => sized_condition!(size, condition, test_jump::<M, _, _, Destination, Immediate>),
        Form::MemoryImmediate => sized_condition!(size, condition, test_jump::<M, _, _, Mem, Immediate>),
        Form::RegisterMemory | Form::MemoryRegister => {
            sized_condition!(size, condition, test_jump::<M, _, _, Mem, Source>)
        }
    }
}
