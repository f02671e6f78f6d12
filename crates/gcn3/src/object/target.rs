//! Checks that a file is a gfx803 code object, and otherwise identifies what it is.

use super::{ObjectError, kernel::Version};

const EM_AMDGPU: u16 = 224;
/// `EF_AMDGPU_MACH_AMDGCN_GFX803`.
const MACH_GFX803: u8 = 0x2a;

/// Processors by the low byte of the ELF flags.
const MACHINES: &[(u8, &str)] = &[
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (MACH_GFX803, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
];

/// Rejects a file that is not a 64-bit ELF file for AMD GPUs, and names what it is.
pub fn check_kind(file: &[u8]) -> Result<(), ObjectError> {
    let foreign =
        |found: &str, advice: &str| Err(ObjectError::NotAnObject { found: found.into(), advice: advice.into() });
    let compile = "compile OpenCL C with `cohesim cc FILE.cl -o FILE.hsaco`";
    if !file.starts_with(b"\x7fELF") {
        return match file {
            [] => foreign("an empty file", compile),
            [0x03, 0x02, 0x23, 0x07, ..] | [0x07, 0x23, 0x02, 0x03, ..] => {
                foreign("a SPIR-V module", "compile it for amdgcn-amd-amdhsa, gfx803, first")
            }
            [b'B', b'C', 0xc0, 0xde, ..] => {
                foreign("LLVM bitcode", "compile it with clang-19 -target amdgcn-amd-amdhsa -mcpu=gfx803 first")
            }
            _ if file.starts_with(b"!<arch>") => foreign("an archive", "take the code object out with ar x"),
            _ if std::str::from_utf8(file).is_ok_and(|text| !text.contains('\0')) => foreign("text", compile),
            _ => foreign("no ELF file", compile),
        };
    }
    let (Some(&class), Some(&data), Some(machine)) = (file.get(4), file.get(5), file.get(18..20)) else {
        return Err(ObjectError::Damaged { what: "its ELF header".into(), detail: format!("{} bytes", file.len()) });
    };
    let machine = if data == 2 {
        u16::from_be_bytes([machine[0], machine[1]])
    } else {
        u16::from_le_bytes([machine[0], machine[1]])
    };
    let name = match machine {
        EM_AMDGPU if class == 2 && data == 1 => return Ok(()),
        EM_AMDGPU => "an AMD GPU of the R600 family or another byte order".into(),
        3 => "32-bit x86".into(),
        62 => "x86-64".into(),
        40 => "32-bit Arm".into(),
        183 => "AArch64".into(),
        243 => "RISC-V".into(),
        190 => "an NVIDIA GPU (CUDA)".into(),
        205 => "an Intel GPU".into(),
        other => format!("machine number {other}"),
    };
    foreign(&format!("an ELF file for {name}"), compile)
}

/// The version of the code object, from the identification of the ELF file.
pub fn version(os_abi: u8, abi_version: u8) -> Result<Version, ObjectError> {
    match os_abi {
        64 => {}
        65 => return Err(ObjectError::System { found: "AMD PAL (amdgcn-amd-amdpal)".into() }),
        66 => return Err(ObjectError::System { found: "Mesa (amdgcn-mesa-mesa3d)".into() }),
        0 => return Err(ObjectError::System { found: "no operating system (amdgcn--)".into() }),
        other => return Err(ObjectError::System { found: format!("an unknown system (ELF OS/ABI {other})") }),
    }
    Ok(match abi_version {
        0 => Version::V2,
        1 => Version::V3,
        2 => Version::V4,
        3 => Version::V5,
        4 => Version::V6,
        other => return Err(ObjectError::Version { found: format!("of ELF ABI version {other}") }),
    })
}

/// Checks the processor in the ELF flags. Version 2 objects need not name one there.
pub fn check_machine(version: Version, flags: u32) -> Result<(), ObjectError> {
    let machine = flags as u8;
    // Before there were processor numbers, version 2 stored feature bits here; no processor has these numbers.
    if machine == MACH_GFX803 || version == Version::V2 && machine < 0x20 {
        return Ok(());
    }
    let found = MACHINES
        .iter()
        .find(|(number, _)| *number == machine)
        .map(|(_, name)| name.to_string())
        .unwrap_or_else(|| format!("an unknown processor (ELF flags {flags:#x})"));
    Err(ObjectError::Target { found })
}
