//! ELF files for x86-64 Linux.
//!
//! A file is checked completely before anything is loaded; a rejection explains how to build a file that works. A
//! position-independent executable relocates itself at start; here it only gets a base address. A dynamically linked
//! one names a loader: a second file, which executes first and finds libraries by system calls, like any program.

use super::{isa, symbols::Symbols};
use crate::GuestMemory;
use crate::memory::{AddressSpace, PAGE, Place, Rights, USER_END, page_down, page_up};
use mem::{Bytes, VirtAddr};
use object::{
    LittleEndian,
    elf::{self, FileHeader64, ProgramHeader64},
    read::elf::{FileHeader, ProgramHeader},
};
use std::{io, rc::Rc};
use thiserror::Error;

type Header = FileHeader64<LittleEndian>;
pub(super) type Segment = ProgramHeader64<LittleEndian>;

/// The base address of position-independent executables, as in Linux without randomisation.
const PIE_BASE: u64 = 0x5555_5555_4000;

pub(super) const ENDIAN: LittleEndian = LittleEndian;

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
    #[error(
        "this program is dynamically linked (it needs {0}): link it with -static, or show it the libraries of this computer with \
         --host-libraries or those of a folder with --root DIR"
    )]
    Dynamic(String),
    #[error("the loader that this program needs, '{path}', can't be used: {reason}")]
    Loader { path: String, reason: String },
    #[error(
        "this program needs x86-64-v{0}; cohesim's CPU is an x86-64-v2 (SSE4.2): compile it with -march=x86-64-v2 or less"
    )]
    Level(u32),
    #[error("this ELF file is damaged: {0}; build it again")]
    Damaged(String),
    #[error("the program's segments do not fit into the guest's memory of {0}: give it more with --memory")]
    TooLarge(Bytes),
}

/// Reads the loader of a program, by its path as the program knows it. None if the program can't see it.
pub type ReadLoader<'a> = &'a mut dyn FnMut(&[u8]) -> Option<io::Result<Rc<[u8]>>>;

/// A loaded program.
pub struct Image {
    /// The program's own entry point.
    pub entry: u64,
    /// Its loader, if it is dynamically linked; the loader executes first.
    pub loader: Option<Loader>,
    /// The address of the program headers in memory, for the auxiliary vector; 0 if they are not loaded.
    pub headers: u64,
    pub header_size: u64,
    pub header_count: u64,
    /// The first address after the program's data: where the heap begins.
    pub end: u64,
    pub symbols: Symbols,
}

/// A loaded loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loader {
    pub base: u64,
    pub entry: u64,
}

impl Image {
    /// Checks and loads a file, with its loader if it needs one.
    pub fn load(file: &[u8], space: &mut AddressSpace, read: ReadLoader) -> Result<Image, ProgramError> {
        let parsed = File::parse(file)?;
        let loader = match parsed.interpreter()? {
            Some(path) => Some((path, read_loader(path, read)?)),
            None => None,
        };
        let base = if parsed.header.e_type(ENDIAN) == elf::ET_DYN { PIE_BASE } else { 0 };
        let end = parsed.load(base, space)?;
        let entry = parsed.entry(base)?;
        let headers = parsed.loaded().find_map(|segment| {
            let inside = parsed.header.e_phoff(ENDIAN).checked_sub(segment.p_offset(ENDIAN))?;
            (inside < segment.p_filesz(ENDIAN)).then(|| base + segment.p_vaddr(ENDIAN) + inside)
        });
        let loader = loader.map(|(path, file)| load_loader(path, &file, space)).transpose()?;
        Ok(Image {
            entry,
            loader,
            headers: headers.unwrap_or(0),
            header_size: parsed.header.e_phentsize(ENDIAN).into(),
            header_count: parsed.segments.len() as u64,
            end,
            symbols: Symbols::read(file, base),
        })
    }
}

fn unusable(path: &[u8], reason: String) -> ProgramError {
    ProgramError::Loader { path: String::from_utf8_lossy(path).into_owned(), reason }
}

fn read_loader(path: &[u8], read: ReadLoader) -> Result<Rc<[u8]>, ProgramError> {
    let file = read(path).ok_or_else(|| ProgramError::Dynamic(String::from_utf8_lossy(path).into_owned()))?;
    file.map_err(|error| unusable(path, error.to_string()))
}

/// Loads a program's loader at a free address.
fn load_loader(path: &[u8], file: &[u8], space: &mut AddressSpace) -> Result<Loader, ProgramError> {
    let unusable = |reason: String| unusable(path, reason);
    let load = |space: &mut AddressSpace| {
        let parsed = File::parse(file)?;
        if parsed.interpreter()?.is_some() {
            return Err(damaged("it needs a loader itself"));
        }
        let base = if parsed.header.e_type(ENDIAN) == elf::ET_DYN { parsed.room(space)? } else { 0 };
        parsed.load(base, space)?;
        Ok(Loader { base, entry: parsed.entry(base)? })
    };
    load(space).map_err(|error| match error {
        ProgramError::Damaged(reason) => unusable(reason),
        ProgramError::Script | ProgramError::NotElf => unusable("it is not an ELF file".into()),
        ProgramError::Not64Bit => unusable("it is a 32-bit file".into()),
        ProgramError::ForeignArchitecture(architecture) => unusable(format!("it is for {architecture}")),
        ProgramError::NotExecutable(what) => unusable(format!("it is {what}")),
        other => other,
    })
}

/// An ELF file with valid headers.
struct File<'a> {
    bytes: &'a [u8],
    header: &'a Header,
    segments: &'a [Segment],
}

impl<'a> File<'a> {
    fn parse(bytes: &'a [u8]) -> Result<File<'a>, ProgramError> {
        let header = check_header(bytes)?;
        let segments =
            header.program_headers(ENDIAN, bytes).map_err(|_| damaged("its program headers lie outside it"))?;
        let file = File { bytes, header, segments };
        if file.loaded().next().is_none() {
            return Err(damaged("it has nothing to load"));
        }
        match isa::level(bytes, segments) {
            level @ 3.. => Err(ProgramError::Level(level)),
            _ => Ok(file),
        }
    }

    fn loaded(&self) -> impl Iterator<Item = &'a Segment> {
        self.segments.iter().filter(|segment| segment.p_type(ENDIAN) == elf::PT_LOAD)
    }

    /// The path of its loader, if it names one.
    fn interpreter(&self) -> Result<Option<&'a [u8]>, ProgramError> {
        const LONGEST: usize = 4096;
        let Some(segment) = self.segments.iter().find(|segment| segment.p_type(ENDIAN) == elf::PT_INTERP) else {
            return Ok(None);
        };
        let path = segment.data(ENDIAN, self.bytes).map_err(|()| damaged("the path of its loader lies outside it"))?;
        match path.split_last() {
            Some((0, path)) if !path.is_empty() && path.len() < LONGEST && !path.contains(&0) => Ok(Some(path)),
            _ => Err(damaged("the path of its loader is not a valid path")),
        }
    }

    /// Loads its segments; returns the page-aligned end of the last.
    fn load(&self, base: u64, space: &mut AddressSpace) -> Result<u64, ProgramError> {
        let mut end = 0;
        for segment in self.loaded() {
            end = end.max(load_segment(self.bytes, segment, base, space)?);
        }
        Ok(end)
    }

    /// Its entry point, which must be in executable code. Its segments must be loaded.
    fn entry(&self, base: u64) -> Result<u64, ProgramError> {
        let entry = base.wrapping_add(self.header.e_entry(ENDIAN));
        let runs = |segment: &Segment| {
            let start = base.wrapping_add(segment.p_vaddr(ENDIAN));
            segment.p_flags(ENDIAN).0 & elf::PF_X.0 != 0 && (start..start + segment.p_memsz(ENDIAN)).contains(&entry)
        };
        let inside = self.loaded().any(runs);
        inside.then_some(entry).ok_or_else(|| damaged("its entry point lies outside its code"))
    }

    /// A base address at which all its segments fit.
    fn room(&self, space: &AddressSpace) -> Result<u64, ProgramError> {
        let outside = || damaged("a segment lies outside the address space");
        let (mut first, mut last) = (u64::MAX, 0);
        for segment in self.loaded() {
            let start = segment.p_vaddr(ENDIAN);
            let end = start.checked_add(segment.p_memsz(ENDIAN)).and_then(page_up).ok_or_else(outside)?;
            (first, last) = (first.min(page_down(start)), last.max(end));
        }
        let size = last.checked_sub(first).filter(|size| *size <= USER_END).ok_or_else(outside)?;
        let start = space.room_for(size).ok_or(ProgramError::TooLarge(space.limit()))?;
        start.checked_sub(first).ok_or_else(outside)
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
    // The fields EI_CLASS and EI_DATA.
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

/// Loads one segment; returns its page-aligned end.
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
