//! Detects the layout of implicit arguments that a kernel's code expects after the explicit ones.
//!
//! The metadata lists hidden arguments in the layout of HSA, whichever library was linked in. AMD's device libraries
//! read them in this layout. libclc does not: it takes sizes from the dispatch packet, and reads Mesa's four words
//! after the explicit arguments: the number of dimensions and the global offsets along x, y and z. With HSA's values
//! there (version 5 has the numbers of work-groups) it would compute wrong global ids. The metadata does not
//! distinguish the two, but the code does:
//!
//! * version 5: the device libraries never read the dispatch packet and read sizes from offset 12 on; libclc reads the
//!   packet and nothing after the sixteenth byte;
//! * before: HSA's offsets are 64 bits wide, so no read starts in the middle of one, and the upper half of one is only
//!   ever added with a carry; libclc's are 32 bits wide.
//!
//! Evidence from one kernel applies to all kernels of an object that do not show the opposite, since they were linked
//! with one library. Before version 5, an object that asks libclc for the number of dimensions and for no id looks like
//! one that asks the device libraries for the global offset; it is taken for the latter.
//!
//! The reads are found by tracking the two pointers through the scalar moves and additions of the kernel's own code, in
//! address order. This is a heuristic, but compilers place these loads where it finds them.

use super::{
    descriptor::Setup,
    kernel::{Argument, Version},
    metadata::MAX_KERNARG,
};
use crate::{
    decode::decode,
    inst::{Inst, Operand},
    ops::Op,
};
use std::collections::BTreeMap;

/// The layout of the arguments after the explicit ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImplicitLayout {
    /// As given by the metadata.
    Hsa,
    /// Mesa's four words: dimensions and global offsets, at this offset in the kernarg segment.
    Mesa { offset: u32 },
    /// The code reads arguments from this offset on that the metadata does not list. Before version 5 they start with
    /// the global offsets.
    Unlisted { offset: u32 },
}

/// The size of Mesa's words in bytes.
const MESA_BYTES: u32 = 16;

/// Evidence from the code of one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The offset at which the explicit arguments end and the others start.
    base: u32,
    shows: Shows,
    /// Whether it reads arguments that the metadata does not list.
    unlisted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shows {
    Hsa,
    Mesa,
    Nothing,
}

impl Evidence {
    /// Examines the code of a kernel that the metadata describes.
    pub fn of(version: Version, setup: Setup, arguments: &[Argument], code: &[u8]) -> Evidence {
        let end = |argument: &Argument| argument.offset + argument.size;
        let explicit_end = arguments.iter().filter(|argument| !argument.kind.is_hidden()).map(end).max().unwrap_or(0);
        let hidden = arguments.iter().find(|argument| argument.kind.is_hidden());
        let base = hidden.map_or(explicit_end.next_multiple_of(8), |argument| argument.offset);
        let reads = Reads::of(setup, code);
        let is_upper_half = |place: u32| place >= base && place < base + MESA_BYTES && (place - base) % 8 == 4;
        let beyond = reads.kernarg.iter().any(|read| read.start + read.size > base + MESA_BYTES);
        let within = reads.kernarg.iter().any(|read| read.start >= base && read.start < base + MESA_BYTES);
        let halves = reads.kernarg.iter().map(|read| read.start).chain(reads.added).any(is_upper_half);
        let mesa = if version >= Version::V5 { reads.packet && within && !beyond } else { halves };
        let shows = match (mesa, beyond) {
            (true, _) => Shows::Mesa,
            (false, true) => Shows::Hsa,
            (false, false) => Shows::Nothing,
        };
        Evidence { base, shows, unlisted: hidden.is_none() && (within || beyond) }
    }

    pub fn shows_mesa(&self) -> bool {
        self.shows == Shows::Mesa
    }

    /// The layout of this kernel, given whether any kernel of the object shows Mesa's.
    pub fn layout(&self, mesa_in_object: bool) -> ImplicitLayout {
        let offset = self.base;
        match self.shows {
            Shows::Mesa => ImplicitLayout::Mesa { offset },
            Shows::Nothing if mesa_in_object => ImplicitLayout::Mesa { offset },
            _ if self.unlisted => ImplicitLayout::Unlisted { offset },
            _ => ImplicitLayout::Hsa,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Read {
    start: u32,
    size: u32,
}

/// The bytes that a kernel's code reads through the two pointers.
#[derive(Debug, Default, PartialEq)]
struct Reads {
    kernarg: Vec<Read>,
    /// Offsets in the kernarg segment of words that are added to something without carry in.
    added: Vec<u32>,
    /// Whether it reads the dispatch packet.
    packet: bool,
}

/// The known contents of a scalar register.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Constant(u32),
    /// The low half of a pointer, and its offset in bytes from the start of its target.
    Low(Pointer, u32),
    High(Pointer),
    /// The word at this offset of the kernarg segment.
    Word(u32),
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
        let mut follow = Follow { registers, lanes: BTreeMap::new(), reads: Reads::default() };
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
    /// Scalar registers that were saved in lanes of vector registers.
    lanes: BTreeMap<(u8, u32), Known>,
    reads: Reads,
}

impl Follow {
    fn step(&mut self, inst: &Inst) {
        let [a, b] = [inst.src[0], inst.src[1]].map(|operand| self.value(inst, operand, 0));
        let mut known = [None; 16];
        match inst.op {
            Op::SMovB32 => known[0] = a,
            Op::SMovB64 => known[..2].copy_from_slice(&[a, self.value(inst, inst.src[0], 1)]),
            Op::SAddU32 | Op::SAddI32 => known[0] = add(a, b),
            // The carry of an offset into the kernarg segment is zero.
            Op::SAddcU32 => {
                known[0] = match (a, b) {
                    (Some(Known::High(pointer)), Some(Known::Constant(0)))
                    | (Some(Known::Constant(0)), Some(Known::High(pointer))) => Some(Known::High(pointer)),
                    _ => None,
                }
            }
            Op::SLoadDword | Op::SLoadDwordx2 | Op::SLoadDwordx4 | Op::SLoadDwordx8 | Op::SLoadDwordx16 => {
                self.load(inst, &mut known);
            }
            Op::VReadlaneB32 => {
                let lane = (inst.src[0].as_vgpr(), b);
                if let (Some(vgpr), Some(Known::Constant(lane))) = lane {
                    known[0] = self.lanes.get(&(vgpr, lane)).copied();
                }
            }
            _ => {}
        }
        if matches!(inst.op, Op::SAddU32 | Op::SAddI32 | Op::VAddU32) {
            let words = [a, b].into_iter().flatten().filter_map(|known| match known {
                Known::Word(place) => Some(place),
                _ => None,
            });
            self.reads.added.extend(words);
        }
        self.write(inst, &known);
    }

    /// Records what is known of the registers that an instruction writes, replacing earlier knowledge.
    fn write(&mut self, inst: &Inst, known: &[Option<Known>; 16]) {
        let count = inst.op.info().dst.registers();
        if let Some(first) = inst.dst.as_scalar_register() {
            for (index, known) in known.iter().enumerate().take(count.into()) {
                if let Some(register) = self.registers.get_mut(usize::from(first) + index) {
                    *register = *known;
                }
            }
        }
        if let Some(first) = inst.sdst.as_scalar_register() {
            self.registers.iter_mut().skip(first.into()).take(2).for_each(|register| *register = None);
        }
        if let Some(first) = inst.dst.as_vgpr() {
            if inst.op == Op::VWritelaneB32 {
                if let Some(Known::Constant(lane)) = self.value(inst, inst.src[1], 0) {
                    self.lanes.remove(&(first, lane));
                    self.lanes.extend(self.value(inst, inst.src[0], 0).map(|known| ((first, lane), known)));
                }
            } else {
                self.lanes.retain(|(vgpr, _), _| *vgpr < first || *vgpr >= first.saturating_add(count));
            }
        }
    }

    fn load(&mut self, inst: &Inst, known: &mut [Option<Known>; 16]) {
        let offset = match inst.src[1] {
            Operand::LITERAL => Some(Known::Constant(inst.imm)),
            register => self.value(inst, register, 0),
        };
        let base = inst.src[0].as_scalar_register().and_then(|base| self.registers[usize::from(base)]);
        match (base, offset) {
            (Some(Known::Low(Pointer::Kernarg, start)), Some(Known::Constant(offset))) => {
                let start = start.wrapping_add(offset) & !3;
                if start > MAX_KERNARG {
                    return; // not in the segment: the pointer was followed wrongly
                }
                let words = u32::from(inst.op.info().dst.registers());
                self.reads.kernarg.push(Read { start, size: 4 * words });
                for (place, known) in (start..).step_by(4).zip(known).take(words as usize) {
                    *known = Some(Known::Word(place));
                }
            }
            (Some(Known::Low(Pointer::Packet, _)), _) => self.reads.packet = true,
            _ => {}
        }
    }

    /// The known value of a 32-bit operand, or of the half `part` of a 64-bit one.
    fn value(&self, inst: &Inst, operand: Operand, part: u8) -> Option<Known> {
        if let Some(register) = operand.as_scalar_register() {
            return self.registers.get(usize::from(register + part)).copied().flatten();
        }
        let number = match operand {
            Operand::LITERAL => inst.imm as i32,
            operand => operand.as_inline_integer()?,
        };
        // A 64-bit constant is sign-extended.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::kernel::{ArgumentKind, Hidden};

    /// `s_load_dword s0, s[4:5], 0x4`: from the dispatch packet.
    const PACKET: [u32; 2] = [0xc002_0002, 4];

    /// `s_load_dword s1, s[6:7], offset`: from the kernarg segment.
    const fn dword(offset: u32) -> [u32; 2] {
        [0xc002_0043, offset]
    }

    /// `s_load_dwordx4 s[12:15], s[6:7], offset`.
    const fn four(offset: u32) -> [u32; 2] {
        [0xc00a_0303, offset]
    }

    /// The layout found for a kernel with one pointer argument and a hidden argument.
    fn found(version: Version, hidden: Option<Hidden>, code: &[[u32; 2]]) -> ImplicitLayout {
        let argument = |kind, offset| Argument {
            name: None,
            type_name: None,
            kind,
            offset,
            size: 8,
            address_space: None,
            pointee_align: None,
            is_const: false,
            is_restrict: false,
            is_volatile: false,
            access: None,
        };
        let mut arguments = vec![argument(ArgumentKind::Buffer, 0)];
        arguments.extend(hidden.map(|hidden| argument(ArgumentKind::Hidden(hidden), 8)));
        let setup =
            Setup { private_segment_buffer: true, dispatch_ptr: true, kernarg_segment_ptr: true, ..Setup::default() };
        let code: Vec<u8> = code.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        Evidence::of(version, setup, &arguments, &code).layout(false)
    }

    const HSA: ImplicitLayout = ImplicitLayout::Hsa;
    const MESA: ImplicitLayout = ImplicitLayout::Mesa { offset: 8 };

    #[test]
    fn before_version_5_libclc_reads_half_an_offset() {
        let offsets = Some(Hidden::GlobalOffsetX);
        for version in [Version::V2, Version::V3, Version::V4] {
            assert_eq!(found(version, offsets, &[PACKET, dword(8)]), HSA, "the low half of the offset along x");
            assert_eq!(found(version, offsets, &[PACKET, four(8)]), HSA, "the offsets along x and y");
            assert_eq!(found(version, offsets, &[PACKET, dword(8 + 4)]), MESA, "Mesa's offset along x");
            assert_eq!(found(version, offsets, &[PACKET, dword(8 + 12)]), MESA, "Mesa's offset along z");
        }
    }

    #[test]
    fn before_version_5_libclc_adds_what_would_be_the_upper_half_of_an_offset() {
        // s_load_dwordx4 s[12:15], s[6:7], 0x8, then s_add_i32 s3, s3, s13 or s_addc_u32 s3, s3, s13.
        let offsets = Some(Hidden::GlobalOffsetX);
        assert_eq!(found(Version::V4, offsets, &[four(8), [0x8103_0d03, 0xbf80_0000]]), MESA);
        assert_eq!(found(Version::V4, offsets, &[four(8), [0x8203_0d03, 0xbf80_0000]]), HSA);
    }

    #[test]
    fn what_one_kernel_shows_goes_for_the_others() {
        let nothing = Evidence { base: 8, shows: Shows::Nothing, unlisted: false };
        assert_eq!((nothing.layout(false), nothing.layout(true)), (HSA, MESA));
        let hsa = Evidence { base: 8, shows: Shows::Hsa, unlisted: false };
        assert_eq!(hsa.layout(true), HSA);
    }

    #[test]
    fn in_version_5_libclc_reads_the_packet_and_the_first_words_only() {
        let counts = Some(Hidden::BlockCountX);
        assert_eq!(found(Version::V5, counts, &[PACKET, dword(8 + 4)]), MESA);
        assert_eq!(found(Version::V5, counts, &[PACKET, four(8)]), MESA);
        assert_eq!(found(Version::V5, counts, &[dword(8 + 4)]), HSA, "a number of work-groups");
        assert_eq!(found(Version::V5, counts, &[PACKET, dword(8 + 4), dword(8 + 40)]), HSA, "an offset of HSA's");
        assert_eq!(found(Version::V5, counts, &[PACKET, dword(0)]), HSA, "an argument of the source");
    }

    #[test]
    fn arguments_that_the_metadata_do_not_list_are_noticed() {
        assert_eq!(found(Version::V5, None, &[dword(0), dword(16)]), ImplicitLayout::Unlisted { offset: 8 });
        assert_eq!(found(Version::V2, None, &[dword(8)]), ImplicitLayout::Unlisted { offset: 8 });
        assert_eq!(found(Version::V2, None, &[dword(12)]), MESA);
        assert_eq!(found(Version::V5, None, &[PACKET, dword(4)]), HSA);
    }

    #[test]
    fn pointers_are_followed_through_moves_and_additions() {
        // s_mov_b64 s[10:11], s[6:7]; s_add_u32 s10, s10, 8; s_addc_u32 s11, s11, 0; s_load_dword s1, s[10:11], 0x4
        let code = [[0xbe8a_0106, 0x800a_880a], [0x820b_800b, 0xbf80_0000], PACKET, [0xc002_0045, 4]];
        assert_eq!(found(Version::V4, Some(Hidden::GlobalOffsetX), &code), MESA);
        // As before, but with the register overwritten: s_mov_b32 s10, 0.
        let code = [[0xbe8a_0106, 0x800a_880a], [0x820b_800b, 0xbe8a_0080], PACKET, [0xc002_0045, 4]];
        assert_eq!(found(Version::V4, Some(Hidden::GlobalOffsetX), &code), HSA);
        // v_writelane_b32 v1, s6, 0; v_readlane_b32 s10, v1, 0; s_load_dword s1, s[10:11], 0xc
        let code = [[0xd28a_0001, 0x0001_0006], [0xd289_000a, 0x0001_0101], [0xc002_0045, 12]];
        assert_eq!(found(Version::V4, Some(Hidden::GlobalOffsetX), &code), MESA);
    }
}
