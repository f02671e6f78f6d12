//! Selects a handler for each instruction.
//!
//! `iced-x86` decodes the encodings. This module selects the handler of an instruction and lays its operands out as the
//! handler expects them. An instruction without a handler becomes [`invalid`](system::invalid): the program gets an
//! exception, and the user sees the bytes.

mod code;
mod operands;
mod select;
mod vector;

pub(crate) use code::{Bytes, Code};
pub(crate) use select::{fuse, is_mark};

use crate::exec::system;
use crate::insn::Insn;
use crate::{Gprs, Memory};
use iced_x86::{FlowControl, Instruction};

/// Decodes one instruction, and returns whether it ends its block: because it may jump, is invalid, or is a repeated
/// string instruction, which may have to run again.
pub(crate) fn decode<M: Memory>(instruction: &Instruction, bytes: &Bytes) -> (Insn<M>, bool) {
    let mut insn = Insn {
        handler: system::nop::<M>,
        displacement: 0,
        immediate: 0,
        destination: 0,
        source: 0,
        base: Gprs::NONE,
        index: Gprs::NONE,
        shift: 0,
        unusual: 0,
        length: instruction.len() as u8,
        count: 1,
    };
    operands::fill(&mut insn, instruction);
    match select::handler(&mut insn, instruction) {
        Some(handler) => {
            insn.handler = handler;
            let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
            let ends = instruction.flow_control() != FlowControl::Next;
            (insn, ends || repeated && instruction.is_string_instruction())
        }
        None => {
            refuse(&mut insn, bytes);
            (insn, true)
        }
    }
}

/// Stores the bytes of an invalid instruction in place of its operands.
fn refuse<M: Memory>(insn: &mut Insn<M>, bytes: &Bytes) {
    let bytes = u128::from_le_bytes(*bytes);
    insn.displacement = bytes as u64;
    insn.immediate = (bytes >> 64) as u64;
    insn.handler = system::invalid::<M>;
}
