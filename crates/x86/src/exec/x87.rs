//! Operand access of x87 instructions; [`x87`](crate::x87) has the computations.

use super::condition::{by_condition, holds};
use crate::exit::Fault;
use crate::insn::{Halted, Handler, Insn, NEXT, Outcome};
use crate::x87::{Operation, X87, operation};
use crate::{Cpu, Memory, Reg, Size};
use iced_x86::Code;
use std::sync::LazyLock;

/// Operations by code. A table, because a lookup must cost less than the operation.
static OPERATIONS: LazyLock<Vec<Option<(Operation, bool)>>> = LazyLock::new(|| Code::values().map(operation).collect());

/// The operation of an instruction. The code is in [`Insn::immediate`], st(i) in [`Insn::source`], the condition of an
/// `fcmovcc` in [`Insn::destination`]. The code determines the memory operand's size.
fn find<M: Memory>(cpu: &mut Cpu, insn: &Insn<M>) -> Result<Operation, Halted> {
    match OPERATIONS.get(insn.immediate as u16 as usize) {
        Some(Some((_, true))) if cpu.x87.pending() => Err(cpu.fault(Fault::X87)),
        Some(Some((operation, _))) => Ok(*operation),
        _ => unreachable!("the decoder gives only codes of this unit to these handlers"),
    }
}

/// The handler of an x87 instruction; none for others. `bytes` is the size of its memory operand.
pub(crate) fn handler<M: Memory>(code: Code, bytes: u64) -> Option<Handler<M>> {
    let (operation, _) = operation(code)?;
    Some(match operation {
        Operation::Stack(_) => stack::<M>,
        Operation::Load(_) => match bytes {
            2 => load::<M, 2>,
            4 => load::<M, 4>,
            8 => load::<M, 8>,
            _ => load::<M, 10>,
        },
        Operation::Store(_) => match bytes {
            2 => store::<M, 2>,
            4 => store::<M, 4>,
            8 => store::<M, 8>,
            _ => store::<M, 10>,
        },
        Operation::Compare(_) => compare::<M>,
        Operation::Move(_) => conditional_move::<M>,
        Operation::StatusToAx => status_to_ax::<M>,
        Operation::LoadImage { .. } => load_image::<M>,
        Operation::StoreImage { .. } => store_image::<M>,
    })
}

fn stack<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    if let Operation::Stack(run) = find(cpu, insn)? {
        run(&mut cpu.x87, insn.source);
    }
    NEXT
}

fn load<M: Memory, const BYTES: u64>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let operation = find(cpu, insn)?;
    let address = insn.address(cpu);
    let value = match BYTES {
        2 => cpu.load(memory, address, Size::B2)? as u128,
        4 => cpu.load(memory, address, Size::B4)? as u128,
        8 => cpu.load(memory, address, Size::B8)? as u128,
        _ => {
            let low = cpu.load(memory, address, Size::B8)? as u128;
            low | (cpu.load(memory, address.wrapping_add(8), Size::B2)? as u128) << 64
        }
    };
    if let Operation::Load(run) = operation {
        run(&mut cpu.x87, value);
    }
    NEXT
}

fn store<M: Memory, const BYTES: u64>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let operation = find(cpu, insn)?;
    let address = insn.address(cpu);
    let Operation::Store(run) = operation else { return NEXT };
    let before = cpu.x87.clone();
    // An exception that suppresses the store takes precedence over a memory fault.
    let Some(value) = run(&mut cpu.x87) else { return NEXT };
    let low = value as u64;
    let stored = cpu.probe(memory, address, BYTES).and_then(|()| match BYTES {
        2 => cpu.store(memory, address, Size::B2, low),
        4 => cpu.store(memory, address, Size::B4, low),
        8 => cpu.store(memory, address, Size::B8, low),
        _ => cpu
            .store(memory, address, Size::B8, low)
            .and_then(|()| cpu.store(memory, address.wrapping_add(8), Size::B2, (value >> 64) as u64)),
    });
    undo_if_stopped(cpu, before, stored)
}

/// A store may have to wait even after a successful probe; then the x87 state is restored.
fn undo_if_stopped(cpu: &mut Cpu, before: X87, stored: Result<(), Halted>) -> Outcome {
    if let Err(halted) = stored {
        cpu.x87 = before;
        return Err(halted);
    }
    NEXT
}

fn compare<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    if let Operation::Compare(run) = find(cpu, insn)? {
        let flags = run(&mut cpu.x87, insn.source);
        cpu.flags.set_arithmetic(flags);
    }
    NEXT
}

fn conditional_move<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    if let Operation::Move(run) = find(cpu, insn)? {
        let condition = by_condition!(insn.destination, C => holds::<C>(&cpu.flags));
        run(&mut cpu.x87, insn.source, condition);
    }
    NEXT
}

fn status_to_ax<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    find(cpu, insn)?;
    let status = cpu.x87.status as u64;
    cpu.write::<u16>(Reg::Rax as u8, status);
    NEXT
}

/// The size of the largest image, that of `fnsave`.
const IMAGE: usize = 108;

fn load_image<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let Operation::LoadImage { bytes, run } = find(cpu, insn)? else { return NEXT };
    let mut image = [0; IMAGE];
    let image = &mut image[..bytes as usize];
    let address = insn.address(cpu);
    cpu.load_bytes(memory, address, image)?;
    run(&mut cpu.x87, image);
    NEXT
}

fn store_image<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let Operation::StoreImage { bytes, run } = find(cpu, insn)? else { return NEXT };
    let address = insn.address(cpu);
    cpu.probe(memory, address, bytes as u64)?;
    let before = cpu.x87.clone();
    let mut image = [0; IMAGE];
    let image = &mut image[..bytes as usize];
    run(&mut cpu.x87, image);
    let stored = cpu.store_bytes(memory, address, image);
    undo_if_stopped(cpu, before, stored)
}

pub(crate) fn fxsave<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    if address & 15 != 0 {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    cpu.probe(memory, address, 512)?;
    let image = cpu.fxsave();
    // Bytes after the last register are left unchanged.
    cpu.store_bytes(memory, address, &image[..416])?;
    NEXT
}

pub(crate) fn fxrstor<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    if address & 15 != 0 {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    let mut image = [0; 512];
    cpu.load_bytes(memory, address, &mut image)?;
    let mxcsr = u32::from_le_bytes([image[24], image[25], image[26], image[27]]);
    if mxcsr & !crate::sse::Mxcsr::MASK != 0 {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    cpu.fxrstor(&image);
    NEXT
}

impl Cpu {
    fn load_bytes<M: Memory>(&mut self, memory: &mut M, address: u64, bytes: &mut [u8]) -> Result<(), Halted> {
        for (i, part) in bytes.chunks_mut(2).enumerate() {
            let value = self.load(memory, address.wrapping_add(2 * i as u64), Size::B2)?;
            part.copy_from_slice(&value.to_le_bytes()[..2]);
        }
        Ok(())
    }

    /// Stores bytes that the caller has probed.
    fn store_bytes<M: Memory>(&mut self, memory: &mut M, address: u64, bytes: &[u8]) -> Result<(), Halted> {
        for (i, part) in bytes.chunks(2).enumerate() {
            let value = u16::from_le_bytes([part[0], part[1]]);
            self.store(memory, address.wrapping_add(2 * i as u64), Size::B2, value as u64)?;
        }
        Ok(())
    }
}
