//! Images: their types, sizes and descriptors.
//!
//! Texels are stored in rows and rows in slices, without tiling. The descriptor is what the hardware's image
//! instructions take (eight words; four for an image over a buffer), followed by the words in which AMD's device
//! libraries look up format and width.

use crate::state::state;
use mem::{Bytes, VirtAddr};

use super::{
    abi::{Action, Rect},
    call::{Call, Outcome, uint, word},
    cl,
    device::LARGEST_BUFFER,
    driver::Driver,
    error::{Cl, Code, ensure},
    image_format::Format,
    memory::{MemObject, check_flags, inherited_flags},
    policy::{Brought, Layout, Placement},
};

/// The maximum width and height of an image of up to two dimensions.
pub const MAX_SIDE: u64 = 16384;
/// The maximum side of a three-dimensional image, and the maximum number of layers of an array.
pub const MAX_DEPTH: u64 = 2048;
/// The maximum number of texels of an image over a buffer.
pub const MAX_BUFFER: u64 = LARGEST_BUFFER / 16;
/// The alignment of an image's first texel.
const ALIGN: u64 = 256;

/// The image attributes of a memory object.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// `CL_MEM_OBJECT_IMAGE1D` or another image type.
    pub kind: u64,
    pub format: Format,
    /// Texels along each coordinate of a region; the layers of an array come after the coordinates of its images.
    pub size: [u64; 3],
    /// Bytes between rows and between slices, in device memory.
    pub pitch: [u64; 2],
    /// Bytes between rows and between slices, in memory that the program provided.
    pub host_pitch: [u64; 2],
    /// The buffer that provides its memory.
    pub buffer: Option<u64>,
    /// The address of its descriptor.
    pub description: VirtAddr,
}

state!(struct Image { kind, format, size, pitch, host_pitch, buffer, description });

impl Image {
    pub fn texel(&self) -> u64 {
        self.format.texel
    }

    /// The layout in device memory, starting at a texel.
    pub fn layout(&self, origin: [u64; 3]) -> Layout {
        self.layout_with(origin, self.pitch)
    }

    /// The layout in the program's memory, starting at a texel.
    pub fn host_layout(&self, origin: [u64; 3]) -> Layout {
        self.layout_with(origin, self.host_pitch)
    }

    fn layout_with(&self, origin: [u64; 3], pitch: [u64; 2]) -> Layout {
        Layout { offset: origin[0] * self.texel() + origin[1] * pitch[0] + origin[2] * pitch[1], pitch }
    }

    /// A region in bytes per row, rows, slices.
    pub fn bytes(&self, region: [u64; 3]) -> [u64; 3] {
        [region[0] * self.texel(), region[1], region[2]]
    }

    /// Whether programs pass and query a slice pitch (three-dimensional images and arrays).
    pub fn has_slices(&self) -> bool {
        has_slices(self.kind)
    }

    /// Row and slice pitch in the form that programs see: the rows of a one-dimensional array are its layers.
    pub fn told_pitch(&self, pitch: [u64; 2]) -> [u64; 2] {
        match self.kind {
            cl::MEM_OBJECT_IMAGE1D_ARRAY => [pitch[0], pitch[0]],
            _ if self.has_slices() => pitch,
            _ => [pitch[0], 0],
        }
    }

    /// Checks that a region lies inside the image.
    pub fn check_region(&self, origin: [u64; 3], region: [u64; 3]) -> Cl<()> {
        let inside = |axis: usize| origin[axis].checked_add(region[axis]).is_some_and(|end| end <= self.size[axis]);
        ensure(!region.contains(&0) && (0..3).all(inside), cl::INVALID_VALUE)
    }
}

fn has_slices(kind: u64) -> bool {
    matches!(kind, cl::MEM_OBJECT_IMAGE3D | cl::MEM_OBJECT_IMAGE1D_ARRAY | cl::MEM_OBJECT_IMAGE2D_ARRAY)
}

/// The image that a program requests.
struct Wanted {
    kind: u64,
    /// In the order of region coordinates.
    size: [u64; 3],
    /// Row pitch and slice pitch in bytes; 0: tightly packed.
    pitch: [u64; 2],
    buffer: u64,
    host: u64,
    /// The error code for invalid sizes.
    wrong_size: Code,
}

impl Wanted {
    /// Row pitch and slice pitch in memory that the program provides.
    fn host_pitch(&self, texel: u64) -> Cl<[u64; 2]> {
        let [width, rows, _] = self.size;
        let line = width * texel;
        let row = if self.pitch[0] == 0 { line } else { self.pitch[0] };
        ensure(row >= line && row.is_multiple_of(texel), self.wrong_size)?;
        let layers = self.kind == cl::MEM_OBJECT_IMAGE1D_ARRAY;
        let plane = if layers { row } else { row.checked_mul(rows).ok_or(self.wrong_size)? };
        let slice = if self.pitch[1] == 0 { plane } else { self.pitch[1] };
        let fits = slice.checked_mul(if layers { rows } else { self.size[2] }).is_some();
        ensure(fits && slice >= plane && slice.is_multiple_of(row), self.wrong_size)?;
        Ok(if layers { [slice, slice] } else { [row, slice] })
    }

    fn check_size(&self) -> Cl<()> {
        let most = match self.kind {
            cl::MEM_OBJECT_IMAGE3D => [MAX_DEPTH; 3],
            cl::MEM_OBJECT_IMAGE1D_ARRAY => [MAX_SIDE, MAX_DEPTH, 1],
            cl::MEM_OBJECT_IMAGE1D_BUFFER => [MAX_BUFFER, 1, 1],
            _ => [MAX_SIDE, MAX_SIDE, MAX_DEPTH],
        };
        ensure(!self.size.contains(&0), self.wrong_size)?;
        ensure(self.size.iter().zip(most).all(|(size, most)| *size <= most), cl::INVALID_IMAGE_SIZE)
    }
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
        let (kind, width, height, depth, layers) = (word(0) & 0xffff_ffff, word(1), word(2), word(3), word(4));
        // Mip levels and multi-sampling are not supported.
        ensure(word(7) == 0, cl::INVALID_IMAGE_DESCRIPTOR)?;
        let size = match kind {
            cl::MEM_OBJECT_IMAGE1D | cl::MEM_OBJECT_IMAGE1D_BUFFER => [width, 1, 1],
            cl::MEM_OBJECT_IMAGE2D => [width, height, 1],
            cl::MEM_OBJECT_IMAGE3D => [width, height, depth],
            cl::MEM_OBJECT_IMAGE1D_ARRAY => [width, layers, 1],
            cl::MEM_OBJECT_IMAGE2D_ARRAY => [width, height, layers],
            _ => return Err(cl::INVALID_IMAGE_DESCRIPTOR),
        };
        let (pitch, buffer) = ([word(5), if has_slices(kind) { word(6) } else { 0 }], word(8));
        let wanted = Wanted { kind, size, pitch, buffer, host, wrong_size: cl::INVALID_IMAGE_DESCRIPTOR };
        self.make_image(call, flags, format, wanted)
    }

    /// `clCreateImage2D` and `clCreateImage3D` of OpenCL 1.1, which take sizes and pitches as arguments.
    pub(super) fn create_image_of_old(&mut self, call: &mut Call, kind: u64) -> Cl<Outcome> {
        self.contexts.get(call.word(0))?;
        let (size, pitch, host) = match kind {
            cl::MEM_OBJECT_IMAGE3D => ([3, 4, 5].map(|n| call.word(n)), [call.word(6), call.word(7)], call.word(8)),
            _ => ([call.word(3), call.word(4), 1], [call.word(5), 0], call.word(6)),
        };
        let wanted = Wanted { kind, size, pitch, buffer: 0, host, wrong_size: cl::INVALID_IMAGE_SIZE };
        self.make_image(call, call.word(1), call.pointer(2), wanted)
    }

    fn make_image(&mut self, call: &mut Call, flags: u64, format: VirtAddr, wanted: Wanted) -> Cl<Outcome> {
        ensure(format.0 != 0, cl::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let names = call.bytes(format, 8).map_err(|_| cl::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let name = |n: usize| u64::from(u32::from_le_bytes(std::array::from_fn(|k| names[4 * n + k])));
        let known =
            (cl::R..=cl::ABGR).contains(&name(0)) && (cl::SNORM_INT8..=cl::UNORM_INT_101010_2).contains(&name(1));
        ensure(known, cl::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let format = Format::new(name(0), name(1)).ok_or(cl::IMAGE_FORMAT_NOT_SUPPORTED)?;
        wanted.check_size()?;
        match wanted.buffer {
            0 => self.make_own_image(call, flags, format, &wanted),
            _ => self.make_image_of_buffer(call, flags, format, &wanted),
        }
    }

    /// Creates an image with memory of its own.
    fn make_own_image(&mut self, call: &mut Call, flags: u64, format: Format, wanted: &Wanted) -> Cl<Outcome> {
        let Wanted { kind, size, host, wrong_size, .. } = *wanted;
        check_flags(flags, host)?;
        ensure(kind != cl::MEM_OBJECT_IMAGE1D_BUFFER, cl::INVALID_IMAGE_DESCRIPTOR)?;
        ensure(host != 0 || wanted.pitch == [0, 0], wrong_size)?;
        let host_pitch = wanted.host_pitch(format.texel)?;
        // The row pitch is the program's, unless a descriptor can't express it; slices are packed tightly.
        let far = host_pitch[0] / format.texel > MAX_SIDE;
        let row = if far { size[0] * format.texel } else { host_pitch[0] };
        let pitch = [row, row * size[1]];
        let bytes = pitch[1].checked_mul(size[2]).filter(|bytes| *bytes <= LARGEST_BUFFER);
        let bytes = bytes.ok_or(cl::INVALID_IMAGE_SIZE)?;
        // Program memory with a different layout is copied under every policy.
        let alike = pitch[0] == host_pitch[0] && (size[2] == 1 || pitch[1] == host_pitch[1]);
        let brought = match flags & cl::MEM_USE_HOST_PTR != 0 && host.is_multiple_of(ALIGN) && alike {
            true => Brought::Used(VirtAddr(host)),
            false => Brought::Nothing,
        };
        let (mut placement, _) = self.policy.allocate(call.guest, Bytes(bytes), brought)?;
        self.settle_buffer(&placement, call.word(0), call.guest)?;
        let mut actions = Vec::new();
        if host != 0 && placement.device.0 != host {
            // The copy ends with the last texel: bytes beyond it may not belong to the program.
            let size = [size[0] * format.texel, size[1], size[2]];
            let (to, from) = (placement.device, VirtAddr(host));
            actions.push(Action::Copy(Rect { to, from, size, to_pitch: pitch, from_pitch: host_pitch }));
            if flags & cl::MEM_USE_HOST_PTR != 0 {
                placement.host = Some(VirtAddr(host));
            }
        }
        let host_pointer = if flags & cl::MEM_USE_HOST_PTR != 0 { host } else { 0 };
        let memory = MemObject::new(call.word(0), flags, bytes, host_pointer, placement);
        let image = Image { kind, format, size, pitch, host_pitch, buffer: None, description: VirtAddr(0) };
        let word = self.insert_image(call, memory, image)?.word;
        Ok(Outcome { word, ..self.fill_in(call.word(0), actions, call.now) })
    }

    /// Creates an image over the bytes of a buffer, one- or two-dimensional.
    fn make_image_of_buffer(&mut self, call: &mut Call, flags: u64, format: Format, wanted: &Wanted) -> Cl<Outcome> {
        let Wanted { kind, size, buffer, host, wrong_size, .. } = *wanted;
        let context = call.word(0);
        let flat = matches!(kind, cl::MEM_OBJECT_IMAGE1D_BUFFER | cl::MEM_OBJECT_IMAGE2D);
        ensure(flat, cl::INVALID_IMAGE_DESCRIPTOR)?;
        let whole = self.buffer_for(context, buffer).map_err(|_| cl::INVALID_IMAGE_DESCRIPTOR)?;
        ensure(host == 0, cl::INVALID_HOST_PTR)?;
        let flags = inherited_flags(whole, flags)?;
        let pitch = wanted.host_pitch(format.texel)?;
        ensure(pitch[0] / format.texel <= MAX_SIDE || kind == cl::MEM_OBJECT_IMAGE1D_BUFFER, wrong_size)?;
        let bytes = pitch[1];
        ensure(bytes <= whole.size, wrong_size)?;
        let placement = Placement { size: Bytes(bytes), owned: false, ..whole.placement };
        // A descriptor stores the address of an image with rows in units of 256 bytes.
        let aligned = kind == cl::MEM_OBJECT_IMAGE1D_BUFFER || placement.device.0.is_multiple_of(ALIGN);
        ensure(aligned, cl::INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let mut memory = MemObject::new(context, flags, bytes, whole.host_pointer, placement);
        memory.parent = Some((buffer, 0));
        let image =
            Image { kind, format, size, pitch, host_pitch: pitch, buffer: Some(buffer), description: VirtAddr(0) };
        let outcome = self.insert_image(call, memory, image)?;
        self.memories.hold(buffer);
        Ok(outcome)
    }

    fn insert_image(&mut self, call: &mut Call, mut memory: MemObject, mut image: Image) -> Cl<Outcome> {
        let context = memory.context;
        self.touched.push((memory.placement.device, memory.placement.size));
        image.description = self.slots.put(call.guest, &describe(&image, memory.placement.device))?;
        memory.image = Some(image);
        self.contexts.hold(context);
        Ok(Outcome::word(self.memories.insert(memory)))
    }

    pub(super) fn get_supported_image_formats(&mut self, call: &mut Call) -> Cl<Outcome> {
        self.contexts.get(call.word(0))?;
        check_flags(call.word(1) & !(cl::MEM_USE_HOST_PTR | cl::MEM_COPY_HOST_PTR | cl::MEM_KERNEL_READ_AND_WRITE), 0)?;
        let kind = u64::from(call.uint(2));
        ensure((cl::MEM_OBJECT_IMAGE2D..=cl::MEM_OBJECT_IMAGE1D_BUFFER).contains(&kind), cl::INVALID_VALUE)?;
        ensure(call.uint(3) > 0 || call.word(4) == 0, cl::INVALID_VALUE)?;
        let formats: Vec<Vec<u8>> = Format::all().map(|format| format.bytes()).collect();
        let some = &formats[..formats.len().min(call.uint(3) as usize)];
        call.give(4, &some.concat())?;
        call.give_uint(5, formats.len() as u32)?;
        super::call::DONE
    }

    pub(super) fn get_image_info(&mut self, call: &mut Call) -> Cl<Outcome> {
        let image = self.memories.get(call.word(0))?.image.ok_or(cl::INVALID_MEM_OBJECT)?;
        let [width, second, third] = image.size;
        let [row, slice] = image.told_pitch(image.pitch);
        let (height, depth, layers) = match image.kind {
            cl::MEM_OBJECT_IMAGE2D => (second, 0, 0),
            cl::MEM_OBJECT_IMAGE3D => (second, third, 0),
            cl::MEM_OBJECT_IMAGE1D_ARRAY => (0, 0, second),
            cl::MEM_OBJECT_IMAGE2D_ARRAY => (second, 0, third),
            _ => (0, 0, 0),
        };
        let value = match u64::from(call.uint(1)) {
            cl::IMAGE_FORMAT => image.format.bytes(),
            cl::IMAGE_ELEMENT_SIZE => word(image.texel()),
            cl::IMAGE_ROW_PITCH => word(row),
            cl::IMAGE_SLICE_PITCH => word(slice),
            cl::IMAGE_WIDTH => word(width),
            cl::IMAGE_HEIGHT => word(height),
            cl::IMAGE_DEPTH => word(depth),
            cl::IMAGE_ARRAY_SIZE => word(layers),
            cl::IMAGE_BUFFER => word(image.buffer.unwrap_or(0)),
            cl::IMAGE_NUM_MIP_LEVELS | cl::IMAGE_NUM_SAMPLES => uint(0),
            _ => return Err(cl::INVALID_VALUE),
        };
        call.info(2, &value)
    }
}

/// The descriptor of an image at `base`.
fn describe(image: &Image, base: VirtAddr) -> [u32; 12] {
    let Image { kind, format, size: [width, second, third], pitch, .. } = *image;
    let [sx, sy, sz, sw] = format.selects;
    let selects = sx | sy << 3 | sz << 6 | sw << 9;
    let mut words = [0; 12];
    if kind == cl::MEM_OBJECT_IMAGE1D_BUFFER {
        words[..4].copy_from_slice(&[
            base.0 as u32,
            (base.0 >> 32) as u32 & 0xffff | (format.texel as u32) << 16,
            (width * format.texel) as u32,
            selects | format.number << 12 | format.data << 15,
        ]);
    } else {
        // The hardware's image type, height, depth and layers.
        let (shape, height, depth, layers) = match kind {
            cl::MEM_OBJECT_IMAGE1D => (8, 1, 1, 1),
            cl::MEM_OBJECT_IMAGE3D => (10, second, third, 1),
            cl::MEM_OBJECT_IMAGE1D_ARRAY => (12, 1, second, second),
            cl::MEM_OBJECT_IMAGE2D_ARRAY => (13, second, third, third),
            _ => (9, second, 1, 1),
        };
        words[..6].copy_from_slice(&[
            (base.0 >> 8) as u32,
            (base.0 >> 40) as u32 | format.data << 20 | format.number << 26,
            (width - 1) as u32 | ((height - 1) as u32) << 14,
            selects | 8 << 20 | shape << 28,
            (depth - 1) as u32 | ((pitch[0] / format.texel - 1) as u32) << 13,
            ((layers - 1) as u32) << 13,
        ]);
    }
    words[8..11].copy_from_slice(&[format.library[0], format.library[1], width as u32]);
    words
}
