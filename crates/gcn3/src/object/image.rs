//! A code object at its place in memory: the bytes of its segments with every address filled in.

use super::{
    CodeObject, Kernel, ObjectError,
    elf::{Elf, Relocation, Symbol},
};
use mem::{Bytes, VirtAddr};

/// A loaded code object. The caller copies the segments into memory; overlapping ones in order.
#[derive(Clone, Debug)]
pub struct Image {
    pub base: VirtAddr,
    pub segments: Vec<ImageSegment>,
}

/// A stretch of memory.
#[derive(Clone, Debug)]
pub struct ImageSegment {
    pub address: VirtAddr,
    pub bytes: Vec<u8>,
    pub writable: bool,
    pub executable: bool,
}

impl Image {
    /// The address of a kernel's first instruction.
    pub fn kernel_entry(&self, kernel: &Kernel) -> VirtAddr {
        self.base + Bytes(kernel.descriptor.entry.0)
    }

    /// The address of a kernel's descriptor, which a dispatch packet calls the kernel object.
    pub fn kernel_object(&self, kernel: &Kernel) -> VirtAddr {
        self.base + Bytes(kernel.descriptor.address.0)
    }

    /// The first address behind the last segment.
    pub fn end(&self) -> VirtAddr {
        let ends = self.segments.iter().map(|segment| segment.address + Bytes(segment.bytes.len() as u64));
        ends.max().unwrap_or(self.base)
    }

    /// `size` bytes at `address`, if one segment holds them all.
    pub fn bytes(&self, address: VirtAddr, size: usize) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.0.checked_sub(segment.address.0)?).ok()?;
            segment.bytes.get(start..start.checked_add(size)?)
        })
    }

    fn bytes_mut(&mut self, address: VirtAddr, size: usize) -> Option<&mut [u8]> {
        self.segments.iter_mut().find_map(|segment| {
            let start = usize::try_from(address.0.checked_sub(segment.address.0)?).ok()?;
            segment.bytes.get_mut(start..start.checked_add(size)?)
        })
    }
}

impl CodeObject {
    /// Places the object at `base` and fills every address in.
    pub fn load(&self, base: VirtAddr) -> Result<Image, ObjectError> {
        let align = self.elf.align;
        if !base.0.is_multiple_of(align) || base.0 > 1 << 47 {
            return Err(ObjectError::Unaligned { base: base.0, align });
        }
        load(&self.elf, base)
    }
}

/// Places the segments at `base` and applies the relocations.
pub fn load(elf: &Elf, base: VirtAddr) -> Result<Image, ObjectError> {
    let segments = elf.segments.iter().map(|segment| {
        let mut bytes = segment.data.clone();
        bytes.resize(segment.size as usize, 0);
        let address = base + Bytes(segment.address);
        ImageSegment { address, bytes, writable: segment.writable, executable: segment.executable }
    });
    let mut image = Image { base, segments: segments.collect() };
    for relocation in &elf.relocations {
        apply(&mut image, relocation)?;
    }
    Ok(image)
}

/// Which half of the result, and how wide the place is.
enum Field {
    Low32,
    High32,
    Signed32,
    Unsigned32,
    Whole64,
}

/// Fills one address in: S + A, or relative to the place P.
fn apply(image: &mut Image, relocation: &Relocation) -> Result<(), ObjectError> {
    let Relocation { place, kind, .. } = *relocation;
    let wrong = |detail: &str| ObjectError::Relocation { kind, place, detail: detail.into() };
    let (field, relative) = match kind {
        0 => return Ok(()),              // NONE
        1 => (Field::Low32, false),      // ABS32_LO
        2 => (Field::High32, false),     // ABS32_HI
        3 => (Field::Whole64, false),    // ABS64
        4 => (Field::Signed32, true),    // REL32
        5 => (Field::Whole64, true),     // REL64
        6 => (Field::Unsigned32, false), // ABS32
        10 => (Field::Low32, true),      // REL32_LO
        11 => (Field::High32, true),     // REL32_HI
        13 => (Field::Whole64, false),   // RELATIVE64
        7..=9 => return Err(wrong("goes through a global offset table that only a linker makes: link with ld.lld")),
        _ => return Err(wrong("is not known")),
    };
    let width = if matches!(field, Field::Whole64) { 8 } else { 4 };
    let address = VirtAddr(image.base.0.wrapping_add(place));
    let held = image.bytes(address, width).ok_or_else(|| wrong("lies outside the loaded object"))?;
    let addend = match relocation.addend {
        Some(addend) => addend as u64,
        None => held.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    };
    let target = match &relocation.symbol {
        _ if kind == 13 => image.base.0,
        Some(symbol) => image.base.0.wrapping_add(defined(symbol)?),
        None => image.base.0,
    };
    let value = target.wrapping_add(addend).wrapping_sub(if relative { address.0 } else { 0 });
    let low = value as u32;
    let narrow = match field {
        Field::Low32 => low,
        Field::High32 => (value >> 32) as u32,
        Field::Signed32 if i64::from(low as i32) as u64 == value => low,
        Field::Unsigned32 if u64::from(low) == value => low,
        Field::Whole64 => low,
        _ => return Err(wrong("does not fit 32 bits where the object is loaded")),
    };
    let held = image.bytes_mut(address, width).expect("the same place was read above");
    held[..4].copy_from_slice(&narrow.to_le_bytes());
    if let Field::Whole64 = field {
        held.copy_from_slice(&value.to_le_bytes());
    }
    Ok(())
}

fn defined(symbol: &Symbol) -> Result<u64, ObjectError> {
    if symbol.defined { Ok(symbol.address) } else { Err(ObjectError::Undefined { symbol: symbol.name.clone() }) }
}
