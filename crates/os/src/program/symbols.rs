//! The symbols of a program, for error reports.

use object::{
    LittleEndian,
    elf::{self, FileHeader64},
    read::elf::{FileHeader, Sym},
};

/// Functions and variables by address.
#[derive(Default)]
pub struct Symbols {
    /// (start, end, name), by start.
    named: Vec<(u64, u64, String)>,
}

impl Symbols {
    /// The symbols of a file that is loaded at `base`; empty if it is stripped.
    pub fn read(file: &[u8], base: u64) -> Symbols {
        let mut named = named(file, base).unwrap_or_default();
        named.sort();
        Symbols { named }
    }

    /// The function or variable at an address, with the offset: `main+0x12`.
    pub fn name(&self, address: u64) -> Option<String> {
        let after = self.named.partition_point(|(start, ..)| *start <= address);
        let (start, _, name) = self.named[..after].iter().rev().take(8).find(|(_, end, _)| address < *end)?;
        Some(if address == *start { name.clone() } else { format!("{name}+{:#x}", address - start) })
    }
}

fn named(file: &[u8], base: u64) -> Option<Vec<(u64, u64, String)>> {
    let header = FileHeader64::<LittleEndian>::parse(file).ok()?;
    let sections = header.sections(LittleEndian, file).ok()?;
    let symbols = sections.symbols(LittleEndian, file, elf::SHT_SYMTAB).ok()?;
    let named = symbols
        .iter()
        .filter(|symbol| matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_OBJECT));
    let named = named.filter_map(|symbol| {
        let name = symbols.symbol_name(LittleEndian, symbol).ok()?;
        let start = base.wrapping_add(symbol.st_value(LittleEndian));
        // Symbols of hand-written assembly often have no size.
        let size = symbol.st_size(LittleEndian).max(1);
        Some((start, start.saturating_add(size), String::from_utf8_lossy(name).into_owned()))
    });
    Some(named.collect())
}
