//! System instructions.

use crate::cpu::MARKS;
use crate::exit::Trouble;
use crate::insn::{Halted, Insn, NEXT, Outcome};
use crate::{Cpu, Fault, Memory, Reg};

/// `nop`, `endbr64`, `pause`, prefetches and fences. Memory ordering is left to the timing model.
pub(crate) fn nop<M: Memory>(_: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    NEXT
}

/// `clflush`, `clflushopt`, `clwb`. A line that only has to be written back may be dropped as well.
pub(crate) fn flush<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    memory.flush_line(address).map_err(|stop| cpu.stop(stop))?;
    NEXT
}

/// `syscall`: sets RCX, R11 and RIP, and returns to the caller. The immediate is the address after it.
pub(crate) fn syscall<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    cpu.gpr[Reg::Rcx] = insn.immediate;
    cpu.gpr[Reg::R11] = cpu.flags.get();
    cpu.rip = insn.immediate;
    cpu.trouble = Trouble::Syscall;
    Err(Halted)
}

/// `int3`.
pub(crate) fn breakpoint<M: Memory>(cpu: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    Err(cpu.fault(Fault::Breakpoint))
}

/// `hlt` and other privileged instructions.
pub(crate) fn privileged<M: Memory>(cpu: &mut Cpu, _: &mut M, _: &Insn<M>) -> Outcome {
    Err(cpu.fault(Fault::GeneralProtection))
}

/// `ud2`, and every instruction that this CPU does not implement. The instruction's bytes are in place of its operands.
pub(crate) fn invalid<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let mut bytes = [0; 15];
    bytes[..8].copy_from_slice(&insn.displacement.to_le_bytes());
    bytes[8..].copy_from_slice(&insn.immediate.to_le_bytes()[..7]);
    Err(cpu.fault(Fault::InvalidOpcode { bytes, length: insn.length.min(15) }))
}

/// `rdtsc`. The immediate is the number of instructions of the block before this one.
pub(crate) fn rdtsc<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let now = cpu.tsc_offset.wrapping_add(cpu.instructions).wrapping_add(insn.immediate);
    cpu.gpr[Reg::Rax] = now & 0xffff_ffff;
    cpu.gpr[Reg::Rdx] = now >> 32;
    NEXT
}

/// A `nop` that marks the begin or the end of a region of interest; the displacement says which. The immediate is the
/// same as that of `rdtsc`.
pub(crate) fn mark<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let is_end = insn.displacement == MARKS[1];
    if cpu.stops_at_mark && !is_end {
        cpu.trouble = Trouble::Mark;
        return Err(Halted);
    }
    let now = cpu.tsc_offset.wrapping_add(cpu.instructions).wrapping_add(insn.immediate);
    cpu.marks[usize::from(is_end)] = Some(now);
    NEXT
}

/// `rdtscp`, which also returns the processor number.
pub(crate) fn rdtscp<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    rdtsc(cpu, memory, insn)?;
    cpu.gpr[Reg::Rcx] = cpu.processor.into();
    NEXT
}

/// `cld` and `std`.
pub(crate) fn direction<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    cpu.flags.put_df(insn.immediate != 0);
    NEXT
}
