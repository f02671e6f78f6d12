//! Images: texels by integer coordinates, and samples by floating-point ones.
//!
//! One- and two-dimensional images in linear layout with one level of detail. A coordinate outside the image reads as
//! zero (or as the sampler says) and is not written.

use super::{
    Group, Handler, Outcome, Step, active,
    address::Shape,
    float::f32_to_f16,
    format::{ElementFormat, select},
    simd::Row,
};
use crate::{
    error::Fault,
    inst::{Flags, Inst},
    memop::{AtomicOp, Destination, Extension, Kind, MemOp, Space},
    ops::Op,
    wave::Wavefront,
};

/// An image resource.
#[derive(Clone, Copy, Debug)]
struct Resource {
    base: u64,
    width: u32,
    height: u32,
    /// Texels from one row to the next.
    pitch: u64,
    format: ElementFormat,
    selects: [u8; 4],
    dimensions: usize,
}

impl Resource {
    fn new(words: [u32; 8]) -> Result<Self, Fault> {
        let format = ElementFormat::new(words[1] >> 20 & 63, words[1] >> 26 & 15)?;
        let width = (words[2] & 0x3fff) + 1;
        let height = (words[2] >> 14 & 0x3fff) + 1;
        let dimensions = match words[3] >> 28 {
            8 => 1,
            9 => 2,
            other => return Err(Fault::Descriptor(format!("images of type {other}: only 1-D and 2-D ones").into())),
        };
        let tiling = words[3] >> 20 & 31;
        if tiling != 8 {
            let text = format!("an image with tiling index {tiling}: only linear images (index 8) are supported");
            return Err(Fault::Descriptor(text.into()));
        }
        Ok(Self {
            base: (u64::from(words[0]) | u64::from(words[1] & 0xff) << 32) << 8,
            width,
            height: if dimensions == 1 { 1 } else { height },
            pitch: u64::from(words[4] >> 13 & 0x3fff) + 1,
            format,
            selects: [0, 3, 6, 9].map(|shift| (words[3] >> shift & 7) as u8),
            dimensions,
        })
    }

    /// Where a texel lies, if it is inside.
    fn texel(&self, x: i64, y: i64) -> Option<u64> {
        let inside = (0..i64::from(self.width)).contains(&x) && (0..i64::from(self.height)).contains(&y);
        inside.then(|| self.base + (y as u64 * self.pitch + x as u64) * u64::from(self.format.bytes()))
    }
}

/// What happens to a coordinate outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrap {
    Repeat,
    Mirror,
    Edge,
    MirrorOnce,
    Border,
}

/// A sampler.
#[derive(Clone, Copy, Debug)]
struct Sampler {
    wrap: [Wrap; 2],
    normalised: bool,
    linear: bool,
    border: u32,
}

impl Sampler {
    fn new(words: [u32; 4], unnormalised: bool) -> Result<Self, Fault> {
        let wrap = |bits: u32| {
            Ok(match bits & 7 {
                0 => Wrap::Repeat,
                1 => Wrap::Mirror,
                2 => Wrap::Edge,
                3 => Wrap::MirrorOnce,
                4 | 6 => Wrap::Border,
                other => return Err(Fault::Descriptor(format!("sampler clamp mode {other} is not supported").into())),
            })
        };
        Ok(Self {
            wrap: [wrap(words[0])?, wrap(words[0] >> 3)?],
            normalised: !unnormalised && words[0] >> 15 & 1 == 0,
            linear: words[2] >> 20 & 1 == 1,
            border: words[3] >> 30,
        })
    }

    /// The texel coordinate for one that may lie outside `size` texels; none for the border.
    fn wrapped(&self, axis: usize, at: i64, size: i64) -> Option<i64> {
        match self.wrap[axis] {
            _ if (0..size).contains(&at) => Some(at),
            Wrap::Repeat => Some(at.rem_euclid(size)),
            Wrap::Mirror => {
                let place = at.rem_euclid(2 * size);
                Some(if place < size { place } else { 2 * size - 1 - place })
            }
            Wrap::Edge => Some(at.clamp(0, size - 1)),
            Wrap::MirrorOnce => Some((if at < 0 { -1 - at } else { at }).min(size - 1)),
            Wrap::Border => None,
        }
    }

    fn border_colour(&self, format: &ElementFormat) -> [u32; 4] {
        let one = format.one();
        match self.border {
            0 => [0; 4],
            1 => [0, 0, 0, one],
            _ => [one; 4],
        }
    }
}

/// How the data of an image or formatted buffer load become registers.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    format: ElementFormat,
    selects: [u8; 4],
    /// Components that are written, one bit each, to consecutive registers.
    components: u8,
    /// Whether registers get 16-bit values.
    half: bool,
    /// For each place that was read: lanes that lie outside and get the border colour.
    outside: Vec<u64>,
    border: [u32; 4],
    /// Weights of the texels to the right and below, if four are mixed.
    weights: Option<Box<[[f32; 2]; 64]>>,
}

impl Sampled {
    /// One element per lane, all inside.
    pub(super) fn plain(format: ElementFormat, selects: [u8; 4], components: u8, half: bool) -> Self {
        Self { format, selects, components, half, outside: vec![], border: [0; 4], weights: None }
    }

    /// Converts, mixes and writes what was read.
    pub(crate) fn write(&self, wave: &mut Wavefront, first: usize, op: &MemOp) -> Result<(), Fault> {
        let words = self.format.bytes().div_ceil(4) as usize;
        let texel = |place: usize, lane: usize| {
            if self.outside.get(place).is_some_and(|outside| outside >> lane & 1 == 1) {
                return self.border;
            }
            let word = |n: usize| op.data.get(place * words + n).filter(|_| n < words).map_or(0, |row| row[lane]);
            self.format.unpack(std::array::from_fn(word))
        };
        for lane in active(op.mask) {
            let mixed = match &self.weights {
                None => texel(0, lane),
                Some(weights) => {
                    let [right, below] = weights[lane];
                    let corners: [[u32; 4]; 4] = std::array::from_fn(|place| texel(place, lane));
                    std::array::from_fn(|n| {
                        let at = |place: usize| f32::from_bits(corners[place][n]);
                        let above = at(0) * (1.0 - right) + at(1) * right;
                        let under = at(2) * (1.0 - right) + at(3) * right;
                        (above * (1.0 - below) + under * below).to_bits()
                    })
                }
            };
            let values = select(mixed, self.selects, self.format.one());
            let mut register = first;
            for (n, value) in values.into_iter().enumerate() {
                if self.components >> n & 1 == 1 {
                    let narrow = match (self.half, self.format.is_float()) {
                        (true, true) => f32_to_f16(f32::from_bits(value)),
                        (true, false) => value & 0xffff,
                        _ => value,
                    };
                    wave.vgprs[register & 255][lane] = narrow;
                    register += 1;
                }
            }
        }
        Ok(())
    }
}

impl Wavefront {
    fn image_resource(&self, inst: &Inst) -> Result<Resource, Fault> {
        let flags = inst.memory().flags;
        if flags.contains(Flags::R128) || flags.contains(Flags::TFE) || flags.contains(Flags::LWE) {
            return Err(Fault::Unsupported("image access with r128, tfe or lwe"));
        }
        let first = usize::from(inst.src[1].code());
        Resource::new(std::array::from_fn(|n| self.scalars[(first + n) & 127]))
    }

    /// The integer coordinates of a lane.
    fn texel_coordinates(&self, inst: &Inst, resource: &Resource, lane: usize) -> (i64, i64) {
        let first = inst.src[0].as_vgpr().map_or(0, usize::from);
        let at = |n: usize| i64::from(self.vgpr(first + n)[lane]);
        (at(0), if resource.dimensions > 1 { at(1) } else { 0 })
    }

    fn texel_shape(resource: &Resource, store: bool) -> Shape {
        let bytes = resource.format.bytes() as u8;
        let (bytes, words) = (bytes.min(4), bytes.div_ceil(4));
        match store {
            true => Shape::Store { bytes, words },
            false => Shape::Load { bytes, words, extension: Extension::Zero },
        }
    }

    fn image_load(&mut self, inst: &Inst, group: &mut Group) -> Outcome {
        let resource = self.image_resource(inst)?;
        let mut op = self.operation(group, inst, Self::texel_shape(&resource, false), None, inst.dst.as_vgpr());
        op.space = Space::Image;
        let mut outside = 0;
        for lane in active(op.mask) {
            let (x, y) = self.texel_coordinates(inst, &resource, lane);
            op.addresses[lane] = resource.texel(x, y).unwrap_or_else(|| {
                outside |= 1 << lane;
                resource.base
            });
        }
        let memory = inst.memory();
        let mut sampled =
            Sampled::plain(resource.format, resource.selects, memory.dmask, memory.flags.contains(Flags::D16));
        sampled.outside = vec![outside];
        op.destination = Destination::Texels { first: inst.dst.as_vgpr().unwrap_or(0), sampled: Box::new(sampled) };
        Ok(Step::Mem(op))
    }

    fn image_store(&mut self, inst: &Inst, group: &mut Group) -> Outcome {
        let resource = self.image_resource(inst)?;
        let mut op = self.operation(group, inst, Self::texel_shape(&resource, true), None, None);
        op.space = Space::Image;
        let memory = inst.memory();
        let half = memory.flags.contains(Flags::D16);
        let first = inst.dst.as_vgpr().map_or(0, usize::from);
        let words = resource.format.bytes().div_ceil(4) as usize;
        op.data.resize(words, Row::default());
        for lane in active(self.exec()) {
            let (x, y) = self.texel_coordinates(inst, &resource, lane);
            match resource.texel(x, y) {
                Some(address) => op.addresses[lane] = address,
                None => op.mask &= !(1 << lane),
            }
            let mut register = first;
            let components: [u32; 4] = std::array::from_fn(|n| {
                if memory.dmask >> n & 1 == 0 {
                    return 0;
                }
                let value = self.vgpr(register)[lane];
                register += 1;
                match half && resource.format.is_float() {
                    true => super::float::f16_to_f32(value & 0xffff).to_bits(),
                    false => value,
                }
            });
            // What red, green, blue and alpha are read from is where they are written to.
            let stored = std::array::from_fn(|n| {
                let from = resource.selects.iter().position(|select| usize::from(*select) == 4 + n);
                from.map_or(0, |from| components[from])
            });
            for (row, word) in op.data.iter_mut().zip(resource.format.pack(stored)) {
                row[lane] = word;
            }
        }
        Ok(if op.mask == 0 { Step::Done } else { Step::Mem(op) })
    }

    fn image_sample(&mut self, inst: &Inst, group: &mut Group) -> Outcome {
        let resource = self.image_resource(inst)?;
        let memory = inst.memory();
        let first = usize::from(inst.src[2].code());
        let words = std::array::from_fn(|n| self.scalars[(first + n) & 127]);
        let sampler = Sampler::new(words, memory.flags.contains(Flags::UNORM))?;
        if sampler.linear && !resource.format.is_float() {
            return Err(Fault::Descriptor("linear filtering of an integer image".into()));
        }
        let mut op = self.operation(group, inst, Self::texel_shape(&resource, false), None, inst.dst.as_vgpr());
        op.space = Space::Image;
        let places = if sampler.linear { 4 } else { 1 };
        op.data.resize(places * usize::from(op.elements), Row::default());
        op.more = vec![Box::new([0; 64]); places - 1];
        let mut outside = vec![0; places];
        let mut weights = Box::new([[0.0; 2]; 64]);
        let coordinates = inst.src[0].as_vgpr().map_or(0, usize::from);
        let sizes = [i64::from(resource.width), i64::from(resource.height)];
        for lane in active(op.mask) {
            let texels: [f64; 2] = std::array::from_fn(|axis| match axis {
                1 if resource.dimensions == 1 => 0.5,
                axis => {
                    let at = f64::from(f32::from_bits(self.vgpr(coordinates + axis)[lane]));
                    if sampler.normalised { at * sizes[axis] as f64 } else { at }
                }
            });
            let corner = texels.map(|at| (if sampler.linear { at - 0.5 } else { at }).floor());
            if sampler.linear {
                weights[lane] = std::array::from_fn(|axis| (texels[axis] - 0.5 - corner[axis]) as f32);
            }
            for (place, outside) in outside.iter_mut().enumerate() {
                let x = sampler.wrapped(0, corner[0] as i64 + (place & 1) as i64, sizes[0]);
                let y = sampler.wrapped(1, corner[1] as i64 + (place >> 1) as i64, sizes[1]);
                let address = x.zip(y).and_then(|(x, y)| resource.texel(x, y)).unwrap_or_else(|| {
                    *outside |= 1 << lane;
                    resource.base
                });
                match place {
                    0 => op.addresses[lane] = address,
                    place => op.more[place - 1][lane] = address,
                }
            }
        }
        let mut sampled =
            Sampled::plain(resource.format, resource.selects, memory.dmask, memory.flags.contains(Flags::D16));
        sampled.outside = outside;
        sampled.border = sampler.border_colour(&resource.format);
        sampled.weights = sampler.linear.then_some(weights);
        op.destination = Destination::Texels { first: inst.dst.as_vgpr().unwrap_or(0), sampled: Box::new(sampled) };
        Ok(Step::Mem(op))
    }

    fn image_atomic(&mut self, inst: &Inst, group: &mut Group, atomic: AtomicOp) -> Outcome {
        let resource = self.image_resource(inst)?;
        let words = match resource.format.bytes() {
            4 => 1,
            8 => 2,
            _ => return Err(Fault::Descriptor("an atomic access to texels of neither 32 nor 64 bits".into())),
        };
        let data = inst.dst.as_vgpr();
        let mut op = self.operation(group, inst, Shape::atomic(atomic, words), data, data);
        op.space = Space::Image;
        for lane in active(self.exec()) {
            let (x, y) = self.texel_coordinates(inst, &resource, lane);
            match resource.texel(x, y) {
                Some(address) => op.addresses[lane] = address,
                None => op.mask &= !(1 << lane),
            }
        }
        if let Kind::Atomic { returns: true, .. } = op.kind {
            let outside = self.exec() & !op.mask;
            for word in 0..usize::from(words) {
                self.write_vgpr(data.map_or(0, usize::from) + word, &[0; 64], outside);
            }
        }
        Ok(if op.mask == 0 { Step::Done } else { Step::Mem(op) })
    }

    /// The size of an image: width, height, depth, levels of detail.
    fn image_size(&mut self, inst: &Inst) -> Outcome {
        let resource = self.image_resource(inst)?;
        let mut register = inst.dst.as_vgpr().map_or(0, usize::from);
        for (n, value) in [resource.width, resource.height, 1, 1].into_iter().enumerate() {
            if inst.memory().dmask >> n & 1 == 1 {
                self.write_vgpr(register, &[value; 64], self.exec());
                register += 1;
            }
        }
        Ok(Step::Done)
    }
}

pub fn handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::ImageLoad | Op::ImageLoadMip => |w, i, g| w.image_load(i, g),
        Op::ImageStore | Op::ImageStoreMip => |w, i, g| w.image_store(i, g),
        Op::ImageSample | Op::ImageSampleLz | Op::ImageSampleL => |w, i, g| w.image_sample(i, g),
        Op::ImageGetResinfo => |w, i, _| w.image_size(i),
        Op::ImageAtomicSwap => |w, i, g| w.image_atomic(i, g, AtomicOp::Swap),
        Op::ImageAtomicCmpswap => |w, i, g| w.image_atomic(i, g, AtomicOp::CompareSwap),
        Op::ImageAtomicAdd => |w, i, g| w.image_atomic(i, g, AtomicOp::Add),
        Op::ImageAtomicSub => |w, i, g| w.image_atomic(i, g, AtomicOp::Sub),
        Op::ImageAtomicSmin => |w, i, g| w.image_atomic(i, g, AtomicOp::SignedMin),
        Op::ImageAtomicUmin => |w, i, g| w.image_atomic(i, g, AtomicOp::UnsignedMin),
        Op::ImageAtomicSmax => |w, i, g| w.image_atomic(i, g, AtomicOp::SignedMax),
        Op::ImageAtomicUmax => |w, i, g| w.image_atomic(i, g, AtomicOp::UnsignedMax),
        Op::ImageAtomicAnd => |w, i, g| w.image_atomic(i, g, AtomicOp::And),
        Op::ImageAtomicOr => |w, i, g| w.image_atomic(i, g, AtomicOp::Or),
        Op::ImageAtomicXor => |w, i, g| w.image_atomic(i, g, AtomicOp::Xor),
        Op::ImageAtomicInc => |w, i, g| w.image_atomic(i, g, AtomicOp::Increment),
        Op::ImageAtomicDec => |w, i, g| w.image_atomic(i, g, AtomicOp::Decrement),
        _ => return None,
    })
}
