//! Image accesses: texels by integer coordinates, and samples by floating-point ones.
//!
//! Supported are images of one, two and three dimensions and arrays, in linear layout with one level of detail. A
//! coordinate outside the image reads zero (or what the sampler says) and is not written. The layer of an array is
//! clamped when it is sampled.

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

/// The axes of an image. Layers of an array use the third axis.
const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

/// An image resource.
#[derive(Clone, Copy, Debug)]
struct Resource {
    base: u64,
    /// Texels along each axis, 1 for a missing axis.
    size: [u32; 3],
    /// The row pitch in texels.
    pitch: u64,
    format: ElementFormat,
    selects: [u8; 4],
    /// The axis of each coordinate.
    axes: &'static [usize],
    /// Whether the last coordinate is a layer.
    layered: bool,
}

impl Resource {
    fn new(words: [u32; 8]) -> Result<Self, Fault> {
        let format = ElementFormat::new(words[1] >> 20 & 63, words[1] >> 26 & 15)?;
        let (axes, layered): (&[usize], bool) = match words[3] >> 28 {
            8 => (&[X], false),
            9 => (&[X, Y], false),
            10 => (&[X, Y, Z], false),
            12 => (&[X, Z], true),
            13 => (&[X, Y, Z], true),
            other => {
                let text = format!("images of type {other}: only 1-D, 2-D and 3-D ones and arrays of 1-D and 2-D ones");
                return Err(Fault::Descriptor(text.into()));
            }
        };
        let tiling = words[3] >> 20 & 31;
        if tiling != 8 {
            let text = format!("an image with tiling index {tiling}: only linear images (index 8) are supported");
            return Err(Fault::Descriptor(text.into()));
        }
        let (first, last) = (words[5] & 0x1fff, words[5] >> 13 & 0x1fff);
        let depth = if layered { last.saturating_sub(first) + 1 } else { (words[4] & 0x1fff) + 1 };
        let all = [(words[2] & 0x3fff) + 1, (words[2] >> 14 & 0x3fff) + 1, depth];
        let size = [X, Y, Z].map(|axis| if axes.contains(&axis) { all[axis] } else { 1 });
        let pitch = u64::from(words[4] >> 13 & 0x3fff) + 1;
        let slice = pitch * u64::from(size[Y]) * u64::from(format.bytes());
        let start = (u64::from(words[0]) | u64::from(words[1] & 0xff) << 32) << 8;
        Ok(Self {
            base: if layered { start + u64::from(first) * slice } else { start },
            size,
            pitch,
            format,
            selects: [0, 3, 6, 9].map(|shift| (words[3] >> shift & 7) as u8),
            axes,
            layered,
        })
    }

    /// The address of a texel; none if it is outside.
    fn texel(&self, at: [i64; 3]) -> Option<u64> {
        let inside = |axis: usize| (0..i64::from(self.size[axis])).contains(&at[axis]);
        let row = |at: [i64; 3]| at[Z] as u64 * u64::from(self.size[Y]) + at[Y] as u64;
        [X, Y, Z]
            .into_iter()
            .all(inside)
            .then(|| self.base + (row(at) * self.pitch + at[X] as u64) * u64::from(self.format.bytes()))
    }

    /// The axes along which samples are interpolated.
    fn filtered(&self) -> &'static [usize] {
        &self.axes[..self.axes.len() - usize::from(self.layered)]
    }
}

/// The handling of a coordinate outside the image.
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
    wrap: [Wrap; 3],
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
            wrap: [wrap(words[0])?, wrap(words[0] >> 3)?, wrap(words[0] >> 6)?],
            normalised: !unnormalised && words[0] >> 15 & 1 == 0,
            linear: words[2] >> 20 & 1 == 1,
            border: words[3] >> 30,
        })
    }

    /// Wraps a coordinate that may be outside `size` texels; none for the border.
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

/// How the data of an image load or a formatted buffer load is converted to registers.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    format: ElementFormat,
    selects: [u8; 4],
    /// The components to write, one bit each, to consecutive registers.
    components: u8,
    /// Whether registers get 16-bit values.
    half: bool,
    /// For each texel that was read: the lanes that are outside and get the border colour.
    outside: Vec<u64>,
    border: [u32; 4],
    /// The number of axes with interpolation, and for each lane the weight of the later texel along each axis.
    mixed: usize,
    weights: Vec<[f32; 3]>,
}

impl Sampled {
    /// One element per lane, all inside.
    pub(super) fn plain(format: ElementFormat, selects: [u8; 4], components: u8, half: bool) -> Self {
        Self { format, selects, components, half, outside: vec![], border: [0; 4], mixed: 0, weights: vec![] }
    }

    /// Converts, interpolates and writes the data.
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
            // Interpolates along one axis after the other.
            let mut texels: [[u32; 4]; 8] = [[0; 4]; 8];
            for (place, corner) in texels.iter_mut().enumerate().take(1 << self.mixed) {
                *corner = texel(place, lane);
            }
            let weights = self.weights.get(lane).copied().unwrap_or_default();
            for (axis, weight) in weights.into_iter().enumerate().take(self.mixed) {
                for place in 0..1 << (self.mixed - 1 - axis) {
                    let (one, other) = (texels[2 * place], texels[2 * place + 1]);
                    texels[place] = std::array::from_fn(|n| {
                        (f32::from_bits(one[n]) * (1.0 - weight) + f32::from_bits(other[n]) * weight).to_bits()
                    });
                }
            }
            let mixed = texels[0];
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
    fn texel_coordinates(&self, inst: &Inst, resource: &Resource, lane: usize) -> [i64; 3] {
        let first = inst.src[0].as_vgpr().map_or(0, usize::from);
        let mut at = [0; 3];
        for (n, axis) in resource.axes.iter().enumerate() {
            at[*axis] = i64::from(self.vgpr(first + n)[lane]);
        }
        at
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
            let at = self.texel_coordinates(inst, &resource, lane);
            op.addresses[lane] = resource.texel(at).unwrap_or_else(|| {
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
            let at = self.texel_coordinates(inst, &resource, lane);
            match resource.texel(at) {
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
            // Each stored component is written from the channel that reads it.
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
        let mixed: &[usize] = if sampler.linear { resource.filtered() } else { &[] };
        let places = 1 << mixed.len();
        op.data.resize(places * usize::from(op.elements), Row::default());
        op.more = vec![Box::new([0; 64]); places - 1];
        let mut outside = vec![0; places];
        let mut weights = vec![[0.0; 3]; 64];
        for lane in active(op.mask) {
            let (corner, weight) = self.sample_corner(inst, &resource, &sampler, lane);
            weights[lane] = weight;
            for (place, outside) in outside.iter_mut().enumerate() {
                let mut at = corner;
                mixed.iter().enumerate().for_each(|(n, axis)| at[*axis] += (place >> n & 1) as i64);
                let mut wrapped = at.map(Some);
                for &axis in resource.filtered() {
                    wrapped[axis] = sampler.wrapped(axis, at[axis], resource.size[axis].into());
                }
                let found = wrapped[X].zip(wrapped[Y]).zip(wrapped[Z]);
                let address = found.and_then(|((x, y), z)| resource.texel([x, y, z])).unwrap_or_else(|| {
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
        (sampled.mixed, sampled.weights) = (mixed.len(), weights);
        op.destination = Destination::Texels { first: inst.dst.as_vgpr().unwrap_or(0), sampled: Box::new(sampled) };
        Ok(Step::Mem(op))
    }

    /// The first texel of a sample, and the weights of the next ones along each filtered axis.
    fn sample_corner(&self, inst: &Inst, resource: &Resource, sampler: &Sampler, lane: usize) -> ([i64; 3], [f32; 3]) {
        let first = inst.src[0].as_vgpr().map_or(0, usize::from);
        let (mut corner, mut weights) = ([0; 3], [0.0; 3]);
        for (n, axis) in resource.axes.iter().copied().enumerate() {
            let given = f64::from(f32::from_bits(self.vgpr(first + n)[lane]));
            if !resource.filtered().contains(&axis) {
                // The layer, which is never interpolated.
                corner[axis] = whole(given.round_ties_even()).clamp(0, i64::from(resource.size[axis]) - 1);
                continue;
            }
            let at = if sampler.normalised { given * f64::from(resource.size[axis]) } else { given };
            if sampler.linear {
                corner[axis] = whole((at - 0.5).floor());
                weights[n] = (at - 0.5 - (at - 0.5).floor()) as f32;
            } else {
                // Rounded to eight fraction bits, so that a product slightly below an integer counts as that integer.
                corner[axis] = whole(((at * 256.0).round_ties_even() / 256.0).floor());
            }
        }
        (corner, weights)
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
            let at = self.texel_coordinates(inst, &resource, lane);
            match resource.texel(at) {
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
        let [width, height, depth] = resource.size;
        for (n, value) in [width, height, depth, 1].into_iter().enumerate() {
            if inst.memory().dmask >> n & 1 == 1 {
                self.write_vgpr(register, &[value; 64], self.exec());
                register += 1;
            }
        }
        Ok(Step::Done)
    }
}

/// Converts a coordinate to an integer; far outside values stay outside.
fn whole(at: f64) -> i64 {
    at.clamp(-1e9, 1e9) as i64
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
