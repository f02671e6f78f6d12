//! Moves of xmm registers, and operand access of SSE instructions; [`sse`](crate::sse) has the computations.

use super::word::Word;
use crate::exit::Fault;
use crate::insn::{Halted, Handler, Insn, NEXT, Outcome};
use crate::sse::{Mxcsr, Operation, operation};
use crate::{Cpu, Memory, Reg, Size};
use iced_x86::Code;
use std::sync::LazyLock;

/// The source: a register, or bytes of memory, zero-extended.
pub(crate) trait Source128<M: Memory> {
    fn read(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u128, Halted>;
}

pub(crate) struct Xmm;
/// Sixteen bytes of memory, which must be aligned.
pub(crate) struct Aligned;
/// Sixteen bytes of memory, which need not be aligned.
pub(crate) struct Unaligned;
/// A word of memory.
pub(crate) struct Narrow<W>(std::marker::PhantomData<W>);

impl<M: Memory> Source128<M> for Xmm {
    #[inline(always)]
    fn read(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Result<u128, Halted> {
        Ok(cpu.xmm[(insn.source & 15) as usize])
    }
}

impl<M: Memory> Source128<M> for Aligned {
    #[inline(always)]
    fn read(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u128, Halted> {
        let address = insn.address(cpu);
        check_alignment(cpu, address)?;
        cpu.load128(memory, address)
    }
}

impl<M: Memory> Source128<M> for Unaligned {
    #[inline(always)]
    fn read(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u128, Halted> {
        let address = insn.address(cpu);
        cpu.load128(memory, address)
    }
}

impl<M: Memory, W: Word> Source128<M> for Narrow<W> {
    #[inline(always)]
    fn read(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Result<u128, Halted> {
        let address = insn.address(cpu);
        Ok(cpu.load(memory, address, W::SIZE)? as u128)
    }
}

#[inline(always)]
fn check_alignment(cpu: &mut Cpu, address: u64) -> Result<(), Halted> {
    if address & 15 != 0 { Err(cpu.fault(Fault::GeneralProtection)) } else { Ok(()) }
}

#[inline(always)]
fn destination<'a, M: Memory>(cpu: &'a mut Cpu, insn: &Insn<M>) -> &'a mut u128 {
    &mut cpu.xmm[(insn.destination & 15) as usize]
}

/// Loads a whole register; bytes that are not loaded become zero.
pub(crate) fn load<M: Memory, S: Source128<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    *destination(cpu, insn) = S::read(cpu, memory, insn)?;
    NEXT
}

/// Stores sixteen bytes.
pub(crate) fn store<M: Memory, const ALIGNED: bool>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    if ALIGNED {
        check_alignment(cpu, address)?;
    }
    let value = cpu.xmm[(insn.source & 15) as usize];
    cpu.store128(memory, address, value)?;
    NEXT
}

/// `movss` and `movsd` between registers: copies the low part and keeps the rest.
pub(crate) fn merge<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let value = cpu.xmm[(insn.source & 15) as usize];
    let mask = W::MASK as u128;
    let to = destination(cpu, insn);
    *to = *to & !mask | value & mask;
    NEXT
}

/// `movq` between registers: copies the low part and clears the rest.
pub(crate) fn low<M: Memory>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    *destination(cpu, insn) = cpu.xmm[(insn.source & 15) as usize] & u64::MAX as u128;
    NEXT
}

/// Stores a word of a register, from bit `FROM` on: `movss`, `movsd`, `movq`, `movlps`, `movhps`.
pub(crate) fn store_part<M: Memory, W: Word, const FROM: u32>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let address = insn.address(cpu);
    let value = (cpu.xmm[(insn.source & 15) as usize] >> FROM) as u64;
    cpu.store(memory, address, W::SIZE, value)?;
    NEXT
}

/// Loads half a register from memory, or from the half `FROM` of a register, and keeps the other half: `movlps`,
/// `movhps`, `movhlps`, `movlhps`.
pub(crate) fn half<M: Memory, S: Source128<M>, const FROM: u32, const TO: u32>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
) -> Outcome {
    let value = (S::read(cpu, memory, insn)? >> FROM) as u64 as u128;
    let to = destination(cpu, insn);
    *to = *to & !((u64::MAX as u128) << TO) | value << TO;
    NEXT
}

/// `movd` and `movq` from a general register.
pub(crate) fn from_gpr<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    *destination(cpu, insn) = cpu.read::<W>(insn.source) as u128;
    NEXT
}

/// `movd` and `movq` to a general register.
pub(crate) fn to_gpr<M: Memory, W: Word>(cpu: &mut Cpu, _: &mut M, insn: &Insn<M>) -> Outcome {
    let value = cpu.xmm[(insn.source & 15) as usize] as u64;
    cpu.write::<W>(insn.destination, value);
    NEXT
}

/// `maskmovdqu`: stores the bytes selected by the sign bits of the second register, at the address in RDI.
pub(crate) fn store_masked<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let pointer = cpu.gpr[Reg::Rdi];
    let pointer = if insn.unusual & crate::insn::NARROW != 0 { pointer as u32 as u64 } else { pointer };
    let address = pointer.wrapping_add(insn.segment_base(cpu));
    let bytes = cpu.xmm[(insn.destination & 15) as usize].to_le_bytes();
    let mask = cpu.xmm[(insn.source & 15) as usize].to_le_bytes();
    let chosen = |i: &usize| mask[*i] & 0x80 != 0;
    for i in (0..16).filter(chosen) {
        cpu.probe(memory, address.wrapping_add(i as u64), 1)?;
    }
    for i in (0..16).filter(chosen) {
        cpu.store(memory, address.wrapping_add(i as u64), Size::B1, bytes[i] as u64)?;
    }
    NEXT
}

pub(crate) fn ldmxcsr<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    let value = cpu.load(memory, address, Size::B4)? as u32;
    if value & !Mxcsr::MASK != 0 {
        return Err(cpu.fault(Fault::GeneralProtection));
    }
    cpu.mxcsr = Mxcsr(value);
    NEXT
}

pub(crate) fn stmxcsr<M: Memory>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let address = insn.address(cpu);
    let value = cpu.mxcsr.0 as u64;
    cpu.store(memory, address, Size::B4, value)?;
    NEXT
}

/// Operations by code, with a register and with a memory source. A table, because a lookup must cost less than the
/// operation.
static OPERATIONS: LazyLock<Vec<[Option<Operation>; 2]>> =
    LazyLock::new(|| Code::values().map(|code| [operation(code, false), operation(code, true)]).collect());

/// Encodes what handlers read from [`Insn::immediate`]: the code, whether the source is memory (bit 16), the immediate
/// byte.
pub(crate) fn pack(code: Code, memory: bool, immediate: u8) -> u64 {
    code as u64 | (memory as u64) << 16 | (immediate as u64) << 24
}

#[inline(always)]
fn find<M: Memory>(insn: &Insn<M>) -> (Operation, u8) {
    let entry =
        OPERATIONS.get(insn.immediate as u16 as usize).and_then(|pair| pair[(insn.immediate >> 16 & 1) as usize]);
    match entry {
        Some(operation) => (operation, (insn.immediate >> 24) as u8),
        None => unreachable!("the decoder gives only codes of SSE to these handlers"),
    }
}

/// Raises an unmasked exception: the flags say which, and nothing else has changed.
#[inline(always)]
fn settle(cpu: &mut Cpu, mut mxcsr: Mxcsr) -> Result<(), Halted> {
    let fault = mxcsr.take_fault();
    cpu.mxcsr = mxcsr;
    if fault { Err(cpu.fault(Fault::Simd)) } else { Ok(()) }
}

/// An operation whose function is known at compile time.
#[inline(always)]
pub(crate) fn compute<M: Memory, S: Source128<M>>(
    cpu: &mut Cpu,
    memory: &mut M,
    insn: &Insn<M>,
    run: impl Fn(&mut Mxcsr, u128, u128, u8) -> u128,
    immediate: u8,
) -> Outcome {
    let source = S::read(cpu, memory, insn)?;
    let mut mxcsr = cpu.mxcsr;
    let result = run(&mut mxcsr, *destination(cpu, insn), source, immediate);
    settle(cpu, mxcsr)?;
    *destination(cpu, insn) = result;
    NEXT
}

fn vector<M: Memory, S: Source128<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    match find(insn) {
        (Operation::Vector(run), immediate) => compute::<M, S>(cpu, memory, insn, run, immediate),
        _ => NEXT,
    }
}

fn blend<M: Memory, S: Source128<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let source = S::read(cpu, memory, insn)?;
    if let (Operation::Blend(run), _) = find(insn) {
        let choice = cpu.xmm[0];
        let to = destination(cpu, insn);
        *to = run(*to, source, choice);
    }
    NEXT
}

fn compare<M: Memory, S: Source128<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let second = S::read(cpu, memory, insn)?;
    if let (Operation::Compare(run), _) = find(insn) {
        let mut mxcsr = cpu.mxcsr;
        let flags = run(&mut mxcsr, *destination(cpu, insn), second);
        settle(cpu, mxcsr)?;
        cpu.flags.set_arithmetic(flags);
    }
    NEXT
}

fn strings<M: Memory, S: Source128<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let second = S::read(cpu, memory, insn)?;
    if let (Operation::Strings { run, to_xmm0 }, immediate) = find(insn) {
        let first = *destination(cpu, insn);
        let result = run(first, second, cpu.gpr[Reg::Rax], cpu.gpr[Reg::Rdx], immediate);
        if to_xmm0 {
            cpu.xmm[0] = result.value;
        } else {
            cpu.gpr[Reg::Rcx] = result.value as u64;
        }
        cpu.flags.set_arithmetic(result.flags);
    }
    NEXT
}

fn gpr_from_vector<M: Memory, S: Source128<M>>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let source = S::read(cpu, memory, insn)?;
    if let (Operation::ToGpr(run), immediate) = find(insn) {
        let mut mxcsr = cpu.mxcsr;
        let value = run(&mut mxcsr, source, immediate);
        settle(cpu, mxcsr)?;
        // 32-bit results are already zero-extended.
        cpu.write::<u64>(insn.destination, value);
    }
    NEXT
}

/// `pextrb` and its variants, with a memory destination.
fn memory_from_vector<M: Memory, W: Word>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let source = cpu.xmm[(insn.source & 15) as usize];
    if let (Operation::ToGpr(run), immediate) = find(insn) {
        let value = run(&mut Mxcsr::default(), source, immediate);
        let address = insn.address(cpu);
        cpu.store(memory, address, W::SIZE, value)?;
    }
    NEXT
}

fn vector_from_gpr<M: Memory, W: Word, const MEMORY: bool>(cpu: &mut Cpu, memory: &mut M, insn: &Insn<M>) -> Outcome {
    let source = if MEMORY {
        let address = insn.address(cpu);
        cpu.load(memory, address, W::SIZE)?
    } else {
        cpu.read::<W>(insn.source)
    };
    if let (Operation::FromGpr(run), immediate) = find(insn) {
        let mut mxcsr = cpu.mxcsr;
        let value = run(&mut mxcsr, *destination(cpu, insn), source, immediate);
        settle(cpu, mxcsr)?;
        *destination(cpu, insn) = value;
    }
    NEXT
}

/// The handler of an SSE instruction that computes; none for others. `memory` is the size of the memory operand, if
/// there is one; `stores` says that it is the destination; `gpr` is the size of a general register that is read.
pub(crate) fn handler<M: Memory>(code: Code, memory: Option<u64>, stores: bool, gpr: Size) -> Option<Handler<M>> {
    macro_rules! from_source {
        ($handler:ident, $whole:ty) => {
            match memory {
                None => $handler::<M, Xmm> as Handler<M>,
                Some(1) => $handler::<M, Narrow<u8>>,
                Some(2) => $handler::<M, Narrow<u16>>,
                Some(4) => $handler::<M, Narrow<u32>>,
                Some(8) => $handler::<M, Narrow<u64>>,
                Some(_) => $handler::<M, $whole>,
            }
        };
    }
    Some(match operation(code, memory.is_some())? {
        Operation::Vector(_) => from_source!(vector, Aligned),
        Operation::Blend(_) => from_source!(blend, Aligned),
        Operation::Compare(_) => from_source!(compare, Aligned),
        Operation::Strings { .. } => from_source!(strings, Unaligned),
        Operation::ToGpr(_) => match (stores, memory) {
            (true, Some(1)) => memory_from_vector::<M, u8>,
            (true, Some(2)) => memory_from_vector::<M, u16>,
            (true, Some(4)) => memory_from_vector::<M, u32>,
            (true, Some(_)) => memory_from_vector::<M, u64>,
            _ => from_source!(gpr_from_vector, Aligned),
        },
        Operation::FromGpr(_) => match memory {
            Some(1) => vector_from_gpr::<M, u8, true>,
            Some(2) => vector_from_gpr::<M, u16, true>,
            Some(4) => vector_from_gpr::<M, u32, true>,
            Some(_) => vector_from_gpr::<M, u64, true>,
            None if gpr == Size::B8 => vector_from_gpr::<M, u64, false>,
            None => vector_from_gpr::<M, u32, false>,
        },
    })
}
