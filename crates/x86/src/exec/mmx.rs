//! Operand access of MMX instructions; [`sse`](crate::sse) has the computations.

use crate::exit::Fault;
use crate::insn::{Halted, Handler, Insn, NARROW, NEXT, Outcome};
use crate::sse::{MmxOperation, Mxcsr, mmx_operation};
use crate::{Cpu, Memory, Reg, Size};
use iced_x86::Code;

/// Encodes what handlers read from [`Insn::immediate`]: the code, the size of the memory operand (bits 16 to 23) and
/// the immediate.
pub(crate) fn pack(code: Code, memory: u8, immediate: u8) -> u64 {
    code as u64 | u64::from(memory) << 16 | u64::from(immediate) << 24
}

/// The common handler of all MMX instructions, which are rare.
pub(crate) fn handler<M: Memory>(code: Code, memory: bool) -> Option<Handler<M>> {
    mmx_operation(code, memory).map(|_| run::<M> as Handler<M>)
}

fn run<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let code = Code::try_from(insn.immediate as u16 as usize).expect("the decoder packed a code");
    let (bytes, imm) = ((insn.immediate >> 16) as u8, (insn.immediate >> 24) as u8);
    let operation = mmx_operation(code, bytes != 0).expect("the decoder gives only codes of MMX to this handler");
    // A move from memory to an xmm register does not involve the x87 unit.
    let aside = bytes != 0 && matches!(operation, MmxOperation::ToXmm(_));
    if cpu.x87.pending() && !aside {
        return Err(cpu.fault(Fault::X87));
    }
    let mut mxcsr = cpu.mxcsr;
    match operation {
        MmxOperation::Low(run) => {
            let source = source(cpu, memory, insn, bytes)?;
            let result = run(&mut mxcsr, cpu.x87.mmx(insn.destination).into(), source.into(), imm);
            write(cpu, insn, result as u64);
        }
        MmxOperation::Own(run) => {
            let source = source(cpu, memory, insn, bytes)?;
            let result = run(cpu.x87.mmx(insn.destination), source, imm);
            write(cpu, insn, result);
        }
        MmxOperation::FromXmm(run) => {
            let source = match bytes {
                0 => cpu.xmm[(insn.source & 15) as usize],
                16 => {
                    let address = insn.address(cpu);
                    if address & 15 != 0 {
                        return Err(cpu.fault(Fault::GeneralProtection));
                    }
                    cpu.load128(memory, address)?
                }
                _ => load(cpu, memory, insn, bytes)?.into(),
            };
            let result = run(&mut mxcsr, source);
            cpu.x87.enter_mmx();
            settle(cpu, mxcsr)?;
            write(cpu, insn, result);
        }
        MmxOperation::ToXmm(run) => {
            let source = source(cpu, memory, insn, bytes)?;
            let result = run(&mut mxcsr, cpu.xmm[(insn.destination & 15) as usize], source);
            if bytes == 0 {
                cpu.x87.enter_mmx();
            }
            settle(cpu, mxcsr)?;
            cpu.xmm[(insn.destination & 15) as usize] = result;
        }
        MmxOperation::ToGpr(run) => {
            let result = run(cpu.x87.mmx(insn.source), imm);
            cpu.x87.enter_mmx();
            cpu.write::<u64>(insn.destination, result);
        }
        MmxOperation::FromGpr(run) => {
            let source = match bytes {
                0 if matches!(code, Code::Movd_mm_rm32) => cpu.read::<u32>(insn.source),
                0 => cpu.read::<u64>(insn.source),
                _ => load(cpu, memory, insn, bytes)?,
            };
            let result = run(cpu.x87.mmx(insn.destination), source, imm);
            write(cpu, insn, result);
        }
        MmxOperation::Store(bytes) => {
            let address = insn.address(cpu);
            let value = cpu.x87.mmx(insn.source);
            cpu.store(memory, address, if bytes == 4 { Size::B4 } else { Size::B8 }, value)?;
            cpu.x87.enter_mmx();
        }
        MmxOperation::Masked => store_masked(cpu, memory, insn)?,
        MmxOperation::Emms => cpu.x87.leave_mmx(),
    }
    NEXT
}

fn write<M: Memory>(cpu: &mut Cpu, insn: &Insn<M>, value: u64) {
    cpu.x87.enter_mmx();
    cpu.x87.set_mmx(insn.destination, value);
}

fn load<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>, bytes: u8) -> Result<u64, Halted> {
    let address = insn.address(cpu);
    let size = match bytes {
        2 => Size::B2,
        4 => Size::B4,
        _ => Size::B8,
    };
    cpu.load(memory, address, size)
}

/// The source, an mm register or memory.
fn source<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>, bytes: u8) -> Result<u64, Halted> {
    if bytes == 0 { Ok(cpu.x87.mmx(insn.source)) } else { load(cpu, memory, insn, bytes) }
}

fn settle(cpu: &mut Cpu, mut mxcsr: Mxcsr) -> Result<(), Halted> {
    let fault = mxcsr.take_fault();
    cpu.mxcsr = mxcsr;
    if fault { Err(cpu.fault(Fault::Simd)) } else { Ok(()) }
}

/// `maskmovq`: stores the bytes selected by the sign bits of the second register, at the address in RDI.
fn store_masked<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<(), Halted> {
    let pointer = cpu.gpr[Reg::Rdi];
    let pointer = if insn.unusual & NARROW != 0 { pointer as u32 as u64 } else { pointer };
    let address = pointer.wrapping_add(insn.segment_base(cpu));
    let bytes = cpu.x87.mmx(insn.destination).to_le_bytes();
    let mask = cpu.x87.mmx(insn.source).to_le_bytes();
    let chosen = |i: &usize| mask[*i] & 0x80 != 0;
    // Processors enter MMX mode even if a byte can't be stored.
    cpu.x87.enter_mmx();
    for i in (0..8).filter(chosen) {
        cpu.probe(memory, address.wrapping_add(i as u64), 1)?;
    }
    for i in (0..8).filter(chosen) {
        cpu.store(memory, address.wrapping_add(i as u64), Size::B1, bytes[i].into())?;
    }
    Ok(())
}
