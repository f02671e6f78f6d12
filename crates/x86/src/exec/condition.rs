//! The sixteen conditions, by their number in machine code.

use super::operand::Place;
use super::word::Word;
use crate::insn::{Handler, Insn, NEXT, Outcome};
use crate::{Cpu, Flags, Memory, Size};

/// Whether condition `C` holds. An odd number is the negation of the even number before it.
#[inline(always)]
pub(crate) fn holds<const C: u8>(flags: &Flags) -> bool {
    let even = match C / 2 {
        0 => flags.of(),
        1 => flags.cf(),
        2 => flags.zf(),
        3 => flags.cf() || flags.zf(),
        4 => flags.sf(),
        5 => flags.pf(),
        6 => flags.sf() != flags.of(),
        _ => flags.zf() || flags.sf() != flags.of(),
    };
    even != (C % 2 == 1)
}

/// Instantiates generic code for a condition known at run time.
macro_rules! by_condition {
    ($condition:expr, $name:ident => $instance:expr) => {
        match $condition {
            0 => {
                const $name: u8 = 0;
                $instance
            }
            1 => {
                const $name: u8 = 1;
                $instance
            }
            2 => {
                const $name: u8 = 2;
                $instance
            }
            3 => {
                const $name: u8 = 3;
                $instance
            }
            4 => {
                const $name: u8 = 4;
                $instance
            }
            5 => {
                const $name: u8 = 5;
                $instance
            }
            6 => {
                const $name: u8 = 6;
                $instance
            }
            7 => {
                const $name: u8 = 7;
                $instance
            }
            8 => {
                const $name: u8 = 8;
                $instance
            }
            9 => {
                const $name: u8 = 9;
                $instance
            }
            10 => {
                const $name: u8 = 10;
                $instance
            }
            11 => {
                const $name: u8 = 11;
                $instance
            }
            12 => {
                const $name: u8 = 12;
                $instance
            }
            13 => {
                const $name: u8 = 13;
                $instance
            }
            14 => {
                const $name: u8 = 14;
                $instance
            }
            _ => {
                const $name: u8 = 15;
                $instance
            }
        }
    };
}

pub(crate) use by_condition;

/// `cmovcc`. A memory operand is read in any case, and a 32-bit destination's upper half is cleared in any case.
fn cmov<M: Memory, W: Word, const C: u8, S: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let new = S::read::<W>(cpu, memory, insn)?;
    let old = cpu.read::<W>(insn.destination);
    cpu.write::<W>(insn.destination, if holds::<C>(&cpu.flags) { new } else { old });
    NEXT
}

/// `setcc`.
fn set<M: Memory, const C: u8, D: Place<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let value = holds::<C>(&cpu.flags) as u64;
    D::write::<u8>(cpu, memory, insn, value)?;
    NEXT
}

pub(crate) fn cmov_handler<M: Memory, S: Place<M>>(condition: u8, size: Size) -> Handler<M> {
    fn instance<M: Memory, const C: u8, S: Place<M>>(size: Size) -> Handler<M> {
        match size {
            Size::B1 | Size::B2 => cmov::<M, u16, C, S>,
            Size::B4 => cmov::<M, u32, C, S>,
            Size::B8 => cmov::<M, u64, C, S>,
        }
    }
    by_condition!(condition, C => instance::<M, C, S>(size))
}

pub(crate) fn set_handler<M: Memory, D: Place<M>>(condition: u8) -> Handler<M> {
    by_condition!(condition, C => set::<M, C, D> as Handler<M>)
}
