//! Which convention a kernel's code follows for the arguments behind those of its source.
//!
//! The metadata lists hidden arguments as the compiler lays them out for HSA, whatever library was linked in. AMD's
//! device libraries read them so. libclc does not: it takes sizes from the dispatch packet and reads Mesa's four words
//! behind the arguments of the source: the number of dimensions and the global offsets along x, y and z. With HSA's
//! values there (version 5 has the numbers of work-groups) it would compute wrong global ids. The metadata does not
//! tell the two apart, the code does:
//!
//! * version 5: the device libraries never look at the dispatch packet and take sizes from offset 12 on; libclc looks
//!   at the packet and never behind the sixteenth byte;
//! * before: HSA's offsets are 64 bits wide, so nothing starts in the middle of one; libclc's are 32 bits wide.
//!
//! Before version 5 a kernel that asks libclc for the number of dimensions and nothing else looks the same as one that
//! asks the device libraries for the global offset; it is taken for the latter.
//!
//! The reads are found by following the two pointers through the scalar moves and additions of the kernel's own code,
//! in the order of its bytes. That is no proof, but compilers put these loads in the open.

use super::{
    descriptor::Setup,
    kernel::{Argument, Version},
};
use crate::{
    decode::decode,
    inst::{Inst, Operand},
    ops::Op,
};

/// How the arguments behind those of the source are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImplicitLayout {
    /// As the metadata says.
    Hsa,
    /// Mesa's four words: dimensions and global offsets, at this offset in the kernarg segment.
    Mesa { offset: u32 },
    /// The code reads arguments from this offset on that the metadata does not list. Before version 5 they start with
    /// the global offsets.
    Unlisted { offset: u32 },
}

/// Bytes of Mesa's words.
const MESA_BYTES: u32 = 16;

/// Reads the convention off the code of a kernel that the metadata describes.
pub fn layout(version: Version, setup: Setup, arguments: &[Argument], code: &[u8]) -> ImplicitLayout {
    let reads = Reads::of(setup, code);
    let end = |argument: &Argument| argument.offset + argument.size;
    let explicit_end = arguments.iter().filter(|argument| !argument.kind.is_hidden()).map(end).max().unwrap_or(0);
    let hidden = arguments.iter().find(|argument| argument.kind.is_hidden());
    let base = hidden.map_or(explicit_end.next_multiple_of(8), |argument| argument.offset);
    let behind = |read: &&Read| read.start >= base && read.start < base + MESA_BYTES;
    let mesa = if version >= Version::V5 {
        let beyond = reads.kernarg.iter().any(|read| read.start + read.size > base + MESA_BYTES);
        reads.packet && !beyond && reads.kernarg.iter().any(|read| behind(&read))
    } else {
        reads.kernarg.iter().filter(behind).any(|read| (read.start - base) % 8 == 4)
    };
    let unlisted = hidden.is_none() && reads.kernarg.iter().any(|read| read.start >= base);
    match (mesa, unlisted) {
        (true, _) => ImplicitLayout::Mesa { offset: base },
        (false, true) => ImplicitLayout::Unlisted { offset: base },
        (false, false) => ImplicitLayout::Hsa,
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Read {
    start: u32,
    size: u32,
}

/// What a kernel's code reads through the pointers it is given.
#[derive(Debug, Default, PartialEq)]
struct Reads {
    kernarg: Vec<Read>,
    /// Whether it reads the dispatch packet.
    packet: bool,
}

/// What is known of a scalar register.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Constant(u32),
    /// The low half of a pointer so many bytes into its target.
    Low(Pointer, u32),
    High(Pointer),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pointer {
    Kernarg,
    Packet,
}

impl Reads {
    fn of(setup: Setup, code: &[u8]) -> Reads {
        let mut registers = [None; 128];
        let mut next = if setup.private_segment_buffer { 4 } else { 0 };
        for (wanted, pointer) in [
            (setup.dispatch_ptr, Some(Pointer::Packet)),
            (setup.queue_ptr, None),
            (setup.kernarg_segment_ptr, Some(Pointer::Kernarg)),
        ] {
            if let (true, Some(pointer)) = (wanted, pointer) {
                registers[next] = Some(Known::Low(pointer, 0));
                registers[next + 1] = Some(Known::High(pointer));
            }
            next += if wanted { 2 } else { 0 };
        }
        let mut follow = Follow { registers, reads: Reads::default() };
        let mut at = 0;
        while at < code.len() {
            match decode(code, at) {
                Ok(inst) => {
                    follow.step(&inst);
                    at += usize::from(inst.size);
                }
                Err(_) => at += 4,
            }
        }
        follow.reads
    }
}

struct Follow {
    registers: [Option<Known>; 128],
    reads: Reads,
}

impl Follow {
    fn step(&mut self, inst: &Inst) {
        let read = match inst.op {
            Op::SLoadDword => Some(4),
            Op::SLoadDwordx2 => Some(8),
            Op::SLoadDwordx4 => Some(16),
            Op::SLoadDwordx8 => Some(32),
            Op::SLoadDwordx16 => Some(64),
            _ => None,
        };
        if let Some(size) = read {
            self.load(inst, size);
        }
        let known = match inst.op {
            Op::SMovB32 => [self.value(inst, inst.src[0], 0), None],
            Op::SMovB64 => [self.value(inst, inst.src[0], 0), self.value(inst, inst.src[0], 1)],
            Op::SAddU32 | Op::SAddI32 => {
                [add(self.value(inst, inst.src[0], 0), self.value(inst, inst.src[1], 0)), None]
            }
            // The carry of an offset into the kernarg segment is zero.
            Op::SAddcU32 => {
                let halves = (self.value(inst, inst.src[0], 0), self.value(inst, inst.src[1], 0));
                let high = match halves {
                    (Some(Known::High(pointer)), Some(Known::Constant(0)))
                    | (Some(Known::Constant(0)), Some(Known::High(pointer))) => Some(Known::High(pointer)),
                    _ => None,
                };
                [high, None]
            }
            _ => [None, None],
        };
        let info = inst.op.info();
        for (operand, count) in [(inst.dst, info.dst.registers()), (inst.sdst, 2)] {
            if let Some(first) = operand.as_scalar_register() {
                for index in 0..count {
                    if let Some(register) = self.registers.get_mut(usize::from(first + index)) {
                        *register =
                            if operand == inst.dst { known.get(usize::from(index)).copied().flatten() } else { None };
                    }
                }
            }
        }
    }

    fn load(&mut self, inst: &Inst, size: u32) {
        let offset = match inst.src[1] {
            Operand::LITERAL => Some(Known::Constant(inst.imm)),
            register => self.value(inst, register, 0),
        };
        let base = inst.src[0].as_scalar_register().and_then(|base| self.registers[usize::from(base)]);
        match (base, offset) {
            (Some(Known::Low(Pointer::Kernarg, start)), Some(Known::Constant(offset))) => {
                self.reads.kernarg.push(Read { start: start.wrapping_add(offset) & !3, size });
            }
            (Some(Known::Low(Pointer::Packet, _)), _) => self.reads.packet = true,
            _ => {}
        }
    }

    /// What is known of a 32-bit operand, or of the half `part` of a 64-bit one.
    fn value(&self, inst: &Inst, operand: Operand, part: u8) -> Option<Known> {
        if let Some(register) = operand.as_scalar_register() {
            return self.registers.get(usize::from(register + part)).copied().flatten();
        }
        let number = match operand {
            Operand::LITERAL => inst.imm as i32,
            operand => operand.as_inline_integer()?,
        };
        // A 64-bit constant is extended by its sign.
        Some(Known::Constant(if part == 0 { number as u32 } else { (number >> 31) as u32 }))
    }
}

fn add(a: Option<Known>, b: Option<Known>) -> Option<Known> {
    Some(match (a?, b?) {
        (Known::Constant(a), Known::Constant(b)) => Known::Constant(a.wrapping_add(b)),
        (Known::Low(pointer, offset), Known::Constant(more)) | (Known::Constant(more), Known::Low(pointer, offset)) => {
            Known::Low(pointer, offset.wrapping_add(more))
        }
        _ => return None,
    })
}
