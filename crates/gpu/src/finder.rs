//! Finds a line's place in an access, which may have hundreds of lines.

use crate::gather::Part;
use mem::{LINE, LineAddr};

/// The part that was accessed last. Lanes often access lines in the order in which these were first accessed, so that
/// part and the one after it are checked before others.
pub(crate) struct Latest {
    pub number: usize,
    finder: Finder,
}

impl Latest {
    pub fn new() -> Self {
        Self { number: 0, finder: Finder::new() }
    }

    /// Turns to the part of a line; returns whether there is one.
    #[inline(always)]
    pub fn turn_to(&mut self, parts: &[Part], line: u64) -> bool {
        for number in [self.number, self.number + 1] {
            if parts.get(number).is_some_and(|part| part.line.0 == line) {
                self.number = number;
                return true;
            }
        }
        let found = self.finder.find(parts, LineAddr(line));
        self.number = found.unwrap_or(self.number);
        found.is_some()
    }
}

/// Finds the part of a line among up to hundreds: one by one if they are few, else by a hash table.
pub(crate) struct Finder {
    /// Number of parts in the table.
    noted: usize,
    /// Part numbers by hash, with linear probing.
    table: [u16; Self::PLACES],
}

impl Finder {
    const PLACES: usize = 256;
    /// Maximum number of parts in the table; later parts are searched one by one.
    const MOST_NOTED: usize = 192;
    /// Maximum number of parts that are searched one by one.
    const FEW: usize = 6;
    const NOBODY: u16 = u16::MAX;

    pub fn new() -> Self {
        Self { noted: 0, table: [Self::NOBODY; Self::PLACES] }
    }

    fn places(line: LineAddr) -> impl Iterator<Item = usize> {
        let hash = (line.0 / LINE as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        (0..Self::PLACES).map(move |step| (hash as usize + step) % Self::PLACES)
    }

    /// The number of a line's part.
    #[inline(never)]
    pub fn find(&mut self, parts: &[Part], line: LineAddr) -> Option<usize> {
        if parts.len() <= Self::FEW {
            return parts.iter().position(|part| part.line == line);
        }
        while self.noted < parts.len().min(Self::MOST_NOTED) {
            let place = Self::places(parts[self.noted].line).find(|place| self.table[*place] == Self::NOBODY);
            self.table[place.expect("there are more places than parts noted")] = self.noted as u16;
            self.noted += 1;
        }
        let mut noted = Self::places(line).map(|place| self.table[place]).take_while(|number| *number != Self::NOBODY);
        let found = noted.find(|number| parts[usize::from(*number)].line == line).map(usize::from);
        let behind = || Some(self.noted + parts.get(self.noted..)?.iter().position(|part| part.line == line)?);
        found.or_else(behind)
    }
}
