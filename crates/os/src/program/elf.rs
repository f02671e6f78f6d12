//! Static ELF files for x86-64 Linux.
//!
//! A file is checked whole before anything is loaded, and refused with words that say how to build one that works. A
//! position-independent executable relocates itself when it starts; here it only gets a base address.

use super::symbols::Symbols;
use crate::GuestMemory;
use crate::memory::{AddressSpace, PAGE, Place, Rights, USER_END, page_down, page_up};
use mem::{Bytes, VirtAddr};
use object::{
    LittleEndian,
    elf::{self, FileHeader64, ProgramHeader64},
    read::elf::{FileHeader, ProgramHeader},
};
use thiserror::Error;

type Header = FileHeader64<LittleEndian>;
type Segment = ProgramHeader64<LittleEndian>;

/// Where position-independent executables go, as on Linux without randomisation.
const PIE_BASE: u64 = 0x5555_5555_4000;

const ENDIAN: LittleEndian = LittleEndian;

/// Why a file can't be run.
#[derive(Debug, Error)]
pub enum ProgramError {
    #[error("this is a script; cohesim runs ELF programs: compile one with gcc -static")]
    Script,
    #[error("this is not an ELF file; cohesim runs x86-64 Linux programs, such as gcc -static makes")]
    NotElf,
    #[error("this is a 32-bit program; compile it for x86-64 (gcc -m64 -static)")]
    Not64Bit,
    #[error("this program is for {0}; compile it for x86-64 (gcc -static on an x86-64 computer)")]
    ForeignArchitecture(String),
    #[error("this is {0}, not an executable; link it with gcc -static")]
    NotExecutable(&'static str),
    #[error("this program is dynamically linked (it needs {0}): link it with -static")]
    Dynamic(String),
    #[error("this ELF file is damaged: {0}; build it again")]
    Damaged(String),
    #[error("the program's segments do not fit into the guest's memory of {0}: give it more with --memory")]
    TooLarge(Bytes),
}

/// A program that has been loaded.
pub struct Image {
    /// Where execution begins.
    pub entry: u64,
    /// Where the program headers lie in memory, for the auxiliary vector; 0 if they are not loaded.
    pub headers: u64,
    pub header_size: u64,
    pub header_count: u64,
    /// The first address after the program's data: where the heap begins.
    pub end: u64,
    pub symbols: Symbols,
}

impl Image {
    /// Checks a file and loads it.
    pub fn load(file: &[u8], space: &mut AddressSpace) -> Result<Image, ProgramError> {
        let header = check_header(file)?;
        let segments =
            header.program_headers(ENDIAN, file).map_err(|_| damaged("its program headers lie outside it"))?;
        if let Some(interpreter) = segments.iter().find(|segment| segment.p_type(ENDIAN) == elf::PT_INTERP) {
            let path = interpreter.data(ENDIAN, file).unwrap_or_default();
            let path = String::from_utf8_lossy(path);
            return Err(ProgramError::Dynamic(path.trim_end_matches('\0').to_string()));
        }
        let base = if header.e_type(ENDIAN) == elf::ET_DYN { PIE_BASE } else { 0 };
        let loaded: Vec<&Segment> = segments.iter().filter(|segment| segment.p_type(ENDIAN) == elf::PT_LOAD).collect();
        if loaded.is_empty() {
            return Err(damaged("it has nothing to load"));
        }
        let mut end = 0;
        for segment in &loaded {
            end = end.max(load_segment(file, segment, base, space)?);
        }
        let entry = base.wrapping_add(header.e_entry(ENDIAN));
        let runs = |segment: &&&Segment| {
            let start = base.wrapping_add(segment.p_vaddr(ENDIAN));
            segment.p_flags(ENDIAN).0 & elf::PF_X.0 != 0 && (start..start + segment.p_memsz(ENDIAN)).contains(&entry)
        };
        if loaded.iter().find(runs).is_none() {
            return Err(damaged("its entry point lies outside its code"));
        }
        let headers = loaded.iter().find_map(|segment| {
            let inside = header.e_phoff(ENDIAN).checked_sub(segment.p_offset(ENDIAN))?;
            (inside < segment.p_filesz(ENDIAN)).then(|| base + segment.p_vaddr(ENDIAN) + inside)
        });
        Ok(Image {
            entry,
            headers: headers.unwrap_or(0),
            header_size: header.e_phentsize(ENDIAN).into(),
            header_count: segments.len() as u64,
            end,
            symbols: Symbols::read(file, base),
        })
    }
}

fn damaged(what: impl Into<String>) -> ProgramError {
    ProgramError::Damaged(what.into())
}

fn check_header(file: &[u8]) -> Result<&Header, ProgramError> {
    if file.starts_with(b"#!") {
        return Err(ProgramError::Script);
    }
    if !file.starts_with(b"\x7fELF") {
        return Err(ProgramError::NotElf);
    }
    // The bytes EI_CLASS and EI_DATA.
    match file.get(4) {
        Some(&1) => return Err(ProgramError::Not64Bit),
        Some(&2) => {}
        _ => return Err(damaged("its class is neither 32-bit nor 64-bit")),
    }
    if file.get(5) == Some(&2) {
        return Err(ProgramError::ForeignArchitecture("a big-endian architecture".into()));
    }
    let header = Header::parse(file).map_err(|_| damaged("its header is cut off or wrong"))?;
    let machine = header.e_machine(ENDIAN);
    if machine != elf::EM_X86_64 {
        return Err(ProgramError::ForeignArchitecture(architecture(machine)));
    }
    match header.e_type(ENDIAN) {
        elf::ET_EXEC | elf::ET_DYN => {}
        elf::ET_REL => return Err(ProgramError::NotExecutable("an object file")),
        elf::ET_CORE => return Err(ProgramError::NotExecutable("a core dump")),
        _ => return Err(damaged("its type is unknown")),
    }
    if header.e_type(ENDIAN) == elf::ET_DYN && header.e_entry(ENDIAN) == 0 {
        return Err(ProgramError::NotExecutable("a shared library"));
    }
    Ok(header)
}

fn architecture(machine: elf::Machine) -> String {
    let name = match machine {
        elf::EM_386 => "32-bit x86",
        elf::EM_ARM => "32-bit ARM",
        elf::EM_AARCH64 => "AArch64",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC64 => "POWER",
        elf::EM_S390 => "S/390",
        elf::EM_AMDGPU => "AMD GPUs (run it with cohesim launch)",
        elf::EM_CUDA => "NVIDIA GPUs",
        _ => return format!("architecture {}", machine.0),
    };
    name.into()
}

/// Loads one segment; answers with the page-aligned end of it.
fn load_segment(file: &[u8], segment: &Segment, base: u64, space: &mut AddressSpace) -> Result<u64, ProgramError> {
    let bytes = segment.data(ENDIAN, file).map_err(|()| damaged("a segment lies outside it"))?;
    let size = segment.p_memsz(ENDIAN);
    if size < bytes.len() as u64 {
        return Err(damaged("a segment is larger in the file than in memory"));
    }
    if size == 0 {
        return Ok(0);
    }
    let start = segment.p_vaddr(ENDIAN).checked_add(base).filter(|start| *start < USER_END);
    let start = start.ok_or_else(|| damaged("a segment lies outside the address space"))?;
    let end = start.checked_add(size).and_then(page_up).filter(|end| *end <= USER_END);
    let end = end.ok_or_else(|| damaged("a segment lies outside the address space"))?;
    let flags = segment.p_flags(ENDIAN).0;
    let bit = |flag: elf::ProgramFlags, bit| if flags & flag.0 != 0 { bit } else { 0 };
    let prot = bit(elf::PF_R, 1) | bit(elf::PF_W, 2) | bit(elf::PF_X, 4);
    let rights = Rights::from_prot(prot).expect("three bits");
    let page = page_down(start);
    if !space.areas().free(page, end) {
        return Err(damaged("two segments overlap in a page"));
    }
    let too_large = ProgramError::TooLarge(space.limit());
    if space.map_at(Place::ExactlyIfFree(page), end - page, Rights::READ_WRITE, "program").is_err() {
        return Err(if end - page > space.limit().0 { too_large } else { damaged("a segment lies too low") });
    }
    if space.write(VirtAddr(start), bytes).is_err() {
        return Err(too_large);
    }
    space.protect(page, end - page, rights).map_err(|_| damaged("a segment has no room"))?;
    debug_assert!(end.is_multiple_of(PAGE));
    Ok(end)
}
