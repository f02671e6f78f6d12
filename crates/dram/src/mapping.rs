//! Which address bits select bank group, bank, rank and row.
//!
//! A mapping is written as in a controller's manual: its fields from the highest bits to the lowest, above the offset
//! in a line. With `row-rank-bank-column-group`, consecutive lines go to consecutive bank groups, each within one
//! row.

use crate::Standard;
use mem::{LINE, PhysAddr};
use std::{fmt, str::FromStr};

/// A field of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Row,
    Rank,
    Bank,
    Group,
    Column,
}

const FIELDS: [(&str, Field); 5] = [
    ("row", Field::Row),
    ("rank", Field::Rank),
    ("bank", Field::Bank),
    ("group", Field::Group),
    ("column", Field::Column),
];

/// The fields below the row, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping([Field; 4]);

/// Consecutive lines go to consecutive bank groups, then along their rows, then to the next banks.
impl Default for Mapping {
    fn default() -> Self {
        Self([Field::Group, Field::Column, Field::Bank, Field::Rank])
    }
}

/// The error for a text that is not a mapping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not an address mapping: write 'row' first, then 'rank', 'bank', 'column' and 'group' in any order, joined by '-'"
)]
pub struct BadMapping(String);

impl FromStr for Mapping {
    type Err = BadMapping;

    fn from_str(text: &str) -> Result<Self, BadMapping> {
        let bad = || BadMapping(text.to_owned());
        let field = |name: &str| FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
        let fields: Option<Vec<Field>> = text.split('-').map(field).collect();
        let fields = fields.filter(|fields| FIELDS.iter().all(|(_, field)| fields.contains(field))).ok_or_else(bad)?;
        match *fields {
            [Field::Row, d, c, b, a] => Ok(Self([a, b, c, d])),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row")?;
        for field in self.0.iter().rev() {
            let (name, _) = FIELDS.iter().find(|(_, known)| known == field).expect("every field has a name");
            write!(f, "-{name}")?;
        }
        Ok(())
    }
}

/// The position of a line in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub rank: usize,
    /// The bank group within the channel.
    pub group: usize,
    /// The bank within the channel.
    pub bank: usize,
    pub row: u64,
}

impl Mapping {
    /// The position of an address of a channel.
    pub fn spot(&self, address: PhysAddr, standard: &Standard, ranks: usize) -> Spot {
        let mut rest = address.0 / LINE as u64;
        let (mut rank, mut group, mut bank) = (0, 0, 0);
        for field in self.0 {
            let mut take = |count: usize| {
                let value = rest % count as u64;
                rest /= count as u64;
                value as usize
            };
            match field {
                Field::Rank => rank = take(ranks),
                Field::Group => group = take(standard.groups),
                Field::Bank => bank = take(standard.banks),
                Field::Column => _ = take((standard.row as usize / LINE).max(1)),
                Field::Row => unreachable!("the row is above the others"),
            }
        }
        let group = rank * standard.groups + group;
        Spot { rank, group, bank: group * standard.banks + bank, row: rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standards::DDR4_2400;
    use std::collections::BTreeSet;

    #[test]
    fn a_mapping_reads_as_it_is_written_and_nonsense_is_refused() {
        for text in ["row-rank-bank-column-group", "row-column-rank-bank-group"] {
            assert_eq!(text.parse::<Mapping>().unwrap().to_string(), text);
        }
        assert_eq!(Mapping::default().to_string(), "row-rank-bank-column-group");
        for text in ["", "row-rank-bank-column", "bank-rank-row-column-group", "row-rank-bank-column-column"] {
            assert!(text.parse::<Mapping>().unwrap_err().to_string().contains("'row' first"), "{text}");
        }
    }

    #[test]
    fn consecutive_lines_go_where_the_mapping_says() {
        let spot = |mapping: &str, line: u64| {
            let spot = mapping.parse::<Mapping>().unwrap().spot(PhysAddr(line * LINE as u64), &DDR4_2400, 2);
            (spot.rank, spot.group, spot.bank, spot.row)
        };
        assert_eq!(spot("row-rank-bank-column-group", 1), (0, 1, 4, 0));
        assert_eq!(spot("row-rank-bank-column-group", 4 * 128), (0, 0, 1, 0));
        assert_eq!(spot("row-rank-bank-group-column", 127), (0, 0, 0, 0));
        assert_eq!(spot("row-rank-bank-group-column", 128), (0, 1, 4, 0));
        assert_eq!(spot("row-column-bank-group-rank", 1), (1, 4, 16, 0));
    }

    #[test]
    fn as_many_lines_share_a_row_as_fit_in_one() {
        let spot = |line: u64| Mapping::default().spot(PhysAddr(line * LINE as u64), &DDR4_2400, 2);
        let lines = 2 * 16 * 128;
        let rows: BTreeSet<_> = (0..lines).map(|line| (spot(line).bank, spot(line).row)).collect();
        assert_eq!(rows, (0..32).map(|bank| (bank, 0)).collect());
        assert_eq!(spot(lines).row, 1);
    }
}
