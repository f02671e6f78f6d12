//! Images of one and two dimensions: their formats, and how they are described to kernels.
//!
//! Texels lie in rows, without tiling. The description is what the hardware's image instructions take (eight words),
//! with the words behind it in which AMD's device libraries look up format and width.

use mem::{Bytes, VirtAddr};

use super::{
    abi::{Action, Rect},
    call::{Call, Outcome, uint, word},
    cl,
    device::LARGEST_BUFFER,
    driver::Driver,
    error::{Cl, Code, ensure},
    memory::{MemObject, check_flags},
    policy::Brought,
};

/// The widest and the highest image.
pub const MAX_SIDE: u64 = 16384;

/// What makes a memory object an image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// `CL_MEM_OBJECT_IMAGE1D` or `CL_MEM_OBJECT_IMAGE2D`.
    pub kind: u64,
    pub format: Format,
    pub width: u64,
    pub height: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Where its description lies.
    pub description: VirtAddr,
}

impl Image {
    pub fn texel(&self) -> u64 {
        self.format.texel
    }

    /// Where a texel lies, in bytes.
    pub fn offset(&self, origin: [u64; 3]) -> u64 {
        origin[1] * self.pitch + origin[0] * self.texel()
    }

    /// A region must lie in the image.
    pub fn check_region(&self, origin: [u64; 3], region: [u64; 3]) -> Cl<()> {
        let size = [self.width, self.height, 1];
        let inside = |axis: usize| origin[axis].checked_add(region[axis]).is_some_and(|end| end <= size[axis]);
        ensure(!region.contains(&0) && (0..3).all(inside), cl::INVALID_VALUE)
    }
}

/// How texels are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    order: u64,
    kind: u64,
    /// Bytes of a texel.
    pub texel: u64,
    /// The hardware's data and number format.
    data: u32,
    number: u32,
    /// Which component each of red, green, blue and alpha comes from.
    selects: [u32; 4],
    /// The device libraries' numbers of type and order.
    library: [u32; 2],
}

const ZERO: u32 = 0;
const ONE: u32 = 1;
const X: u32 = 4;
const Y: u32 = 5;
const Z: u32 = 6;
const W: u32 = 7;

/// Orders: components, selects, the libraries' number.
const ORDERS: [(u64, usize, [u32; 4], u32); 7] = [
    (cl::R, 1, [X, ZERO, ZERO, ONE], 1),
    (cl::A, 1, [ZERO, ZERO, ZERO, X], 0),
    (cl::INTENSITY, 1, [X, X, X, X], 16),
    (cl::LUMINANCE, 1, [X, X, X, ONE], 17),
    (cl::RG, 2, [X, Y, ZERO, ONE], 3),
    (cl::RGBA, 4, [X, Y, Z, W], 8),
    (cl::BGRA, 4, [Z, Y, X, W], 9),
];

/// Types: bytes of a component, the hardware's number format, the libraries' number.
const TYPES: [(u64, u64, u32, u32); 12] = [
    (cl::SNORM_INT8, 1, 1, 0),
    (cl::SNORM_INT16, 2, 1, 1),
    (cl::UNORM_INT8, 1, 0, 2),
    (cl::UNORM_INT16, 2, 0, 3),
    (cl::SIGNED_INT8, 1, 5, 8),
    (cl::SIGNED_INT16, 2, 5, 9),
    (cl::SIGNED_INT32, 4, 5, 10),
    (cl::UNSIGNED_INT8, 1, 4, 11),
    (cl::UNSIGNED_INT16, 2, 4, 12),
    (cl::UNSIGNED_INT32, 4, 4, 13),
    (cl::HALF_FLOAT, 2, 7, 14),
    (cl::FLOAT, 4, 7, 15),
];

impl Format {
    fn new(order: u64, kind: u64) -> Option<Self> {
        let (_, count, selects, library_order) = ORDERS.into_iter().find(|row| row.0 == order)?;
        let (_, bytes, number, library_type) = TYPES.into_iter().find(|row| row.0 == kind)?;
        let normed = number < 2 || number == 7;
        let sensible = match order {
            cl::INTENSITY | cl::LUMINANCE => normed,
            cl::BGRA => bytes == 1,
            _ => true,
        };
        let data = match (count, bytes) {
            (1, 1) => 1,
            (1, 2) => 2,
            (1, 4) => 4,
            (2, 1) => 3,
            (2, 2) => 5,
            (2, 4) => 11,
            (4, 1) => 10,
            (4, 2) => 12,
            _ => 14,
        };
        let library = [library_type, library_order];
        let texel = count as u64 * bytes;
        sensible.then_some(Self { order, kind, texel, data, number, selects, library })
    }

    fn all() -> impl Iterator<Item = Format> {
        ORDERS.into_iter().flat_map(|order| TYPES.into_iter().filter_map(move |kind| Format::new(order.0, kind.0)))
    }

    fn bytes(&self) -> Vec<u8> {
        [uint(self.order as u32), uint(self.kind as u32)].concat()
    }

    /// The bytes of a texel of a colour: four floats, or four integers, as the program gives them.
    pub fn pack(&self, colour: [u32; 4]) -> Vec<u8> {
        let bytes = (self.texel / (4 - self.missing()) as u64) as usize;
        let components = (0..4 - self.missing()).map(|n| {
            // The colour that this component is read as.
            let place = self.selects.iter().position(|select| *select == X + n as u32).unwrap_or(n);
            let (value, float) = (colour[place], f32::from_bits(colour[place]));
            let bits = 8 * bytes as u32;
            let whole = match self.number {
                0 => (f64::from(float.clamp(0.0, 1.0)) * ((1u64 << bits) - 1) as f64).round_ties_even() as u64 as u32,
                1 => (f64::from(float.clamp(-1.0, 1.0)) * ((1u64 << (bits - 1)) - 1) as f64).round_ties_even() as i64
                    as u32,
                4 => value.min((u64::from(u32::MAX) >> (32 - bits)) as u32),
                5 => {
                    let most = i32::MAX >> (32 - bits);
                    (value as i32).clamp(-most - 1, most) as u32
                }
                _ if bits == 16 => gcn3::exec::float::f32_to_f16(float),
                _ => value,
            };
            whole.to_le_bytes()[..bytes].to_vec()
        });
        components.collect::<Vec<_>>().concat()
    }

    /// How many of four components are not stored.
    fn missing(&self) -> usize {
        4 - ORDERS.iter().find(|row| row.0 == self.order).map_or(4, |row| row.1)
    }
}

/// What a program wants an image to be.
struct Wanted {
    kind: u64,
    width: u64,
    height: u64,
    pitch: u64,
}

impl Driver {
    pub(super) fn create_image(&mut self, call: &mut Call, first: usize) -> Cl<Outcome> {
        if first == 2 {
            ensure(call.properties(1)?.is_empty(), cl::INVALID_PROPERTY)?;
        }
        let (flags, format, descriptor, host) =
            (call.word(first), call.pointer(first + 1), call.pointer(first + 2), call.word(first + 3));
        self.contexts.get(call.word(0))?;
        ensure(descriptor.0 != 0, cl::INVALID_IMAGE_DESCRIPTOR)?;
        let bytes = call.bytes(descriptor, 72).map_err(|_| cl::INVALID_IMAGE_DESCRIPTOR)?;
        let word = |n: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[8 * n + k]));
        let (kind, width, height, pitch) = (word(0) & 0xffff_ffff, word(1), word(2), word(5));
        // No levels of detail, no samples, no memory of another object.
        ensure(word(7) == 0 && word(8) == 0, cl::INVALID_IMAGE_DESCRIPTOR)?;
        let height = match kind {
            cl::MEM_OBJECT_IMAGE1D => 1,
            cl::MEM_OBJECT_IMAGE2D => height,
            cl::MEM_OBJECT_IMAGE3D
            | cl::MEM_OBJECT_IMAGE1D_ARRAY
            | cl::MEM_OBJECT_IMAGE2D_ARRAY
            | cl::MEM_OBJECT_IMAGE1D_BUFFER => return Err(cl::IMAGE_FORMAT_NOT_SUPPORTED),
            _ => return Err(cl::INVALID_IMAGE_DESCRIPTOR),
        };
        let wanted = Wanted { kind, width, height, pitch };
        self.make_image(call, flags, format, wanted, host, cl::INVALID_IMAGE_DESCRIPTOR)
    }

    pub(super) fn create_image_2d(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.contexts.get(call.word(0))?;
        let wanted =
            Wanted { kind: cl::MEM_OBJECT_IMAGE2D, width: call.word(3), height: call.word(4), pitch: call.word(5) };
        let (flags, format, host) = (call.word(1), call.pointer(2), call.word(6));
        self.make_image(call, flags, format, wanted, host, cl::INVALID_IMAGE_SIZE)
    }

    fn make_image(
        &mut self,
        call: &mut Call,
        flags: u64,
        format: VirtAddr,
        wanted: Wanted,
        host: u64,
        wrong_size: Code,
    ) -> Cl<Outcome> {
        let context = call.word(0);
        check_flags(flags, host)?;
        ensure(format.0 != 0, cl::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let names = call.bytes(format, 8).map_err(|_| cl::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let name = |n: usize| u64::from(u32::from_le_bytes(std::array::from_fn(|k| names[4 * n + k])));
        let known =
            (cl::R..=cl::ABGR).contains(&name(0)) && (cl::SNORM_INT8..=cl::UNORM_INT_101010_2).contains(&name(1));
        ensure(known, cl::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let format = Format::new(name(0), name(1)).ok_or(cl::IMAGE_FORMAT_NOT_SUPPORTED)?;
        let Wanted { kind, width, height, pitch } = wanted;
        ensure(width > 0 && height > 0, wrong_size)?;
        ensure(width <= MAX_SIDE && height <= MAX_SIDE, cl::INVALID_IMAGE_SIZE)?;
        let row = width * format.texel;
        ensure(host != 0 || pitch == 0, wrong_size)?;
        let pitch = if pitch == 0 { row } else { pitch };
        ensure(pitch >= row && pitch.is_multiple_of(format.texel) && pitch / format.texel <= MAX_SIDE, wrong_size)?;
        let size = pitch * height;
        ensure(size <= LARGEST_BUFFER, cl::INVALID_IMAGE_SIZE)?;

        // Texels start at multiples of 256; memory of the program's that does not is copied whatever the policy.
        let (mut placement, mut actions) = match host {
            host if flags & cl::MEM_USE_HOST_PTR != 0 && host.is_multiple_of(256) => {
                self.policy.allocate(call.guest, Bytes(size), Brought::Used(VirtAddr(host)))?
            }
            _ => self.policy.allocate(call.guest, Bytes(size), Brought::Nothing)?,
        };
        self.touched.push((placement.device, placement.size));
        if host != 0 && placement.host.is_none() {
            // The last row ends with its last texel: what lies behind is not the program's to give.
            let rect = Rect {
                to: placement.device,
                from: VirtAddr(host),
                size: [row, height, 1],
                to_pitch: [pitch, 0],
                from_pitch: [pitch, 0],
            };
            actions = vec![Action::Copy(rect)];
            if flags & cl::MEM_USE_HOST_PTR != 0 {
                placement.host = Some(VirtAddr(host));
            }
        }
        let [sx, sy, sz, sw] = format.selects;
        let base = placement.device.0;
        let words = [
            (base >> 8) as u32,
            (base >> 40) as u32 | format.data << 20 | format.number << 26,
            (width - 1) as u32 | ((height - 1) as u32) << 14,
            sx | sy << 3 | sz << 6 | sw << 9 | 8 << 20 | if kind == cl::MEM_OBJECT_IMAGE1D { 8 } else { 9 } << 28,
            ((pitch / format.texel - 1) as u32) << 13,
            0,
            0,
            0,
            format.library[0],
            format.library[1],
            width as u32,
            0,
        ];
        let description = self.slots.put(call.guest, &words)?;
        let host_pointer = if flags & cl::MEM_USE_HOST_PTR != 0 { host } else { 0 };
        let mut memory = MemObject::new(context, flags, size, host_pointer, placement);
        memory.image = Some(Image { kind, format, width, height, pitch, description });
        self.contexts.hold(context);
        Ok(Outcome { word: self.memories.insert(memory), actions, ..Outcome::default() })
    }

    pub(super) fn get_supported_image_formats(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.contexts.get(call.word(0))?;
        check_flags(call.word(1) & !(cl::MEM_USE_HOST_PTR | cl::MEM_COPY_HOST_PTR | cl::MEM_KERNEL_READ_AND_WRITE), 0)?;
        let kind = u64::from(call.uint(2));
        ensure((cl::MEM_OBJECT_IMAGE2D..=cl::MEM_OBJECT_IMAGE1D_BUFFER).contains(&kind), cl::INVALID_VALUE)?;
        ensure(call.uint(3) > 0 || call.word(4) == 0, cl::INVALID_VALUE)?;
        let supported = matches!(kind, cl::MEM_OBJECT_IMAGE2D | cl::MEM_OBJECT_IMAGE1D);
        let formats: Vec<Vec<u8>> = Format::all().filter(|_| supported).map(|format| format.bytes()).collect();
        let some = &formats[..formats.len().min(call.uint(3) as usize)];
        call.give(4, &some.concat())?;
        call.give_uint(5, formats.len() as u32)?;
        super::call::DONE
    }

    pub(super) fn get_image_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let image = self.memories.get(call.word(0))?.image.ok_or(cl::INVALID_MEM_OBJECT)?;
        let flat = image.kind == cl::MEM_OBJECT_IMAGE1D;
        let value = match u64::from(call.uint(1)) {
            cl::IMAGE_FORMAT => image.format.bytes(),
            cl::IMAGE_ELEMENT_SIZE => word(image.texel()),
            cl::IMAGE_ROW_PITCH => word(image.pitch),
            cl::IMAGE_WIDTH => word(image.width),
            cl::IMAGE_HEIGHT => word(if flat { 0 } else { image.height }),
            cl::IMAGE_SLICE_PITCH | cl::IMAGE_DEPTH | cl::IMAGE_ARRAY_SIZE | cl::IMAGE_BUFFER => word(0),
            cl::IMAGE_NUM_MIP_LEVELS | cl::IMAGE_NUM_SAMPLES => uint(0),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }
}
