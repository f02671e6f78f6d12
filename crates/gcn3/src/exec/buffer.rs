//! Buffer accesses: addresses from a resource, an index, offsets and the lane.
//!
//! Lanes outside the buffer read zero and write nothing; a lane that is partly outside counts as outside. gfx803 counts
//! the size of a buffer in bytes, with or without a stride.

use super::{
    Group, Handler, Outcome, Step, active,
    address::Shape,
    format::{ElementFormat, select},
    image::Sampled,
    simd::lanes,
};
use crate::{
    error::Fault,
    inst::{Flags, Inst},
    memop::{AtomicOp, Destination, Extension, Kind, MemOp, Space},
    ops::Op,
    wave::Wavefront,
};

/// A buffer resource.
#[derive(Clone, Copy, Debug)]
struct Resource {
    base: u64,
    stride: u64,
    size: u64,
    selects: [u8; 4],
    number_format: u32,
    data_format: u32,
    /// Bytes of an element and elements of a row, if elements of adjacent indices are interleaved.
    swizzle: Option<(u64, u64)>,
    add_lane: bool,
}

impl Resource {
    fn new(words: [u32; 4]) -> Self {
        let low = u64::from(words[0]) | u64::from(words[1]) << 32;
        let word = words[3];
        let add_lane = word >> 23 & 1 == 1;
        let data_format = word >> 15 & 15;
        // If the lane is added, the data format bits extend the stride.
        let high_stride = if add_lane { u64::from(data_format) << 14 } else { 0 };
        Self {
            base: low & 0xffff_ffff_ffff,
            stride: low >> 48 & 0x3fff | high_stride,
            size: words[2].into(),
            selects: [0, 3, 6, 9].map(|shift| (word >> shift & 7) as u8),
            number_format: word >> 12 & 7,
            data_format,
            swizzle: (low >> 63 == 1).then(|| (2 << (word >> 19 & 3), 8 << (word >> 21 & 3))),
            add_lane,
        }
    }

    /// The address of `bytes` bytes at an index and offset; none if they are outside.
    fn address(&self, index: u64, offset: u64, scalar_offset: u64, bytes: u64) -> Option<u64> {
        match self.swizzle {
            Some((element, row)) => {
                let inside = match self.stride {
                    0 => offset + bytes + scalar_offset <= self.size,
                    stride => offset + bytes <= stride && index < self.size / stride,
                };
                let place = (index / row * self.stride + offset / element * element) * row
                    + index % row * element
                    + offset % element;
                inside.then_some(self.base.wrapping_add(scalar_offset).wrapping_add(place))
            }
            None => {
                let place = offset + self.stride * index;
                let inside = place + bytes + scalar_offset <= self.size;
                inside.then_some(self.base.wrapping_add(scalar_offset).wrapping_add(place))
            }
        }
    }
}

impl Wavefront {
    fn resource(&self, inst: &Inst) -> Resource {
        let first = usize::from(inst.src[1].code());
        Resource::new(std::array::from_fn(|n| self.scalars[(first + n) & 127]))
    }

    /// Fills in the addresses. Lanes outside the buffer are removed from the mask, and get zeros at once if it is a
    /// load.
    fn buffer_addresses(&mut self, inst: &Inst, op: &mut MemOp, resource: Resource) -> Result<(), Fault> {
        let flags = inst.memory().flags;
        if flags.contains(Flags::LDS) {
            return Err(Fault::Unsupported("a buffer load into the local data share"));
        }
        if flags.contains(Flags::TFE) {
            return Err(Fault::Unsupported("a status word behind the data (tfe)"));
        }
        let first = inst.src[0].as_vgpr().map_or(0, usize::from);
        let (indexed, offset_given) = (flags.contains(Flags::IDXEN), flags.contains(Flags::OFFEN));
        let offsets = self.vgpr(first + usize::from(indexed));
        let indices = self.vgpr(first);
        let scalar_offset = u64::from(self.scalar32(inst, inst.src[2]));
        let lane_index = |lane: usize| {
            let index = if indexed { u64::from(indices[lane]) } else { 0 };
            index + if resource.add_lane { lane as u64 } else { 0 }
        };
        let lane_offset = |lane: usize| u64::from(inst.imm) + if offset_given { u64::from(offsets[lane]) } else { 0 };
        let bytes = op.lane_bytes();
        let all: [Option<u64>; 64] =
            lanes(|lane| resource.address(lane_index(lane), lane_offset(lane), scalar_offset, bytes));
        let inside = super::simd::mask(|lane| all[lane].is_some());
        *op.addresses = lanes(|lane| all[lane].unwrap_or(0));
        if let Some((element, row)) = resource.swizzle {
            op.space = Space::Scratch;
            if element == 4 {
                op.stride = 4 * row as u32;
            } else if op.elements > 1 {
                // The interleaved address of each word of a lane.
                let word_bytes = u64::from(op.element_bytes);
                for word in 1..u64::from(op.elements) {
                    let at = |lane: usize| {
                        resource.address(lane_index(lane), lane_offset(lane) + 4 * word, scalar_offset, word_bytes)
                    };
                    op.more.push(Box::new(lanes(|lane| at(lane).unwrap_or(0))));
                }
                op.elements = 1;
            }
        }
        let outside = op.mask & !inside;
        if outside != 0 {
            let all = std::mem::replace(&mut op.mask, outside);
            for lane in active(outside) {
                op.data.iter_mut().for_each(|row| row[lane] = 0);
            }
            if matches!(op.destination, Destination::Vgprs { .. }) {
                self.complete(op)?;
            }
            op.mask = all & inside;
        }
        Ok(())
    }

    #[inline(always)]
    fn buffer(&mut self, inst: &Inst, group: &mut Group, shape: Shape) -> Outcome {
        let data = inst.dst.as_vgpr();
        let mut op = self.operation(group, inst, shape, data, data);
        self.buffer_addresses(inst, &mut op, self.resource(inst))?;
        if op.mask == 0 {
            group.recycle(op);
            return Ok(Step::Done);
        }
        Ok(Step::Mem(op))
    }

    /// A load or store of `components` components in the format of the buffer or, if typed, of the instruction.
    fn buffer_format(&mut self, inst: &Inst, group: &mut Group, components: usize, kind: Kind, half: bool) -> Outcome {
        let resource = self.resource(inst);
        let memory = inst.memory();
        let typed = matches!(inst.format, crate::inst::Format::Mtbuf);
        let format = match typed {
            true => ElementFormat::new(memory.dfmt.into(), memory.nfmt.into())?,
            false => ElementFormat::new(resource.data_format, resource.number_format)?,
        };
        let selects = if typed { [4, 5, 6, 7] } else { resource.selects };
        let bytes = format.bytes() as u8;
        let (element, words) = (bytes.min(4), bytes.div_ceil(4));
        let first = inst.dst.as_vgpr().unwrap_or(0);
        let shape = match kind {
            Kind::Store => Shape::Store { bytes: element, words },
            _ => Shape::Load { bytes: element, words, extension: Extension::Zero },
        };
        let mut op = self.operation(group, inst, shape, None, Some(first));
        if kind == Kind::Store {
            let rows: [[u32; 64]; 4] = std::array::from_fn(|n| self.vgpr(usize::from(first) + n).0);
            let packed: [[u32; 4]; 64] = std::array::from_fn(|lane| {
                let given: [u32; 4] = std::array::from_fn(|n| {
                    let value = if n < components { rows[n][lane] } else { 0 };
                    if half && format.is_float() { super::float::f16_to_f32(value & 0xffff).to_bits() } else { value }
                });
                // Each stored component is written from the channel that reads it.
                format.pack(std::array::from_fn(|n| {
                    let from = selects.iter().position(|select| usize::from(*select) == 4 + n);
                    given[from.unwrap_or(n)]
                }))
            });
            let row = |word: usize| super::simd::Row(lanes(|lane| packed[lane][word]));
            op.data.clear();
            op.data.extend((0..usize::from(words)).map(row));
        }
        let all = op.mask;
        self.buffer_addresses(inst, &mut op, resource)?;
        if kind == Kind::Load {
            let nothing = select([0; 4], selects, format.one());
            let outside = all & !op.mask;
            for (n, value) in nothing.into_iter().enumerate().take(components) {
                self.write_vgpr(usize::from(first) + n, &[value; 64], outside);
            }
            let sampled = Sampled::plain(format, selects, (1 << components) - 1, half);
            op.destination = Destination::Texels { first, sampled: Box::new(sampled) };
        }
        if op.mask == 0 {
            group.recycle(op);
            return Ok(Step::Done);
        }
        Ok(Step::Mem(op))
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    use Extension::{SignByte, SignShort, Zero};
    Some(match op {
        Op::BufferLoadUbyte => |w, i, g| w.buffer(i, g, Shape::load_narrow(1, Zero)),
        Op::BufferLoadSbyte => |w, i, g| w.buffer(i, g, Shape::load_narrow(1, SignByte)),
        Op::BufferLoadUshort => |w, i, g| w.buffer(i, g, Shape::load_narrow(2, Zero)),
        Op::BufferLoadSshort => |w, i, g| w.buffer(i, g, Shape::load_narrow(2, SignShort)),
        Op::BufferLoadDword => |w, i, g| w.buffer(i, g, Shape::load(1)),
        Op::BufferLoadDwordx2 => |w, i, g| w.buffer(i, g, Shape::load(2)),
        Op::BufferLoadDwordx3 => |w, i, g| w.buffer(i, g, Shape::load(3)),
        Op::BufferLoadDwordx4 => |w, i, g| w.buffer(i, g, Shape::load(4)),
        Op::BufferStoreByte => |w, i, g| w.buffer(i, g, Shape::store_narrow(1)),
        Op::BufferStoreShort => |w, i, g| w.buffer(i, g, Shape::store_narrow(2)),
        Op::BufferStoreDword => |w, i, g| w.buffer(i, g, Shape::store(1)),
        Op::BufferStoreDwordx2 => |w, i, g| w.buffer(i, g, Shape::store(2)),
        Op::BufferStoreDwordx3 => |w, i, g| w.buffer(i, g, Shape::store(3)),
        Op::BufferStoreDwordx4 => |w, i, g| w.buffer(i, g, Shape::store(4)),
        _ => return atomic(op).or_else(|| formatted(op)),
    })
}

/// A table of atomic operations: the 32-bit instruction and the 64-bit one.
macro_rules! atomics {
    ($op:expr; $($operation:ident: $narrow:ident $wide:ident;)*) => {
        Some(match $op {
            $(
                Op::$narrow => |w, i, g| w.buffer(i, g, Shape::atomic(AtomicOp::$operation, 1)),
                Op::$wide => |w, i, g| w.buffer(i, g, Shape::atomic(AtomicOp::$operation, 2)),
            )*
            _ => return None,
        })
    };
}

fn atomic(op: Op) -> Option<Handler> {
    atomics! { op;
        Swap: BufferAtomicSwap BufferAtomicSwapX2;
        CompareSwap: BufferAtomicCmpswap BufferAtomicCmpswapX2;
        Add: BufferAtomicAdd BufferAtomicAddX2;
        Sub: BufferAtomicSub BufferAtomicSubX2;
        SignedMin: BufferAtomicSmin BufferAtomicSminX2;
        UnsignedMin: BufferAtomicUmin BufferAtomicUminX2;
        SignedMax: BufferAtomicSmax BufferAtomicSmaxX2;
        UnsignedMax: BufferAtomicUmax BufferAtomicUmaxX2;
        And: BufferAtomicAnd BufferAtomicAndX2;
        Or: BufferAtomicOr BufferAtomicOrX2;
        Xor: BufferAtomicXor BufferAtomicXorX2;
        Increment: BufferAtomicInc BufferAtomicIncX2;
        Decrement: BufferAtomicDec BufferAtomicDecX2;
    }
}

/// A table of formatted accesses: components, then loads, stores, and both with 16-bit registers, untyped and typed.
macro_rules! formats {
    ($op:expr; $($components:literal: $load:ident $store:ident $load16:ident $store16:ident
        $tload:ident $tstore:ident $tload16:ident $tstore16:ident;)*) => {
        Some(match $op {
            $(
                Op::$load | Op::$tload => |w, i, g| w.buffer_format(i, g, $components, Kind::Load, false),
                Op::$store | Op::$tstore => |w, i, g| w.buffer_format(i, g, $components, Kind::Store, false),
                Op::$load16 | Op::$tload16 => |w, i, g| w.buffer_format(i, g, $components, Kind::Load, true),
                Op::$store16 | Op::$tstore16 => |w, i, g| w.buffer_format(i, g, $components, Kind::Store, true),
            )*
            _ => return None,
        })
    };
}

fn formatted(op: Op) -> Option<Handler> {
    formats! { op;
        1: BufferLoadFormatX BufferStoreFormatX BufferLoadFormatD16X BufferStoreFormatD16X
            TbufferLoadFormatX TbufferStoreFormatX TbufferLoadFormatD16X TbufferStoreFormatD16X;
        2: BufferLoadFormatXy BufferStoreFormatXy BufferLoadFormatD16Xy BufferStoreFormatD16Xy
            TbufferLoadFormatXy TbufferStoreFormatXy TbufferLoadFormatD16Xy TbufferStoreFormatD16Xy;
        3: BufferLoadFormatXyz BufferStoreFormatXyz BufferLoadFormatD16Xyz BufferStoreFormatD16Xyz
            TbufferLoadFormatXyz TbufferStoreFormatXyz TbufferLoadFormatD16Xyz TbufferStoreFormatD16Xyz;
        4: BufferLoadFormatXyzw BufferStoreFormatXyzw BufferLoadFormatD16Xyzw BufferStoreFormatD16Xyzw
            TbufferLoadFormatXyzw TbufferStoreFormatXyzw TbufferLoadFormatD16Xyzw TbufferStoreFormatD16Xyzw;
    }
}
