//! A code object relocated to its address in memory: the bytes of its segments.

use super::{
    CodeObject, Kernel, ObjectError,
    elf::{Elf, Relocation, Symbol},
};
use mem::{Bytes, VirtAddr};

/// A loaded code object. The caller copies the segments to memory, in order if they overlap.
#[derive(Clone, Debug)]
pub struct Image {
    pub base: VirtAddr,
    pub segments: Vec<ImageSegment>,
}

/// A segment of memory.
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

    /// The first address after the last segment.
    pub fn end(&self) -> VirtAddr {
        let ends = self.segments.iter().map(|segment| segment.address + Bytes(segment.bytes.len() as u64));
        ends.max().unwrap_or(self.base)
    }

    /// `size` bytes at `address`; none unless a single segment contains all of them.
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
    /// Relocates the object to `base`.
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

/// Which part of the result is stored, and the width of the field.
enum Field {
    Low32,
    High32,
    Signed32,
    Unsigned32,
    Whole64,
}

/// Applies one relocation: S + A, or relative to the place P.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{elf::Segment, kernel::Version};

    const BASE: u64 = 0x7_0000_0000;

    /// Applies one relocation to the second of four words; the symbol is at 0x1234.
    fn relocated(kind: u32, addend: Option<i64>, symbol: Option<Symbol>) -> Result<[u32; 4], String> {
        let data: Vec<u8> = [1u32, 0x10, 0, 4].iter().flat_map(|word| word.to_le_bytes()).collect();
        let segment = Segment { address: 0x1000, size: 16, data, writable: false, executable: false };
        let elf = Elf {
            version: Version::V5,
            segments: vec![segment],
            symbols: Vec::new(),
            relocations: vec![Relocation { place: 0x1004, kind, symbol, addend }],
            notes: Vec::new(),
            align: 4096,
            relocatable: true,
        };
        let image = load(&elf, VirtAddr(BASE)).map_err(|error| error.to_string())?;
        let words = image.segments[0].bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        Ok(words.collect::<Vec<_>>().try_into().unwrap())
    }

    fn symbol(address: u64, defined: bool) -> Option<Symbol> {
        Some(Symbol { name: "there".into(), address, size: 4, kind: 1, defined, local: false })
    }

    #[test]
    fn absolute_addresses_are_the_symbol_and_the_addend() {
        let there = || symbol(0x1234, true);
        assert_eq!(relocated(1, Some(6), there()), Ok([1, 0x123a, 0, 4]), "ABS32_LO");
        assert_eq!(relocated(2, Some(6), there()), Ok([1, 7, 0, 4]), "ABS32_HI");
        assert_eq!(relocated(3, Some(-4), there()), Ok([1, 0x1230, 7, 4]), "ABS64");
        assert_eq!(relocated(13, Some(0x20), None), Ok([1, 0x20, 7, 4]), "RELATIVE64");
        assert_eq!(relocated(0, Some(6), there()), Ok([1, 0x10, 0, 4]), "NONE");
    }

    #[test]
    fn relative_addresses_count_from_the_place() {
        let there = || symbol(0x1234, true);
        assert_eq!(relocated(4, Some(4), there()), Ok([1, 0x234, 0, 4]), "REL32");
        assert_eq!(relocated(10, Some(4), there()), Ok([1, 0x234, 0, 4]), "REL32_LO");
        assert_eq!(relocated(11, Some(4), there()), Ok([1, 0, 0, 4]), "REL32_HI");
        assert_eq!(relocated(11, Some(0), symbol(0x10, true)), Ok([1, 0xffff_ffff, 0, 4]), "REL32_HI backwards");
        assert_eq!(relocated(5, Some(0), symbol(0x4, true)), Ok([1, 0xffff_f000, 0xffff_ffff, 4]), "REL64 backwards");
    }

    #[test]
    fn without_an_addend_the_place_holds_it() {
        assert_eq!(relocated(1, None, symbol(0x1234, true)), Ok([1, 0x1244, 0, 4]));
    }

    #[test]
    fn what_can_not_be_filled_in_is_an_error() {
        let error = |kind, symbol| relocated(kind, Some(0), symbol).unwrap_err();
        assert_eq!(
            error(3, symbol(0, false)),
            "symbol 'there' is used but not defined in the code object; link the code that defines it"
        );
        assert!(error(6, symbol(0x1234, true)).contains("does not fit 32 bits where the object is loaded"), "ABS32");
        assert!(error(8, symbol(0x1234, true)).contains("global offset table"), "GOTPCREL32_LO");
        assert!(error(99, symbol(0x1234, true)).contains("relocation type 99 at 0x1004 is not known"));
    }
}
