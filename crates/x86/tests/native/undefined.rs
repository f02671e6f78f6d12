//! Flags that the manuals leave undefined: they are not compared, and not read by later instructions.

use super::generate::Step;
use iced_x86::{Instruction, OpKind, Register, RflagsBits};

/// The flags that are undefined after a sequence, on any path.
pub fn undefined_flags(steps: &[Step]) -> u32 {
    walk_flags(steps).0
}

/// The flags that are undefined at any point of a sequence, for sequences that end in a fault.
pub fn ever_undefined_flags(steps: &[Step]) -> u32 {
    steps.iter().fold(0, |flags, step| {
        let instruction = &step.instruction;
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        // A repetition that is interrupted by a fault may or may not have set the flags.
        flags | instruction.rflags_undefined() | if repeated { instruction.rflags_written() } else { 0 }
    })
}

/// Whether the last step may read a flag that is undefined there.
pub fn reads_undefined_flags(steps: &[Step]) -> bool {
    walk_flags(steps).1
}

fn walk_flags(steps: &[Step]) -> (u32, bool) {
    let mut undefined = RflagsBits::NONE;
    let mut reads = false;
    let mut conditional_until = 0;
    for (at, step) in steps.iter().enumerate() {
        let instruction = &step.instruction;
        reads = instruction.rflags_read() & undefined != 0;
        let certain = at >= conditional_until && !may_leave_flags(instruction);
        if certain {
            undefined &= !(instruction.rflags_written() | instruction.rflags_cleared() | instruction.rflags_set());
        }
        undefined |= instruction.rflags_undefined();
        if let Some(target) = step.target {
            conditional_until = conditional_until.max(target);
        }
    }
    (undefined, reads)
}

/// Whether the instruction leaves flags unchanged for some operands, such as counts of zero.
fn may_leave_flags(instruction: &Instruction) -> bool {
    let by_cl = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand) == Register::CL
    });
    by_cl || instruction.has_rep_prefix() || instruction.has_repne_prefix()
}
