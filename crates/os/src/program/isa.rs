//! The x86-64 level that a file declares as required: the GNU property "x86 ISA needed" in its notes.

use super::elf::{ENDIAN, Segment};
use object::read::elf::ProgramHeader;

const PT_GNU_PROPERTY: u32 = 0x6474_e553;
const NT_GNU_PROPERTY_TYPE_0: u32 = 5;
const ISA_1_NEEDED: u32 = 0xc000_8002;

/// The level, from 1. Damaged or missing notes count as level 1.
pub fn level(file: &[u8], segments: &[Segment]) -> u32 {
    let notes = segments.iter().filter(|segment| segment.p_type(ENDIAN).0 == PT_GNU_PROPERTY);
    let levels = notes.filter_map(|segment| needed(segment.data(ENDIAN, file).ok()?));
    levels.max().unwrap_or(1)
}

fn needed(note: &[u8]) -> Option<u32> {
    let (name, kind, rest) = (word(note, 0)?, word(note, 8)?, note.get(12..)?);
    if kind != NT_GNU_PROPERTY_TYPE_0 || name != 4 || rest.get(..4)? != b"GNU\0" {
        return None;
    }
    let mut properties = rest.get(4..)?;
    loop {
        let (kind, size) = (word(properties, 0)?, word(properties, 4)? as usize);
        if kind == ISA_1_NEEDED {
            // Bit 0 is the baseline, bit 1 x86-64-v2 and so on.
            return Some((32 - word(properties, 8)?.leading_zeros()).max(1));
        }
        properties = properties.get(8_usize.checked_add(size)?.checked_next_multiple_of(8)?..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(properties: &[(u32, &[u8])]) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            [4_u32, 0, NT_GNU_PROPERTY_TYPE_0].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(b"GNU\0");
        for (kind, data) in properties {
            bytes.extend(kind.to_le_bytes());
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(*data);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        bytes
    }

    #[test]
    fn the_highest_bit_of_the_property_is_the_level() {
        let used = (0xc001_0002, &[1_u8, 0, 0, 0][..]);
        assert_eq!(needed(&note(&[used, (ISA_1_NEEDED, &[3, 0, 0, 0])])), Some(2));
        assert_eq!(needed(&note(&[(ISA_1_NEEDED, &[7, 0, 0, 0])])), Some(3));
        assert_eq!(needed(&note(&[used])), None);
    }

    #[test]
    fn a_damaged_note_asks_for_nothing() {
        let whole = note(&[(0xc001_0002, &[1, 0, 0, 0]), (ISA_1_NEEDED, &[3, 0, 0, 0])]);
        for length in 0..whole.len() - 4 {
            assert_eq!(needed(&whole[..length]), None);
        }
        assert_eq!(needed(&note(&[])), None);
        assert_eq!(needed(&[0xff; 64]), None);
    }
}
