//! A writer of version 2 code objects, which no current compiler generates: it converts kernels of a version 4 object.
//!
//! The machine code and the hardware set-up bits are the same in both versions. The difference is where they are
//! stored: an `amd_kernel_code_t` before the code instead of a separate descriptor, YAML instead of MessagePack, and
//! kernel symbols of their own type.

use gcn3::object::{AddressSpace, ArgumentKind, CodeObject, Hidden, Kernel};
use mem::VirtAddr;

/// The inputs of the object.
pub struct Version2<'a> {
    pub from: &'a [u8],
    pub kernels: &'a [&'a str],
    pub metadata: bool,
    /// The processor to name in a note, as all compilers did.
    pub isa: Option<[u32; 3]>,
}

impl Version2<'_> {
    pub fn build(&self) -> Vec<u8> {
        let from = CodeObject::parse(self.from).expect("the version 4 object is sound");
        let image = from.load(VirtAddr(0)).expect("it can be loaded at zero");
        let kernels: Vec<&Kernel> = self.kernels.iter().map(|name| from.kernel(name).expect("it is there")).collect();

        const TEXT: u64 = 0x2000;
        let (mut text, mut symbols, mut names) = (Vec::new(), vec![[0u8; 24]], vec![0u8]);
        for kernel in &kernels {
            text.resize(text.len().next_multiple_of(256), 0);
            let start = text.len() as u64;
            text.extend(kernel_code(kernel));
            text.extend(image.bytes(image.kernel_entry(kernel), kernel.code_size as usize).expect("the code is there"));
            let mut symbol = [0u8; 24];
            symbol[0..4].copy_from_slice(&(names.len() as u32).to_le_bytes());
            symbol[4] = 1 << 4 | 10; // global, STT_AMDGPU_HSA_KERNEL
            symbol[6..8].copy_from_slice(&2u16.to_le_bytes());
            symbol[8..16].copy_from_slice(&(TEXT + start).to_le_bytes());
            symbol[16..24].copy_from_slice(&(text.len() as u64 - start).to_le_bytes());
            symbols.push(symbol);
            names.extend(kernel.name.bytes().chain([0]));
        }

        let mut notes = note(1, &[2u32, 1].map(u32::to_le_bytes).concat());
        if let Some([major, minor, stepping]) = self.isa {
            let mut isa = [4u16.to_le_bytes(), 7u16.to_le_bytes()].concat();
            isa.extend([major, minor, stepping].map(u32::to_le_bytes).concat());
            isa.extend(b"AMD\0AMDGPU\0");
            notes.extend(note(3, &isa));
        }
        if self.metadata {
            notes.extend(note(10, yaml(&kernels).as_bytes()));
        }
        let section_names = b"\0.note\0.text\0.symtab\0.strtab\0.shstrtab\0";
        elf(TEXT, &notes, &text, &symbols.concat(), &names, section_names)
    }
}

/// The 256 bytes before the code.
fn kernel_code(kernel: &Kernel) -> Vec<u8> {
    let (descriptor, setup) = (&kernel.descriptor, kernel.descriptor.setup);
    let mut bytes = vec![0u8; 256];
    let mut put =
        |at: usize, value: u64, size: usize| bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    put(0, 1, 4); // version 1.1
    put(4, 1, 4);
    put(8, 1, 2); // AMDGPU 8.0.3
    put(10, 8, 2);
    put(14, 3, 2);
    put(16, 256, 8); // the code follows
    put(48, descriptor.rsrc1.into(), 4);
    put(52, descriptor.rsrc2.into(), 4);
    let bits = [
        setup.private_segment_buffer,
        setup.dispatch_ptr,
        setup.queue_ptr,
        setup.kernarg_segment_ptr,
        setup.dispatch_id,
        setup.flat_scratch_init,
        setup.private_segment_size,
    ];
    let properties = bits.iter().enumerate().map(|(bit, wanted)| u64::from(*wanted) << bit).sum::<u64>();
    put(56, properties | 1 << 17 | 1 << 19, 4); // 4-byte elements of scratch, 64-bit pointers
    put(60, kernel.private_size.into(), 4);
    put(64, kernel.lds_size.into(), 4);
    put(72, kernel.kernarg_size.into(), 8);
    put(84, kernel.sgprs.into(), 2);
    put(86, kernel.vgprs.into(), 2);
    put(100, 4, 1); // alignments, as powers of two
    put(101, 4, 1);
    put(102, 4, 1);
    put(103, 6, 1); // 64 work-items
    bytes
}

fn yaml(kernels: &[&Kernel]) -> String {
    let mut text = String::from("---\nVersion:         [ 1, 0 ]\nKernels:         \n");
    for kernel in kernels {
        text += &format!("  - Name:            {0}\n    SymbolName:      '{0}@kd'\n", kernel.name);
        text += "    Language:        OpenCL C\n    LanguageVersion: [ 2, 0 ]\n";
        if let Some([x, y, z]) = kernel.required_group {
            text += &format!("    Attrs:           \n      ReqdWorkGroupSize: [ {x}, {y}, {z} ]\n");
        }
        text += "    Args:            \n";
        for argument in &kernel.arguments {
            let kind = match argument.kind {
                ArgumentKind::Value => "ByValue",
                ArgumentKind::Buffer => "GlobalBuffer",
                ArgumentKind::DynamicLds => "DynamicSharedPointer",
                ArgumentKind::Hidden(Hidden::GlobalOffsetX) => "HiddenGlobalOffsetX",
                ArgumentKind::Hidden(Hidden::GlobalOffsetY) => "HiddenGlobalOffsetY",
                ArgumentKind::Hidden(Hidden::GlobalOffsetZ) => "HiddenGlobalOffsetZ",
                _ => "HiddenNone",
            };
            text += &format!("      - Size:            {0}\n        Align:           {0}\n", argument.size);
            text += &format!("        ValueKind:       {kind}\n");
            if let Some(name) = &argument.name {
                text += &format!("        Name:            {name}\n");
            }
            if let Some(type_name) = &argument.type_name {
                text += &format!("        TypeName:        '{type_name}'\n");
            }
            if argument.address_space == Some(AddressSpace::Global) {
                text += "        AddrSpaceQual:   Global\n";
            }
            if let Some(align) = argument.pointee_align {
                text += &format!("        PointeeAlign:    {align}\n        AddrSpaceQual:   Local\n");
            }
        }
        text += &format!("    CodeProps:       \n      KernargSegmentSize: {}\n", kernel.kernarg_size);
        text += &format!("      GroupSegmentFixedSize: {}\n", kernel.lds_size);
        text += &format!("      PrivateSegmentFixedSize: {}\n", kernel.private_size);
        text += "      KernargSegmentAlign: 16\n      WavefrontSize:   64\n";
        text += &format!("      NumSGPRs:        {}\n      NumVGPRs:        {}\n", kernel.sgprs, kernel.vgprs);
        text += "      MaxFlatWorkGroupSize: 256\n";
    }
    text + "...\n"
}

fn note(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut note = [4u32, content.len() as u32, kind].map(u32::to_le_bytes).concat();
    note.extend(b"AMD\0");
    note.extend(content);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

/// A section header.
struct Section(u32, u32, u64, u64, (usize, usize), [u32; 2], [u64; 2]);

/// Concatenates the parts: header, program headers, notes, code, symbols, names, section headers.
fn elf(text_address: u64, notes: &[u8], text: &[u8], symbols: &[u8], names: &[u8], section_names: &[u8]) -> Vec<u8> {
    let mut file = vec![0u8; 64 + 3 * 56];
    let mut place = |content: &[u8], align: usize| {
        file.resize(file.len().next_multiple_of(align), 0);
        file.extend(content);
        (file.len() - content.len(), content.len())
    };
    let note_at = place(notes, 8);
    let text_at = place(text, text_address as usize);
    assert_eq!(text_at.0 as u64, text_address, "the notes end before the code");
    let symbols_at = place(symbols, 8);
    let names_at = place(names, 1);
    let section_names_at = place(section_names, 1);

    // Name, type, flags, address, offset and size in the file, link and info, alignment and size of entries.
    let sections = [
        Section(0, 0, 0, 0, (0, 0), [0, 0], [0, 0]),
        Section(1, 7, 2, note_at.0 as u64, note_at, [0, 0], [4, 0]),
        Section(7, 1, 6, text_address, text_at, [0, 0], [256, 0]),
        Section(13, 2, 0, 0, symbols_at, [4, 1], [8, 24]),
        Section(21, 3, 0, 0, names_at, [0, 0], [1, 0]),
        Section(29, 3, 0, 0, section_names_at, [0, 0], [1, 0]),
    ];
    file.resize(file.len().next_multiple_of(8), 0);
    let sections_at = file.len() as u64;
    for Section(name, kind, flags, address, (offset, size), link_and_info, align_and_entry) in sections {
        file.extend([name, kind].map(u32::to_le_bytes).concat());
        file.extend([flags, address, offset as u64, size as u64].map(u64::to_le_bytes).concat());
        file.extend(link_and_info.map(u32::to_le_bytes).concat());
        file.extend(align_and_entry.map(u64::to_le_bytes).concat());
    }

    let mut header = b"\x7fELF\x02\x01\x01\x40\0\0\0\0\0\0\0\0".to_vec();
    header.extend([3u16, 224].map(u16::to_le_bytes).concat()); // shared object, AMDGPU
    header.extend(1u32.to_le_bytes());
    header.extend([0, 64, sections_at].map(u64::to_le_bytes).concat());
    header.extend(0u32.to_le_bytes()); // no processor in the flags
    header.extend([64u16, 56, 3, 64, 6, 5].map(u16::to_le_bytes).concat());
    let first_segment = note_at.0 + note_at.1;
    // Type, flags, offset (also the address), size, alignment.
    for (kind, flags, offset, size, align) in [
        (1u32, 4u32, 0usize, first_segment, 0x1000u64),
        (1, 5, text_at.0, text_at.1, 0x1000),
        (4, 4, note_at.0, note_at.1, 4),
    ] {
        header.extend([kind, flags].map(u32::to_le_bytes).concat());
        let (offset, size) = (offset as u64, size as u64);
        header.extend([offset, offset, offset, size, size, align].map(u64::to_le_bytes).concat());
    }
    file[..header.len()].copy_from_slice(&header);
    file
}
