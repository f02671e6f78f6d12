//! The ELF part of a code object: loaded segments, symbols, relocations and notes.
//!
//! Linked objects (shared or executable) are loaded by their program headers. Relocatable ones, as an assembler writes
//! them, have no addresses yet: their sections are laid out one after another here, which is all the linking that a
//! single object needs.

use super::{ObjectError, target};
use crate::object::kernel::Version;
use object::{
    LittleEndian as LE, SymbolIndex, U32,
    elf::{self, FileHeader64, ProgramHeader64, SectionHeader64, Sym64},
    read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym, SymbolTable},
};

/// The maximum amount of memory that a code object may request.
pub const MEMORY_LIMIT: u64 = 256 << 20;

type Header = FileHeader64<LE>;

/// A parsed code object.
#[derive(Clone, Debug)]
pub struct Elf {
    pub version: Version,
    pub segments: Vec<Segment>,
    pub symbols: Vec<Symbol>,
    pub relocations: Vec<Relocation>,
    pub notes: Vec<Note>,
    /// The required alignment of the base address.
    pub align: u64,
    /// Whether it is relocatable, as an assembler writes it: addresses are valid only after relocation.
    pub relocatable: bool,
}

/// A memory range of the loaded object, relative to its base.
#[derive(Clone, Debug)]
pub struct Segment {
    pub address: u64,
    /// The contents in the file; zeros follow up to `size`.
    pub data: Vec<u8>,
    pub size: u64,
    pub writable: bool,
    pub executable: bool,
}

#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: String,
    /// Relative to the base of the loaded object.
    pub address: u64,
    pub size: u64,
    /// `STT_*`.
    pub kind: u8,
    pub defined: bool,
    pub local: bool,
}

#[derive(Clone, Debug)]
pub struct Relocation {
    /// The address to patch, relative to the base of the loaded object.
    pub place: u64,
    /// `R_AMDGPU_*`.
    pub kind: u32,
    pub symbol: Option<Symbol>,
    /// `None`: the addend is the current contents of the place.
    pub addend: Option<i64>,
}

#[derive(Clone, Debug)]
pub struct Note {
    pub owner: String,
    pub kind: u32,
    pub content: Vec<u8>,
}

impl Elf {
    /// Parses a gfx803 code object, and rejects everything else.
    pub fn parse(file: &[u8]) -> Result<Elf, ObjectError> {
        target::check_kind(file)?;
        let header = Header::parse(file).map_err(damaged("its ELF header"))?;
        let version = target::version(file[7], file[8])?;
        target::check_machine(version, header.e_flags(LE).0)?;
        let sections = header.sections(LE, file).map_err(damaged("its section headers"))?;
        let relocatable = header.e_type(LE) == elf::ET_REL;
        let layout = if relocatable { lay_out(&sections)? } else { Vec::new() };
        let (segments, align) = if relocatable {
            section_segments(file, &sections, &layout)?
        } else {
            program_segments(file, header.program_headers(LE, file).map_err(damaged("its program headers"))?)?
        };
        let tables = Tables { file, sections, layout, relocatable };
        Ok(Elf {
            version,
            align,
            relocatable,
            notes: tables.notes(header)?,
            symbols: tables.symbols()?,
            relocations: tables.relocations()?,
            segments,
        })
    }

    /// The bytes at an address, as stored in the file.
    pub fn bytes_at(&self, address: u64, size: usize) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            segment.data.get(start..start.checked_add(size)?)
        })
    }

    /// Whether an address may contain code.
    pub fn is_code(&self, address: u64) -> bool {
        self.segments.iter().any(|segment| {
            segment.executable && address >= segment.address && address - segment.address < segment.data.len() as u64
        })
    }
}

fn damaged(what: &str) -> impl Fn(object::read::Error) -> ObjectError + '_ {
    move |error| ObjectError::Damaged { what: what.into(), detail: error.to_string() }
}

fn within_limit(size: u64) -> Result<(), ObjectError> {
    if size > MEMORY_LIMIT { Err(ObjectError::TooLarge { size, limit: MEMORY_LIMIT }) } else { Ok(()) }
}

fn program_segments(file: &[u8], headers: &[ProgramHeader64<LE>]) -> Result<(Vec<Segment>, u64), ObjectError> {
    let mut segments: Vec<Segment> = Vec::new();
    let (mut total, mut align) = (0u64, 4096);
    for header in headers.iter().filter(|header| header.p_type(LE) == elf::PT_LOAD) {
        let (address, size) = (header.p_vaddr(LE), header.p_memsz(LE));
        total = total.saturating_add(size);
        within_limit(total)?;
        within_limit(address.saturating_add(size))?;
        let mut data = header
            .data(LE, file)
            .map_err(|()| ObjectError::Damaged { what: "a segment".into(), detail: "it passes the end".into() })?
            .to_vec();
        data.truncate(size as usize);
        let flags = header.p_flags(LE).0;
        segments.push(Segment { address, data, size, writable: flags & 2 != 0, executable: flags & 1 != 0 });
        let wanted = header.p_align(LE);
        if wanted.is_power_of_two() && wanted <= 1 << 20 {
            align = align.max(wanted);
        }
    }
    Ok((segments, align))
}

/// Assigns an address to every loaded section of a relocatable object; the others stay `None`.
fn lay_out(sections: &SectionTable<'_, Header>) -> Result<Vec<Option<u64>>, ObjectError> {
    let mut end = 0u64;
    sections
        .iter()
        .map(|section| {
            if section.sh_flags(LE).0 & elf::SHF_ALLOC.0 == 0 || section.sh_type(LE) == elf::SHT_NOTE {
                return Ok(None);
            }
            let align = section.sh_addralign(LE).clamp(1, 4096).checked_next_power_of_two().unwrap_or(4096);
            let start = end.next_multiple_of(align);
            end = start.saturating_add(section.sh_size(LE));
            within_limit(end)?;
            Ok(Some(start))
        })
        .collect()
}

fn section_segments(
    file: &[u8],
    sections: &SectionTable<'_, Header>,
    layout: &[Option<u64>],
) -> Result<(Vec<Segment>, u64), ObjectError> {
    let mut segments = Vec::new();
    for (section, address) in sections.iter().zip(layout) {
        let Some(address) = *address else { continue };
        let data = section.data(LE, file).map_err(damaged("a section"))?.to_vec();
        let flags = section.sh_flags(LE).0;
        segments.push(Segment {
            address,
            data,
            size: section.sh_size(LE),
            writable: flags & elf::SHF_WRITE.0 != 0,
            executable: flags & elf::SHF_EXECINSTR.0 != 0,
        });
    }
    Ok((segments, 4096))
}

/// Tables of a file that refer to each other.
struct Tables<'a> {
    file: &'a [u8],
    sections: SectionTable<'a, Header>,
    layout: Vec<Option<u64>>,
    relocatable: bool,
}

impl<'a> Tables<'a> {
    fn table(&self, index: object::SectionIndex) -> Result<SymbolTable<'a, Header>, ObjectError> {
        let damage = damaged("a symbol table");
        let section: &SectionHeader64<LE> = self.sections.section(index).map_err(&damage)?;
        match section.sh_type(LE) {
            elf::SHT_SYMTAB | elf::SHT_DYNSYM => {
                SymbolTable::parse(LE, self.file, &self.sections, index, section).map_err(damage)
            }
            _ => Ok(SymbolTable::default()),
        }
    }

    fn symbol(&self, table: &SymbolTable<'a, Header>, index: SymbolIndex, entry: &Sym64<LE>) -> Symbol {
        let name = table.symbol_name(LE, entry).map(|name| String::from_utf8_lossy(name).into_owned());
        let section = table.symbol_section(LE, entry, index).ok().flatten();
        let base = match section {
            Some(section) if self.relocatable => self.layout.get(section.0).copied().flatten(),
            _ => Some(0),
        };
        // An absolute symbol, which is not relative to a section, also counts as defined.
        let absolute = entry.st_shndx(LE) == elf::SHN_ABS;
        let mut symbol = Symbol {
            name: name.unwrap_or_default(),
            address: base.unwrap_or(0).wrapping_add(entry.st_value(LE)),
            size: entry.st_size(LE),
            kind: entry.st_type().0,
            defined: (section.is_some() || absolute) && base.is_some(),
            local: entry.st_bind() == elf::STB_LOCAL,
        };
        if entry.st_type() == elf::STT_SECTION && symbol.name.is_empty() {
            symbol.name = "(section)".into();
        }
        symbol
    }

    /// The symbols of all tables, without duplicates of name and address.
    fn symbols(&self) -> Result<Vec<Symbol>, ObjectError> {
        let mut found: Vec<Symbol> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for (index, section) in self.sections.enumerate() {
            if !matches!(section.sh_type(LE), elf::SHT_SYMTAB | elf::SHT_DYNSYM) {
                continue;
            }
            let table = self.table(index)?;
            for (index, entry) in table.enumerate() {
                let symbol = self.symbol(&table, index, entry);
                if symbol.defined && !symbol.name.is_empty() && seen.insert((symbol.name.clone(), symbol.address)) {
                    found.push(symbol);
                }
            }
        }
        Ok(found)
    }

    fn relocations(&self) -> Result<Vec<Relocation>, ObjectError> {
        let damage = damaged("its relocations");
        let mut found = Vec::new();
        for section in self.sections.iter() {
            let link = section.link(LE);
            // Relocations of sections that are not loaded (debug information), or that the linker has applied, are
            // ignored.
            let base = if self.relocatable {
                let target = section.sh_info(LE) as usize;
                self.layout.get(target).copied().flatten()
            } else {
                (section.sh_flags(LE).0 & elf::SHF_ALLOC.0 != 0).then_some(0)
            };
            let Some(base) = base else { continue };
            if let Some((entries, _)) = section.rela(LE, self.file).map_err(&damage)? {
                let table = self.table(link)?;
                for entry in entries {
                    let (place, info) = (base.wrapping_add(entry.r_offset.get(LE)), entry.r_info.get(LE));
                    let addend = Some(entry.r_addend.get(LE));
                    found.push(self.relocation(&table, place, info, addend)?);
                }
            } else if let Some((entries, _)) = section.rel(LE, self.file).map_err(&damage)? {
                let table = self.table(link)?;
                for entry in entries {
                    let (place, info) = (base.wrapping_add(entry.r_offset.get(LE)), entry.r_info.get(LE));
                    found.push(self.relocation(&table, place, info, None)?);
                }
            }
        }
        Ok(found)
    }

    fn relocation(
        &self,
        table: &SymbolTable<'a, Header>,
        place: u64,
        info: u64,
        addend: Option<i64>,
    ) -> Result<Relocation, ObjectError> {
        let (kind, index) = (info as u32, SymbolIndex((info >> 32) as usize));
        let symbol = if index.0 == 0 {
            None
        } else {
            let entry = table.symbol(index).map_err(damaged("a relocation's symbol"))?;
            Some(self.symbol(table, index, entry))
        };
        Ok(Relocation { place, kind, symbol, addend })
    }

    /// The notes, from sections or, in a file without sections, from program headers.
    fn notes(&self, header: &Header) -> Result<Vec<Note>, ObjectError> {
        let mut found = Vec::new();
        let mut total = 0u64;
        for section in self.sections.iter().filter(|section| section.sh_type(LE) == elf::SHT_NOTE) {
            total = total.saturating_add(section.sh_size(LE));
            within_limit(total)?;
            found.extend(read_notes(section.data(LE, self.file).map_err(damaged("its notes"))?));
        }
        if found.is_empty() {
            let headers = header.program_headers(LE, self.file).map_err(damaged("its program headers"))?;
            for header in headers.iter().filter(|header| header.p_type(LE) == elf::PT_NOTE) {
                found.extend(read_notes(header.data(LE, self.file).unwrap_or(&[])));
            }
        }
        Ok(found)
    }
}

/// Reads notes up to the first one that is truncated. AMD's notes are aligned to four bytes regardless of the header.
fn read_notes(mut data: &[u8]) -> Vec<Note> {
    let mut notes = Vec::new();
    while let Some((header, rest)) = data.split_at_checked(12) {
        let word =
            |at: usize| U32::<LE>::from_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]).get(LE);
        let (name_size, content_size) = (word(0) as usize, word(4) as usize);
        let Some((name, rest)) = rest.split_at_checked(name_size.next_multiple_of(4)) else { break };
        let Some(content) = rest.get(..content_size) else { break };
        let owner = String::from_utf8_lossy(&name[..name_size]).trim_end_matches('\0').to_string();
        notes.push(Note { owner, kind: word(8), content: content.to_vec() });
        data = rest.get(content_size.next_multiple_of(4)..).unwrap_or(&[]);
    }
    notes
}
